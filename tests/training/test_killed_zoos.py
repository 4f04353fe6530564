"""Zoos and publications that were killed early are continued; other folders are left alone."""

import pytest
from killing import in_a_process

from tseval.errors import TrainingError
from tseval.training.zoo import Corpus, plan, read_corpus, read_recipe, read_record, settle
from tseval.training.zoo_board import MARK, check_target, holds_entry


def test_a_zoo_killed_before_its_first_record_is_taken_up(tmp_path):
    for name in (".lock", "zoo.json.11.partial"):
        (tmp_path / name).touch()
    assert read_record(tmp_path) == ({}, {})
    settle(tmp_path, Corpus(tmp_path, {}), plan(read_recipe("small"), ["srn"], 1, tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {".lock", "zoo.json", "models"}
    assert read_record(tmp_path)[1].keys() == {"srn"}


@pytest.mark.parametrize(
    "record",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"texts": {"a": 1}, "models": {}}',
        '{"texts": {}, "models": {"srn": 1}}',
        '{"texts": {}}',
        "\ud800",
    ],
)
def test_a_record_that_cannot_be_read_is_one_message(tmp_path, record):
    (tmp_path / "zoo.json").write_text(record, errors="surrogatepass")
    with pytest.raises(
        TrainingError,
        match=r"has no file zoo\.json that tseval can read, so it is not a "
        r"zoo",
    ):
        read_record(tmp_path)


def test_the_record_stands_before_anything_else_of_a_zoo(tmp_path):
    (tmp_path / "zoo.json").mkdir()  # blocks writing of the file
    with pytest.raises(TrainingError):
        settle(tmp_path, Corpus(tmp_path, {}), plan(read_recipe("small"), ["srn"], 1, tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"zoo.json"}


@pytest.fixture
def texts(tmp_path):
    """Write a corpus and another text next to it."""
    for name in ("corpus/train.txt.gz", "corpus/valid.txt.gz", "more/extra.txt", "more/train.txt.gz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def test_more_texts_are_handed_on_to_every_model_in_order(texts):
    corpus = read_corpus(texts / "corpus", (texts / "more/extra.txt",))
    (model,) = plan(read_recipe("small"), ["srn"], 1, texts / "zoo")
    training = model.unit(corpus).train
    given = [training[at + 1] for at, word in enumerate(training) if word == "--train"]
    assert given == [str(texts / name) for name in ("corpus/train.txt.gz", "more/extra.txt")]


def test_a_zoo_is_not_taken_up_with_more_or_fewer_texts(texts):
    some = read_corpus(texts / "corpus")
    more = read_corpus(texts / "corpus", (texts / "more/extra.txt",))
    for begun, other in ((some, more), (more, some)):
        zoo = texts / f"zoo-{len(begun.digests)}"
        zoo.mkdir()
        settle(zoo, begun, [])
        settle(zoo, begun, [])
        with pytest.raises(
            TrainingError,
            match=r"trained on train.txt.gz, valid.txt.gz.*, but you give "
            r"train",
        ):
            settle(zoo, other, [])


def test_texts_of_a_zoo_have_names_of_their_own_and_are_there(texts):
    with pytest.raises(
        TrainingError, match=r"more/train.txt.gz: the corpus has two files with the name train.txt.gz"
    ):
        read_corpus(texts / "corpus", (texts / "more/train.txt.gz",))
    with pytest.raises(
        TrainingError,
        match=r"absent.txt: tseval cannot read this file of the corpus .No "
        r"such file or directory",
    ):
        read_corpus(texts / "corpus", (texts / "absent.txt",))


@pytest.mark.parametrize("left", [[".lock"], ["README.md.11.partial"], ["README.md"], ["README.md", "srn"]])
def test_a_publication_killed_before_its_board_is_taken_up(tmp_path, left):
    for name in left:
        (tmp_path / name).write_text(f"{MARK} Unfinished: publish again.")
    check_target(tmp_path)


@pytest.mark.parametrize("name", ["README.md", "thesis.tex", "notes.partial", "board.json"])
def test_a_folder_of_something_else_is_no_publication(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(TrainingError, match="not a published zoo"):
        check_target(tmp_path)


@pytest.mark.slow
def test_only_folders_of_entries_are_replaced(tmp_path):
    assert holds_entry(tmp_path)  # just started
    (tmp_path / "entry.yaml").touch()
    assert holds_entry(tmp_path)  # half copied or half removed
    (tmp_path / "thesis.tex").touch()
    assert not holds_entry(tmp_path)


ZOO = """
    import json, sys
    from pathlib import Path
    from killing import different, kill_everywhere
    from small_zoo import SmallZoo, timeless

    place = Path(sys.argv[1])
    zoo = SmallZoo(place)

    def make():
        done = zoo.make("srn")
        assert done.returncode == 0, done.stderr

    def compare(whole, other):
        return different(timeless(whole), timeless(other))

    print(json.dumps(kill_everywhere(make, make, compare, place / "points", every=9)))
"""


@pytest.mark.slowest
def test_a_zoo_killed_at_any_call_of_its_own_goes_on_to_the_same_files_and_leaves_nothing_behind(tmp_path):
    found = in_a_process(ZOO, tmp_path)
    assert found["wrong"] == {}
    assert found["points"] > 10


# Next to the zoo is an earlier publication: one model is new now, one has changed, and one is gone.
# Matplotlib is blocked, because it takes half of the time; figures are written atomically like all files.
PUBLICATION = """
    import json, shutil, sys
    from pathlib import Path
    sys.modules["matplotlib"] = None
    from killing import different, files_below, kill_everywhere
    from small_zoo import SmallZoo
    from tseval.report.published import read_board

    place = Path(sys.argv[1])
    zoo = SmallZoo(place)

    def publish(*archs):
        done = zoo.make(*archs, more=["--publish", "tables"])
        assert done.returncode == 0, done.stderr

    def furnish(folder):
        for name in ("zoo", "tables"):
            shutil.copytree(place / name, folder / name)

    def go_on():
        models = [found for found in Path("tables/entries").glob("*/") if found.suffix != ".partial"]
        for found in models:
            names = {path.name for path in found.iterdir()}
            assert names == {"entry.yaml", "manifest.json", "evidence.parquet"}, (found, names)
        if Path("tables/board.json").exists():
            named = {model.name for model in read_board(Path("tables")).models}
            there = {found.name for found in models}
            assert named - there <= {"srn"}, (named, there)  # which is being replaced
            assert named in ({"srn", "drnn"}, {"srn", "gru"})
        publish("srn", "gru")

    zoo.make("srn", "gru", out=place / "zoo", more=["--publish", place / "tables"])
    (place / "tables/entries/gru").rename(place / "tables/entries/drnn")
    (place / "tables/curves/gru.parquet").rename(place / "tables/curves/drnn.parquet")
    board = (place / "tables/board.json").read_text()
    (place / "tables/board.json").write_text(board.replace('"gru"', '"drnn"'))
    (place / "tables/entries/srn/entry.yaml").write_text("of an older model")
    compare = lambda *folders: different(*map(files_below, folders))
    begin, points = lambda: publish("srn", "gru"), place / "points"
    print(json.dumps(kill_everywhere(begin, go_on, compare, points, furnish, every=9)))
"""


@pytest.mark.slowest
def test_a_publication_killed_at_any_call_is_whole_by_the_model_and_ended_by_the_next(tmp_path):
    found = in_a_process(PUBLICATION, tmp_path)
    assert found["wrong"] == {}
    assert found["points"] > 30
