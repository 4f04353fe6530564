"""Pickles with shared parts or unusual numbers end in one message at once."""

import io
import pickle
import time
import zipfile

import pytest
import torch

from tseval.errors import ModelError
from tseval.formats import is_count
from tseval.models.pickles import MOST_UNFOLDED, Pickled, read_pickle, refuse_unfolding
from tseval.models.saved_words import as_words, find_words, read_words
from tseval.models.state_files import find_states
from tseval.models.states import open_state
from tseval.models.walks import Walk, path_within


def nested(depth, make):
    value = ["a", "b"]
    for _ in range(depth):
        value = make(value)
    return value


SHARED = {
    "lists": lambda one: [one, one],
    "tuples": lambda one: (one, one),
    "dictionaries": lambda one: {"w1": one, "w2": one},
    "words": lambda one: {"vocab": one, "words": one},
    "records": lambda one: Pickled("a.B", (one,), {"x": one}),
}


@pytest.mark.parametrize("kind", SHARED)
def test_parts_that_are_shared_at_every_level_are_refused_at_once(kind):
    began = time.monotonic()
    with pytest.raises(ModelError, match="uses the same parts again and again"):
        refuse_unfolding(nested(200, SHARED[kind]))
    assert time.monotonic() - began < 1


@pytest.mark.parametrize("kind", SHARED)
def test_walks_meet_a_shared_part_once_at_each_depth(kind):
    value = nested(3_000, SHARED[kind]) if kind != "tuples" else nested(500, SHARED[kind])
    began = time.monotonic()
    assert len(list(find_states(value))) == 0
    assert len(list(find_words(value))) <= 2
    assert time.monotonic() - began < 2


def test_what_is_shared_a_few_times_or_holds_itself_is_read():
    words = [f"w{i}" for i in range(1_000)]
    refuse_unfolding({"a": words, "b": words, "c": [words] * 1_000})
    around: dict[str, object] = {"a": 1}
    around["self"] = around
    refuse_unfolding(around)
    assert [place for place, _ in find_words({"vocab": words, "more": {"vocab": words}})] == [
        "vocab",
        "more.vocab",
    ]


def test_the_bound_counts_containers_as_often_as_they_are_met():
    one = [[]] * 100
    for _ in range(3):
        one = [one] * 100
    with pytest.raises(ModelError):
        refuse_unfolding(one)
    assert MOST_UNFOLDED < 100**4


def test_a_walk_counts_up_to_its_bound():
    walk = Walk(3)
    assert walk.enters({}, 1)
    assert not walk.enters(one := {}, 1) or walk.enters(one, 2)
    with pytest.raises(ModelError, match="more than 3 parts"):
        walk.enters(list(range(10)), 1)


def test_a_place_does_not_grow_with_its_names():
    assert path_within("a", "b") == "a.b"
    assert len(path_within("", "x" * 10**6)) < 200


ODD = {
    "a long number": {10**5_000: 1},
    "a number of 61 bits": {2**61 - 1: "a", 0: "b"},
    "a long value": {"a": 10**5_000, "b": 1},
}


@pytest.mark.parametrize("kind", ODD)
def test_numbers_that_nothing_needs_are_refused(kind):
    with pytest.raises(ModelError, match="an integer"):
        read_pickle(io.BytesIO(pickle.dumps(ODD[kind], 2)))


def test_copies_of_one_list_are_counted():
    # A list of 50,000 pairs that is converted to a dictionary a thousand times.
    pairs = [[str(i), i] for i in range(5_000)]
    head = pickle.dumps(pairs, 2)[:-1]
    call = b"ccollections\nOrderedDict\n(h\x00tR0"
    with pytest.raises(ModelError, match="must copy more than"):
        read_pickle(io.BytesIO(head + call * 300 + b"."), frozenset({"collections.OrderedDict"}))


@pytest.mark.parametrize("text", ["²", "⅕", "1_0", "", "1" * 19, "-1", "+1", "1.0"])
def test_ids_that_are_no_whole_numbers_make_no_vocabulary(text):
    assert not is_count(text)
    assert as_words({text: "a", "0": "b"}) is None


def test_ids_in_other_digits_are_numbers():
    assert as_words({"٠": "a", "١": "b"}) == ["a", "b"]


@pytest.mark.parametrize(
    "content", ['{"²": "a", "0": "b"}', '{"a": ' + "9" * 5_000 + ', "b": 1}', "[" * 50_000]
)
def test_a_vocabulary_in_json_ends_in_a_message_that_names_the_file(content, tmp_path):
    (tmp_path / "v.json").write_text(content)
    with pytest.raises(ModelError, match=r"v\.json"):
        read_words(tmp_path / "v.json")


def test_whatever_else_a_checkpoint_holds_is_said_of_its_file(tmp_path, monkeypatch):
    torch.save({"weight": torch.zeros(2, 2)}, tmp_path / "m.pt")
    for error in (
        ZeroDivisionError("x"),
        ValueError("x"),
        KeyError("x"),
        TypeError("x"),
        AttributeError("x"),
    ):

        def fail(*_, error=error):
            raise error

        monkeypatch.setattr("tseval.models.states.choose_state", fail)
        with pytest.raises(ModelError, match=r"m\.pt: damaged checkpoint"):
            open_state(tmp_path / "m.pt", {})


@pytest.mark.parametrize("heads", [0, -1, True, 10**30, "2", None])
def test_a_nanogpt_without_heads_is_refused(heads, tmp_path):
    pytest.importorskip("transformers")
    from tseval.adapters import open_model  # noqa: PLC0415 - brings transformers

    tensors = {"transformer.wte.weight": torch.zeros(4, 6), "transformer.wpe.weight": torch.zeros(4, 6)}
    torch.save({"model": tensors, "model_args": {"n_head": heads}}, tmp_path / "ckpt.pt")
    with pytest.raises(ModelError):
        open_model(str(tmp_path / "ckpt.pt"))
    assert zipfile.is_zipfile(tmp_path / "ckpt.pt")
