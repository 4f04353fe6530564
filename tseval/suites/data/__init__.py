"""Suites from data: sets of minimal pairs that were published as files, not as grammars.

`reading` reads a set: `kinds` finds the kind of each file and its reader. Tables of every format are read in
three steps. Rows become records (`records`), columns get roles (`roles`), and records become items by the
layout that the roles imply (`pair_tables`, `layouts`, `ratings`). Sets with a special format have separate
modules: `blimp`, `clams`, `linzen`, `gulordava`, `syntaxgym`, `contexts`.
"""
