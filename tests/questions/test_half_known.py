"""Pairs of which a model knows one form only: undecidable by default, and always counted."""

import csv
import io
import json
from collections import Counter
from typing import Any

import pytest
import torch
from in_process import call, refused, run_process, succeeded
from small import make_case, make_key, make_manifest, make_suite, score

import tseval
from tseval.errors import SuiteError
from tseval.items import HALF_KNOWN
from tseval.models import Vocabulary, bundled_checkpoints
from tseval.models.checkpoint import load_checkpoint, save_checkpoint
from tseval.questions.unknown import Unknown
from tseval.report import build_table, render
from tseval.runs import start_run
from tseval.suites import TEMPLATES
from tseval.verdicts import judge, missing_words

CUT = ("laughs", "swims", "himself")
CASES = ("simple_agrmt", "simple_reflexives", "obj_rel_within_anim")


def cut_model(path, words=CUT, unknown="<unk>"):
    """Save the bundled LSTM without some words: their rows get names that no text contains."""
    whole = load_checkpoint(bundled_checkpoints()["lstm"])
    names = {"<unk>": unknown} | {word: f"§{word}" for word in words}
    own = whole.vocabulary
    vocabulary = Vocabulary(
        tuple(names.get(word, word) for word in own.words), own.lowercase, own.start, unknown
    )
    save_checkpoint(path, whole.model, vocabulary, training=whole.training, validation_perplexity=None)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Save a model that does not know some words, and its runs: by default, and with every pair compared."""
    folder = tmp_path_factory.mktemp("half-known")
    cut_model(folder / "cut.pt")
    chosen = ["--model", "cut.pt", *(part for case in CASES for part in ("--case", case)), "--limit", "150"]
    succeeded(call("run", *chosen, "-o", "runs/cut", cwd=folder))
    succeeded(call("run", *chosen, "--unknown", "score", "-o", "runs/scored", cwd=folder))
    return folder


def plain_logprob(checkpoint, sentence):
    """Return the sum of the network's log-probabilities of a sentence, by plain torch."""
    ids = checkpoint.vocabulary.ids()
    tokens = [ids["<eos>"], *(ids.get(word, ids["<unk>"]) for word in sentence.lower().split())]
    with torch.no_grad():
        outputs, _ = checkpoint.model(torch.tensor([tokens[:-1]]).T, checkpoint.model.initial_state(1))
        table = checkpoint.model.output(outputs)[:, 0].double().log_softmax(-1)
    return float(table[range(len(tokens) - 1), tokens[1:]].sum())


def halves(pair, known):
    """Return whether a pair is half known, by counting unknown words."""
    one, other = (Counter(word for word in text.split() if word not in known) for text in pair)
    return one != other


@pytest.mark.slow
def test_what_is_half_known_and_what_is_right_is_what_plain_torch_says(folder):
    checkpoint = load_checkpoint(folder / "cut.pt")
    known = set(checkpoint.vocabulary.words)
    suite = tseval.load_suite("marvin_linzen", cases=["simple_agrmt", "simple_reflexives"], limit=150)
    by_default, scored = (tseval.read_run(folder / "runs" / name).verdicts for name in ("cut", "scored"))
    counts = Counter()
    for case in suite.cases:
        own = by_default[by_default["case"] == case.name].set_index("item")
        all_of_them = scored[scored["case"] == case.name].set_index("item")
        for item in list(case.items())[::3]:
            pair = [f"{text} ." for text in item.sentences.values()]
            right = plain_logprob(checkpoint, pair[0]) > plain_logprob(checkpoint, pair[1])
            half = halves(pair, known)
            assert (
                bool(own.at[item.index, HALF_KNOWN]) == half == bool(all_of_them.at[item.index, HALF_KNOWN])
            )
            assert bool(own.at[item.index, "undecidable"]) == half
            assert bool(own.at[item.index, "correct"]) == (right and not half)
            assert bool(all_of_them.at[item.index, "correct"]) == right
            counts[half] += 1
    assert counts[True] > 30 < counts[False]


def test_manifest_table_csv_json_and_warning_count_them(folder):
    run = tseval.read_run(folder / "runs" / "cut")
    n = int(run.verdicts[HALF_KNOWN].sum())
    manifest = json.loads((folder / "runs/cut/manifest.json").read_text())
    assert manifest["counts"]["n_half_known"] == manifest["counts"]["undecidable"] == n
    assert (run.tally()[0]["n_half_known"]).sum() == n
    shown = succeeded(call("table", "runs/cut", cwd=folder)).stdout
    assert "Half known |" in shown
    rows = list(
        csv.DictReader(
            io.StringIO(succeeded(call("table", "runs/cut", "--format", "csv", cwd=folder)).stdout)
        )
    )
    assert sum(int(row["n_half_known"]) for row in rows) == n
    content = json.loads(succeeded(call("table", "runs/cut", "runs/scored", "--json", cwd=folder)).stdout)
    assert sum(row["n_half_known"] for row in content["rows"]) == 2 * n
    (warning,) = [one for one in manifest["warnings"] if "half known" in one]
    assert warning == (
        f"{n} of 440 contrasts are half known and undecidable: the model knows one form and not the other "
        "(to compare them anyway: --unknown score). Most frequent missing words: "
        "himself (75 pairs), laughs (20 pairs), swims (20 pairs)"
    )
    assert warning.replace("_", "\\_") in shown


def test_unknown_score_stands_in_the_signature_and_says_what_it_compares(folder):
    run = tseval.read_run(folder / "runs" / "scored")
    assert "|half_known:score|" in run.manifest.signature
    assert "half_known" not in tseval.read_run(folder / "runs" / "cut").manifest.signature
    assert run.manifest.counts.undecidable == 0 < run.manifest.counts.n_half_known
    assert any("<unk> with a word that the model knows" in one for one in run.manifest.warnings)
    # A run with the other rule is a different run.
    arguments = ["run", "--model", "cut.pt", "--case", "simple_agrmt", "-o", "runs/scored", "--resume"]
    said = refused(call(*arguments, cwd=folder)).stderr
    assert "half_known" in said


@pytest.mark.slow
def test_both_runs_are_verified_down_to_the_model(folder):
    found = succeeded(
        call("verify", "runs/cut", "runs/scored", "--model", "cut.pt", "--rescore", "all", cwd=folder)
    )
    assert found.stdout.count("rerun ") == 2
    assert "WRONG" not in found.stdout


def test_a_run_from_before_they_were_counted_still_holds_and_that_is_said(tmp_path):
    suite = make_suite(make_case("a", [("a laughs", "a laugh"), ("a swims", "a swim")]))
    scored = score(suite, {"laughs": -0.5, "<unk>": -4.0}, unknown={"swims"})
    verdicts = judge(suite, scored, unknown=Unknown(rule="score")).drop_columns([HALF_KNOWN])
    key = make_key(suite)
    with start_run(tmp_path / "old", key) as writer:
        manifest = make_manifest(suite, key, scored, verdicts)
        table = build_table([tseval.runs.Run.of(manifest, scored, verdicts)])
        tables = {f"table.{form}": render(table, form) for form in ("md", "csv")}
        writer.finish(manifest, scored, verdicts, tables)
    assert "n_half_known" not in (tmp_path / "old/manifest.json").read_text()
    run = tseval.read_run(tmp_path / "old")
    assert run.manifest.unknown.rule == "score"
    assert run.verdicts["undecidable"].sum() == 0


@pytest.mark.parametrize("mode", ["sentence", "mean", "critical"])
@pytest.mark.parametrize(
    ("pair", "unknown", "mark"),
    [
        (("the author laughs", "the author laugh"), {"laughs"}, "half known"),
        (("the author laughs", "the author laugh"), {"laugh"}, "half known"),
        (("the author laughs", "the author laugh"), {"laugh", "laughs"}, "undecidable"),  # they look the same
        (("the zorb laughs", "the zorb laugh"), {"zorb"}, "decided"),
        (("the zorb laughs", "the zorbs laugh"), {"zorb", "zorbs"}, "half known"),  # which of them decides
        (("no zorb ever laughs", "ever no zorb laughs"), {"zorb"}, "decided"),  # the same number in both
        (("zorb no zorb laughs", "ever no zorb laughs"), {"zorb"}, "half known"),
        (("the author laughs", "the author laugh"), set(), "decided"),
    ],
)
def test_a_pair_is_half_known_if_its_unknown_words_are_not_the_same(pair, unknown, mark, mode):
    suite = make_suite(make_case("pair", [pair]))
    scored = score(suite, {"laughs": -0.5, "ever": -2.0}, unknown=unknown)
    (row,) = judge(suite, scored, mode, unknown=Unknown()).to_pylist()
    assert row["undecidable"] == (mark != "decided")
    assert row.get(HALF_KNOWN, False) == (mark == "half known")
    (compared,) = judge(suite, scored, mode, unknown=Unknown(rule="score")).to_pylist()
    assert compared["undecidable"] == (mark == "undecidable")


def test_endings_after_a_word_of_which_one_form_is_known_are_half_known():
    suite = make_suite(make_case("a", [("the zorb laughs", "the author laughs")], features={"ending": [1]}))
    (row,) = judge(suite, score(suite, {}, unknown={"zorb"}), "ending", unknown=Unknown()).to_pylist()
    assert (row["undecidable"], row[HALF_KNOWN]) == (True, True)


def test_words_are_named_with_the_pairs_that_each_costs():
    rows = [("a laughs", "a laugh"), ("b laughs", "b laugh"), ("a swims", "a swim"), ("a zorb x", "a zorb y")]
    suite = make_suite(make_case("a", rows))
    scored, unknown = score(suite, {}, unknown={"laughs", "swim", "zorb"}), Unknown()
    verdicts = judge(suite, scored, unknown=unknown)
    assert missing_words(suite, scored, verdicts, unknown, scored["sentence"].combine_chunks()[:0]) == {
        "laughs": 2, "swim": 1,
    }  # fmt: skip


def test_a_model_that_reads_lower_case_does_not_tell_a_capital_from_a_small_letter():
    suite = make_suite(make_case("a", [("Zorb no laughs", "no zorb laughs")]))
    scored = score(suite, {}, unknown={"Zorb", "zorb"})
    rules = Unknown(mark="<unk>", lowercase=True), Unknown(mark="<unk>")
    assert [HALF_KNOWN in judge(suite, scored, unknown=one).column_names for one in rules] == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize("mark", ["<unk>", "<UNK>", "[UNK]", "oov-word"])
def test_whatever_stands_for_unknown_words_is_known_from_the_protocol(tmp_path, mark):
    model = tseval.load_model(cut_model(tmp_path / "cut.pt", unknown=mark))
    run = tseval.evaluate(model, tseval.load_suite("marvin_linzen", cases="simple_agrmt"))
    assert run.manifest.counts.n_half_known == 40
    assert tseval.evaluate(model, run_suite(), unknown="score").manifest.counts.undecidable == 0


def run_suite():
    return tseval.load_suite("marvin_linzen", cases="simple_agrmt")


def test_a_live_module_with_unk_among_its_words_is_treated_alike():
    torch.manual_seed(0)
    words = [
        "<eos>",
        "<unk>",
        ".",
        "the",
        *["author", "authors", "pilot", "laugh", "swim", "smiles", "smile"],
    ]

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.rnn = torch.nn.Embedding(len(words), 8), torch.nn.GRU(8, 8, batch_first=True)
            self.out = torch.nn.Linear(8, len(words))

        def forward(self, ids):
            return self.out(self.rnn(self.embed(ids))[0])

    suite = tseval.load_suite("marvin_linzen", cases="simple_agrmt")
    run = tseval.evaluate((Net(), words), suite)
    expected = sum(halves(item.sentences.values(), set(words)) and
                   len({tuple(word if word in words else 0 for word in text.split())
                        for text in item.sentences.values()}) == 2
                   for item in suite.cases[0].items())  # fmt: skip
    assert run.manifest.counts.n_half_known == expected > 0


def test_a_rule_that_does_not_exist_is_refused():
    rule: Any = "skip"
    with pytest.raises(SuiteError, match="unknown='skip'"):
        tseval.evaluate("bundled:lstm", run_suite(), unknown=rule)


DESIGN = """---
construction: Agreement
phenomenon: Agreement
lexicon:
  noun: {person: [author, pilot]}
  verb: {main: [laughs, smiles]}
slots: {subject: {class: noun.person, number: sing}, verb: verb.main, adverb: [here, zorb]}
regions: [subject, verb, adverb]
predictions: {match: 'match.verb < mismatch.verb', late: 'match.adverb < mismatch.adverb'}
---
match: the [subject {{ subject }}] [verb {{ verb | agree(subject) }}] [adverb {{ adverb }}]
mismatch: the [subject {{ subject }}] [verb {{ verb | disagree(subject) }}] [adverb {{ adverb }}]
"""


def test_a_prediction_is_half_known_where_a_region_is_unknown_under_one_condition_only(folder, tmp_path):
    (tmp_path / "design.jinja").write_text(DESIGN)
    run = tseval.evaluate(folder / "cut.pt", tseval.load_suite(tmp_path / "design.jinja"))
    sentences = {
        item.index: item.sentences["match"]
        for item in tseval.load_suite(tmp_path / "design.jinja").cases[0].items()
    }
    for row in run.verdicts.to_dict("records"):
        # `zorb` is unknown under both conditions. After the unknown `laughs`, nothing is compared.
        assert row["undecidable"] == row[HALF_KNOWN] == ("laughs" in sentences[row["item"]])
    scored = tseval.evaluate(folder / "cut.pt", tseval.load_suite(tmp_path / "design.jinja"), unknown="score")
    assert not scored.verdicts["undecidable"].any()
    assert scored.manifest.counts.n_half_known == run.manifest.counts.n_half_known > 0


def test_rated_sentences_with_unknown_words_are_counted_and_keep_their_score(folder, tmp_path):
    verbs = ("laughs", "smiles", "waits")
    texts = [f"the {noun} {verb} ." for noun in ("author", "pilot", "guard") for verb in verbs]
    rows = [f"{text},{place % 5}.5" for place, text in enumerate(texts)]
    (tmp_path / "rated.csv").write_text("sentence,rating\n" + "\n".join(rows) + "\n")
    known = set(load_checkpoint(folder / "cut.pt").vocabulary.words)
    n_unknown = sum(any(word not in known for word in row.split(",")[0].split()) for row in rows)
    run = tseval.evaluate(folder / "cut.pt", tmp_path / "rated.csv", out=tmp_path / "run")
    assert run.manifest.counts.n_half_known == n_unknown > 0
    assert run.manifest.counts.undecidable == 0
    assert list(run.table()["n_half_known"]) == [n_unknown]
    assert "With unknown words |" in succeeded(call("table", "run", cwd=tmp_path)).stdout
    assert not run.manifest.warnings  # no item is left out, so the column is enough


def test_pair_says_that_it_is_half_known_and_compares_it_if_it_is_told_to(folder):
    pair = ["pair", "the author laughs .", "the author laugh .", "--model", "cut.pt", "--format", "tsv"]
    said = succeeded(call(*pair, cwd=folder)).stderr
    assert "undecidable (half known): the model does not know 'laughs'" in said
    assert "--unknown score" in said
    compared = succeeded(call(*pair, "--unknown", "score", cwd=folder)).stderr
    checkpoint = load_checkpoint(folder / "cut.pt")
    difference = plain_logprob(checkpoint, pair[1]) - plain_logprob(checkpoint, pair[2])
    better = "good" if difference > 0 else "bad"
    assert f"{better} is preferred, by {abs(difference):.3f} nats; half known" in compared


def test_surprisal_marks_unknown_words_whatever_the_vocabulary_calls_them(tmp_path):
    cut_model(tmp_path / "cut.pt", unknown="oov-word")
    (tmp_path / "text.txt").write_text("the author laughs .\n")
    found = succeeded(call("surprisal", "text.txt", "--model", "cut.pt", "--words", cwd=tmp_path)).stdout
    assert [line.split("\t")[2:4] for line in found.splitlines()[1:]] == [
        ["the", "the"], ["author", "author"], ["laughs", "<unk>"], [".", "."],
    ]  # fmt: skip


def test_cite_says_what_was_done_with_them_and_who_does_so(folder):
    said = succeeded(call("cite", "runs/cut", cwd=folder)).stdout
    assert r"\citet{linzen-etal-2016} and \citet{gulordava-etal-2018} use no such items" in said
    assert "@article{linzen-etal-2016" in said
    assert "@inproceedings{gulordava-etal-2018" in said
    said = succeeded(call("cite", "runs/scored", cwd=folder)).stdout
    assert "were compared, with a symbol for unknown words" in said


def test_a_page_shows_them_as_half_known(folder):
    succeeded(call("report", "runs/cut", "-o", "page.html", cwd=folder))
    page = (folder / "page.html").read_text()
    assert "undecidable (half known)" in page
    assert "60 half known" in page or "40 half known" in page


@pytest.mark.slow
def test_a_sweep_passes_the_rule_on(folder):
    options = ["--case", "simple_agrmt", "--unknown", "score", "--workers", "1", "--quiet", "-o", "swept"]
    succeeded(run_process(["tseval", "sweep", "--model", "cut.pt", *options], cwd=folder))
    (run,) = (folder / "swept").glob("*/manifest.json")
    assert json.loads(run.read_text())["key"]["half_known"] == "score"


def test_a_run_that_knows_all_words_says_nothing_of_them(tmp_path):
    run = tseval.evaluate("bundled:lstm", run_suite(), out=tmp_path / "run")
    assert HALF_KNOWN not in run.verdicts
    texts = [(tmp_path / "run" / name).read_text() for name in ("manifest.json", "table.md", "table.csv")]
    assert not any("half" in text.lower() for text in texts)


GAPS = """---
construction: Gaps
phenomenon: Gaps
lexicon:
  noun: {{who: [author, pilot]}}
  event: {{past: [{{verb: saw, it: the zorb}}, {{verb: found, it: the house}}]}}
slots: {{who: {{class: noun.who, number: sing}}, event: event.past}}
regions: [verb, object, critical]
predictions:
  p: '{prediction}'
---
that_object: see that the {{{{ who }}}} [verb {{{{ event.verb }}}}] [object {{{{ event.it }}}}] [critical now]
what_object: see what the {{{{ who }}}} [verb {{{{ event.verb }}}}] [object {{{{ event.it }}}}] [critical now]
that_gap: see that the {{{{ who }}}} [verb {{{{ event.verb }}}}] [object] [critical now]
what_gap: see what the {{{{ who }}}} [verb {{{{ event.verb }}}}] [object] [critical now]
"""


@pytest.mark.parametrize(
    ("prediction", "half_known"),
    [
        # The object is unknown in both sentences of each difference, which does no harm.
        ("(what_gap.critical - that_gap.critical) < (what_object.critical - that_object.critical)", False),
        ("what_gap.critical + that_object.critical < what_object.critical + that_gap.critical", False),
        ("what_object.critical > that_object.critical", False),
        # Compared with a sentence without the object, it does harm.
        ("what_object.critical > what_gap.critical", True),
        ("(what_gap.critical - what_object.critical) < (that_gap.critical - that_object.critical)", True),
        ("what_object.verb > what_gap.verb", False),  # later words have no influence
        ("what_object.object > what_object.verb", True),
        ("what_object.object > 3", False),
    ],
)
def test_in_an_interaction_the_conditions_of_each_difference_are_set_against_each_other(
    tmp_path, prediction, half_known
):
    (tmp_path / "gaps.jinja").write_text(GAPS.format(prediction=prediction))
    run = tseval.evaluate("bundled:lstm", tseval.load_suite(tmp_path / "gaps.jinja"))
    found = run.verdicts.get(HALF_KNOWN, run.verdicts["undecidable"] & False)
    assert (
        found.tolist() == [half_known, half_known, False, False] or found.tolist() == [half_known, False] * 2
    )


def test_lint_counts_the_pairs_of_a_case_as_a_run_does_and_names_all_words(folder):
    (case,) = tseval.load_suite("marvin_linzen", cases="simple_agrmt").cases
    lint = ["lint", "--quiet", TEMPLATES / "marvin_linzen/simple_agrmt.jinja", "--vocab"]
    known = set(load_checkpoint(folder / "cut.pt").vocabulary.words)
    found = call(*lint, "cut.pt", cwd=folder)
    assert found.returncode == 1
    n = sum(halves(pair.values(), known) for pair in case.sentences.to_pylist())
    assert f"{n} of 140 pairs of 'grammatical > ungrammatical' are half known" in found.stdout
    assert "Missing: laughs (20), swims (20)." in found.stdout
    # Another kind of model, opened with a function.
    (folder / "mine.py").write_text(
        "import tseval\n\n\ndef load():\n    return tseval.load_model('cut.pt')\n"
    )
    assert call(*lint, "mine.py:load", cwd=folder).stdout == found.stdout
    # With --all, lint prints every word of a long list.
    (folder / "few.txt").write_text("the\nauthor\nlaughs\n.\n")
    first, every = (
        call(*lint, "few.txt", *more, cwd=folder).stdout.splitlines()[-1] for more in ([], ["--all"])
    )
    words = {word for pair in case.sentences.to_pylist() for text in pair.values() for word in text.split()}
    missing = words - {"the", "author", "laughs"}
    assert f"words missing from the vocabulary ({len(missing)}): " in every
    assert set(every.rpartition(": ")[2].removesuffix(".").split(", ")) == missing
    assert first.endswith(f"and {len(missing) - 8} more (to list all words: --all).")


def test_lint_says_that_a_model_does_not_tell_which_words_it_knows(folder):
    (folder / "opaque.py").write_text(
        "from tseval.scoring.protocol import ModelCard\n\n\nclass Opaque:\n"
        "    card = ModelCard('opaque', 'own', '0' * 64, {}, {'architecture': 'none', 'device': 'cpu'})\n\n"
        "    def word_logprobs(self, sentences):\n"
        "        return [[-1.0] * len(s.split()) for s in sentences]\n\n\n"
        "def load():\n    return Opaque()\n"
    )
    said = refused(call("lint", "marvin_linzen", "--vocab", "opaque.py:load", cwd=folder)).stderr
    assert said.startswith(
        "tseval: opaque does not tell tseval which words are in its vocabulary.\n  Write the vocabulary "
        "into a text file"
    )
    said = "--all is about unknown words, which need a vocabulary. Add --vocab FILE or --vocab MODEL."
    assert said in refused(call("lint", "marvin_linzen", "--all")).stderr
