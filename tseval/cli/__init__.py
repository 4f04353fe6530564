"""The `tseval` command: thin click commands, one module each, imported when called.

`tseval --help` must answer at once, so this package imports nothing heavy. The group imports the module of a
command only when that command is used. `commands.py` lists the commands.
"""

from tseval.cli.program import main, tseval

__all__ = ["main", "tseval"]
