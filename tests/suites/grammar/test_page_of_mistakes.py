"""The page on mistakes in grammars: lint prints each message shown, and the fix removes it."""

import re

import pytest
from in_process import call
from pages import ROOT, follow

PAGE = ROOT / "docs/what-goes-wrong-in-grammars.md"
EXAMPLE = re.compile(r"^```jinja example\.jinja\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The mistake, lint's message, and the fix.
BLOCKS = re.compile(r"^```yaml\n([^`]*)```\n\n```text\n([^`]*)```\n\n```yaml\n([^`]*)```$", re.MULTILINE)
LABELS = ("good", "bad")
IN_SUITE = ("terminator",)


def examples():
    """Yield each example of the page by its heading."""
    for section in PAGE.read_text("utf-8").split("\n## ")[1:]:
        heading = section.partition("\n")[0]
        for number, blocks in enumerate(BLOCKS.findall(section), 1):
            yield pytest.param(*blocks, id=f"{heading} ({number})")


def changed(files, lines):
    """Add lines to the files: each replaces the line with its key, or is new."""
    files = dict(files)
    for line in lines.splitlines():
        key = line.partition(":")[0]
        if key in IN_SUITE:
            files["suite.yaml"] = f"{line}\n"
            continue
        front, body = files["example.jinja"].removeprefix("---\n").split("---\n")
        part, other = (body, front) if key in LABELS else (front, body)
        rows = part.splitlines()
        places = [place for place, row in enumerate(rows) if row.startswith(f"{key}:")]
        if places:
            rows[places[0] : places[0] + 1] = [line] if line != f"{key}:" else []
        else:
            rows.append(line)
        part = "".join(f"{row}\n" for row in rows)
        front, body = (other, part) if key in LABELS else (part, other)
        files["example.jinja"] = f"---\n{front}---\n{body}"
    return files


def lint(folder, files):
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    done = call("lint", folder if "suite.yaml" in files else folder / "example.jinja", "--quiet")
    assert done.returncode < 2, done.stderr
    return done.stdout.replace(f"{folder}/", "")


@pytest.mark.slow
@pytest.mark.parametrize(("written", "message", "fix"), [*examples()])
def test_lint_says_what_the_page_shows_and_the_fix_mends_it(tmp_path, written, message, fix):
    files = {"example.jinja": EXAMPLE.search(PAGE.read_text("utf-8"))[1]}
    wrong = changed(files, written)
    assert lint(tmp_path, wrong) == message
    assert lint(tmp_path, changed(wrong, fix)) == ""


def test_the_grammar_that_the_examples_change_is_right(tmp_path):
    (command,) = follow(PAGE, tmp_path)
    assert command.keeps_its_word(), command.printed


def test_all_fifteen_are_there():
    headings = [example.id.partition(".")[0] for example in examples()]
    assert sorted({*map(int, headings)}) == list(range(1, 16))
