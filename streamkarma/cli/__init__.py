"""The command line. It has no logic of its own: options in, a plan out."""

from __future__ import annotations

import gc
import sys
from typing import Any

import click

from streamkarma import __version__, log
from streamkarma.cli import streams
from streamkarma.cli.attach import attach
from streamkarma.cli.explain import explain
from streamkarma.cli.generate import generate
from streamkarma.cli.merge import merge
from streamkarma.cli.profile import profile
from streamkarma.cli.pull import pull
from streamkarma.cli.regret import regret
from streamkarma.cli.spark import backfill, stream_topics
from streamkarma.cli.stream import inspect, learn, predict
from streamkarma.errors import StreamkarmaError, UsageError
from streamkarma.files import discard_stdout, reason


class _Quiet(click.Group):
    """Commands that end silently when the reader of their output closes the pipe."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            discard_stdout()
            return ctx.exit()


@click.group(
    cls=_Quiet, context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "STREAMKARMA"}
)
@click.version_option(__version__, package_name="streamkarma", message="%(prog)s %(version)s")
def cli() -> None:
    """Learn online from events that arrive incomplete.

    Pipe JSON lines in, get predictions out:

    \b
        cat events.jsonl | streamkarma learn --target y --model my.karma

    Every option can also be set by an environment variable, STREAMKARMA_<COMMAND>_<OPTION>,
    and in a file given with --config.
    """


_COMMANDS = (
    learn,
    predict,
    explain,
    attach,
    pull,
    backfill,
    stream_topics,
    profile,
    regret,
    inspect,
    merge,
    generate,
)

for command in _COMMANDS:
    cli.add_command(command)


#: New objects between garbage collections: start-up makes half a million, nearly all of which stay, and
#: with 700, the default, a tenth of its time goes into collections.
_OBJECTS = 50_000


def main() -> None:
    """Run the program; every user error is one line."""
    gc.set_threshold(_OBJECTS)
    streams.prepare()
    try:
        code = _run()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe.
        code = 0
        discard_stdout()
    except OSError as error:
        _complain(f"cannot write {error.filename or 'standard output'}: {reason(error)}")
        code = 1
        discard_stdout()
    sys.exit(code)


def _run() -> int:
    try:
        return int(cli.main(prog_name="streamkarma", standalone_mode=False) or 0)
    except SystemExit as end:
        return int(end.code or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        _complain(error.format_message())
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except UsageError as error:
        _complain(str(error))
        return 2
    except StreamkarmaError as error:
        _complain(str(error))
        return 1
    except MemoryError as error:
        _complain(f"not enough memory for this: {str(error) or 'out of memory'}")
        return 1


def _complain(message: str) -> None:
    line = " ".join(message.split())
    log.write(line if log.is_json() else f"streamkarma: {line}", level="error")
