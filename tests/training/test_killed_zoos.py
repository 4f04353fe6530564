"""Zoos and publications that were killed early are taken up; folders of something else are not."""

import pytest

from tseval.errors import TrainingError
from tseval.training.zoo.plan import Corpus, plan, read_corpus, read_record, settle
from tseval.training.zoo.publish import MARK, _holds_model, check_target
from tseval.training.zoo.recipe import read_recipe


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
        "\ud800",
    ],
)
def test_a_record_that_cannot_be_read_is_one_message(tmp_path, record):
    (tmp_path / "zoo.json").write_text(record, errors="surrogatepass")
    with pytest.raises(TrainingError, match=r"no zoo: it has no zoo\.json that could be read"):
        read_record(tmp_path)


def test_the_record_stands_before_anything_else_of_a_zoo(tmp_path):
    (tmp_path / "zoo.json").mkdir()  # so that it cannot be written
    with pytest.raises(TrainingError):
        settle(tmp_path, Corpus(tmp_path, {}), plan(read_recipe("small"), ["srn"], 1, tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"zoo.json"}


@pytest.fixture
def texts(tmp_path):
    """A corpus, and another text beside it."""
    for name in ("corpus/train.txt.gz", "corpus/valid.txt.gz", "more/extra.txt", "more/train.txt.gz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def test_more_texts_are_handed_on_to_every_model_in_order(texts):
    corpus = read_corpus(texts / "corpus", (texts / "more/extra.txt",))
    (model,) = plan(read_recipe("small"), ["srn"], 1, texts / "zoo")
    (_, training), _ = model.stages(corpus)
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
        with pytest.raises(TrainingError, match=r"trained on train.txt.gz, valid.txt.gz.*, not on train"):
            settle(zoo, other, [])


def test_texts_of_a_zoo_have_names_of_their_own_and_are_there(texts):
    with pytest.raises(TrainingError, match=r"more/train.txt.gz: the corpus has a train.txt.gz already"):
        read_corpus(texts / "corpus", (texts / "more/train.txt.gz",))
    with pytest.raises(TrainingError, match=r"absent.txt: No such file or directory"):
        read_corpus(texts / "corpus", (texts / "absent.txt",))


@pytest.mark.parametrize("left", [["README.md.11.partial"], ["README.md"], ["README.md", "srn"]])
def test_a_publication_killed_before_its_board_is_taken_up(tmp_path, left):
    for name in left:
        (tmp_path / name).write_text(f"{MARK} Unfinished: publish again.")
    check_target(tmp_path)


@pytest.mark.parametrize("name", ["README.md", "thesis.tex", "notes.partial", "board.json"])
def test_a_folder_of_something_else_is_no_publication(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(TrainingError, match="something else"):
        check_target(tmp_path)


def test_only_folders_of_models_are_replaced(tmp_path):
    assert _holds_model(tmp_path)  # begun
    (tmp_path / "table.md").touch()
    assert _holds_model(tmp_path)  # half copied, or half removed
    (tmp_path / "thesis.tex").touch()
    assert not _holds_model(tmp_path)
