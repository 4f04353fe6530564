"""Corpora of several files on disk: the same stream as in memory, cached one time, and always checked."""

import gzip
import hashlib
import random
import struct
import sys
from io import BytesIO
from typing import Any

import pytest
import torch
from in_process import refuse, run_process
from small_training import WORDS, Quiet, assert_same, interrupt, outcome
from systems import needs_linux, needs_posix

from tseval.errors import LimitError, TrainingError
from tseval.files import cache_folder
from tseval.models.checkpoint import load_checkpoint
from tseval.training.corpus import (
    Lines,
    _write,
    columns,
    count_words,
    encode_text,
    file_facts,
    map_text,
    number_text,
)

CPU = torch.device("cpu")
SENTENCES = ["The author laughs .", "the authors laugh .", "", "An author  laughs ."]
LARGE = 300_000  # lines, more than a million words


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def write_text(path, lines, seed=0):
    text = "\n".join(random.Random(seed).choices(SENTENCES, k=lines)) + "\n"
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode())
    return path


@pytest.fixture
def files(tmp_path):
    return [write_text(tmp_path / name, 200, seed) for seed, name in enumerate(("a.txt", "b.txt.gz"))]


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return write_text(tmp_path_factory.mktemp("large") / "large.txt", LARGE)


def the_cache():
    (kept,) = cache_folder().iterdir()
    return kept


def replace_cache(content):
    """Replace the cache by another file; a memory-mapped file must not change."""
    kept = the_cache()
    kept.unlink()
    kept.write_bytes(content)


def same(one, other):
    return one.words == other.words and (one.numbers == other.numbers).all() and one.sha256 == other.sha256


def test_words_are_numbered_as_they_come_and_lines_end_in_nought(tmp_path):
    (tmp_path / "text").write_text("b a\tb\n \nA\n")
    text = number_text(tmp_path / "text")
    assert text.numbers.tolist() == [1, 2, 1, 0, 3, 0]
    assert text.words[1:] == ["b", "a", "A"]
    assert text.sha256 == hashlib.sha256(b"b a\tb\n \nA\n").hexdigest()


@pytest.mark.slow
def test_a_word_is_lower_cased_by_itself_as_in_its_line():
    # No letter becomes white space, and only neighbours within a word change a letter (as with sigma).
    for code in (code for code in range(0x110000) if not 0xD800 <= code < 0xE000):
        line = f"A{chr(code)} Σ{chr(code)}Σ {chr(code)}Σ B"
        assert [word.lower() for word in line.split()] == line.lower().split(), hex(code)


def test_several_files_are_one_stream_as_if_they_were_one_file(tmp_path, files):
    (tmp_path / "whole").write_bytes(files[0].read_bytes() + gzip.decompress(files[1].read_bytes()))
    whole = [tmp_path / "whole"]
    assert count_words(files, lowercase=True) == count_words(whole, lowercase=True)
    assert torch.equal(encode_text(files, WORDS), encode_text(whole, WORDS))
    for path in (*files, *whole):
        assert file_facts(path).tokens == len(encode_text([path], WORDS)) - 1


def test_what_is_read_from_disk_is_what_is_read_from_memory(files):
    disk, memory = map_text(files, WORDS), encode_text(files, WORDS)
    for batch in (1, 4, 7):
        one, other = columns(disk, batch), columns(memory, batch)
        assert (len(one), one.shape[1]) == other.shape
        for start in range(0, len(other), 15):
            assert torch.equal(one[start : start + 16], other[start : start + 16])
    on_disk, in_memory = Lines(disk, 0, 6), Lines(memory, 0, 6)
    for index in range(in_memory.n_windows):
        ours, theirs = on_disk.read(index, CPU), in_memory.read(index, CPU)
        assert torch.equal(ours.words, theirs.words)
        assert torch.equal(ours.targets, theirs.targets)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"whole_lines": True}])
def test_a_training_may_go_on_from_disk_where_one_from_memory_was_stopped(tmp_path, train, files, settings):
    disk, memory = map_text(files, WORDS), encode_text(files, WORDS)
    valid = encode_text(files[:1], WORDS)
    settings = {"validate_every": 10, **settings}
    train("whole.pt", text=(memory, valid), **settings)
    with pytest.raises(KeyboardInterrupt):
        train("parts.pt", text=(memory, valid), listener=Quiet({10: interrupt}), **settings)
    train("parts.pt", text=(disk, valid), resume=True, **settings)
    assert_same(outcome(tmp_path, "whole"), outcome(tmp_path, "parts"))


def test_the_checkpoint_holds_the_digest_of_the_ids_that_were_learnt(tmp_path, train, files):
    train(text=(map_text(files, WORDS), encode_text(files[:1], WORDS)))
    training: Any = load_checkpoint(tmp_path / "model.pt").training
    ids = b"".join(struct.pack("<q", word) for word in encode_text(files, WORDS).tolist())
    assert training["digests"]["training text"] == hashlib.sha256(ids).hexdigest()


@pytest.mark.slow
def test_a_large_text_is_kept_and_read_from_there(large, tmp_path):
    first = number_text(large)
    before = the_cache().stat()
    assert before.st_size > 4 * len(first.numbers)
    assert same(number_text(large), first)
    assert the_cache().stat() == before, "it was written once"
    # Store another text's numbers under its name: only code that uses the cache reads them.
    kept = the_cache()
    other = number_text(write_text(tmp_path / "other.txt", LARGE, seed=9))
    (new,) = set(cache_folder().iterdir()) - {kept}
    kept.unlink()
    new.rename(kept)
    assert (number_text(large).numbers == other.numbers).all()


def test_a_small_text_is_not_kept(files):
    number_text(files[0])
    assert not cache_folder().exists()


@pytest.mark.slow
def test_the_content_decides_not_the_name(large, tmp_path):
    first = number_text(large)
    (tmp_path / "renamed").write_bytes(large.read_bytes())
    assert same(number_text(tmp_path / "renamed"), first)
    assert the_cache()
    (tmp_path / "renamed").write_bytes(large.read_bytes() + b"the end\n")
    assert number_text(tmp_path / "renamed").numbers[-3:].tolist() != first.numbers[-3:].tolist()


def sealed(numbers, words, tokens=None):
    """Return the content of the cache with its checksum, which anyone can compute."""
    body = struct.pack(f"<{len(numbers)}I", *numbers) + "\n".join(words).encode()
    sizes = len(numbers) if tokens is None else tokens, len("\n".join(words).encode())
    return body + struct.pack(
        "<QQ32s", *sizes, hashlib.sha256(body + struct.pack("<QQ32s", *sizes, b"")).digest()
    )


@pytest.mark.slow
def test_damage_to_what_is_kept_is_noticed(large):
    first = number_text(large)
    raw = the_cache().read_bytes()
    words = ["", "x"]
    damaged = [
        b"", raw[: len(raw) // 2], bytes([raw[0] ^ 1]) + raw[1:], raw[:-1] + bytes([raw[-1] ^ 1]),
        sealed([1, 7, 0], words), sealed([1, 0], words, tokens=10**15),
    ]  # fmt: skip
    for content in damaged:
        replace_cache(content)
        assert same(number_text(large), first), content[:20]
        assert the_cache().read_bytes() == raw, "it was replaced"


def test_a_forged_text_has_another_digest_and_no_run_goes_on_with_it(large, tmp_path, train):
    genuine = map_text([large], WORDS)
    valid = encode_text([large], WORDS)[:500]
    settings = {"validate_every": 5, "batch": 400, "max_tokens": 90_000}
    with pytest.raises(KeyboardInterrupt):
        train(text=(genuine, valid), listener=Quiet({5: interrupt}), **settings)
    text = number_text(large)
    words = {"laughs": "laugh", "laugh": "laughs"}
    forged = [words.get(word, word) for word in text.words]
    replace_cache(sealed(text.numbers.tolist(), forged))
    assert number_text(large).words == forged, "the forgery is one"
    with pytest.raises(TrainingError, match="began with another training text"):
        train(text=(map_text([large], WORDS), valid), resume=True, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["a file", "nowhere"])
def test_without_a_cache_the_text_is_read_as_well(large, tmp_path, monkeypatch, place):
    expected = number_text(large)
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file") if place == "a file" else "/dev/null")
    assert same(number_text(large), expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_what_is_kept_goes_beyond_no_limit(large, monkeypatch):
    number_text(large)
    monkeypatch.setenv("TSEVAL_LIMITS", "line_chars=10")
    with pytest.raises(LimitError, match="line_chars"):
        number_text(large)


def test_a_text_that_changes_while_it_is_read_is_not_kept(files):
    earlier = hashlib.sha256(b"as it was").hexdigest()
    with pytest.raises(TrainingError, match=r"a.txt: the file changed while tseval was reading it"):
        _write(files[0], earlier, BytesIO())


def command(*more, out="model.pt"):
    small = "--arch srn --embedding 4 --hidden 4 --layers 1 --batch 4 --epochs 1 --no-figure"
    return "train", "lm", *small.split(), "--valid", "a.txt", "--out", out, *more


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.txt", "caf\xe9\n".encode("latin-1"),
         "c.txt: the file is not UTF-8 text (invalid continuation byte at byte 3)"),
        ("c.txt.gz", b"the author\n", "c.txt.gz: tseval cannot read this file (Not a gzipped file"),
        ("c.txt", b"\n \n", "c.txt: the file has no words"),
        ("c.txt", None, "c.txt: tseval cannot read this file (No such file or directory)"),
    ],
)  # fmt: skip
def test_a_bad_file_among_several_is_named(tmp_path, files, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    arguments = command("--train", "a.txt", "--train", name, "--train", "b.txt.gz")
    result = refuse(*arguments, cwd=tmp_path)
    assert result.stderr.startswith(f"tseval: {message}"), result.stderr
    assert not (tmp_path / "model.pt").exists()


@pytest.mark.slow
@needs_posix
def test_no_room_for_a_large_text_is_one_message(large, tmp_path):
    # A limit on file sizes simulates a full disk, for the cache and for files without a name.
    write_text(tmp_path / "a.txt", 20)
    quoted = " ".join(command("--train", str(large)))
    program = f"ulimit -f 100; exec {sys.executable} -m tseval {quoted}"
    result = run_process(["bash", "-c", program], cwd=tmp_path)
    assert result.returncode == 2
    assert (
        "large.txt: tseval cannot store the encoded text, because the disk is full (File too large)."
        in result.stderr
    )
    assert "Traceback" not in result.stderr
    assert len(result.stderr) < 500
    assert not list(cache_folder().iterdir())


PROGRAM = """
import resource, sys
from pathlib import Path
import torch
from tseval.models import Vocabulary
from tseval.training.corpus import count_words, map_text
from tseval.training.language_model import windows_of
from tseval.training.loop import identify
from tseval.training.settings import Settings
from tseval.models.network import LanguageModel, Sizes

files, megabytes = [Path(name) for name in sys.argv[2:]], int(sys.argv[1])
model = LanguageModel(Sizes("srn", 9, embedding=4, hidden=4, layers=1))
taken = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData")) * 1024
# What is mapped from a file and never written does not count, all else does.
resource.setrlimit(resource.RLIMIT_DATA, (taken + megabytes * 2**20,) * 2)
counts = count_words(files, lowercase=True)
vocabulary = Vocabulary.from_counts(counts, size=None, min_count=1, lowercase=True)
text, valid = map_text(files, vocabulary), torch.zeros(100, dtype=torch.int64)
settings = Settings(batch=128)
identify(model, vocabulary, (text, valid), settings)
windows, _ = windows_of((text, valid), vocabulary, settings)
read = 0
for index in range(windows.n_windows):
    read += len(windows.read(index, torch.device("cpu")).targets)
print(read)
"""


@needs_linux
@pytest.mark.slow
def test_memory_does_not_grow_with_the_text(tmp_path):
    # 7 million words in two files: 14 MB in the smallest type of a tensor, 56 MB in that of word ids.
    files = [write_text(tmp_path / f"{seed}.txt", 1_200_000, seed) for seed in (1, 2)]
    done = run_process([sys.executable, "-c", PROGRAM, "40", *map(str, files)])
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 7 * 10**6
