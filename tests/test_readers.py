"""Random bytes and mutations of a valid file: each reader gives a result or one message, in limited memory.

The readers run in a separate process with limited memory and time (`bounded.py`).
"""

import shutil
from pathlib import Path

import pytest
from bounded import hold, outcomes
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from in_process import run_process
from small import make_case, make_run, make_suite
from systems import needs_linux

from tseval.models import Vocabulary
from tseval.models.checkpoint import save_checkpoint
from tseval.models.network import LanguageModel, Sizes

pytestmark = needs_linux

WRITE = Path(__file__).parent / "models" / "published" / "write.py"
STARTS = [
    b"",
    b"PK\x03\x04",
    b"\x80\x02",
    b"\x80\x02}",
    b"PAR1",
    b"\x08\0\0\0\0\0\0\0{",
    b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.",
]
KINDS = {
    "zip": "hostile_pickles:read_checkpoint",
    "safetensors": "hostile_pickles:read_checkpoint",
    "old": "hostile_pickles:read_published",
    "module": "hostile_pickles:read_published",
    "parquet": "hostile_pickles:read_verdicts",
}  # fmt: skip


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Return a folder with a valid file of every kind, named by the kind, and a vocabulary."""
    folder = tmp_path_factory.mktemp("sound")
    words = Vocabulary(("<eos>", "<unk>", "the", "author"), True)
    model = LanguageModel(Sizes("lstm", len(words), 4, 4, 1)).eval()
    for name in ("zip.pt", "safetensors.safetensors"):
        save_checkpoint(folder / name, model, words, training={"a": 1}, validation_perplexity=2.0)
        (folder / name).rename(folder / name.partition(".")[0])
    run_process(["python", WRITE, folder], check=True)
    for kind, made in (("old", "lstm-old.pt"), ("module", "lstm-zip.pt")):
        shutil.copy(folder / made, folder / kind)
    make_run(
        make_suite(make_case("a", [("a b", "a c")], features={"n": [1]})), {"b": -0.5}, path=folder / "run"
    )
    shutil.copy(folder / "run" / "verdicts.parquet", folder / "parquet")
    return folder


changes = st.lists(st.tuples(st.integers(0, 2**30), st.integers(0, 255)), min_size=1, max_size=20)
lengths = st.one_of(st.none(), st.integers(0, 2**30))


def mutated(content, edits, length):
    changed = bytearray(content)
    for place, value in edits:
        changed[place % len(changed)] = value
    return bytes(changed[: len(changed) if length is None else length % len(changed)])


def draws(strategy):
    """Draw many examples at a time, the same in every run: the reading process takes seconds to start."""
    found = []

    @settings(
        max_examples=2, derandomize=True, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.lists(strategy, min_size=40, max_size=60))
    def draw(drawn):
        found.extend(drawn)

    draw()
    assert len(found) >= 80
    return found


@pytest.fixture(scope="module")
def found(sound):
    """Return the outcome of each drawn file by its origin and kind; one process reads all files."""
    changed = draws(st.tuples(changes, lengths))
    any_bytes = [
        start + rest for start, rest in draws(st.tuples(st.sampled_from(STARTS), st.binary(max_size=300)))
    ]
    paths = {}
    for kind in KINDS:
        content = (sound / kind).read_bytes()
        mutations = [content, *(mutated(content, *how) for how in changed)]
        for drawn, contents in (("mutated", mutations), ("any bytes", any_bytes)):
            paths[drawn, kind] = own = [sound / f"{drawn}-{kind}-{i}.pt" for i in range(len(contents))]
            for path, bytes_of_it in zip(own, contents, strict=True):
                path.write_bytes(bytes_of_it)
    read = iter(outcomes([(KINDS[kind], path) for (_, kind), own in paths.items() for path in own]))
    return {drawn: [(path, next(read)) for path in own] for drawn, own in paths.items()}


def outcomes_held(found, drawn, kind):
    paths, ends = zip(*found[drawn, kind], strict=True)
    hold(paths, ends)
    return [how for how, _ in ends]


@pytest.mark.slowest
@pytest.mark.parametrize("kind", KINDS)
def test_a_mutated_file_is_read_or_refused(found, kind):
    assert outcomes_held(found, "mutated", kind)[0] == "read"  # the first file is unchanged


@pytest.mark.slowest
@pytest.mark.parametrize("kind", KINDS)
def test_any_bytes_are_refused_in_one_message(found, kind):
    assert set(outcomes_held(found, "any bytes", kind)) == {"refused"}
