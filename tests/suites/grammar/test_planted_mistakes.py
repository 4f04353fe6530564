"""Mistakes of authors, each planted in a correct grammar: lint names the line and the fix.

Mistakes that lint cannot find are in the table too, with the reason.
"""

import pytest
from in_process import call
from planted_mistakes import MISTAKES, correct


@pytest.fixture(params=MISTAKES, ids=lambda mistake: mistake.name)
def planted(tmp_path, request):
    mistake = request.param
    files = correct(mistake.grammar)
    before, found, after = files[mistake.file].partition(mistake.right)
    assert found, f"{mistake.right!r} stands nowhere in {mistake.file}"
    line = before.count("\n") + 1
    files[mistake.file] = before + mistake.wrong + after
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    return mistake, tmp_path, f"{mistake.file}:{line}:", files


def test_lint_names_the_line_and_the_fix_of_a_mistake(planted):
    mistake, folder, place, files = planted
    if mistake.place:
        file, _, text = mistake.place.partition(":")
        lines = files[file].splitlines()
        place = (
            f"{file}:{next(n for n, line in enumerate(lines, 1) if text in line)}:" if text else f"{file}:"
        )
    done = call("lint", folder, "--quiet")
    said = done.stdout.replace(f"{folder}/", "")
    if mistake.reason:
        assert said == ""
        return
    assert [
        line
        for line in said.splitlines()
        if line.startswith(place) and mistake.message in line and mistake.fix in line
    ], f"{place} {mistake.message}\n{said}"


@pytest.mark.parametrize("grammar", sorted({mistake.grammar for mistake in MISTAKES}))
def test_the_grammars_are_correct_before(tmp_path, grammar):
    for name, text in correct(grammar).items():
        (tmp_path / name).write_text(text, "utf-8")
    done = call("lint", tmp_path, "--quiet")
    assert (done.returncode, done.stdout) == (0, "")


def test_at_least_38_of_40_are_found():
    found = [mistake for mistake in MISTAKES if not mistake.reason]
    assert len(MISTAKES) >= 40
    assert len(found) >= len(MISTAKES) - 2
