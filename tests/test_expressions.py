"""Expressions of requests mean the same as in Python, and their evaluation takes limited time."""

import re
import time

import pytest
from in_process import call, refuse

from tseval.expressions import PatternError, whole_matcher

WORDS = [
    "the",
    "Über",
    "naïve",
    "12",
    "३",
    "a-b",
    "don't",
    "",
    "слово",
    "a b",
    "日本",
    "[x]",
    "]",
    "aaa",
    "x1",
    "_",
    "ÜBER",
    "\u00a0",
    "e\u0301",
    "a\\b",
    "a.b",
    "-",
]
SAME = [
    r"\w+",
    r"[\w-]+",
    r"\d+",
    r".*e",
    r"[^a-z]+",
    r"(?i)über",
    r"a|the",
    r"[]x]+",
    r"[\[\]x]+",
    r"\S+",
    r"a{2,3}",
    r"[A-ZÀ-Ý].*",
    r"\.",
    r"(a|b)+",
    r"a\\b",
    r"(?P<x>a)+",
    r"(?:a|b)*",
    r"\W",
    r"\D+",
    r"[^]\d]+",
    r"[\w\]]+",
    r".*[aeiou]",
    r"a.b",
    r"",
    r".*",
    r"x\d",
    r"\s",
    r"(?s).*",
]


@pytest.mark.parametrize("expression", SAME)
def test_an_expression_matches_what_it_matches_in_python(expression):
    matches = whole_matcher(expression)
    for word in WORDS:
        if word != "e\u0301":  # Python does not count combining marks as letters
            for text in (word, word * 200):  # short words and long ones have different engines
                assert matches(text) == (re.fullmatch(expression, text) is not None), text


ENDLESS = [
    "(a+)+",
    "(a|a)*",
    "(a|aa)+",
    "([a-z]*)*c",
    "(.*a){30}",
    "((a*)*)*",
    "(a?){100}a{100}",
    "(.*)(.*)(.*)(.*)x",
]


@pytest.mark.parametrize("expression", ENDLESS)
def test_what_python_would_match_for_ever_is_matched_at_once(expression):
    began = time.monotonic()
    assert not whole_matcher(expression)("a" * 20_000 + "b")
    assert time.monotonic() - began < 2


REFUSED = {
    r"(a)\1": "a reference to an earlier group",
    "(?=a)b": "a condition on the text before or after",
    "(?<!a)b": "a condition on the text before or after",
    r"\bword": "a place between characters",
    "(?>a)": "possessive",
    "a++": "possessive",
    "(" * 9_000: "more than 1,000 characters",
    "(" * 900: "missing )",
    "[": "missing ]",
    "((a{1000}){1000}){1000}": "repetition",
    "\\": "trailing",
    r"[\W]": "inside square brackets",
    "(?(1)a|b)": "condition",
}


@pytest.mark.parametrize("expression", REFUSED)
def test_what_the_engine_cannot_do_is_refused_by_name(expression):
    began = time.monotonic()
    with pytest.raises(PatternError, match=re.escape(REFUSED[expression])):
        whole_matcher(expression)
    assert time.monotonic() - began < 2


SUBJECT = "1\t{}\tdog\tNOUN\t_\tNumber=Sing\t2\tnsubj\t_\t_\n"
TREE = f"{SUBJECT}2\tbarks\tbark\tVERB\t_\tNumber=Sing\t0\troot\t_\t_\n\n"


def asked(folder, request, form="dog", times=1):
    (folder / "t.conllu").write_text(TREE.format(form) * times)
    (folder / "r.req").write_text(request)
    return "data", "pairs", "t.conllu", "--request", "r.req", "-o", "o.tsv"


@pytest.mark.parametrize("expression", ["(a+)+", "(((" * 3_000, "[", r"(a)\1"])
def test_a_request_with_a_hostile_expression_is_one_message(expression, tmp_path):
    request = f'% change: V.Number\npattern {{ V [upos=VERB]; N [form=re"{expression}"]; V -[nsubj]-> N }}'
    began = time.monotonic()
    said = refuse(*asked(tmp_path, request, "a" * 20_000 + "b"), cwd=tmp_path).stderr
    assert time.monotonic() - began < 10
    assert "r.req" in said or "tseval could make no pair from the 1 sentences" in said


@pytest.mark.slow
def test_refutations_count_as_steps_of_the_same_search(tmp_path):
    blocks = "without { A []; B []; C []; D [form=none] }\n" * 50
    request = f"% change: V.Number\npattern {{ V [upos=VERB]; X []; Y [] }}\n{blocks}"
    words = "".join(f"{i}\tw{i}\tw\tVERB\t_\tNumber=Sing\t{i - 1}\tdep\t_\t_\n" for i in range(1, 400))
    (tmp_path / "t.conllu").write_text(words + "\n")
    (tmp_path / "r.req").write_text(request)
    began = time.monotonic()
    done = call("data", "pairs", "t.conllu", "--request", "r.req", "-o", "o.tsv", cwd=tmp_path)
    assert time.monotonic() - began < 30
    assert done.returncode == 2
    assert "in more than a million ways" in done.stderr


@pytest.mark.slow
def test_a_long_request_is_read_in_time_that_grows_with_its_length(tmp_path):
    blocks = "without { V [form=x] }\n" * 20_000
    request = f"% change: V.Number\npattern {{ V [upos=VERB] }}\n{blocks}"
    began = time.monotonic()
    call(*asked(tmp_path, request), cwd=tmp_path)
    assert time.monotonic() - began < 20
