"""Downloads from a server on this machine."""

import http.server
import re
import shutil
import subprocess
import tarfile
import threading
import zipfile
import zlib
from functools import partial

import pytest
from in_process import call, refuse
from killing import files_below
from supplied import RUBLIMP_SAMPLE, TURBLIMP_SAMPLE

from tseval.errors import SuiteError
from tseval.suites import load_suite
from tseval.suites.data.catalogue import CATALOGUE, Commit, Published
from tseval.suites.data.fetching import fetch_files

FILES = {"simple_agrmt.txt": "True\ta b\nFalse\ta c\n", "subj_rel.txt": "True\td e\nFalse\td f\n"}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def address(tmp_path):
    (tmp_path / "served").mkdir()
    for name, text in FILES.items():
        (tmp_path / "served" / name).write_text(text)
    handler = partial(Quiet, directory=str(tmp_path / "served"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def digest_of(folder, columns=None):
    return load_suite(folder, columns=columns).digest


def fetch(published, folder):
    """Download a set; return its digest and the reported progress."""
    seen = []
    return fetch_files("clams_xx", published, folder, digest_of, lambda *counts: seen.append(counts)), seen


def published(address, names=FILES, digest=None):
    files = {name: f"{address}/{name}" for name in names}
    return Published("Small 2020", "CC BY 4.0", len(files), 2, files, digest=digest)


def test_all_files_arrive_and_make_the_published_suite(tmp_path, address):
    expected = digest_of(tmp_path / "served")
    digest, seen = fetch(published(address, digest=expected), tmp_path / "data/clams_xx")
    assert digest == expected
    assert {path.name: path.read_text() for path in (tmp_path / "data/clams_xx").iterdir()} == FILES
    assert seen == [(0, 2), (1, 2), (2, 2)]
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["clams_xx"]


@pytest.mark.parametrize(
    ("names", "digest", "message"),
    [
        (FILES, "0" * 64, "are not the published set. Their digest is .*, but the published digest is 0000"),
        ([*FILES, "prep_anim.txt"], None, r"prep_anim\.txt does not answer \(.*File not found"),
    ],
)
def test_what_is_wrong_or_missing_leaves_nothing_behind_and_an_earlier_copy_alone(
    tmp_path, address, names, digest, message
):
    folder = tmp_path / "data/clams_xx"
    folder.mkdir(parents=True)
    (folder / "simple_agrmt.txt").write_text("True\told\nFalse\tone\n")
    with pytest.raises(SuiteError, match=message):
        fetch(published(address, names, digest), folder)
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["clams_xx"]
    assert (folder / "simple_agrmt.txt").read_text() == "True\told\nFalse\tone\n"


def test_without_a_connection_the_message_says_what_to_do(tmp_path):
    message = r"tseval cannot fetch clams_xx: .*\n.* copy into .*/x\n  http://\S*_agrmt.txt, .* must be 000"
    with pytest.raises(SuiteError, match=message):
        fetch(published("http://127.0.0.1:9", digest="0" * 64), tmp_path / "x")


def git(folder, *arguments):
    command = ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@b.c", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def source(tmp_path):
    """Return a repository whose files have changed since the commit."""
    folder = tmp_path / "repository"
    (folder / "xx_evalset").mkdir(parents=True)
    git(folder, "init", "--quiet")
    git(folder, "config", "uploadpack.allowReachableSHA1InWant", "true")  # as on published repositories
    for text in ("True\ta b\r\nFalse\ta c\r\n", "True\ta b\nFalse\tb b\n"):
        (folder / "xx_evalset/simple_agrmt.txt").write_bytes(text.encode())
        git(folder, "add", ".")
        git(folder, "-c", "core.autocrlf=false", "commit", "--quiet", "--message", "text")
    return Commit(folder.as_uri(), git(folder, "rev-parse", "HEAD~1"))


def in_commit(source):
    return Published(
        "Small 2020", "MIT", 1, 1, {"simple_agrmt.txt": "xx_evalset/simple_agrmt.txt"}, source=source
    )


def test_a_commit_gives_its_own_files_byte_for_byte(tmp_path, source):
    folder = tmp_path / "data/clams_xx"
    digest, seen = fetch(in_commit(source), folder)
    assert (folder / "simple_agrmt.txt").read_bytes() == b"True\ta b\r\nFalse\ta c\r\n"
    assert digest == digest_of(folder)
    assert seen == [(0, 1), (1, 1)]
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["clams_xx"]


@pytest.fixture
def tables(tmp_path):
    """Return a repository with a folder of tables and an archive of tables."""
    folder = tmp_path / "tables"
    shutil.copytree(RUBLIMP_SAMPLE, folder / "datasets")
    (folder / "datasets/.hidden").write_text("no data")
    with tarfile.open(folder / "packed.tar.gz", "w:gz") as archive:
        archive.add(TURBLIMP_SAMPLE, "TurBLiMP")
        archive.add(folder / "datasets/.hidden", "TurBLiMP/._hidden")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "-c", "core.autocrlf=false", "commit", "--quiet", "--message", "tables")
    return Commit(folder.as_uri(), git(folder, "rev-parse", "HEAD"))


@pytest.mark.parametrize(
    ("folder", "sample"), [("datasets", RUBLIMP_SAMPLE), ("packed.tar.gz", TURBLIMP_SAMPLE)]
)
def test_a_folder_or_an_archive_of_a_commit_gives_all_its_files(tmp_path, tables, folder, sample):
    published = Published("Tables", "CC BY 4.0", 4, 100, folder=folder, source=tables)
    digest, seen = fetch(published, tmp_path / "data/mine")
    assert digest == digest_of(sample)
    assert files_below(tmp_path / "data/mine") == files_below(sample)
    assert seen == [(done, 4) for done in range(5)]


TURNS = {
    "turns/en/a.txt": "the author laugh .\nthe author laughs .\n",
    "turns/.DS_Store": "",
    "other/large.txt": "not fetched",
    "one.csv": "id,Satz,Art\n1,the author laughs .,x\n2,the author laugh .,x\n",
}
HOW = {"layout": "alternating-good-first", "sentence": "Satz", "case": "Art"}


@pytest.fixture
def turns(tmp_path):
    """Return a repository with alternating lines in a nested folder, and with a zip archive of tables."""
    folder = tmp_path / "turns"
    for name, text in TURNS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    with zipfile.ZipFile(folder / "packed.zip", "w") as archive:
        archive.mkdir("Set")
        archive.write(folder / "one.csv", "Set/one.csv")
        archive.writestr("__MACOSX/Set/._one.csv", "no data")
        archive.writestr("Set/bare.csv", "a dog runs .\na dog run .\n")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "-c", "core.autocrlf=false", "commit", "--quiet", "--message", "turns")
    return Commit(folder.as_uri(), git(folder, "rev-parse", "HEAD"))


def test_a_set_says_how_its_tables_are_read_and_calls_files_otherwise(tmp_path, turns):
    packed = Published("Turns", "MIT", 2, 2, {"bare.txt": "Set/bare.csv"}, "packed.zip", turns, columns=HOW)
    digest, seen = fetch(packed, tmp_path / "data/mine")
    assert seen[-1] == (2, 2)
    suite = load_suite(tmp_path / "data/mine", columns=HOW)
    assert suite.digest == digest
    sentences = {case.name: case.sentences.to_pylist() for case in suite.cases}
    assert sentences == {
        "bare": [{"good": "a dog runs .", "bad": "a dog run ."}],
        "x": [{"good": "the author laughs .", "bad": "the author laugh ."}],
    }


@pytest.mark.parametrize("filtered", [True, False])
def test_only_the_files_of_a_set_come_where_the_server_can_leave_others_out(
    tmp_path, turns, filtered, monkeypatch
):
    for option in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
        git(tmp_path / "turns", "config", option, str(filtered))
    blob = git(tmp_path / "turns", "rev-parse", "HEAD:other/large.txt")
    (tmp_path / "turns/.git/objects" / blob[:2] / blob[2:]).unlink()
    folder = Published("Turns", "MIT", 1, 1, folder="turns", source=turns, columns={"layout": "alternating"})
    if not filtered:
        with pytest.raises(SuiteError, match="cannot get the commit"):
            fetch(folder, tmp_path / "data/mine")
        return
    fetch(folder, tmp_path / "data/mine")
    assert [path.name for path in (tmp_path / "data/mine").iterdir()] == ["a.txt"]


def test_files_that_were_brought_by_hand_are_read_as_the_set_and_held_to_its_digest(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (tmp_path / "tseval/zorro").mkdir(parents=True)
    (tmp_path / "tseval/zorro/quantifiers.txt").write_text(TURNS["turns/en/a.txt"])
    run = call("run", "--model", "bundled:lstm", "--suite", "zorro", "--out", str(tmp_path / "run"))
    assert "read quantifiers.txt (alternating, 1 item); this is not the published set: the" in run.stderr
    assert CATALOGUE["zorro"].digest[:12] in run.stderr
    assert call("lint", "zorro").stderr == "No findings in 1 item.\n"
    assert call("verify", str(tmp_path / "run"), "--suite", "zorro").returncode == 0


def test_a_repository_that_holds_something_else_under_the_commit_is_refused(tmp_path, source):
    folder = tmp_path / "repository"
    blob = git(folder, "rev-parse", f"{source.id}:xx_evalset/simple_agrmt.txt")
    path = folder / ".git/objects" / blob[:2] / blob[2:]
    path.chmod(0o600)
    path.write_bytes(zlib.compress(b"blob 18\0True\ta b\nFalse\tx y"))
    message = (
        rf"tseval cannot fetch clams_xx: tseval cannot get the commit {source.id[:12]} from .* \(.*\n"
        rf".* copy into .*clams_xx\n  xx_evalset/simple_agrmt.txt of commit {source.id}"
    )
    with pytest.raises(SuiteError, match=message):
        fetch(in_commit(source), tmp_path / "data/clams_xx")
    assert not list((tmp_path / "data").iterdir())


def test_a_commit_that_is_not_there_is_named(tmp_path, source):
    other = in_commit(Commit(source.repository, "0123456789" * 4))
    with pytest.raises(SuiteError, match="cannot get the commit 012345678901"):
        fetch(other, tmp_path / "data/clams_xx")


def test_without_git_the_message_says_so(tmp_path, source, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    message = r"tseval cannot fetch clams_xx: .* git is not installed\.\n.* copy into"
    with pytest.raises(SuiteError, match=message):
        fetch(in_commit(source), tmp_path / "data/clams_xx")


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_published_set_has_a_checksum(name):
    published = CATALOGUE[name]
    checksum = published.digest or published.source.id
    assert re.fullmatch("[0-9a-f]{64}|[0-9a-f]{40}", checksum)


def test_a_set_that_lies_elsewhere_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for command in (["suites", "fetch", "multiblimp"], ["expand", "multiblimp"]):
        result = refuse(*command)
        assert "git clone https://huggingface.co/datasets/jumelet/multiblimp, and then name" in result.stderr


@pytest.mark.slow
def test_the_list_tells_what_is_here_from_what_can_be_fetched_with_sizes_and_licences(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (tmp_path / "tseval/clams_de").mkdir(parents=True)
    (tmp_path / "tseval/clams_de/simple_agrmt.txt").write_text(FILES["simple_agrmt.txt"])
    here, _, absent = call("suites").stdout.partition(
        "Suites that you can download with tseval suites fetch NAME:"
    )
    assert "clams_de" in here
    assert "blimp" not in here
    assert "clams_de" not in absent
    assert "blimp" in absent
    listed = [line.split() for line in absent.splitlines()]
    for name, cases, items, *licence in (
        ("rublimp", "45", "45,000", "Apache-2.0"),
        ("turblimp", "16", "16,000", "CC", "BY", "4.0"),
        ("jblimp", "37", "331", "CC", "BY-NC-SA", "4.0"),
        ("zhoblimp", "118", "35,400", "none", "stated"),
    ):
        (row,) = (words for words in listed if words[:1] == [name])
        assert row[-2 - len(licence) :] == [cases, items, *licence]
    assert call("expand", "clams_de", "--no-header").stdout == "simple_agrmt\ta b\ta c\n"


def test_a_set_is_downloaded_at_its_first_use(tmp_path, address, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setitem(CATALOGUE, "small_set", published(address, digest=digest_of(tmp_path / "served")))
    assert call("expand", "small_set", "--no-header").stdout == "simple_agrmt\ta b\ta c\nsubj_rel\td e\td f\n"
    shutil.rmtree(tmp_path / "served")
    assert call("expand", "small_set", "--case", "subj_rel", "--no-header").stdout == "subj_rel\td e\td f\n"
    shutil.rmtree(tmp_path / "data")
    result = refuse("run", "--model", "bundled:lstm", "--suite", "small_set")
    assert "tseval cannot fetch small_set" in result.stderr
    assert f"copy into {tmp_path}/data/tseval/small_set" in result.stderr


def test_an_unknown_data_set_is_named():
    result = refuse("suites", "fetch", "blimb")
    assert (
        "no data set that tseval can download has the name 'blimb'.\n  Did you mean 'blimp'?" in result.stderr
    )
