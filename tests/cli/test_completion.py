"""Completion in shells, and the output of the command before anything runs."""

import json
import os
import re
import shutil
import sys
import time

import click
import pytest
from in_process import call, refuse, run_process, succeed
from systems import needs_posix
from terminals import on_a_terminal

from tseval.cli import tseval
from tseval.cli.completion import SHELLS
from tseval.cli.groups import RENAMED, Group

HERE = {**os.environ, "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
COMMAND = "import sys; from tseval.cli import main; sys.argv[0] = 'tseval'; main()"


def offered(line, cwd, **options):
    """Return the completions at the end of a line, requested as zsh requests them."""
    asked = {"_TSEVAL_COMPLETE": "zsh_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    done = run_process(
        [sys.executable, *options.get("python", ()), "-c", COMMAND], check=True, cwd=cwd, env=HERE | asked
    )
    kinds_and_names = done.stdout.splitlines()
    return kinds_and_names[1::3] if not options.get("whole") else done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make a folder with a run, a checkpoint and a user's suite."""
    folder = tmp_path_factory.mktemp("completion")
    succeed("run", "--model", "bundled:lstm", "--case", "simple_agrmt", "--limit", "2", "--quiet",
            "--out", "runs/first", cwd=folder)  # fmt: skip
    (folder / "mine.pt").touch()
    (folder / "mine").mkdir()
    (folder / "mine" / "gender.jinja").write_text("---\nfeatures:\n  animacy: \"'x'\"\n  zeal: 1\n---\n")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("tseval ", {"run", "table", "completion"}),
        ("tseval tr", {"train"}),
        ("tseval train ", {"lm", "zoo", "curves"}),
        ("tseval analyze r", {"rows", "robustness", "ratings"}),
        ("tseval run --prec", {"--precision"}),
        ("tseval run --precision ", {"float32", "bfloat16"}),
        ("tseval run --model ", {"bundled:lstm", "mine.pt", "hf:"}),
        ("tseval run --model bundled:", {"bundled:lstm"}),
        ("tseval run --suite mar", {"marvin_linzen"}),
        ("tseval run --suite marvin_linzen --case simple_a", {"simple_agrmt"}),
        ("tseval run --model mine.pt --case simple_a", {"simple_agrmt"}),
        ("tseval run --suite mine --case ", {"gender"}),
        ("tseval run --suite mine --by ", {"animacy", "zeal"}),
        ("tseval table runs/first --by n_", {"n_attractors", "n_intervening"}),
        ("tseval table r", {"runs/first"}),
        ("tseval table b", {"bhatt2020", "blimp2020"}),
        ("tseval table s", set()),
        ("tseval analyze rows runs/first --case prep", {"prep_anim", "prep_inanim"}),
        ("tseval export glmm ", {"runs/first"}),
    ],
)
def test_a_shell_is_offered_what_is_here(folder, line, some):
    found = set(offered(line, folder))
    assert some <= found
    begun = line.rpartition(" ")[2]
    assert {name for name in found if not name.startswith(begun)} == set()
    assert line == "tseval " or "suites" not in found  # suites lie next to the boards but are not boards


@pytest.mark.slow
def test_nobody_waits_for_libraries_while_a_line_is_completed(folder):
    for line in ("tseval run --model ", "tseval table ", "tseval train ", "tseval run --suite mine --by "):
        said = offered(line, folder, python=("-X", "importtime"), whole=True).stderr
        loaded = set(re.findall(r"\| +([a-z]+)$", said, re.MULTILINE))
        assert loaded & {"torch", "pandas", "pyarrow", "numpy", "jinja2", "rich"} == set(), line
    assert min(seconds_of("tseval run --model ", folder) for _ in range(3)) < 0.3


def seconds_of(line, folder):
    """Return the CPU seconds of the process; other programs do not change them."""
    before = os.times()
    offered(line, folder)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def write_command(folder):
    """Write the command into a folder, where a shell can find it."""
    (folder / "tseval").write_text(f'#!/bin/sh\nexec {sys.executable} -c "{COMMAND}" "$@"\n')
    (folder / "tseval").chmod(0o755)


@needs_posix
def test_bash_completes_names_with_a_colon(folder):
    """A real bash reads the script and requests completions as the Tab key does."""
    script = f"""
        tseval() {{ {sys.executable} -m tseval "$@"; }}
        eval "$(tseval completion bash)"
        COMP_WORDS=(tseval run --model bundled:l); COMP_CWORD=3
        env() {{ command env "$@"; }}
        _tseval_completion ./tseval
        printf '%s\\n' "${{COMPREPLY[@]}}"
        printf 'breaks:%s' "$COMP_WORDBREAKS"
    """
    write_command(folder)
    done = run_process(["bash", "--norc", "-c", script], check=True, cwd=folder, env=HERE)
    names, _, breaks = done.stdout.partition("breaks:")
    assert names.split() == ["bundled:lstm"]
    assert ":" not in breaks


# Replacements for zsh's own functions, which need a terminal: they print their arguments.
ZSH = """
    compdef() { }; _path_files() { print files }; compadd() { print -l -- ${(P)@[-1]} }
    _describe() { print -l -- ${(P)3} }
    eval "$(tseval completion zsh)"
    words=(tseval analyze ''); CURRENT=3; _tseval_completion
    words=(tseval run --model ''); CURRENT=4; _tseval_completion
"""
FISH = """
    tseval completion fish | source
    complete -C "tseval analyze "
    complete -C "tseval run --model "
"""


@pytest.mark.parametrize(("shell", "script", "between"), [("zsh", ZSH, ":"), ("fish", FISH, "\t")])
def test_zsh_and_fish_offer_names_before_a_letter_is_typed_and_help_to_its_end(
    tmp_path, shell, script, between
):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    write_command(tmp_path)
    (tmp_path / "mine.pt").touch()
    bare = "-f" if shell == "zsh" else "--no-config"
    here = HERE | {"PATH": f"{tmp_path}:{HERE['PATH']}"}
    offers = run_process([shell, bare, "-c", script], check=True, cwd=tmp_path, env=here).stdout.splitlines()
    assert (
        f"rows{between}Print the accuracy of each row of the table with its interval; the figure has bars."
        in offers
    )
    assert (
        f"robustness{between}Print what limits each interval, and what single words do to each row." in offers
    )
    assert {"bundled:lstm", "hf:", "mine.pt"} <= {*offers}


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_its_script(shell):
    text = succeed("completion", shell).stdout
    assert f"_TSEVAL_COMPLETE={shell}_complete" in text
    assert "complet" in text


def test_another_shell_is_told_which_there_are():
    assert "'bash', 'zsh', 'fish'" in refuse("completion", "powershell").stderr


def groups(group=tseval, path=()):
    yield path, group
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from groups(command, (*path, name))


@pytest.mark.parametrize("path", [path for path, _ in groups() if path != ("suites",)], ids=" ".join)
def test_a_group_alone_lists_every_command_by_what_a_person_wants(path):
    (group,) = (one for other, one in groups() if other == path)
    assert isinstance(group, Group)
    named = [name for names in group.purposes.values() for name in names]
    assert sorted(named) == sorted({*group.commands, *group.summaries}), "each stands once"
    done = refuse(*path)
    assert [name for name in named if not re.search(rf"^  {name} ", done.stderr, re.MULTILINE)] == []
    assert "…" not in done.stderr
    assert "..." not in done.stderr.partition("COMMAND [ARGS]...")[2]
    assert max(map(len, done.stderr.splitlines())) <= 80


@needs_posix
def test_help_is_as_wide_as_its_terminal(tmp_path):
    for width in (80, 120):
        shown, code = on_a_terminal("run", "--help", cwd=tmp_path, width=width, COLUMNS="")
        longest = max(map(len, shown.splitlines()))
        assert (code, width - 24 < longest <= width) == (0, True)


def test_help_of_run_begins_with_examples_that_work():
    told = succeed("run", "--help").stdout
    examples = re.findall(r"^  tseval (run .*?) *#", told.partition("Options:")[0], re.MULTILINE)
    assert len(examples) == 3
    command = tseval.get_command(click.Context(tseval), "run")
    for example in examples:
        assert command.make_context("run", example.split()[1:]).params["spec"]


def test_a_run_without_a_model_is_shown_two():
    assert refuse("run").stderr.endswith(
        "Error: Missing option '--model'. For example:\n"
        "\t--model bundled:lstm (comes with tseval)\n"
        "\t--model drnn.pt (your checkpoint: docs/your-checkpoint.md)\n"
    )


def commands():
    for path, group in groups():
        for name in group.list_commands(click.Context(group)):
            command = group.get_command(click.Context(group), name)
            if not isinstance(command, click.Group) and command.name != "lm-eval":
                yield (*path, name), command


def test_an_option_has_one_spelling_in_all_commands():
    for path, command in commands():
        known = {option for parameter in command.params for option in parameter.opts}
        assert ("-o" in known) == ("--out" in known), path
        assert not known & set(RENAMED), path
        formats = [one for one in command.params if "--format" in one.opts]
        assert "json" not in getattr(formats[0].type if formats else None, "choices", ()) or "--json" in known


def test_the_old_spelling_works_with_a_line_of_advice(tmp_path):
    said = "the option --output is now called --out; the old name still works in this version\n"
    for given in (["--output", "items.tsv"], ["--output=items.tsv"]):
        done = succeed(
            "expand", "marvin_linzen", "--case", "simple_agrmt", "--limit", "2", *given, cwd=tmp_path
        )
        assert done.stderr == said
        assert (tmp_path / "items.tsv").read_text("utf-8").count("\n") == 3
        (tmp_path / "items.tsv").unlink()
    # Commands without an option --out receive --output unchanged.
    assert "--output" in call("pair", "--output", "a b", "--model", "bundled:lstm").stderr


def test_json_is_short_for_its_format():
    short = succeed("table", "bhatt2020", "--json").stdout
    assert json.loads(short) == json.loads(succeed("table", "bhatt2020", "--format", "json").stdout)


def hostile_fifo(folder):
    os.mkfifo(folder / "x.jinja")


def hostile_device(folder):
    (folder / "x.jinja").symlink_to("/dev/zero")


def hostile_text(folder):
    (folder / "x.jinja").write_bytes(b"---\nfeatures:\n  \xff\xfe: 1\n---\n" + b"\xff" * 10_000_000)


def hostile_manifest(folder):
    (folder / "manifest.json").write_text("[" * 60_000)


def hostile_numbers(folder):
    (folder / "manifest.json").write_text('{"suite": {"name": ' + "9" * 50_000 + "}}")


def hostile_manifest_device(folder):
    (folder / "manifest.json").symlink_to("/dev/zero")


def hostile_crowd(folder):
    for number in range(20_000):
        (folder / f"{number}.jinja").touch()


HOSTILE = [hostile_fifo, hostile_device, hostile_text, hostile_manifest, hostile_numbers,
           hostile_manifest_device, hostile_crowd]  # fmt: skip


@pytest.mark.slow
@needs_posix
@pytest.mark.parametrize("plant", HOSTILE)
def test_completion_in_a_hostile_folder_says_nothing_and_ends(plant, tmp_path, monkeypatch):
    (tmp_path / "suite").mkdir()
    plant(tmp_path / "suite")
    monkeypatch.chdir(tmp_path)
    for line in (
        "tseval run --suite suite --by ",
        "tseval run --suite suite --case ",
        "tseval table suite --by ",
    ):
        monkeypatch.setenv("_TSEVAL_COMPLETE", "zsh_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
        began = time.monotonic()
        done = call()
        assert time.monotonic() - began < 2
        assert done.stderr == ""
        assert done.returncode in (0, 1)
