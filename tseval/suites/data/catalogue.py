"""What can be downloaded: data sets by name, fetched whole or not at all, held to what they must contain."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import tempfile
import urllib.request
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.suites.data.pairs import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


_GITHUB = "https://raw.githubusercontent.com"
_BLIMP = f"{_GITHUB}/alexwarstadt/blimp/3e56b06fcabca9b30822fc66435fca6b1aa40bb1/data"
_GREEN = f"{_GITHUB}/facebookresearch/colorlessgreenRNNs/dbffbf0f2ef86c50bac204d7a2292862e1c6036f/data"


@dataclass(frozen=True, slots=True)
class Commit:
    """A state of a repository. Git computes its id from every byte that it holds: it is a checksum."""

    repository: str  # address that git can fetch from
    id: str  # forty hexadecimal digits


_TURKISH = Commit("https://github.com/ezgibasar/TurBLiMP", "297de13fb7a0ce524fe32e8b175c6b5255d66960")
_CHINESE = Commit("https://github.com/sjtu-compling/ZhoBLiMP", "e8402762a563c13def19080a31e2cbb8d89e4ef3")
_CLAMS = Commit("https://github.com/aaronmueller/clams", "299d80a80e98bd14a1f74b942f18ef05059d860b")


@dataclass(frozen=True, slots=True)
class Published:
    """A data set at its published address."""

    title: str  # as a reader would cite it
    licence: str  # what its authors allow
    n_cases: int
    n_items: int
    files: Mapping[str, str] = field(default_factory=dict)  # name to address, or to its path in `source`
    folder: str | None = None  # of `source`, or a `.tar.gz`, whose files are taken where `files` names none
    source: Commit | None = None  # None where the files have addresses of their own
    digest: str | None = None  # of the suite that they make up; None where only the commit vouches for them


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A data set whose files are not fetched, but opened once they are here."""

    title: str
    licence: str
    address: str  # of a repository that git can clone, with a file for each of its cases


_PARADIGMS = (
    "adjunct_island", "anaphor_gender_agreement", "anaphor_number_agreement", "animate_subject_passive",
    "animate_subject_trans", "causative", "complex_NP_island",
    "coordinate_structure_constraint_complex_left_branch",
    "coordinate_structure_constraint_object_extraction", "determiner_noun_agreement_1",
    "determiner_noun_agreement_2", "determiner_noun_agreement_irregular_1",
    "determiner_noun_agreement_irregular_2", "determiner_noun_agreement_with_adj_2",
    "determiner_noun_agreement_with_adj_irregular_1", "determiner_noun_agreement_with_adj_irregular_2",
    "determiner_noun_agreement_with_adjective_1", "distractor_agreement_relational_noun",
    "distractor_agreement_relative_clause", "drop_argument", "ellipsis_n_bar_1", "ellipsis_n_bar_2",
    "existential_there_object_raising", "existential_there_quantifiers_1", "existential_there_quantifiers_2",
    "existential_there_subject_raising", "expletive_it_object_raising", "inchoative", "intransitive",
    "irregular_past_participle_adjectives", "irregular_past_participle_verbs",
    "irregular_plural_subject_verb_agreement_1", "irregular_plural_subject_verb_agreement_2",
    "left_branch_island_echo_question", "left_branch_island_simple_question",
    "matrix_question_npi_licensor_present", "npi_present_1", "npi_present_2", "only_npi_licensor_present",
    "only_npi_scope", "passive_1", "passive_2", "principle_A_c_command", "principle_A_case_1",
    "principle_A_case_2", "principle_A_domain_1", "principle_A_domain_2", "principle_A_domain_3",
    "principle_A_reconstruction", "regular_plural_subject_verb_agreement_1",
    "regular_plural_subject_verb_agreement_2", "sentential_negation_npi_licensor_present",
    "sentential_negation_npi_scope", "sentential_subject_island", "superlative_quantifiers_1",
    "superlative_quantifiers_2", "tough_vs_raising_1", "tough_vs_raising_2", "transitive", "wh_island",
    "wh_questions_object_gap", "wh_questions_subject_gap", "wh_questions_subject_gap_long_distance",
    "wh_vs_that_no_gap", "wh_vs_that_no_gap_long_distance", "wh_vs_that_with_gap",
    "wh_vs_that_with_gap_long_distance",
)  # fmt: skip

# English has Marvin & Linzen's constructions, the other languages seven of them.
_CLAMS_FILES = (
    "simple_agrmt", "vp_coord", "long_vp_coord", "prep_anim", "subj_rel", "obj_rel_within_anim",
    "obj_rel_across_anim",
)  # fmt: skip
_CLAMS_ENGLISH = (
    "sent_comp", "prep_inanim", "obj_rel_within_inanim", "obj_rel_across_inanim",
    "obj_rel_no_comp_within_anim", "obj_rel_no_comp_within_inanim", "obj_rel_no_comp_across_anim",
    "obj_rel_no_comp_across_inanim", "simple_reflexives", "reflexive_sent_comp", "reflexives_across",
    "simple_npi_anim", "simple_npi_inanim", "npi_across_anim", "npi_across_inanim",
)  # fmt: skip


def _clams(code: str) -> Published:
    n_items = {"en": 157_346, "fr": 49_360, "de": 47_820, "he": 40_820, "ru": 40_120}[code]
    names = sorted([*_CLAMS_FILES, *(_CLAMS_ENGLISH if code == "en" else ())])
    files = {f"{name}.txt": f"{code}_evalset/{name}.txt" for name in names}
    title = f"CLAMS, {LANGUAGES[code]} (Mueller et al. 2020)"
    return Published(title, "Apache-2.0", len(files), n_items, files, source=_CLAMS)


CATALOGUE = {
    "blimp": Published(
        "BLiMP (Warstadt et al. 2020)", "CC BY 4.0", 67, 67_000,
        {f"{name}.jsonl": f"{_BLIMP}/{name}.jsonl" for name in _PARADIGMS},
        digest="cdcdfc03dcbd2323e1ef254da1c5d527ca5e6f9a5fa223150404a24ec8f7c22c",
    ),
    "linzen": Published(
        "Agreement in Wikipedia (Linzen et al. 2016)", "CC BY-NC 4.0", 5, 7_489,
        {f"linzen.{kind}": f"{_GREEN}/linzen_testset/subj_agr_filtered.{kind}" for kind in ("text", "gold")},
        digest="e4ca13f70300176331b0a0d1fc31afea608c36f57f3dac4ac610d819891ca694",
    ),
    "gulordava": Published(
        "Colourless green agreement (Gulordava et al. 2018)", "CC BY-NC 4.0", 2, 410,
        {"generated.tab": f"{_GREEN}/agreement/English/generated.tab"},
        digest="0ae60a4c9c792f5ba0bb231ad211cd3b11962d06c8b46bf8e1666d24ea8d341b",
    ),
    **{f"clams_{code}": _clams(code) for code in LANGUAGES},
    "turblimp": Published(
        "TurBLiMP, Turkish (Başar et al. 2025)", "CC BY 4.0", 16, 16_000, folder="data/base", source=_TURKISH
    ),
    "turblimp_orders": Published(
        "TurBLiMP, word orders and subordination", "CC BY 4.0", 22, 2_200, folder="data/experimental",
        source=_TURKISH,
    ),
    "rublimp": Published(
        "RuBLiMP, Russian (Taktasheva et al. 2024)", "Apache-2.0", 45, 45_000, folder="datasets",
        source=Commit("https://github.com/RussianNLP/RuBLiMP", "9f0d8dfa993b2c0f0acf12660258540376779543"),
    ),
    "jblimp": Published(
        "JBLiMP, Japanese (Someya & Oseki 2023)", "CC BY-NC-SA 4.0", 37, 331,
        {"jblimp.jsonl": "data/validated/validated_minimal_pairs.jsonl"},
        source=Commit("https://github.com/osekilab/JBLiMP", "80dbcd80f161511d9130691181a6492cae2c6dcc"),
    ),
    "zhoblimp": Published(
        "ZhoBLiMP, Chinese (Liu et al. 2025)", "none stated", 118, 35_400, folder="data/ZhoBLiMP.tar.gz",
        source=_CHINESE,
    ),
}  # fmt: skip
ELSEWHERE = {
    "multiblimp": Elsewhere(
        "MultiBLiMP 1.0, 101 languages, 125,000 pairs (Jumelet et al. 2025)",
        "CC BY 4.0",
        "https://huggingface.co/datasets/jumelet/multiblimp",
    )
}


def refuse_elsewhere(name: str) -> None:
    """Say how to get a data set that tseval does not fetch."""
    if name in ELSEWHERE:
        address = ELSEWHERE[name].address
        raise SuiteError(
            f"{name} is not here: tseval does not fetch it.\n"
            f"  git clone {address}, then name its folder: --suite ./{name}."
        )


TIMEOUT = 30  # seconds without an answer
OTHERWISE = "Where there is no network, bring the files by other means and name their folder: --suite DIR."


def fetch_files(
    name: str,
    published: Published,
    folder: Path,
    digest_of: Callable[[Path], str],
    progress: Callable[[int, int], None] | None = None,
) -> str:
    """Download the files of a data set into a folder, which appears when all are there and checked.

    `digest_of` gives the digest of the suite in a folder, which is given back; progress is told in files
    done, of all.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{name}-") as made:
        # A folder of the set's name inside, since the name of a suite is that of its folder.
        part = Path(made) / name
        part.mkdir()
        try:
            if progress:
                progress(0, len(published.files) or published.n_cases)
            files, get = _sources(published, Path(made) / "git")
            for done, (file, place) in enumerate(files.items(), start=1):
                get(place, part / file)
                if progress:
                    progress(done, len(files))
        except _NoAnswerError as error:
            raise SuiteError(f"{name} cannot be fetched: {error}.\n  {OTHERWISE}") from None
        digest = digest_of(part)
        if published.digest not in {None, digest}:
            raise SuiteError(
                f"{name}: what came from {place} is not the published set: its digest is {digest[:12]}, "
                f"not {str(published.digest)[:12]}.\n  Nothing was kept. Try again later."
            )
        if folder.exists():
            shutil.rmtree(folder)
        part.rename(folder)
    return digest


class _NoAnswerError(Exception):
    """A file did not come."""


def _download(address: str, path: Path) -> None:
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT) as answer, path.open("wb") as file:  # noqa: S310 - addresses are ours
            shutil.copyfileobj(answer, file)
    except OSError as error:  # no address, no answer in time, no room
        reason = getattr(error, "reason", None) or error
        raise _NoAnswerError(f"{address} does not answer ({reason})") from None


def _sources(published: Published, clone: Path) -> tuple[Mapping[str, str], Callable[[str, Path], object]]:
    """Say which files there are and where, and give what puts one into its place.

    Git names all that it fetches by checksums over the content, from the files up to the commit: whatever
    is found under the commit's id is what its authors put there.
    """
    source, folder = published.source, published.folder
    if source is None:
        return published.files, _download
    git = partial(_git, source, "--git-dir", str(clone))
    git("init", "--quiet", "--bare")
    git("fetch", "--depth=1", source.repository, source.id)

    def content(place: str) -> bytes:
        return git("cat-file", "blob", f"{source.id}:{place}")

    if folder is None:
        return published.files, lambda place, path: path.write_bytes(content(place))
    if folder.endswith(".tar.gz"):
        with tarfile.open(fileobj=io.BytesIO(content(folder))) as archive:
            held = {info.name: archive.extractfile(info) for info in archive if info.isfile()}
            texts = {name: file.read() for name, file in held.items() if file is not None}
        return _by_name(texts), lambda place, path: path.write_bytes(texts[place])
    listed = git("ls-tree", "-z", "--name-only", f"{source.id}:{folder}")
    names = [f"{folder}/{name}" for name in listed.decode().split("\0") if name]
    return _by_name(names), lambda place, path: path.write_bytes(content(place))


def _by_name(places: Iterable[str]) -> dict[str, str]:
    """Name files as they are called in their folder; hidden ones are left out."""
    names = {place.rpartition("/")[2]: place for place in places}
    return {name: place for name, place in names.items() if not name.startswith(".")}


def _git(source: Commit, *arguments: str) -> bytes:
    limits = ["-c", "http.lowSpeedLimit=1", "-c", f"http.lowSpeedTime={TIMEOUT}"]
    try:
        result = subprocess.run(  # noqa: S603 - addresses are ours
            ["git", *limits, *arguments],  # noqa: S607 - the git of the user's path
            capture_output=True, check=True, env=os.environ | {"GIT_TERMINAL_PROMPT": "0"},
        )  # fmt: skip
    except FileNotFoundError:
        said = f"it stands in a repository, {source.repository}, and git is not installed"
        raise _NoAnswerError(said) from None
    except subprocess.CalledProcessError as error:
        said = " ".join(error.stderr.decode(errors="replace").split())
        raise _NoAnswerError(f"{source.repository} does not give commit {source.id[:12]} ({said})") from None
    return result.stdout
