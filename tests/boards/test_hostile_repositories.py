"""A board in a hostile git repository that configures programs for git to run: none of them runs."""

import shutil

import pytest
from forged import board_of_pairs
from in_process import call, run_process, succeed
from systems import needs_posix

from tseval.adapters import open_model

pytestmark = [needs_posix, pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")]
NAMED = "-c", "user.name=A. Person", "-c", "user.email=a@example.org"


def git(folder, *words):
    done = run_process(["git", *NAMED, *words], cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make a repository with a board, two commits, and an entry that is not committed."""
    root = tmp_path_factory.mktemp("hostile") / "clone"
    root.mkdir()
    entry = board_of_pairs(root, open_model("bundled:lstm"))
    shutil.move(entry, root.parent / "entry")
    git(root, "init", "--quiet", "--initial-branch", "main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "A board")
    git(root, "branch", "base")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "Nothing")
    shutil.move(root.parent / "entry", entry)
    return root


@pytest.fixture
def root(made, tmp_path):
    shutil.copytree(made, tmp_path / "clone", symlinks=True)
    return tmp_path / "clone"


def program(root, more=""):
    """Write a program that creates a marker file; return the marker and the program."""
    mark, file = root.parent / "EXECUTED", root.parent / "program"
    file.write_text(f"#!/bin/sh\n{more}\ntouch '{mark}'\nexit 1\n")
    file.chmod(0o755)
    return mark, file


def signed(root):
    """Sign the board's commit; git passes a signature to a program that checks it."""
    head = f"tree {git(root, 'rev-parse', 'base^{tree}')}\n"
    who = "A. Person <a@example.org> 1700000000 +0000"
    text = (
        f"{head}author {who}\ncommitter {who}\n"
        "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nSigned\n"
    )
    (root.parent / "commit").write_text(text)
    commit = git(root, "hash-object", "-t", "commit", "-w", "--literally", str(root.parent / "commit"))
    git(root, "update-ref", "HEAD", commit)
    git(root, "update-ref", "refs/heads/base", commit)


def in_configuration(*settings):
    def plant(root, file):
        for name, value in settings:
            git(root, "config", name, value.format(file))
        return root

    return plant


def with_signature(root, file):
    signed(root)
    return in_configuration(("log.showSignature", "true"), ("gpg.program", "{}"))(root, file)


def with_filter(root, file):
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/attributes").write_text("* filter=x\n")
    (root / "board/README.md").touch()  # newer than the index, so git reads it
    return in_configuration(("filter.x.clean", "{}"))(root, file)


def included(root, file):
    (root / ".git/other").write_text(f'[core]\n\tfsmonitor = "{file}"\n')
    return in_configuration(("include.path", "other"))(root, file)


def gitfile(root, file):
    in_configuration(("core.fsmonitor", "{}"))(root, file)
    (root / ".git").rename(root.parent / "elsewhere")
    (root / ".git").write_text(f"gitdir: {root.parent / 'elsewhere'}\n")
    return root


def embedded(root, file):
    """Give the board itself the layout of a bare repository, which an ordinary clone can contain."""
    shutil.copytree(root / ".git", root / "board", dirs_exist_ok=True)
    config = (
        f'[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "{file}"\n'
    )
    (root / "board/config").write_text(config)
    return root / "board"


def nested(root, file):
    """Add a nested repository to the index, so that git would look into it."""
    within = root / "within"
    git(root, "init", "--quiet", "within")
    git(within, "commit", "--quiet", "--allow-empty", "--message", "Nothing")
    git(root, "add", "within")
    git(within, "config", "core.fsmonitor", str(file))
    return root


PLANTED = {
    "fsmonitor": in_configuration(("core.fsmonitor", "{}")),
    "a signature": with_signature,
    "a filter": with_filter,
    "an external diff": in_configuration(("diff.external", "{}"), ("core.fsmonitor", "{}")),
    "another configuration": included,
    "a gitfile": gitfile,
    "an embedded repository": embedded,
    "a repository within": nested,
}


@pytest.mark.slow
@pytest.mark.parametrize("way", PLANTED)
def test_nothing_that_a_repository_names_is_run(way, root):
    mark, file = program(root)
    where = PLANTED[way](root, file)
    for words in (("diff", "base", "--"), ("log", "-1", "--", "."), ("ls-files", "--others")):
        run_process(["git", *words], cwd=where)
    assert mark.exists(), "git itself runs it"
    mark.unlink()
    checked = call("board", "check", root / "board", "--changed", "base")
    assert checked.returncode in (0, 1)
    built = call("board", "build", root / "board", "-o", root.parent / "site")
    assert not mark.exists()
    assert "Traceback" not in checked.stderr + built.stderr
    if way == "an embedded repository":
        assert "changes board/HEAD" in checked.stdout
    elif way == "a repository within":
        assert "changes within" in checked.stdout
    else:
        assert (checked.returncode, built.returncode) == (0, 0), checked.stdout + built.stderr


def test_what_git_says_of_a_sound_clone_stays(root):
    said = succeed("board", "check", root / "board", "--changed", "base").stdout
    assert ", new: lstm" in said
    (root / "board/README.md").write_text("changed")
    (root / "new.txt").write_text("new")
    said = call("board", "check", root / "board", "--changed", "base").stdout
    assert "changes board/README.md" in said
    assert "changes new.txt" in said
    git(root, "pack-refs", "--all")
    git(root, "gc", "--quiet")
    git(root, "worktree", "add", "--quiet", "--detach", root.parent / "second")
    succeed("board", "check", root.parent / "second/board", "--changed", "base")
    succeed("board", "build", root / "board", "-o", root.parent / "site")
    assert git(root, "rev-parse", "base")[:12] in (root.parent / "site/index.html").read_text()


def test_a_repository_without_its_objects_is_refused_by_name(root):
    shutil.rmtree(root / ".git/objects")
    done = call("board", "check", root / "board", "--changed", "base")
    assert done.returncode == 2
    assert "--changed: this git repository has no commit 'base'" in done.stderr
