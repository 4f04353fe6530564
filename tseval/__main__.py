"""`python -m tseval`."""

from tseval.cli import main

main()
