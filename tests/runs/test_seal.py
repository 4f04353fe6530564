"""A manifest is not trusted: every edit is detected, and named as far as possible."""

import json
from copy import deepcopy
from dataclasses import asdict
from hashlib import sha256

import pytest
from in_process import call
from small import leaves, make_case, make_key, make_run, make_suite, score, with_field

from tseval.errors import RunError
from tseval.runs import find_interrupted, read_run, start_run
from tseval.runs.manifest import seal
from tseval.scoring.engine import Part

SUITE = make_suite(make_case("a", [("a b", "a c"), ("d b", "d c")]))


@pytest.fixture
def path(tmp_path):
    make_run(SUITE, {"b": -0.5}, path=tmp_path / "run", validation_perplexity=50.0)
    return tmp_path / "run"


def manifest_of(path):
    return json.loads((path / "manifest.json").read_text())


def write(path, manifest):
    (path / "manifest.json").write_text(json.dumps(manifest))


def edits(manifest):
    """Return every manifest with one changed value, and the place of the change."""
    made = []
    for where in leaves(manifest):
        if where[0] != "format":
            place = changed = deepcopy(manifest)
            for name in where[:-1]:
                place = place[name]
            place[where[-1]] = altered(place[where[-1]])
            made.append((where, changed))
    return made


def altered(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value}x"


def with_change(manifest, field, value):
    return with_field(manifest, field.split("."), value)


def refusals(path):
    """Return the message of the readers, which must all refuse with the same text."""
    with pytest.raises(RunError) as reading:
        read_run(path)
    with pytest.raises(RunError) as resuming:
        start_run(path, make_key(SUITE), resume=True)
    table = call("table", path)
    assert (table.returncode, table.stdout) == (2, "")
    assert str(reading.value) == str(resuming.value) == table.stderr.strip().removeprefix("tseval: ")
    return str(reading.value)


def test_the_seal_is_over_canonical_json(path):
    manifest = manifest_of(path)
    stated = manifest.pop("seal")

    def digest(value):
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return sha256(text.encode("ascii")).hexdigest()

    assert stated["manifest"] == digest(manifest)
    assert stated["fields"] == {name: digest(value)[:16] for name, value in manifest.items()}
    write(path, dict(reversed(manifest_of(path).items())))
    assert read_run(path).manifest["seal"], "it may be laid out anew"


def test_every_edit_of_a_manifest_is_refused(path):
    made = edits(manifest_of(path))
    assert len(made) > 50
    for where, changed in made:
        write(path, changed)
        with pytest.raises(RunError) as caught:
            read_run(path)
        if where[0] not in {"status", "seal"}:  # other statuses belong to interrupted runs
            assert str(where[0]) in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [("suite.title", "Large 2020"), ("warnings", ["none"]), ("model.details.validation_perplexity", 5.0)],
)
def test_every_reader_refuses_an_edit_and_names_it(path, field, value):
    write(path, with_change(manifest_of(path), field, value))
    name = field.split(".")[0]
    assert refusals(path) == (
        f"{path}/manifest.json was edited: the value of the key `{name}` is not what tseval wrote.\n"
        "  Score the suite again with tseval run, into a new folder."
    )


def test_a_field_that_is_added_and_an_edited_seal_are_named(path):
    manifest = manifest_of(path)
    write(path, manifest | {"verified": True, "device": "tpu"})
    said = refusals(path)
    assert "was edited: the values of the keys `device`, `verified` are not what tseval wrote" in said
    write(path, with_change(manifest, "seal.manifest", "0" * 64))
    assert "was edited: the value of the key `seal` is not what tseval wrote" in refusals(path)


# Without a seal, or with a recomputed one, fields that follow from other fields must still agree.


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("signature", "suite:other", "the key `signature` contradicts the key `key`"),
        ("suite.complete", False, "the key `suite.complete` contradicts the key `key.items`"),
        ("suite.name", "large", "the key `suite.name` contradicts the key `key.suite`"),
        ("suite.digest", "6" * 64, "the key `suite.digest` contradicts the key `key.suite_digest`"),
        ("suite.terminator", "!", "the key `suite.terminator` contradicts the key `key.terminator`"),
        ("suite.n_items", 3, "the key `counts.items` contradicts the key `suite.n_items`"),
        ("suite.n_contrasts", 3, "the key `counts.contrasts` contradicts the key `suite.n_contrasts`"),
        ("model.fingerprint", "b" * 64, "the key `model.fingerprint` contradicts the key `key.fingerprint`"),
        ("model.protocol.dtype", "float64", "the key `model.protocol` contradicts the key `key.protocol`"),
        ("counts.correct", 3, "the key `counts.correct` contradicts the key `counts.contrasts`"),
        (
            "counts.resumed_sentences",
            5,
            "the key `counts.resumed_sentences` contradicts the key `counts.sentences`",
        ),
        ("counts.too_long", 5, "the key `counts.too_long` contradicts the key `counts.undecidable`"),
        ("counts.too_long", -1, "the key `counts.too_long` contradicts the key `counts.undecidable`"),
    ],
)
def test_a_manifest_that_contradicts_itself_is_refused_though_its_seal_holds(
    path, field, value, said, sealed
):
    changed = with_change(manifest_of(path), field, value)
    write(path, changed | {"seal": asdict(seal(changed)) if sealed else None})
    assert f"manifest.json was edited: {said}.\n" in refusals(path)


@pytest.mark.parametrize(
    ("changes", "named", "table"),
    [
        ({"correct": 1}, "correct", "verdicts"),
        ({"correct": 1, "tied": 1}, "correct", "verdicts"),
        ({"tied": -1}, "tied", "verdicts"),
        ({"undecidable": -1}, "undecidable", "verdicts"),
        ({"sentences": 5}, "sentences", "sentences"),
        ({"tokens": 9}, "tokens", "sentences"),
    ],
)
def test_counts_are_held_to_the_tables_when_these_are_read(path, changes, named, table):
    manifest = manifest_of(path)
    manifest["counts"] |= changes
    write(path, manifest | {"seal": asdict(seal(manifest))})
    run = read_run(path)
    with pytest.raises(RunError) as caught:
        getattr(run, table)
    assert str(caught.value) == (
        f"{path}/manifest.json was edited: the number in the key `counts.{named}` is not the number in "
        f"{table}.parquet.\n"
        "  Score the suite again, into a new folder."
    )


def test_a_run_of_before_there_were_seals_is_read(path):
    write(path, with_change(manifest_of(path), "seal", None))
    run = read_run(path)
    assert run.manifest["seal"] is None
    assert len(run.verdicts) == 2
    with start_run(path, make_key(SUITE), resume=True) as writer:
        assert writer.complete


def test_a_complete_manifest_that_is_nested_deeply_is_one_message(path):
    nested = json.loads("[" * 800 + "]" * 800)
    write(path, with_change(manifest_of(path), "model.details.nested", nested))
    assert "manifest.json" in refusals(path)


# A run that was interrupted


@pytest.fixture
def begun(tmp_path):
    """Return the directory of a run that was stopped after its first part."""
    with start_run(tmp_path / "begun", make_key(SUITE)) as writer:
        writer.save_part(0, Part(score(SUITE, {"b": -0.5}), 0))
    return tmp_path / "begun"


def test_every_edit_of_an_interrupted_runs_manifest_is_refused(begun):
    made = edits(manifest_of(begun))
    assert len(made) > 12
    for where, changed in made:
        write(begun, changed)
        with pytest.raises(RunError) as caught:
            start_run(begun, make_key(SUITE), resume=True)
        if where[0] != "seal":
            said = str(caught.value)
            assert f"was edited: the value of the key `{where[0]}` is not what tseval wrote" in said


def test_what_one_model_scored_is_not_taken_for_anothers(begun):
    changed = with_change(manifest_of(begun), "key.fingerprint", "b" * 64)
    write(begun, changed)
    with pytest.raises(RunError, match="was edited: the value of the key `key` is not what tseval wrote"):
        start_run(begun, make_key(SUITE, fingerprint="b" * 64), resume=True)
    assert find_interrupted(begun.parent, make_key(SUITE, fingerprint="b" * 64)) is None
    assert len(list((begun / "parts").iterdir())) == 1


def test_an_interrupted_run_of_before_there_were_seals_goes_on(begun):
    write(begun, with_change(manifest_of(begun), "seal", None))
    with start_run(begun, make_key(SUITE), resume=True) as writer:
        assert writer.load_part(0) is not None
    assert manifest_of(begun)["seal"] is not None
