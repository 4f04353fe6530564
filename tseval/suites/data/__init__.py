"""Suites from data: sets of minimal pairs that were published as files rather than as grammars.

`reading` reads a set: it finds out what each file holds (`kinds`) and has it read. A table is read in three
steps in every format: its rows become records (`records`), its columns get roles (`roles`), and its
records become items by the layout that these imply (`pair_tables`, `layouts`, `ratings`). Sets with a format
of their own have a module of their own: `blimp`, `clams`, `linzen`, `gulordava`, `syntaxgym`, `contexts`.
"""
