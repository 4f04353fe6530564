"""`tseval expand` writes a header and a column for each label; with --text, also the final mark."""

import io
import json

import pandas as pd
from in_process import call

HEAD = "---\nconstruction: C\nphenomenon: P\nslots: {x: [a, b]}\n---\n"


def suite(folder, about="title: T\nterminator: '!'\n"):
    folder.mkdir(exist_ok=True)
    (folder / "one.jinja").write_text(f"{HEAD}good: {{{{ x }}}} laughs\nbad: {{{{ x }}}} laugh\n")
    (folder / "two.jinja").write_text(
        f"{HEAD}good: {{{{ x }}}} swims\nodd: {{{{ x }}}} some\nbad: {{{{ x }}}} swim\n"
    )
    (folder / "suite.yaml").write_text(about)
    return folder


def test_every_label_has_a_column_that_is_empty_where_a_case_lacks_it(tmp_path):
    done = call("expand", suite(tmp_path / "s"), "--quiet")
    table = pd.read_csv(io.StringIO(done.stdout), sep="\t", keep_default_na=False)
    assert table.columns.tolist() == ["case", "good", "odd", "bad"]
    rows = table.to_numpy().tolist()
    assert rows[0] == ["one", "a laughs", "", "a laugh"]
    assert rows[3] == ["two", "b swims", "b some", "b swim"]
    bare = call("expand", suite(tmp_path / "s"), "--no-header", "--format", "tsv").stdout
    assert bare.splitlines()[0] == "one\ta laughs\ta laugh"
    assert len(bare.splitlines()) == 4


def test_sentences_end_as_they_are_scored_where_their_form_is_named(tmp_path):
    folder = suite(tmp_path / "s")
    for form, first in (("tokenised", "a laughs !"), ("as-written", "a laughs !"), ("natural", "A laughs!")):
        (line, *_) = call("expand", folder, "--text", form, "--format", "jsonl").stdout.splitlines()
        assert json.loads(line)["sentences"]["good"] == first
    none = suite(tmp_path / "none", "title: T\nterminator: null\n")
    assert call("expand", none, "--text", "tokenised").stdout.splitlines()[1] == "one\ta laughs\t\ta laugh"


def test_data_end_as_they_stand(tmp_path):
    (tmp_path / "pairs.jsonl").write_text('{"good": "I laugh.", "bad": "I laughs."}\n')
    for options in ((), ("--text", "tokenised")):
        lines = call("expand", tmp_path / "pairs.jsonl", *options).stdout.splitlines()
        assert lines == ["case\tgood\tbad", "pairs\tI laugh.\tI laughs."]
