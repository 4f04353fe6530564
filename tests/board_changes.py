"""Commands that change a board, the folders they start from, and kills at their writes."""

import shutil

from in_process import succeed
from killing import in_a_process

GRAMMAR = """\
---
construction: Simple
phenomenon: Agreement
lexicon: lexicon.yaml
slots:
  subject: noun.person
  verb:    verb.main
---
good: the {{ subject }} {{ verb | agree(subject) }}
bad:  the {{ subject }} {{ verb | disagree(subject) }}
"""
LEXICON = "noun:\n  person: [author, guard, pilot, doctor]\nverb:\n  main: [laughs, swims]\n"
TWIN = LEXICON.replace("author, guard, pilot, doctor", "farmer, chef, teacher, dancer")

COMMANDS = {
    "add": ("board", "add", "board", "run", "--name", "new"),
    "replace": ("board", "add", "board", "second", "--name", "one", "--replace", "one"),
    "replace under another name": ("board", "add", "board", "second", "--name", "new", "--replace", "one"),
    "rename": ("board", "rename", "board/entries/one", "two"),
    "retract": ("board", "retract", "board/entries/one", "--reason", "It knew the suite."),
    "renew": ("board", "renew", "board"),
    "write": ("board", "write", "board"),
    "hidden": ("board", "hidden", "board", "hidden", "--suite", "./twin"),
    "verify": ("verify", "board/entries/one", "--model", "bundled:lstm", "--record", "Ada"),
    "new": ("board", "new", "fresh", "--suite", "../suite"),
}
KILL = """
    import json, os, shutil, sys
    from pathlib import Path
    from in_process import succeed
    from killing import different, files_below, kill_everywhere

    place, made, every, command = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]

    def furnish(folder):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(made, folder, dirs_exist_ok=True)

    def change():
        succeed(*command)

    def again():
        succeed(*command)
        for board in Path().glob("*/board.yaml"):
            succeed("board", "check", board.parent)

    def content(folder):
        found = files_below(folder)
        return {name: found[name] for name in found if not name.startswith("cache")}

    def compare(whole, here):
        return different(content(whole), content(here))

    print(json.dumps(kill_everywhere(change, again, compare, place, furnish, every)))
"""


def make_boards(root):
    """Make a folder with a suite, runs and boards, in the state that each command starts from."""
    start = root / "start"
    for name, words in (("suite", LEXICON), ("twin", TWIN)):
        (start / name).mkdir(parents=True)
        (start / name / "simple.jinja").write_text(GRAMMAR)
        (start / name / "lexicon.yaml").write_text(words)
    run = "run", "--model", "bundled:lstm", "--quiet"
    succeed(*run, "--suite", "./suite", "--out", "run", cwd=start)
    succeed(*run, "--suite", "./suite", "--precision", "bfloat16", "--out", "second", cwd=start)
    succeed(*run, "--suite", "./twin", "--out", "hidden", cwd=start)
    succeed("board", "new", "board", "--suite", "../suite", cwd=start)
    shutil.copytree(start, root / "add")
    succeed("board", "add", "board", "run", "--name", "one", cwd=start)
    succeed("board", "write", "board", cwd=start)
    shutil.copytree(start, root / "renew")
    (root / "renew/suite/lexicon.yaml").write_text(LEXICON.replace("swims", "swims, works"))
    return root


def kill_command(made, place, name, every):
    """Kill a command at every n-th point; return the number of points and the failures."""
    start = made / name if (made / name).exists() else made / "start"
    return in_a_process(KILL, place, start, every, *COMMANDS[name])
