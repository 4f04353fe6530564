"""The `tseval` command: thin click commands, one module each, imported when called.

`tseval --help` must answer in a blink, so nothing here imports anything heavy, and the group loads a
command's module only when that command is used. `commands.py` lists them.
"""

from tseval.cli.program import main, tseval

__all__ = ["main", "tseval"]
