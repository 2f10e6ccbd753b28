"""Parameters of learners and runs, each declared once: name, range, default and help.

The options of the command line are generated from these declarations, and with them the checks of the
environment and the config file. Plans take their defaults from here, and estimators their ranges. The
constructors of the estimators repeat the defaults, because river clones a model by its signature; a test
compares the two. Options that concern only the command line, such as paths and flags, are declared in
``streamkarma.cli``.

Nothing heavy is imported in here, because ``streamkarma --help`` needs it.
"""
