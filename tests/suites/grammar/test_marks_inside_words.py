"""A region may begin or end inside a word: sub-word models score it by pieces, word models refuse it."""

import numpy as np
import pytest
import torch
import transformers
from checkpoints import bpe_tokenizer, save_causal
from in_process import call

from tseval.runs import read_run
from tseval.suites.grammar.marks import read_marks
from tseval.writing import BOUNDARY

HEAD = "---\nconstruction: C\nphenomenon: P\n"
THING = "lexicon: {noun: {thing: [{sing: arbre}, {sing: objet}]}}\n"
THING += "slots: {noun: {class: noun.thing, number: sing}}\n"
NOUN = "regions: [noun]\npredictions: {noun: bad.noun > good.noun}\n"
FRENCH = f"{HEAD}language: french\n{THING}{NOUN}---\n"
FRENCH += "good: elle voit l'[noun {{ noun }}] ici\nbad:  elle voit la [noun {{ noun }}] ici\n"
ENGLISH = f"{HEAD}lexicon: {{verb: {{v: [{{sing: laughs}}, {{sing: walks}}]}}}}\nslots: {{verb: verb.v}}\n"


@pytest.mark.parametrize(
    ("marked", "text", "lengths"),
    [
        ("voit l'[noun arbre] ici", "voit l'|arbre ici", (2, 1, 1)),
        ("鉛筆が[classifier 三本][verb ある]", "鉛筆が|三本|ある", (1, 1, 0, 1, 0)),
        ("[stem laugh]s loudly", "laugh|s loudly", (0, 1, 2)),
        ("un[stem happy][noun ness] grows", "un|happy|ness grows", (1, 1, 0, 1, 1)),
        ("the [stem old man]'s hat", "the old man|'s hat", (1, 2, 2)),
        ("a[stem]b", "a|b", (1, 0, 1)),
        ("a [stem] b", "a b", (1, 0, 1)),
        ("[stem a] [noun b]", "a b", (0, 1, 0, 1, 0)),
    ],
)
def test_a_mark_inside_a_word_leaves_a_boundary_there(marked, text, lengths):
    found = read_marks(marked, ["noun", "stem", "classifier", "verb"])
    assert (found.text.replace(BOUNDARY, "|"), found.lengths) == (text, lengths)
    assert len(found.text.split()) == sum(lengths)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Save a model of byte-level pieces that begin where an apostrophe ends."""
    path = tmp_path_factory.mktemp("model")
    texts = ["Elle voit l'arbre ici.", "Elle voit la arbre ici.", "Elle voit l'objet ici.", "walks"] * 9
    save_causal(path, "gpt2", bpe_tokenizer(texts=texts, size=290))
    return path


def write(folder, text):
    (folder / "case.jinja").write_text(text, "utf-8")
    return folder / "case.jinja"


def test_a_region_has_the_pieces_that_begin_in_it(tmp_path, model):
    out = tmp_path / "run"
    path, summed = write(tmp_path, FRENCH), ("--model-args", "words=pieces")
    done = call("run", "--model", f"hf:{model}", *summed, "--suite", path, "--out", out, "--quiet")
    assert done.returncode == 0, done.stderr
    verdicts = read_run(out).load_verdicts()
    assert not any(verdicts["undecidable"].to_pylist())
    network = transformers.AutoModelForCausalLM.from_pretrained(model).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    for row, noun in enumerate(("arbre", "objet")):
        before, region = "Elle voit l'", noun
        ids = [tokenizer.encode(before), tokenizer.encode(region)]
        assert tokenizer.encode(f"{before}{region} ici.")[: len(ids[0] + ids[1])] == ids[0] + ids[1]
        tokens = torch.tensor([[tokenizer.bos_token_id, *ids[0], *ids[1]]])
        with torch.no_grad():
            logprobs = network(tokens).logits.log_softmax(-1)[0]
        own = range(len(ids[0]) + 1, tokens.shape[1])
        expected = -sum(float(logprobs[place - 1, tokens[0, place]]) for place in own)
        assert np.isclose(verdicts["good.noun"][row].as_py(), expected, atol=1e-4)


def test_a_piece_over_two_regions_is_said_and_makes_its_items_undecidable(tmp_path, model):
    text = f"{ENGLISH}regions: [ending]\npredictions: {{p: bad.ending > good.ending}}\n---\n"
    text += 'good: she {{ verb.sing[0] ~ "al" }}[ending ks]\nbad: they {{ verb.sing[0] ~ "al" }}[ending ks]\n'
    out = tmp_path / "run"
    done = call("run", "--model", f"hf:{model}", "--suite", write(tmp_path, text), "--out", out)
    assert done.returncode == 0, done.stderr
    verdicts = read_run(out).load_verdicts()
    assert verdicts["undecidable"].to_pylist() == [False, True]
    assert "some pieces span two regions or words, such as 'walks'" in done.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("text", "word"),
    [(FRENCH, "l'arbre"), (FRENCH.replace("l'[noun {{ noun }}]", "[noun {{ noun }}]s"), "arbres")],
)
def test_a_model_of_words_is_refused_and_the_word_named(tmp_path, text, word):
    path = write(tmp_path, text)
    done = call("run", "--model", "bundled:lstm", "--suite", path, "--out", tmp_path / "run")
    assert done.returncode == 2
    assert f"a region begins or ends inside the word {word!r}" in done.stderr
    assert not (tmp_path / "run").exists()


def test_lint_and_expand_show_such_sentences_as_they_are_read(tmp_path):
    path = write(tmp_path, FRENCH.replace("---\ngood", "expect: {good: elle voit l'arbre ici}\n---\ngood"))
    assert call("lint", path, "--quiet").stdout == ""
    assert "elle voit l'arbre ici\telle voit la arbre ici" in call("expand", path).stdout
    assert "Elle voit l'arbre ici." in call("expand", "--text", "natural", path).stdout
