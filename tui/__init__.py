"""Everything that faces a terminal: the app, the command line, and the study file."""
