"""Entry point of `python -m tseval`."""

from tseval.cli import main

main()
