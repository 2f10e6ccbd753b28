"""The command line. No logic of its own: options in, a plan out."""

from __future__ import annotations

import gc
import sys

import click

from streamkarma import __version__
from streamkarma.cli.attach import attach
from streamkarma.cli.generate import generate
from streamkarma.cli.regret import regret
from streamkarma.cli.stream import inspect, learn, predict
from streamkarma.errors import StreamkarmaError, UsageError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "STREAMKARMA"})
@click.version_option(__version__, package_name="streamkarma", message="%(prog)s %(version)s")
def cli() -> None:
    """Learn online from events that arrive incomplete.

    Pipe JSON lines in, get predictions out:

    \b
        cat events.jsonl | streamkarma learn --target y --model my.karma

    Every option can also be set by an environment variable, STREAMKARMA_<COMMAND>_<OPTION>,
    and in a file given with --config.
    """


for command in (learn, predict, attach, regret, inspect, generate):
    cli.add_command(command)


#: New objects before Python looks for garbage: a start makes half a million, nearly all of which stay,
#: and with 700, the default, a tenth of it goes by in looking.
_OBJECTS = 50_000


def main() -> None:
    """Run the program; every error of the user's is one line."""
    gc.set_threshold(_OBJECTS)
    try:
        code = cli.main(prog_name="streamkarma", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        code = 2
    except click.ClickException as error:
        _complain(error.format_message())
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except UsageError as error:
        _complain(str(error))
        code = 2
    except StreamkarmaError as error:
        _complain(str(error))
        code = 1
    sys.exit(code)


def _complain(message: str) -> None:
    click.echo("streamkarma: " + " ".join(message.split()), err=True)
