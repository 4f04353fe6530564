"""The documentation is correct: its commands parse, its links have a target, its names exist."""

import json
import re
import shlex
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path

import click
import pytest
from pages import CALL, CODE, PAGES, ROOT, follow, page_id
from supplied import MARVIN_LINZEN
from systems import needs_posix

from tseval import load_model
from tseval.cli import tseval
from tseval.cli.commands import COMMANDS
from tseval.cli.examples import EXAMPLES
from tseval.evaluation import run_key
from tseval.report.published import bundled_boards
from tseval.suites import available_suites, load_suite
from tseval.suites.agreement.examples import EXAMPLE_COLUMNS
from tseval.suites.data.catalogue import CATALOGUE

CASES = {case.name: case for case in load_suite("marvin_linzen").cases}

INLINE = re.compile(r"`([^`\n]+)`")
UNPIPED = re.compile(r"""(?:[^|<>;&()"']|"[^"]*"|'[^']*')*""")
SYNOPSIS = re.compile(r"[\[…]|\.\.\.|\b[A-Z_]{3,}\b")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def mentioned(text):
    """Yield every `tseval ...` in code as words, up to a pipe or a redirection."""
    for code in [*CODE.findall(text), *INLINE.findall(CODE.sub("", text))]:
        for line in code.replace("\\\n", " ").splitlines():
            if called := CALL.match(line.strip()):
                whole = called[2].partition(" #")[0]
                first = UNPIPED.match(whole)[0]
                if words := shlex.split(whole if SYNOPSIS.search(first) else first):
                    yield words


def wrong_with(words):
    """Return what is wrong with a command line, as the installed command reports it."""
    name, *arguments = words
    command = tseval.get_command(click.Context(tseval), name) if name in COMMANDS else None
    if isinstance(command, click.Group) and arguments and arguments[0] != "...":
        found = arguments[0] in command.list_commands(click.Context(command))
        command = command.get_command(click.Context(command), arguments[0]) if found else None
        arguments = arguments[1:]
    if command is None:
        return None if name in {"--help", "--version", "COMMAND"} else f"no such command: {shlex.join(words)}"
    if not arguments or SYNOPSIS.search(shlex.join(arguments)):
        # For a mention or a synopsis, only the options can be checked.
        known = {option for parameter in command.params for option in parameter.opts} | {"--help", "-h"}
        named = {option for word in arguments for option in re.findall(r"^\[?(--?[a-z][a-z-]*)", word)}
        return f"no such option: {sorted(named - known)}" if named - known else None
    try:
        values = command.make_context(name, arguments).params
    except (click.MissingParameter, click.exceptions.Exit):
        return None  # the text may name a command without its required arguments, or with --help
    except click.UsageError as error:
        no_file = isinstance(error, click.BadParameter) and isinstance(
            error.param.type, click.Path | click.File
        )
        return None if no_file else error.format_message()
    names = {
        "run": values.get("suites"),
        "expand": [values.get("suite")],
        "table": values.get("sources"),
    }.get(name)
    there = {*available_suites(), *CATALOGUE, *bundled_boards()}
    lost = [
        str(one)
        for one in names or []
        if not {"/", "("} & {*str(one)} and str(one).partition(":")[0] not in there
    ]
    return f"there is no {', '.join(lost)}" if lost else None


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_what_is_mentioned_parses(page):
    wrong = {shlex.join(words): wrong_with(words) for words in mentioned(page.read_text("utf-8"))}
    assert {line: message for line, message in wrong.items() if message} == {}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tseval run --model a.pt --sweet marvin_linzen", "No such option '--sweet'."),
        ("tseval run --model a.pt --score total", "'total' is not one of"),
        ("tseval run --model a.pt --suite marvin_lin | head", "there is no marvin_lin"),
        ("tseval table RUN... [--form md]", "no such option: ['--form']"),
        ("tseval table bhatt2021", "there is no bhatt2021"),
        ("tseval score", "no such command: score"),
        ("tseval train llm --arch lstm", "no such command: train llm"),
    ],
)
def test_a_wrong_mention_is_noticed(line, message):
    for text in (f"```console\n$ {line}\n```\n", f"    {line}\n", f"Try `{line}`."):
        (words,) = mentioned(text)
        assert message in str(wrong_with(words))


@pytest.mark.parametrize("command", EXAMPLES)
def test_the_examples_of_a_command_parse_and_show_it(command):
    lines = re.findall(r"\btseval (.+?)(?: +#| >|\)\"|$)", EXAMPLES[command], re.MULTILINE)
    assert len(lines) == len(EXAMPLES[command].splitlines())
    assert {line: wrong for line in lines if (wrong := wrong_with(shlex.split(line)))} == {}
    assert lines[0].startswith(command)


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes for headings."""
    headings = re.findall(r"^#+ (.+)$", CODE.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.findall(CODE.sub("", page.read_text("utf-8"))):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        target, _, anchor = link.partition("#")
        path = page.parent / target if target else page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_cases_that_are_named_exist(page: Path) -> None:
    # A name in code that begins like a case, `simple_...`, must be a case.
    first_words = {name.partition("_")[0] for name in CASES}
    named = {
        name for name in INLINE.findall(page.read_text("utf-8")) if re.fullmatch(r"[a-z]+_[a-z_]+", name)
    }
    named -= EXAMPLE_COLUMNS.keys()  # `subj_index` is a column, not a case
    assert {name for name in named if name.partition("_")[0] in first_words} <= CASES.keys()


LISTS = ["README.md", "results/README.md", "decisions/README.md"]
SECTIONS = ["Tutorials", "How-to guides", "Reference", "Background"]


def listed(index: str) -> list[Path]:
    """Return the pages that a list of pages links to, one per line."""
    path = ROOT / "docs" / index
    links = re.findall(r"^- \[.+\]\(([^)]+)\)", path.read_text("utf-8"), re.MULTILINE)
    return [(path.parent / link).resolve() for link in links]


def test_every_page_is_in_one_list_and_in_one_of_four_sections() -> None:
    pages = [page.resolve() for page in ROOT.glob("docs/**/*.md") if page != ROOT / "docs/README.md"]
    assert sorted(page for index in LISTS for page in listed(index)) == sorted(pages)
    text = (ROOT / "docs/README.md").read_text("utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS


def test_a_decision_has_three_parts_and_250_words_at_most() -> None:
    for page in ROOT.glob("docs/decisions/0*.md"):
        text = page.read_text("utf-8")
        assert len(text.split()) <= 250, page.name
        assert text.index("**Context.**") < text.index("**Decision.**") < text.index("**Consequences.**")


# Headings of tables that need no explanation.
PLAIN_HEADINGS = {
    "Construction", "Model", "New", "Old", "Pair", "Rows", "Sentences", "Suite",
}  # fmt: skip


def test_the_glossary_explains_the_headings_of_tables() -> None:
    sources = "".join(path.read_text("utf-8") for path in ROOT.glob("tseval/**/*.py"))
    headings = set(re.findall(r"""\bField\(\s*"([^"]+)\"""", sources)) - PLAIN_HEADINGS
    rows = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs/glossary.md").read_text("utf-8"), re.MULTILINE)
    words = {word.strip().lower() for row in rows for word in row.split(",")}
    assert len(headings) > 40
    assert {heading for heading in headings if heading.lower() not in words} == set()


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent == ROOT], ids=page_id)
def test_targets_of_make_exist(page: Path) -> None:
    if not (ROOT / "Makefile").exists():
        pytest.skip("no Makefile: not a checkout")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = re.findall(r"(?:^    |`)make ([a-z-]+)", page.read_text("utf-8"), re.MULTILINE)
    assert set(named) <= targets


def published_rows() -> list[tuple[str, str, str, str]]:
    """Return row, case, items and digest of every case on the page of the suite."""
    page = (ROOT / "docs/marvin-linzen.md").read_text("utf-8")
    return re.findall(r"^\| (.+?) \| `(\w+)` \| ([\d,]+) \| `(\w{16})` \|$", page, re.MULTILINE)


def test_the_suites_page_lists_its_rows_in_order() -> None:
    listed = [(row, case, items) for row, case, items, _ in published_rows()]
    assert listed == [(case.construction, case.name, f"{case.n_items:,}") for case in CASES.values()]


def test_the_digests_on_the_page_are_the_published_ones() -> None:
    published = json.loads(MARVIN_LINZEN.read_text("utf-8"))["cases"]
    assert {name: digest for _, name, _, digest in published_rows()} == {
        name: case["sha256_all_lines_sorted"][:16] for name, case in published.items()
    }


def test_the_suites_page_shows_first_items() -> None:
    page = (ROOT / "docs/marvin-linzen.md").read_text("utf-8")
    examples = re.findall(r"^\| `(\w+)` \| (.+) \|$", page, re.MULTILINE)
    assert len(examples) == 5
    for name, sentences in examples:
        assert sentences == " / ".join(next(CASES[name].items()).sentences.values())


def test_the_tables_page_shows_the_signature_of_a_run() -> None:
    (shown,) = re.findall(r"^    (suite:\S+)$", (ROOT / "docs/tables.md").read_text("utf-8"), re.MULTILINE)
    key = run_key(load_model("bundled:lstm"), load_suite("marvin_linzen"))
    assert OutputChecker().check_output(shown + "\n", key.signature + "\n", ELLIPSIS)


@pytest.mark.slow
@needs_posix
def test_the_suites_page_is_reproduced_by_its_commands(tmp_path: Path) -> None:
    followed = follow(ROOT / "docs/marvin-linzen.md", tmp_path)
    assert len(followed) == 4
    for command in followed:
        assert command.keeps_its_word(), f"{command.line} prints:\n{command.printed}"
