"""What lint and a check of a model find stays under 500 characters."""

from in_process import call

from tseval.testing import Result
from tseval.testing.properties import Finding

HEAD = "---\nconstruction: C\nphenomenon: P\nslots: {x: [one, two]}\n---\n"


def said(done):
    """What a command says, message by message: the later lines of one are indented."""
    return (done.stdout + done.stderr).replace("\n  ", " ").splitlines()


def test_what_lint_finds_is_short(tmp_path):
    suite = tmp_path / "suite"
    suite.mkdir()
    words = " ".join(["word"] * 5000)
    (suite / "one.jinja").write_text(f"{HEAD}good: a {{{{ x }}}} {words}\nbad: b {words} c\n")
    done = call("lint", "./suite", cwd=tmp_path)
    assert done.returncode == 1
    assert "suite/one.jinja:" in done.stdout
    assert [line for line in said(done) if len(line) >= 500] == []


def test_what_a_check_of_a_model_finds_is_short():
    found = Finding("fails", "it gave " + "9" * 5000, 0.5, "the author " * 4000)
    text = str(Result("batches", "a sentence gets the same numbers", found))
    assert text.startswith(
        "batches         fails            5.0e-01  a sentence gets the same numbers: it gave 9"
    )
    assert text.endswith("author '")
    assert len(text) < 500
