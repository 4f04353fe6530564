"""Hostile weight files: no code in them runs, none takes much memory or time, and each gets one message."""

import io
import re
from contextlib import chdir

import pytest
import torch
from bounded import hold, outcomes
from hostile_pickles import FORMS, PICKLES, in_zip, tensor, text, weights, write_all
from systems import needs_linux

from tseval.errors import ModelError
from tseval.models.checkpoint import load_checkpoint
from tseval.models.pickles import read_pickle

pytestmark = needs_linux

READERS = {
    "zip": "hostile_pickles:read_checkpoint",
    "old": "hostile_pickles:read_published",
    "module": "hostile_pickles:read_published",
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """Return how reading ended for each file of every form; one process reads all files."""
    folder = tmp_path_factory.mktemp("hostile")
    paths = {form: write_all(folder / form, form) for form in FORMS}
    with chdir(folder):
        read = iter(outcomes([(READERS[form], path) for form, own in paths.items() for path in own]))
    assert not (folder / "executed").exists()
    return {form: (own, [next(read) for _ in own]) for form, own in paths.items()}


@pytest.mark.slowest
@pytest.mark.parametrize("form", FORMS)
def test_a_hostile_pickle_gets_one_message(ended, form):
    paths, found = ended[form]
    hold(paths, found)
    assert [path.stem for path, (how, _) in zip(paths, found, strict=True) if how != "refused"] == []
    # tseval's advice may start a new line; text from the file may not.
    advice = re.compile(
        r"\n  (Copy or download|Save the weights|Save only|For a transformers|For any other|Update)\b.*"
    )
    assert all(advice.sub("", message).isprintable() for _, message in found)


def refusal(path):
    with pytest.raises(ModelError) as error:
        load_checkpoint(path)
    return str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "bytearray",
            "tseval refuses this file and ran none of its code: its Python pickle would call "
            "'builtins.bytearray'",
        ),
        ("lone mark", "truncated or damaged pickle (pop from empty list)"),
        ("bad memo", "truncated or damaged pickle (7)"),
        (
            "persistent number",
            "its Python pickle refers to data outside the pickle, but not to the numbers of a tensor",
        ),
        ("negated", "is stored as negated or conjugated"),
        ("conjugated", "is stored as negated or conjugated"),
        ("view of one number", "a shape but no numbers"),
        ("overlapping views", "its tensors need 800,000,000 bytes, but the file has"),
        ("storage of two types", "its Python pickle describes the same numbers in two ways"),
        ("laughs", "uses the same parts again and again"),
        ("laughs of text", "its data are nested too deeply to be read"),
        ("list in itself", "its data are nested too deeply to be read"),
        ("deep lists", "its data are nested too deeply to be read"),
        ("large number", "an integer of more than 4,096 bits"),
        ("negative stride", "has an unknown description"),
        ("sizes without end", "has an unknown description"),
        ("sizes beyond", "it has fewer numbers than the size of a tensor needs"),
        ("size as a device", "its Python pickle would call 'torch.Size'"),
        ("storage alone", "its Python pickle holds a StorageView, which is not plain data"),
        ("storage elsewhere", "the file is damaged: it has no part 'archive/data/../data.pkl'"),
    ],
)
def test_the_message_says_what_is_wrong(tmp_path, name, said):
    path = tmp_path / "hostile.pt"
    path.write_bytes(in_zip(PICKLES[name]))
    message = refusal(path)
    assert f"{path}: " in message
    assert said in message


def test_a_pickle_that_is_longer_than_any_of_ours_is_not_read(tmp_path):
    path = tmp_path / "long.pt"
    path.write_bytes(in_zip(weights(text("x" * 2**26))))
    assert "tseval refuses this file: its Python pickle has more than 67,108,864 bytes" in refusal(path)
    with pytest.raises(
        ModelError, match="tseval refuses this file: its Python pickle has more than 50 instructions"
    ):
        read_pickle(io.BytesIO(b"\x80\x02" + b"N0" * 30 + b"N."), max_instructions=50)


def test_what_the_hostile_pickles_are_made_of_is_what_torch_writes(tmp_path):
    path = tmp_path / "sound.pt"
    path.write_bytes(in_zip(weights(tensor(shape=(2, 2), stride=(2, 1)))))
    read = torch.load(path, weights_only=True)["weights"]["w0"]
    assert torch.equal(read, torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert refusal(path).endswith("sizes: is missing")
    for name, bit in (("negated", torch.Tensor.is_neg), ("conjugated", torch.Tensor.is_conj)):
        path.write_bytes(in_zip(PICKLES[name]))
        if name == "negated":
            assert bit(torch.load(path, weights_only=True)["weights"]["w0"])
