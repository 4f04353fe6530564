from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from tseval.formats import ContentError, checked, read_json, read_yaml


@dataclass(frozen=True, slots=True)
class Author:
    name: str
    born: int | None = None


@dataclass(frozen=True, slots=True)
class Paper:
    title: str
    pages: int
    authors: tuple[Author, ...]
    scores: Mapping[str, float | int]
    notes: Mapping[str, dict[str, str]] | None = None


PAPER = {
    "title": "T",
    "pages": 9,
    "authors": [{"name": "A"}, {"name": "B", "born": 1950}],
    "scores": {"a": 1},
}


def test_plain_data_becomes_a_dataclass_and_stays_as_it_was():
    paper = checked(PAPER | {"more": [1]}, Paper)
    assert paper == Paper("T", 9, (Author("A"), Author("B", 1950)), {"a": 1})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"title": None}, "title: should be a text in quotes, not null"),
        ({"pages": 9.5}, "pages: should be a whole number, not 9.5"),
        ({"pages": True}, "pages: should be a whole number, not true"),
        ({"pages": "9"}, 'pages: should be a whole number, not "9"'),
        ({"authors": {}}, "authors: should be a list, not {}"),
        ({"authors": [{"name": "A"}, 7]}, "authors[1]: should be a mapping"),
        ({"authors": [{}]}, "authors[0].name: is missing"),
        ({"authors": [{"name": "A", "born": "x"}]}, 'authors[0].born: should be a whole number, not "x"'),
        (
            {"scores": {"a": 1, "b.c": "x", "d": "y"}},
            'scores.b.c: should be a whole number or a number, not "x"',
        ),
        ({"scores": {1: 1}}, "scores: should have names that are texts"),
        ({"notes": {"a": {}, "b": {"x": "y", "z": 3}}}, "notes.b.z: should be a text in quotes, not 3"),
    ],
)
def test_the_field_that_is_wrong_is_named(change, expected):
    content = PAPER | change
    before = repr(content)
    with pytest.raises(ContentError) as caught:
        checked(content, Paper)
    assert str(caught.value) == expected
    assert repr(content) == before


def test_what_is_missing_and_what_is_no_mapping_is_said():
    for content, expected in (({}, "title: is missing"), ([], "the file: should be a mapping")):
        with pytest.raises(ContentError) as caught:
            checked(content, Paper)
        assert str(caught.value) == expected


@pytest.mark.parametrize("content", [b"{", b"[1,]", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_said(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ContentError, match="not a JSON file"):
        read_json(tmp_path / "file")


@pytest.mark.parametrize(
    "content", [b"{", b"a: b: c", b"\xff", b"!!python/object:os.system {}", b"[" * 100_000]
)
def test_what_is_no_plain_yaml_is_said(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ContentError, match="not a YAML file"):
        read_yaml(tmp_path / "file")


def test_a_file_that_cannot_be_read_stays_an_error_of_the_system(tmp_path):
    for read in (read_json, read_yaml):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "none")
