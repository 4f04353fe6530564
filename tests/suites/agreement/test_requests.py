"""Requests on trees: every construct finds its words, and errors are named with their place."""

import pytest

from tseval.errors import SuiteError
from tseval.suites.agreement import requests
from tseval.suites.agreement.request_reader import read_request
from tseval.suites.agreement.requests import Word


def word(form, upos, head, relation, **features):
    return Word({"form": form, "lemma": form.lower(), "upos": upos, **features}, head, relation)


# "Die Katze sieht den Hund und schläft ."
TREE = (
    word("Die", "DET", 1, "det", Gender="Fem", Number="Sing"),
    word("Katze", "NOUN", 2, "nsubj", Gender="Fem", Number="Sing"),
    word("sieht", "VERB", None, "root", Number="Sing", VerbForm="Fin"),
    word("den", "DET", 4, "det", Gender="Masc", Number="Sing"),
    word("Hund", "NOUN", 2, "obj", Gender="Masc", Number="Sing", **{"Number[psor]": "Plur"}),
    word("und", "CCONJ", 6, "cc"),
    word("schläft", "VERB", 2, "conj:and", Number="Sing", VerbForm="Fin", Person="3"),
    word(".", "PUNCT", 2, "punct"),
)


@pytest.mark.parametrize(
    ("request_", "found"),
    [
        # features
        ("pattern { A [upos=DET] }", [{"A": 0}, {"A": 3}]),
        ("match { A [upos=DET|CCONJ] }", [{"A": 0}, {"A": 3}, {"A": 5}]),
        ("pattern { A [upos<>DET|NOUN|VERB] }", [{"A": 5}, {"A": 7}]),
        ("pattern { A [Gender<>Fem] }", [{"A": 3}, {"A": 4}]),
        ("pattern { A [Person] }", [{"A": 6}]),
        ("pattern { A [Person=*] }", [{"A": 6}]),
        ("pattern { A [upos=VERB, !Person] }", [{"A": 2}]),
        ("pattern { A [form=Hund] }", [{"A": 4}]),
        ('pattern { A [form="Hund"|"und"] }', [{"A": 4}, {"A": 5}]),
        ("pattern { A [lemma=hund] }", [{"A": 4}]),
        ('pattern { A [form=re".*nd"] }', [{"A": 4}, {"A": 5}]),
        ('pattern { A [upos=NOUN, form<>re".*nd"] }', [{"A": 1}]),
        ("pattern { A [Number[psor]=Plur] }", [{"A": 4}]),
        ('pattern { A ["Number[psor]"] }', [{"A": 4}]),
        ("pattern { A []; A.Person = 3 }", [{"A": 6}]),
        # edges
        ("pattern { A -[nsubj]-> B }", [{"A": 2, "B": 1}]),
        ("pattern { A -[conj]-> B }", []),
        ("pattern { A -[1=conj]-> B }", [{"A": 2, "B": 6}]),
        ("pattern { A -[1=conj, 2=and]-> B }", [{"A": 2, "B": 6}]),
        ("pattern { A -[1=conj, 2<>and]-> B }", []),
        ("pattern { A -[1=conj, !2]-> B }", []),
        ("pattern { A -[nsubj|obj]-> B }", [{"A": 2, "B": 1}, {"A": 2, "B": 4}]),
        ("pattern { A -[^nsubj|obj|det|cc]-> B }", [{"A": 2, "B": 6}, {"A": 2, "B": 7}]),
        ('pattern { A -[re"conj:.*"]-> B }', [{"A": 2, "B": 6}]),
        ("pattern { A --> B; B [upos=CCONJ] }", [{"A": 6, "B": 5}]),
        ("pattern { A -> B; B [upos=CCONJ] }", [{"A": 6, "B": 5}]),
        ("pattern { A --> B; B --> C; A --> C }", []),
        # order
        ("pattern { A [upos=DET]; B [upos=NOUN]; A < B }", [{"A": 0, "B": 1}, {"A": 3, "B": 4}]),
        ("pattern { A [form=Die]; B [upos=NOUN]; A << B }", [{"A": 0, "B": 1}, {"A": 0, "B": 4}]),
        ("pattern { A [form=Hund]; B [upos=DET]; A > B }", [{"A": 4, "B": 3}]),
        ("pattern { A [form=Hund]; B [upos=DET]; A >> B }", [{"A": 4, "B": 0}, {"A": 4, "B": 3}]),
        # two nodes are always two different words
        ("pattern { A [upos=DET]; B [upos=DET] }", [{"A": 0, "B": 3}, {"A": 3, "B": 0}]),
        # comparisons
        ("pattern { A [upos=DET]; B [upos=NOUN]; A.Gender = B.Gender }",
         [{"A": 0, "B": 1}, {"A": 3, "B": 4}]),
        ("pattern { A [upos=DET]; B [upos=NOUN]; A.Gender <> B.Gender }",
         [{"A": 0, "B": 4}, {"A": 3, "B": 1}]),
        ('pattern { A [upos=DET]; B []; A.Number <> B."Number[psor]" }',
         [{"A": 0, "B": 4}, {"A": 3, "B": 4}]),
        # `without` and `with` conditions, each alone
        ("pattern { A [upos=VERB] } without { A -[nsubj]-> B }", [{"A": 6}]),
        ("pattern { A [upos=VERB] } without { A -[nsubj]-> B } without { A [Person] }", []),
        ("pattern { A [upos=NOUN] } without { B -[nsubj]-> A; A [Gender=Masc] }", [{"A": 1}, {"A": 4}]),
        ("pattern { A [upos=VERB] } with { A -[nsubj]-> B }", [{"A": 2}]),
        ("pattern { A [upos=VERB] } with { A -[nsubj]-> B } or { A [Person] }", [{"A": 2}, {"A": 6}]),
        # distances and named edges
        ("pattern { e: A -[1=det]-> B; length(e) = 1 }", [{"A": 1, "B": 0}, {"A": 4, "B": 3}]),
        ("pattern { A -> B; length(A, B) >= 4 }", [{"A": 2, "B": 6}, {"A": 2, "B": 7}]),
        ("pattern { e: A -[nsubj|obj]-> B; delta(e) < 0 }", [{"A": 2, "B": 1}]),
        ("pattern { e: A -> B; e.label = nsubj|obj }", [{"A": 2, "B": 1}, {"A": 2, "B": 4}]),
        ("pattern { e: A -> B; e.2 = and }", [{"A": 2, "B": 6}]),
        ("pattern { e: A -> B; f: C -> D; e.label = f.label }",
         [{"A": 1, "B": 0, "C": 4, "D": 3}, {"A": 4, "B": 3, "C": 1, "D": 0}]),
        ("pattern { e: A -[1=det]-> B } without { length(e) < 2; B [form=Die] }", [{"A": 4, "B": 3}]),
        ("% a note\npattern { A [form=und]; % another\n }", [{"A": 5}]),
    ],
)  # fmt: skip
def test_every_construct_finds_what_it_says(request_, found):
    (request,) = read_request(request_, "-").requests
    assert sorted(request.matches(TREE), key=lambda match: [*match.values()]) == found


def test_a_file_holds_several_requests_and_says_what_they_are_for():
    text = """% title: Verbs
    % change: V.Number
    pattern { V [upos=VERB] }
    without { V [Person] }
    pattern { V [upos=AUX] }"""
    file = read_request(text, "-")
    assert [[*one.matches(TREE)] for one in file.requests] == [[{"V": 2}], []]
    assert file.notes == {"title": "Verbs", "change": "V.Number"}


@pytest.mark.parametrize(
    ("rule", "stays"),
    [
        ("without corpus { V [Person] }", [False, False]),
        ("with corpus { V [Person] }", [True, True]),
        ("with corpus { V [Person] } same V.lemma", [False, True]),
        ("with corpus { V -[obj]-> O } above 40 percent of { V [upos=VERB] }", [True, True]),
        ("with corpus { V -[obj]-> O } above 60 percent of { V [upos=VERB] }", [False, False]),
    ],
)
def test_corpus_asks_for_matches_in_the_whole_treebank(rule, stays):
    file = read_request(f"pattern {{ V [upos=VERB] }}\n% rule: a name\n{rule}", "-")
    for block in file.in_corpus(with_rules=True):
        block.survey(TREE)
    (clause,), (request,) = file.rules, file.requests
    assert clause.rule == "a name"
    assert [clause.holds(TREE, match, request.effort) for match in request.matches(TREE)] == stays


def test_a_rule_holds_for_every_request_and_other_blocks_for_their_own():
    text = """pattern { V [upos=VERB] } without { V [Person] }
    pattern { V [upos=NOUN] }
    % rule: first
    without { V [Gender=Fem] }
    % rule: second
    with { V [Number] } or { V [Case] }
    without { V [Gender=Neut] }"""
    file = read_request(text, "-")
    assert [rule.rule for rule in file.rules] == ["first", "second"]
    assert [len(request.clauses) for request in file.requests] == [1, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "pattern { V [upos=VERB }",
            r"x:1:24: '}' is not allowed at this place of the request.\n  Write "
            r"at this place = or <> with",
        ),
        (
            "pattern { V upos=VERB }",
            r"x:1:13: 'upos=VERB' is not allowed at this place of the request.\n  "
            r"Write at this place one of these: "
            r"'\[', '-\[label\]->', '-->', '<', '<<', '>', '>>' or '\.feature'",
        ),
        (
            "pattern {\n  V [upos=VERB];\n  V.Number == N.Number }",
            "x:3:13: '=' is not allowed at this place of the request.\n ",
        ),
        (
            "pattern { V -[nsubj]-> }",
            "x:1:24: '}' is not allowed at this place of the request.\n  Write at this place a node.",
        ),
        (
            "pattern { V -[]-> N }",
            "x:1:15: ']' is not allowed at this place of the request.\n  "
            "Write at this place a relation, such as nsubj.",
        ),
        (
            "pattern { V [upos=VERB]",
            "x:1:24: the end is not allowed at this place of the request.\n  Write at this place ; or }.",
        ),
        (
            "pattern { V [upos=VERB] N [] }",
            "x:1:25: 'N' is not allowed at this place of the request.\n  Write at this place ; or }.",
        ),
        ('pattern { V [form=re"("] }', "x:1:19: .* is not (?s:.*) Problem: missing"),
        ("", "x: the request has no pattern."),
        (
            "without { V [] }",
            "x:1:1: 'without' is not allowed at this place of the request.\n  "
            "Write at this place pattern { ... }.",
        ),
        (
            "pattern { }",
            "is not allowed at this place of the request.\n  Write at this place a node, such as V",
        ),
        ("pattern { * -[nsubj]-> V }", "a node without a name is a part"),
        ("pattern { V ->> N }", "an edge over any distance"),
        ("pattern { V =[x]=> N }", "an edge of another layer"),
        ("pattern { id(N) < id(V) }", "a function other than length and delta is a part"),
        ("pattern { e: A -> B; f: B -> C; e >< f }", "crossing edges is a part"),
        ("pattern { length(e) > 2 }", "x:1:18: no edge has the name 'e'.\n  Name an edge before you use it"),
        ("pattern { e: V [upos=VERB] }", "Write at this place -\\[label\\]-> or -->"),
        (
            "pattern { V [] } without corpus { X [] } same V.lemma",
            "x:1:47: the node 'V' must be in the pattern and in each block after `corpus`.\n  Nodes: X",
        ),
        ("global { is_projective }", "x:1:1: global is a part"),
        ("rule r { pattern { V [] } }", "rewriting is a part"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(text, message):
    with pytest.raises(SuiteError, match=message):
        read_request(text, "x")


def test_a_request_that_fits_in_too_many_ways_ends(monkeypatch):
    monkeypatch.setattr(requests, "MOST_STEPS", 10_000)
    words = [word("a", "X", None, "root") for _ in range(200)]
    (request,) = read_request("pattern { A []; B []; C []; D [upos=Y] }", "-").requests
    with pytest.raises(SuiteError, match="more than a million ways"):
        next(request.matches(words), None)
