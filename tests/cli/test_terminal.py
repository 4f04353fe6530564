"""Text in files, names and messages never controls the terminal that shows it. Uses pseudo-terminals."""

import json
import os
import re
import subprocess
import sys
import zipfile

import pytest
from in_process import printed, run_process, succeed
from preloaded import start
from systems import needs_posix
from terminals import on_a_terminal

from tseval.cli.terminal import escaped

# A title, a clear screen, an 8-bit control sequence, reversed text, a carriage return, a delete.
HOSTILE = "a\x1b]0;PWN\x07b\x1b[2Jc\x9b1md\u202ee\rf\x7f"
SPELT = r"a\x1b]0;PWN\x07b\x1b[2Jc\x9b1md\u202ee\x0df\x7f"
GRAMMAR = "---\nconstruction: C\nphenomenon: P\nslots: {x: [one]}\n---\n"
COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-HJKSThlm]")


def unsafe_in(shown):
    return [letter for letter in shown if escaped(letter) != letter]


@pytest.fixture
def grammar(tmp_path):
    """Write a grammar with one sentence that a terminal would execute."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    (folder / "one.jinja").write_text(
        f"{GRAMMAR}good: one {HOSTILE.replace(chr(13), '')}\nbad: {{{{ x }}}}\n"
    )
    return folder


@pytest.mark.slow
@needs_posix
def test_expand_spells_control_characters_out_on_a_terminal_alone(grammar, tmp_path):
    shown, code = on_a_terminal("expand", "./hostile", "--quiet", "--no-header", cwd=tmp_path)
    sentence = HOSTILE.replace("\r", "")
    assert (code, unsafe_in(shown)) == (0, [])
    assert shown == f"one\tone {SPELT.replace(chr(92) + 'x0d', '')}\tone\n"
    with (tmp_path / "items.tsv").open("wb") as file:
        command = "expand", "./hostile", "--quiet", "--no-header"
        assert start(command, stdout=file, cwd=tmp_path).wait() == 0
    assert (tmp_path / "items.tsv").read_bytes() == f"one\tone {sentence}\tone\n".encode()
    shown, _ = on_a_terminal("lint", "./hostile", cwd=tmp_path)
    assert "one: 1 item" in shown
    assert unsafe_in(shown) == []


@pytest.mark.slow
@needs_posix
def test_the_name_of_a_member_of_an_archive_is_spelt_out(tmp_path):
    with zipfile.ZipFile(tmp_path / "model.pt", "w") as archive:
        archive.writestr("m/data.pkl", b"\x80\x02}.")
        archive.writestr(f"m/{HOSTILE}/\x1b]0;PWN\x07", b"x")
    shown, code = on_a_terminal("pair", "a b", "a c", "--model", "model.pt", cwd=tmp_path)
    assert (code, unsafe_in(shown)) == (2, [])
    assert shown.startswith("tseval: ")


@needs_posix
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_name_of_a_file_is_spelt_out_in_every_encoding(tmp_path, encoding):
    shown, code = on_a_terminal("table", f"{HOSTILE}.json", cwd=tmp_path, PYTHONIOENCODING=encoding)
    assert (code, unsafe_in(shown)) == (2, [])
    assert r"a\x1b]0;PWN\x07b\x1b[2Jc" in shown


@pytest.mark.slow
@needs_posix
def test_sentences_are_spelt_out_in_pictures(tmp_path):
    text = f"the author {HOSTILE.replace(chr(13), '')} laughs .\n".encode()
    command = "surprisal", "--model", "bundled:lstm", "--format", "picture"
    shown, code = on_a_terminal(*command, cwd=tmp_path, stdin=text)
    assert (code, unsafe_in(shown)) == (0, [])
    assert "laughs" in shown


@needs_posix
def test_a_bar_keeps_its_colours_and_shows_a_name_as_text(tmp_path):
    import pty  # noqa: PLC0415 - lacking on Windows

    name = f"[/red]{HOSTILE}"
    program = (
        "import time\n"
        "from tseval.cli.progress import progress_bar; from tseval.cli.terminal import open_streams\n"
        "open_streams()\n"
        f"with progress_bar({name!r}) as progress:\n"
        "    progress(1, 2); time.sleep(0.3); progress(2, 2)\n"
    )
    (tmp_path / "bar.py").write_text(program, "utf-8")
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "PYTHONUTF8": "1", "COLUMNS": "160"}
    subprocess.run(
        [sys.executable, tmp_path / "bar.py"], stdout=theirs, stderr=theirs, env=environment, check=True
    )
    os.write(theirs, b"END")
    os.close(theirs)
    seen = b""
    while b"END" not in seen:
        seen += os.read(ours, 2**16)
    os.close(ours)
    shown = seen.decode()
    assert "\x1b[38;5;" in shown or "\x1b[3" in shown  # colours
    rest = COLOURS.sub("", shown.replace("\r\n", "\n")).replace("\r", "")
    assert unsafe_in(rest) == []
    assert r"[/red]a\x1b]0;PWN" in rest


def shown_lines(*arguments, cwd, width, **environment):
    """Return the lines of a terminal without style, and whether any line has style."""
    shown, code = on_a_terminal(*arguments, cwd=cwd, width=width, **environment)
    assert code == 0, shown
    return COLOURS.sub("", shown).splitlines(), "\x1b[" in shown


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Make two runs over a part of the bundled suite, in a folder."""
    folder = tmp_path_factory.mktemp("screens")
    for name in ("one", "two"):
        succeed("run", "--model", "bundled:lstm", "--limit", "8", "--quiet", "--out", name, cwd=folder)
    return folder


# The outputs that people read most.
SCREENS = [
    ["table", "one"],
    ["table", "one", "two"],
    ["analyze", "rows", "one"],
    ["suites"],
    ["models"],
    ["check-model", "bundled:lstm"],
    ["--help"],
]


@pytest.mark.slow
@needs_posix
@pytest.mark.parametrize("arguments", SCREENS, ids=" ".join)
def test_nothing_is_wider_than_its_terminal(runs, arguments):
    lines, _ = shown_lines(*arguments, cwd=runs, width=80)
    assert [line for line in lines if len(line) > 80] == []
    assert not [line for line in lines if "\\&" in line or "**" in line or line.startswith("|")]


@pytest.mark.slow
@needs_posix
def test_a_run_is_one_table_of_80_columns_without_columns_of_zeros(runs):
    lines, styled = shown_lines("table", "one", cwd=runs, width=80)
    assert styled
    headings = [line for line in lines if line.startswith("lstm on marvin_linzen")]
    assert [line.split()[3:] for line in headings] == [
        ["Items", "Eff.", "items", "Accuracy", "95%", "interval"]
    ]
    assert "- Not shown, because 0 in every row: Ties, Undecidable." in lines
    piped = printed("table", "one", cwd=runs)
    for line in piped.splitlines():  # every number of the file is on the screen
        if line.startswith("|") and "0." in line:
            label, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            rows = [one for one in lines if one.startswith(label[:20])]
            assert any(all(cell in one for cell in cells[:4]) for one in rows), line


@pytest.mark.slow
@needs_posix
def test_a_count_that_is_not_always_zero_keeps_its_column(tmp_path):
    pairs = [("the author laughs .", "the author laugh ."), ("the blorf .", "the glorf .")]
    rows = [json.dumps({"good": good, "bad": bad}) for good, bad in pairs]
    (tmp_path / "pairs.jsonl").write_text("\n".join(rows))
    succeed("run", "--model", "bundled:lstm", "--suite", "./pairs.jsonl", "--out", "run", cwd=tmp_path)
    lines, _ = shown_lines("table", "run", cwd=tmp_path, width=80)
    assert lines[0].split()[-1] == "Undecidable"
    assert "- Not shown, because 0 in every row: Ties." in lines


@pytest.mark.slow
@needs_posix
def test_models_that_do_not_fit_beside_each_other_stand_below(tmp_path):
    lines, _ = shown_lines("table", "bhatt2020", cwd=tmp_path, width=70)
    names = [name for line in lines if line.startswith("marvin_linzen ") for name in line.split()[1:]]
    assert len(names) == 7
    wide, _ = shown_lines("table", "bhatt2020", cwd=tmp_path, width=132)
    assert len([line for line in wide if line.startswith("marvin_linzen ")]) == 1
    assert max(map(len, lines)) <= 70


@pytest.mark.slow
@needs_posix
def test_the_signature_is_short_unless_asked_for_and_stands_once(runs):
    whole = json.loads((runs / "one" / "manifest.json").read_text("utf-8"))["signature"]
    short = "|".join(whole.split("|")[:2])
    (brief,) = [line for line in shown_lines("table", "one", cwd=runs, width=0)[0] if short in line]
    assert whole in brief, "no terminal: a pipe gets all of it"
    text = " ".join(shown_lines("table", "one", cwd=runs, width=80)[0])
    assert text.count(short) == 1
    assert "score:sentence" not in text
    lines, _ = shown_lines("table", "one", "--verbose", cwd=runs, width=80)
    assert whole in "".join(line.strip() for line in lines)


@pytest.mark.slow
@needs_posix
def test_a_run_ends_with_where_it_is_and_what_comes_next(tmp_path):
    command = ["run", "--model", "bundled:lstm", "--case", "simple_agrmt", "--limit", "4", "--out"]
    lines, _ = shown_lines(*command, "it is here", cwd=tmp_path, width=80)
    assert lines[-2:] == ["it is here", "next: tseval report 'it is here' -o page.html"]
    assert "".join(lines).count("suite:marvin_linzen@") == 1


@pytest.mark.slow
@needs_posix
def test_a_warning_that_stands_below_the_table_is_not_repeated(tmp_path):
    (tmp_path / "pairs.csv").write_text("good,bad\nthe author laughs.,the author laugh.\n", "utf-8")
    command = ["run", "--model", "bundled:lstm", "--suite", "./pairs.csv", "--out", "run"]
    lines, _ = shown_lines(*command, cwd=tmp_path, width=200)
    assert "".join(lines).count("to split off punctuation, add --tokenise") == 1


@pytest.mark.slow
@needs_posix
def test_the_command_that_comes_next_is_on_a_line_of_its_own_where_it_would_be_wrapped(tmp_path):
    name = "a run in a folder with a name of many words, which takes the whole line"
    command = ["run", "--model", "bundled:lstm", "--case", "simple_agrmt", "--limit", "4", "--out", name]
    lines, _ = shown_lines(*command, cwd=tmp_path, width=80)
    assert lines[-2:] == ["next:", f"tseval report '{name}' -o page.html"]


@pytest.mark.slow
@needs_posix
@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_letters_have_no_style_where_there_is_none(tmp_path, environment):
    lines, styled = shown_lines("table", "bhatt2020", cwd=tmp_path, width=80, **environment)
    assert not styled
    assert "Short-range dependency" in lines


@pytest.mark.slow
@needs_posix
def test_a_format_that_is_asked_for_is_given_on_a_terminal_too(tmp_path):
    lines, _ = shown_lines("table", "bhatt2020", "--format", "md", cwd=tmp_path, width=80)
    assert "\n".join(lines) == printed("table", "bhatt2020").rstrip("\n")


@pytest.mark.slow
@needs_posix
def test_a_terminal_that_does_not_say_its_width_and_a_pipe_get_the_whole_table(tmp_path):
    def piped(**environment):
        command = ["tseval", "table", "bhatt2020"]
        environment = os.environ | {"PYTHONUTF8": "1"} | environment
        return run_process(command, check=True, env=environment).stdout

    whole = piped()
    assert on_a_terminal("table", "bhatt2020", cwd=tmp_path) == (whole, 0)
    assert piped(COLUMNS="40", FORCE_COLOR="1") == whole  # a shell sets these for its own terminal
    assert max(map(len, whole.splitlines())) > 100
    assert "\x1b" not in whole


C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
LATIN_1 = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}


@pytest.mark.slow
@needs_posix
@pytest.mark.parametrize("environment", [C_LOCALE, LATIN_1])
def test_where_there_is_no_unicode_the_nearest_letters_stand(tmp_path, environment):
    shown, code = on_a_terminal("table", "bhatt2020", cwd=tmp_path, **environment)
    assert code == 0
    assert shown.isascii()
    (parameters,) = [line for line in shown.splitlines() if line.startswith("| Parameters ")]
    assert parameters.endswith(" 0.55M |         - |")
    assert len({len(line) for line in shown.splitlines() if line.startswith("|")}) == 1


@pytest.mark.slow
@needs_posix
@pytest.mark.parametrize("environment", [C_LOCALE, {"PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252"}])
def test_a_file_gets_utf8_whatever_the_system_writes_in(tmp_path, environment):
    (tmp_path / "text.txt").write_text("孩子们 在 玩 †\n", "utf-8")
    command = [sys.executable, "-m", "tseval", "surprisal", "--model", "bundled:lstm", "--words"]
    with (tmp_path / "out.jsonl").open("wb") as file:
        subprocess.run(
            [*command, "--format", "jsonl", "text.txt"], stdout=file, check=True, cwd=tmp_path,
            env=os.environ | environment,
        )  # fmt: skip
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines()]
    assert [row["text"] for row in rows] == ["孩子们", "在", "玩", "†"]


@pytest.mark.slow
@needs_posix
def test_a_sentence_that_is_typed_in_the_c_locale_is_utf8():
    command = [sys.executable, "-m", "tseval", "pair", "--model", "bundled:lstm", "--format", "jsonl"]
    done = subprocess.run([*command, "là", "le"], capture_output=True, check=True, env=os.environ | C_LOCALE)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["text"] for row in rows] == ["là", "le"]


@pytest.mark.slow
@needs_posix
def test_where_there_is_no_unicode_pictures_are_drawn_in_what_there_is(tmp_path):
    pair = "pair", "the author laughs .", "the author laugh .", "--model", "bundled:lstm"
    picture, _ = on_a_terminal(*pair, cwd=tmp_path, **C_LOCALE)
    assert "  ####" in picture


@needs_posix
def test_a_message_about_a_name_in_other_letters_is_shown_in_ascii(tmp_path):
    shown, code = on_a_terminal("table", "Größe–日.json", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert (shown, code) == ("tseval: Gro?e-?.json: No such file or directory.\n", 2)


def test_what_is_safe_stays_as_it_is():
    for text in ("a\tb\n", "Größe ≤ 3 – “ja”", "日本語", "שלום", "👩‍👩‍👧", ""):
        assert escaped(text) == text


def test_each_control_character_is_spelt_out():
    for code in [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]:
        if chr(code) not in "\n\t":
            spelt = escaped(f"a{chr(code)}b")
            assert spelt == (f"a\\x{code:02x}b" if code < 256 else f"a\\u{code:04x}b")


def test_bytes_that_are_no_text_and_half_characters_are_spelt_out():
    assert escaped("a\udcffb\udc80") == r"a\xffb\x80"
    assert escaped("a\ud800b") == r"a\ud800b"
