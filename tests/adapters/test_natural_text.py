"""Grammar sentences in ordinary spelling, as sub-word models read them."""

import hashlib
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import tokenizers
import torch
import transformers
from checkpoints import bpe_tokenizer, metaspace_tokenizer, save_causal, save_masked, wordpiece_tokenizer
from in_process import call, refuse, succeed

import tseval
from tseval.adapters import open_model
from tseval.errors import ModelError, SuiteError
from tseval.evaluation import as_read
from tseval.scoring.scorers import scorer_for
from tseval.suites.grammar.folders import read_folder
from tseval.verdicts import sentences_of
from tseval.writing import LANGUAGES

RULES = LANGUAGES["english"]
# Tokens of a grammar, and the same text in ordinary spelling.
PAIRS = {
    "the authors near the guard laugh .": "The authors near the guard laugh.",
    "no , the pilot does n't laugh .": "No, the pilot doesn't laugh.",
    'the author said : " i laugh " ( again ) !': 'The author said: "I laugh" (again)!',
    "it 's true": "It's true",
}
TEXTS = [*PAIRS.values(), *PAIRS]
TOKENIZERS = {
    "bytes": ("hf", lambda: bpe_tokenizer(texts=TEXTS)),
    "metaspace": ("mlm", lambda: metaspace_tokenizer(TEXTS, size=60)),
    "wordpiece": ("mlm", lambda: wordpiece_tokenizer(90, TEXTS)),
}


@pytest.fixture(scope="module", params=TOKENIZERS)
def spec(request, tmp_path_factory):
    scheme, make = TOKENIZERS[request.param]
    save = save_causal if scheme == "hf" else save_masked
    folder = tmp_path_factory.mktemp("natural") / request.param
    kinds = {"bytes": "gpt2", "metaspace": "albert", "wordpiece": "bert"}
    return f"{scheme}:{save(folder, kinds[request.param], make())}"


def score(model, sentences, words=False):
    rows = scorer_for(model, words=words).score(pa.array(sorted(sentences))).to_pylist()
    return {row["sentence"]: row for row in rows}


def test_tokens_read_as_natural_text_score_as_that_text(spec):
    """Compare with the same model that reads the ordinary text directly."""
    model: Any = open_model(spec)
    natural, as_it_is = score(model.writing(RULES), PAIRS), score(model, PAIRS.values())
    for tokens, text in PAIRS.items():
        assert natural[tokens]["logprob"] == pytest.approx(as_it_is[text]["logprob"], abs=1e-4)
        if spec.startswith("hf:"):  # WordPiece lower-cases and separates punctuation, so pieces are equal
            assert natural[tokens]["logprob"] != score(model, [tokens])[tokens]["logprob"]
        assert len(natural[tokens]["words"]) == len(tokens.split())


def test_words_end_where_a_mark_is_close_to_them(tmp_path):
    """Corrected words sum to the whole text, given that it begins with no space and no mark."""
    model: Any = open_model(f"hf:{save_causal(tmp_path, tokenizer=bpe_tokenizer(texts=TEXTS))}")
    model = model.writing(RULES)
    with torch.no_grad():
        table = model.model(torch.tensor([[0]])).logits[0, 0].double().log_softmax(-1)
    pieces = model.tokenizer.convert_ids_to_tokens(range(len(table)))
    ends = ("Ġ", *"ĊĉċČč", *{token[0] for token in RULES.close_before})
    opens = [not piece.startswith(ends) or number < 2 for number, piece in enumerate(pieces)]
    before = table[opens].logsumexp(0).item()
    found = score(model, PAIRS, words=True)
    for tokens in ("the authors near the guard laugh .", 'the author said : " i laugh " ( again ) !'):
        assert sum(found[tokens]["words"]) == pytest.approx(found[tokens]["logprob"] - before, abs=1e-3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Save a sub-word model and a word model that reads ordinary text, for runs."""
    folder = tmp_path_factory.mktemp("forms")
    save_causal(folder / "pieces", tokenizer=bpe_tokenizer(size=400), n_positions=128)
    level = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({"<s>": 0, "<unk>": 1, "the": 2}, unk_token="<unk>")
    )
    level.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    words = transformers.PreTrainedTokenizerFast(tokenizer_object=level, bos_token="<s>", unk_token="<unk>")
    save_causal(folder / "words", tokenizer=words, n_positions=128)
    return folder


def run(folder, *arguments):
    return succeed("run", "--case", "prep_anim", "--limit", "4", *arguments, cwd=folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "form"), [("hf:pieces", "natural"), ("hf:words", None), ("bundled:lstm", None)]
)
def test_by_itself_a_model_reads_what_it_was_trained_on(folder, tmp_path, model, form):
    ended = run(folder, "--model", model, "--out", tmp_path / "run")
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert manifest["model"]["protocol"].get("text") == form
    assert ("text:natural" in manifest["signature"]) == ("text:natural" in ended.stdout) == (form is not None)
    assert ("tseval writes sentences as natural text: 'The " in ended.stdout) == (form is not None)
    verified = succeed("verify", tmp_path / "run", "--model", model, "--rescore", "all", cwd=folder)
    assert "rerun" in verified.stdout


@pytest.mark.slow
def test_a_form_is_part_of_what_a_run_is(folder, tmp_path):
    run(folder, "--model", "hf:pieces", "--out", tmp_path / "natural")
    run(folder, "--model", "hf:pieces", "--out", tmp_path / "tokens", "--text", "tokenised")
    one, other = (tseval.read_run(tmp_path / name) for name in ("natural", "tokens"))
    assert "text:" not in other.manifest.signature  # as in runs made before there were forms
    assert not np.allclose(one.verdicts["better_score"], other.verdicts["better_score"])
    again = "--limit", "4", "--text", "tokenised", "--out", tmp_path / "natural", "--resume"
    resumed = refuse("run", "--case", "prep_anim", "--model", "hf:pieces", *again, cwd=folder)
    assert "text: natural" in resumed.stderr
    both = tmp_path / "natural", tmp_path / "tokens"
    succeed("report", *both, "-o", tmp_path / "page.html", cwd=folder)
    said = "pieces ({}) read natural text and pieces ({}) read tokens, so differences may come from".format(
        *(path.name for path in both)
    )
    page = (tmp_path / "page.html").read_text("utf-8")
    assert said in page
    assert page.count("text:natural") >= 1
    for command in (["table"], ["table", "--against", str(both[0])], ["analyze", "pairwise"]):
        shown = succeed(*command, *both, cwd=folder).stdout
        assert said in shown  # two rows of one model, with the difference between them
        assert "text:natural" in shown


@pytest.mark.slow
def test_what_is_typed_is_as_written_unless_it_is_chosen_otherwise(folder, tmp_path):
    pair = "i do n't laugh .", "i does n't laugh ."
    (tmp_path / "lines.txt").write_text("\n".join(pair))
    (tmp_path / "pairs.csv").write_text("good,bad\n{},{}\n".format(*pair))
    for command in (
        ["pair", *pair],
        ["surprisal", tmp_path / "lines.txt"],
        ["surprisal", tmp_path / "pairs.csv"],
    ):
        command += ["--model", "hf:pieces"]
        read = {
            text: succeed(*command, *(["--text", text] if text else []), cwd=folder).stdout
            for text in ("", "as-written", "tokenised", "natural", "auto")
        }
        assert read[""] == read["as-written"] == read["tokenised"] != read["natural"] == read["auto"]
    written = [RULES.write(text)[0] for text in pair]
    one, other = (
        call("pair", *texts, "--model", "hf:pieces", "--text", text, cwd=folder).stderr.splitlines()[0]
        for texts, text in ((pair, "natural"), (written, "as-written"))
    )
    assert one == other
    refused = refuse("pair", *pair, "--model", "bundled:lstm", "--text", "natural")
    assert "lstm reads tokenised text, with spaces between words" in refused.stderr


def test_what_has_no_other_form_is_one_message(folder):
    suite = tseval.load_suite("marvin_linzen", cases=["prep_anim"], limit=2)
    with pytest.raises(ModelError, match=r"--text natural: lstm reads tokenised text"):
        as_read(open_model("bundled:lstm"), suite, "natural")
    (folder / "pairs.jsonl").write_text(json.dumps({"good": "I laugh.", "bad": "I laughs."}) + "\n")
    data = tseval.load_suite(folder / "pairs.jsonl")
    pieces = open_model(f"hf:{folder / 'pieces'}")
    with pytest.raises(
        SuiteError, match=r"--text natural: the suite 'pairs' has no rules for writing its sentences"
    ):
        as_read(pieces, data, "natural")
    assert as_read(pieces, data, "auto") is pieces
    with pytest.raises(SuiteError, match=r"--text old: .*natural"):
        as_read(pieces, suite, "old")  # type: ignore[arg-type] # as of a user
    assert "'old' is not one of" in refuse("run", "--model", "hf:pieces", "--text", "old", cwd=folder).stderr


# A sentence of each suite in ordinary spelling, and the start of the SHA-256 of all its sentences in that
# spelling, one per line. A sample of each suite was read by a person.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "tokens", "written", "digest"),
    [
        ("clams_english", "the author laughs", "The author laughs", "28cba9f642108b90"),
        ("clams_french", "le pilote qui admire l' architecte parlent",
         "Le pilote qui admire l'architecte parlent", "634a73020d122dc9"),
        ("clams_german", "der Pilot , der die Architekten mag , lacht",
         "Der Pilot, der die Architekten mag, lacht", "54cc34a383ec0125"),
        ("clams_hebrew", "ה טייס ש מכיר את ה בנאי נוסעים", "הטייס שמכיר את הבנאי נוסעים", "233a62d976315ff0"),
        ("clams_russian", "пилот , которого художники любит , ждал",
         "Пилот, которого художники любит, ждал", "5fddd923ffa11f8d"),
        ("marvin_linzen", "few authors have ever been famous .", "Few authors have ever been famous.",
         "9071d0e05df74413"),
    ],
)  # fmt: skip
def test_suites_are_written_as_their_language_is(name, tokens, written, digest):
    suite = tseval.load_suite(name)
    sentences = [str(text) for text in sentences_of(suite).to_pylist()]
    assert tokens in sentences
    assert suite.writing is not None
    assert suite.writing.write(tokens)[0] == written
    natural = [suite.writing.write(text)[0] for text in sentences]
    assert len(set(natural)) == len(sentences)  # all sentences stay different
    assert hashlib.sha256("\n".join(natural).encode()).hexdigest().startswith(digest)
    for text, one in zip(sentences, natural, strict=True):
        assert one.replace(" ", "").lower() == text.replace(" ", "").lower()
        assert " ," not in one
        assert " ." not in one
        assert one[0] == one[0].upper()


@pytest.mark.parametrize(
    ("writing", "message"),
    [
        ("klingon", r"the key `writing` names 'klingon', for which .*Languages: afrikaans"),
        (
            "{language: german, capitals: true}",
            "the key `writing` has a rule 'capitals', which tseval does not know. Did you mean 'capital'",
        ),
        (
            "{capital: perhaps}",
            "in the key `writing`, the rule `capital` has the wrong value 'perhaps'.\n  Write true or false",
        ),
        (
            "{close_before: x}",
            (
                "in the key `writing`, the rule `close_before` has the wrong value 'x'.\n  Write a list of "
                "tokens"
            ),
        ),
        ("{spelling: [a]}", r"the rule `spelling` has the wrong value \['a'\].\n  Write a mapping of tokens"),
    ],
)
def test_a_rule_that_is_none_is_one_message(tmp_path, writing, message):
    (tmp_path / "suite.yaml").write_text(f"title: Mine\nwriting: {writing}\n")
    (tmp_path / "case.jinja").touch()
    with pytest.raises(SuiteError, match=message):
        read_folder(tmp_path)


def test_a_suite_adds_rules_of_its_own(tmp_path):
    writing = "{language: english, close_after: [un-], spelling: {paul: Paul}, quotes: ['*']}"
    (tmp_path / "suite.yaml").write_text(f"title: Mine\nwriting: {writing}\n")
    (tmp_path / "case.jinja").touch()
    rules = read_folder(tmp_path).writing
    assert rules is not None
    assert rules.write("the un- seen * joke * of paul .")[0] == "The un-seen *joke* of Paul."
    (tmp_path / "suite.yaml").write_text("title: Mine\nwriting: null\n")
    assert read_folder(tmp_path).writing is None


@pytest.mark.slow
def test_a_suite_is_written_out_in_either_form(tmp_path):
    written = call(
        "expand", "clams_german", "--case", "subj_rel", "--limit", "1", "--text", "natural", "--no-header"
    )
    assert written.stdout.split("\t")[1] == "Der Schriftsteller, der den Wächter mag, schwimmt"
    (tmp_path / "pairs.jsonl").write_text(json.dumps({"good": "I laugh.", "bad": "I laughs."}) + "\n")
    # Data keep the spelling of their authors.
    succeed("export", "lm-eval", tmp_path / "pairs.jsonl", "-o", tmp_path / "data", "--text", "natural")
    refused = refuse("expand", tmp_path / "pairs.jsonl", "--text", "natural")
    assert "--text natural" in refused.stderr
    tokens = "expand", "clams_german", "--case", "subj_rel", "--limit", "1"
    ended = call(*tokens, "--text", "tokenised").stdout
    assert call(*tokens, "--text", "as-written").stdout == ended
    assert [one.removesuffix(" .") for one in ended.replace("\n", "\t").split("\t")] == (
        call(*tokens).stdout.replace("\n", "\t").split("\t")
    )
    for text, sentence in (("natural", "The author laughs."), ("tokenised", "the author laughs .")):
        call("export", "lm-eval", "marvin_linzen", "--limit", "1", "--text", text, "-o", tmp_path / text)
        assert any(f'"{sentence}"' in file.read_text() for file in (tmp_path / text).rglob("*.jsonl"))
