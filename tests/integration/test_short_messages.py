"""A message stays under 500 characters whatever the exit code: a failed check, a stop, part of a zoo."""

import pytest
from in_process import call
from killing import in_a_process
from stopped_runs import start_and_stop
from systems import needs_posix

from tseval.models import Vocabulary
from tseval.models.checkpoint import save_checkpoint
from tseval.models.network import LanguageModel, Sizes
from tseval.testing import Result
from tseval.testing.properties import Finding

LONG = "x" * 240  # as long as a name may be
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


ZOO = """
    import json, sys
    from pathlib import Path
    from small_zoo import SmallZoo
    from tseval.training import zoo as trained

    place, long = Path(sys.argv[1]), sys.argv[2]
    zoo = SmallZoo(place)
    trained.SUITE = "/".join([long] * 8)  # which is not there
    out = "/".join([str(place), long, long])
    done = zoo.make("srn", out=out, more=["--publish", out + "/" + long])
    print(json.dumps([done.returncode, done.stderr]))
"""


@needs_posix
@pytest.mark.slow
def test_what_fails_in_a_zoo_is_named_in_short(tmp_path):
    code, stderr = in_a_process(ZOO, tmp_path, LONG)
    assert code == 1
    failed, unpublished = stderr.replace("\n  ", " ").splitlines()
    assert failed.startswith("tseval: srn failed: ")
    assert failed.endswith("srn.log.")
    assert unpublished.startswith("tseval: nothing was published to ")
    assert max(len(failed), len(unpublished)) < 500


@needs_posix
@pytest.mark.slow
def test_a_run_that_is_stopped_says_in_short_how_to_go_on(tmp_path):
    words = Vocabulary(("<eos>", "<unk>", "."), lowercase=True)
    model = LanguageModel(Sizes("lstm", len(words), 16, 100, 1))
    save_checkpoint(tmp_path / "model.pt", model, words, training={}, validation_perplexity=None)
    code, said = start_and_stop("model.pt", "/".join([LONG] * 4), "SIGINT", tmp_path, more=["--quiet"])
    assert code == 130
    stopped, interrupted = said.strip().splitlines()
    assert stopped.startswith("What was scored is saved: add --resume --out xxx")
    assert stopped.endswith("x to go on.")
    assert len(stopped) < 500
    assert interrupted == "tseval: interrupted"
