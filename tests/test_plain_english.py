"""Help, messages and the README are in plain English: usual words, short sentences, advice to type."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from program_texts import (
    ROOT,
    Text,
    commands,
    help_texts,
    literal_texts,
    page_texts,
    program_texts,
    room_of,
    source_files,
)

from tseval.cli.examples import EXAMPLES, examples_of

# Rooms whose literals must still be rewritten. Remove a room when it is done; never add one.
TO_DO: set[str] = set()
# Pages that must still be rewritten. Remove a page when it is done; never add one.
PAGES_TO_DO: set[str] = set()
PAGES = [
    path
    for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    if path.relative_to(ROOT).as_posix() not in PAGES_TO_DO
]

LONGEST_SENTENCE = 30  # words
LONGEST_PAGE = 1_800  # words of a page that is not a reference
REFERENCES = {
    "adapters.md", "boards.md", "datasets.md", "glossary.md", "grammars.md", "statistics.md", "tables.md",
    "what-goes-wrong-in-grammars.md",
    # Pages of results that consist mostly of table cells.
    "bhatt2020-classifiers.md", "bhatt2020-language-models.md", "coverage.md", "reproduction.md", "speed.md",
}  # fmt: skip

# A help text begins with a verb or a noun, not with one of these.
BEGINNINGS = re.compile(r"(?:Of|That|Those|Whom|Who|Whose|Where|What|Which|Whether|Else|As|How|Why)\b")
# Words that readers stumbled over, and the plain ones.
STUMBLES = {
    r"anew|afresh": "again",
    r"who(?:so)?ever|whom": "name the person: the reader, the author, you",
    r"whatever|whichever": "any, all",
    r"likewise": "also, in the same way",
    r"in (?:the )?place of": "instead of",
    r"stands? in(?! for the)|stood in": "is in",
    r"(?:is|are|was|were|be|been) (?:told|said|asked)|asks? (?:again|anew)": "who acts",
    r"(?:come|came|comes) out": "is, results in, is reproduced",
    r"beside (?:that|this|these|those|them|it)\b": "in addition to",
    r"worth(?! (?:of|showing|the))": "effective sample size",
    r"worked? out": "compute, recompute",
    r"so (?:many|much|often|far as)": "name the number",
    r"no such (?:thing|one)": "name the thing",
    r"what (?:it|they) (?:is|are) (?:of|for)": "name the thing",
    r"as it is(?:,|\.| )": "unchanged",
    r"(?:is|are) to be had|can be had|had from": "available",
    r"lest|thereof|therein|whence|hence|hereby": "a usual word",
    r"goes? on(?! with| to)": "continues",
    r"lacks?": "has no, is missing",
}
STUMBLE = re.compile("|".join(f"\\b(?:{words})\\b" for words in STUMBLES), re.IGNORECASE)
# An error ends with a command or line to type, or with the names to choose from.
VERBS = (
    "add allow ask build change check choose close compare copy correct create delete divide download "
    "draw export fetch fill fix free git give install join keep leave list load lower make mark merge "
    "move name open pass pip print put raise read rebuild record reduce remove rename repeat replace "
    "report restore retract rewrite run save score see select set shorten show sort spell split start "
    "state store train try tseval turn unpack update use verify wait write"
)
ADVICE = re.compile(
    rf"(?:^|[.:;,–(\n]|\bor|\band|\bthen|To \w[^.:]*[:,])\s*(?:{VERBS.replace(' ', '|')})\b"
    r"|\bshould (?:be|hold|name|have)\b|\bmust be\b"  # the right form
    r"|\{(?:fix|hint|suggest|advice|known|choices|names|_?[A-Z_]*(?:AGAIN|FIX))\}|Did you mean",
    re.IGNORECASE,
)
# Correct texts that a rule would refuse: a part of the text, with the reason.
EXCEPTIONS = {
    "columns, but the header has": "a second line may follow",
    "is the path of a suite, not its name": "the error that is made of it ends with advice",
    "come out as the suite says": "a field of records for Every Eval Ever, which stay as they are",
    "items worth {n_eff}": "likewise",
    "each row counts once, whatever its size": "likewise",
}


def faults_of(text: Text) -> Iterator[str]:
    """Yield the faults of a text: beginnings, words and sentences that are hard to understand."""
    if any(part in text.text for part in EXCEPTIONS):
        return
    if text.kind == "help" and (found := BEGINNINGS.match(text.text)):
        yield f"begins with {found[0]!r}: begin with a verb or a noun"
    for sentence in text.sentences:
        if (n_words := len(re.findall(r"[\w'’-]+", sentence))) > LONGEST_SENTENCE:
            yield f"a sentence of {n_words} words: {sentence!r}"
    for found in STUMBLE.finditer(text.text):
        plain = next(
            plain for words, plain in STUMBLES.items() if re.fullmatch(words, found[0], re.IGNORECASE)
        )
        yield f"{found[0]!r}: write {plain}"
    if text.raised and not text.advised and not ADVICE.search(text.text):
        yield "an error without advice: end it with what to type"


def found_in(texts: list[Text]) -> list[str]:
    return [f"{text.place}: {fault} ({text.text!r})" for text in texts for fault in faults_of(text)]


ROOMS = sorted({room_of(path) for path in source_files()})


@pytest.mark.slow
@pytest.mark.parametrize("room", [room for room in ROOMS if room not in TO_DO])
def test_messages_and_notes_of_a_room_are_plain(room: str) -> None:
    assert found_in([text for text in program_texts() if text.room == room and text.kind != "help"]) == []


def test_rooms_and_pages_that_are_still_to_do_exist() -> None:
    assert set(ROOMS) >= TO_DO
    assert [page for page in PAGES_TO_DO if not (ROOT / page).exists()] == []


def test_help_is_plain() -> None:
    assert found_in(help_texts()) == []


def test_an_option_has_a_help_text_that_names_its_default() -> None:
    mute = [
        f"{path} {option.opts[-1]}"
        for path, command, _ in commands()
        for option in command.params
        if isinstance(option, click.Option) and not _names_its_default(option)
    ]
    assert mute == []


def test_every_command_has_two_or_three_examples() -> None:
    names = {path.partition(" ")[2] for path, *_ in commands()} - {""}
    assert names == EXAMPLES.keys()
    assert {name for name in names if not 2 <= len(examples_of(name.split())) <= 3} == set()
    pages = (command.get_help(context) for _, command, context in commands() if context.parent)
    assert all("\nExamples:\n" in page for page in pages)


def _names_its_default(option: click.Option) -> bool:
    if not option.help:
        return False
    shown = bool(option.show_default) and option.default not in (None, ())
    return shown or option.required or option.is_flag or option.multiple or "default" in option.help


def test_pages_are_plain_and_short() -> None:
    assert [fault for page in PAGES for fault in found_in(page_texts(page))] == []
    long = [page.name for page in PAGES if len(page.read_text("utf-8").split()) > LONGEST_PAGE]
    assert set(long) <= REFERENCES


def test_every_exception_is_needed() -> None:
    texts = [*program_texts(), *(text for page in PAGES for text in page_texts(page))]
    assert {part for part in EXCEPTIONS if not any(part in text.text for text in texts)} == set()


BEFORE = {
    "Of --sample, and of :judgement.": "begins with 'Of'",
    "That describes the model: an address, or a reference.": "begins with 'That'",
    "Whom to ask.": "begins with 'Whom'",
    "Where a sentence is longer than the model reads, refuse the run.": "begins with 'Where'",
    "Write into the board of each entry that NAME verified it: for whoever keeps the board.": "'whoever'",
    "Ask about the sentences that a report drew, which names this; else drawn anew.": "'anew'",
    "An entry that the run takes the place of; in place of the old.": "'in place of'",
    "With --model the model is asked again about a share of the sentences.": "'is asked'",
    "The table comes out to the printed digit.": "'comes out'",
    "How many independent items would say as much: the row's worth": "'worth'",
    " ".join(["Words of a sentence"] * 8): "a sentence of 32 words",
}


@pytest.mark.parametrize("before", BEFORE)
def test_a_text_of_before_is_noticed_in_help(before: str) -> None:
    assert BEFORE[before] in "\n".join(faults_of(Text("help", "cli", "tseval", before)))


PLANTED = '''
def check(path, n):
    """Say whom to ask anew."""
    if n:
        raise RunError(f"{path}: {n} models of whoever made it.\\\\n  Remove it.")
    problem = f"{path} is of another suite anew"
    if n > 1:
        raise SuiteError(f"{path} has {n:,} items, of which {n - 1} are no items at all")
    if n > 2:
        raise GrammarError("slot 'verbb' is not defined", path, n, fix="Write verb: there is no verbb here.")
    echo(problem)
    note = "Likewise the interval of all rows"
    found = re.compile("anew and (likewise) again whom")
    raise ModelError(f"{path}: no model has {n} layers. Choose 1 or 2 with --layers.")
'''


def test_literals_of_before_are_noticed_in_a_module() -> None:
    texts = literal_texts(PLANTED, "runs", "tseval/runs/planted.py")
    faults = {text.place.rpartition(":")[2]: "; ".join(faults_of(text)) for text in texts}
    assert {line: fault.partition(":")[0] for line, fault in faults.items() if fault} == {
        "5": "'whoever'", "6": "'anew'", "8": "an error without advice", "12": "'Likewise'",
    }  # fmt: skip
    assert faults["10"] == faults["14"] == ""


def test_a_paragraph_of_before_is_noticed_on_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n\nIt is *anew* here.\n\n```\nwhom\n```\n\n| whom | a |\n\n[likewise](whom.md)\n", "utf-8"
    )
    faults = "\n".join(found_in(page_texts(page)))
    assert "'anew'" in faults
    assert "'likewise'" in faults
    assert "whom" not in faults


def test_the_texts_of_the_program_are_all_collected() -> None:
    kinds = [text.kind for text in program_texts()]
    assert kinds.count("help") > 200
    assert kinds.count("message") > 700
