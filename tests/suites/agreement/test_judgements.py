"""Judged treebank pairs: the counts and intervals of the results page follow from them."""

import gzip
import re
from collections import Counter, defaultdict
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from scipy.stats import binomtest
from supplied import TREEBANK_JUDGEMENTS

PAGE = Path(__file__).parents[3] / "docs/results/treebank-pairs.md"


def judged():
    """Return the judged pairs, as language, good, bad, judgement and note."""
    lines = gzip.decompress(TREEBANK_JUDGEMENTS.read_bytes()).decode("utf-8").split("\n")
    return [line.split("\t") for line in lines[1:-1]]


def rows_of_the_page():
    """Return the numbers of the page's table "With rules", by language."""
    text = PAGE.read_text("utf-8").partition("\n### With rules\n")[2]
    rows = re.findall(r"^\| (\w+) [^|]+ \| (\d+) \| (\d+) \| (\S+) to (\S+) \| (\d+) \|", text, re.MULTILINE)
    return {language: numbers for language, *numbers in rows}


def test_counts_of_the_page_are_those_of_the_judgements():
    counts = defaultdict(Counter)
    for language, _, _, judgement, _ in judged():
        counts[language][judgement] += 1
    page = rows_of_the_page()
    assert len(page) == 10
    for language, seen in counts.items():
        read, wrong, _, _, doubtful = page[language]
        stated = {"ok": int(read) - int(wrong) - int(doubtful), "wrong": int(wrong), "doubt": int(doubtful)}
        assert seen == Counter(stated), language


@pytest.mark.parametrize("language", rows_of_the_page())
def test_intervals_of_the_page_are_those_of_scipy(language):
    read, wrong, low, high, _ = rows_of_the_page()[language]
    interval = binomtest(int(wrong), int(read)).proportion_ci(method="wilson")
    assert [f"{end:.3f}".removeprefix("0") for end in interval] == [low, high]


def later_rows_of_the_page():
    """Return the page's numbers of later samples: read, wrong, and the interval."""
    text = PAGE.read_text("utf-8").partition("judged new samples:\n")[2]
    return re.findall(r"^\| \w+ [^|]+ \| (\d+) \| (\d+) \| (\S+) to (\S+) \|", text, re.MULTILINE)


def test_intervals_of_later_drawings_are_those_of_scipy():
    assert len(later_rows_of_the_page()) == 7
    for read, wrong, low, high in later_rows_of_the_page():
        interval = binomtest(int(wrong), int(read)).proportion_ci(method="wilson")
        assert [f"{end:.3f}".removeprefix("0") for end in interval] == [low, high]


def test_one_place_of_each_second_sentence_is_changed():
    for _, good, bad, judgement, note in judged():
        edits = [
            edit
            for edit in SequenceMatcher(None, good.split(), bad.split(), autojunk=False).get_opcodes()
            if edit[0] != "equal"
        ]
        assert len(edits) == 1, bad
        assert (judgement == "ok") == (not note), bad
