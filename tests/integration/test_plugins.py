"""Adapters of other packages that fail to load: messages with name, reason and fix. Real installations."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("pip", reason="packages are installed with pip")
pytest.importorskip("hatchling", reason="the packages are built by hatchling")
pytest.importorskip("editables", reason="hatchling needs it for editable packages")
pytestmark = pytest.mark.slowest

ROOT = Path(__file__).parents[2]
PROJECT = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "tseval-{package}"
version = "1.5"

[tool.hatch.build.targets.wheel]
packages = ["{package}"]

[project.entry-points."tseval.adapters"]
"""
SOUND = """from tseval.scoring.protocol import ModelCard


class Sound:
    card = ModelCard("sound", "sound", "0" * 64, {}, {})

    def word_logprobs(self, sentences):
        return [[-1.0] * len(text.split()) for text in sentences]


def open_it(rest, arguments, device):
    return {"nothing": None, "class": Sound, "half": HalfRecurrent()}.get(rest, Sound())


class HalfRecurrent:
    card, row_bytes, start, encode = Sound.card, 8, None, None
"""
FOREIGN = {
    "sound": SOUND,
    "lacking": "import no_such_library.inner\n",
    "misspelt": "def open_it(rest, arguments, device)\n    return None\n",
    "crashing": "\n\nraise RuntimeError('the licence is missing\\nsecond line')\n",
    "leaving": "import sys\n\nsys.exit('wants another Python')\n",
}
REFUSE = """import json, sys
from in_process import refuse
said = {model: refuse("pair", "a b", "a c", "--model", model).stderr for model in sys.argv[1:]}
print(json.dumps(said))
"""
CHECK = """import sys
from in_process import succeed
for model in sys.argv[1:]:
    succeed("check-model", model)
"""


@dataclass(frozen=True)
class Environment:
    """A virtual environment into which packages are installed, next to this checkout."""

    folder: Path

    def python(self, *arguments: str, path: Path = ROOT) -> str:
        """Return the output of a Python process; check that it succeeds."""
        done = subprocess.run(
            [self.folder / "env" / "bin" / "python", *arguments],
            capture_output=True, text=True, check=False, cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{path}:{ROOT / 'tests'}", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def refuses(self, *models: str, path: Path = ROOT) -> dict[str, str]:
        """Return the refusal messages of models, which one process tries to open."""
        messages: dict[str, str] = json.loads(self.python("-c", REFUSE, *models, path=path))
        return messages


def write_package(folder: Path, package: str, modules: dict[str, str]) -> Path:
    """Write a package with one adapter for each module."""
    home = folder / f"tseval-{package}"
    (home / package).mkdir(parents=True)
    for name, source in modules.items():
        (home / package / f"{name}.py").write_text(source, "utf-8")
    entries = "".join(f'{name} = "{package}.{name}:open_it"\n' for name in modules)
    (home / "pyproject.toml").write_text(PROJECT.format(package=package) + entries, "utf-8")
    return home


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("plugins")
    foreign = write_package(folder, "foreign", FOREIGN)
    edited = write_package(folder, "edited", {"renamed": SOUND, "moved": SOUND, "kept": SOUND})
    venv.create(folder / "env")
    home = str(folder / "env")
    site = Path(sysconfig.get_path("purelib", "venv", {"base": home, "platbase": home}))
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    pip = f"{sys.executable} -m pip --quiet --disable-pip-version-check"
    there, offline = f"--python {folder}/env/bin/python", "--no-deps --no-index --no-build-isolation"
    # Install by name from a folder of wheels, as from an index.
    for command in (
        f"{pip} wheel --wheel-dir {folder}/wheels {foreign}",
        f"{pip} {there} install --find-links {folder}/wheels tseval-foreign",
        f"{pip} {there} install --editable {edited}",
    ):
        subprocess.run([*command.split(), *offline.split()], check=True)
    # Changes of a package after its installation.
    renamed = edited / "edited" / "renamed.py"
    renamed.write_text(renamed.read_text().replace("open_it", "open_other"))
    (edited / "edited" / "moved.py").rename(edited / "edited" / "elsewhere.py")
    with (edited / "pyproject.toml").open("a") as project:
        project.write('late = "edited.kept:open_it"\n')
    return Environment(folder)


@pytest.fixture(scope="module")
def refused(environment: Environment) -> dict[str, str]:
    schemes = [*FOREIGN.keys() - {"sound"}, "renamed", "moved", "late"]
    rests = [f"sound:{rest}" for rest in ("nothing", "class", "half")]
    return environment.refuses(*(f"{scheme}:it" for scheme in schemes), *rests)


def test_a_sound_adapter_works_beside_broken_ones(environment: Environment) -> None:
    environment.python("-c", CHECK, "sound:it", "kept:it")


LACKING = "cannot be imported: No module named 'no_such_library'"
CRASHED = r"cannot be imported: RuntimeError: the licence is missing \(\S+foreign/crashing\.py:3\)"
ANOTHER = r"Try another version of the package, or .* pip install --force-reinstall --no-deps tseval-foreign"
ONCE = "Python reads entry points only when a package is installed. If you"
AGAIN = r"install it again: pip install -e FOLDER/tseval-edited"


@pytest.mark.parametrize(
    ("package", "scheme", "why", "what_to_do"),
    [
        ("foreign", "lacking", LACKING, "Install the missing package: pip install no_such_library"),
        ("foreign", "misspelt", r"cannot be imported: .* expected ':' \(misspelt\.py, line 1\)", ANOTHER),
        ("foreign", "crashing", CRASHED, ANOTHER),
        ("foreign", "leaving", "cannot be imported: SystemExit: wants another Python .*", ANOTHER),
        ("edited", "renamed", r"does not exist: edited\.renamed has no function open_it",
         f"{ONCE} renamed the function, {AGAIN}"),
        ("edited", "moved", r"cannot be imported: there is no module edited\.moved",
         f"{ONCE} moved or renamed the module, {AGAIN}"),
    ],
)  # fmt: skip
def test_an_adapter_that_cannot_be_imported_is_named(
    environment: Environment, refused: dict[str, str], package: str, scheme: str, why: str, what_to_do: str
) -> None:
    named = rf"the adapter '{scheme}' of the package tseval-{package} 1\.5 \({package}\.{scheme}:open_it\)"
    what_to_do = what_to_do.replace("FOLDER", re.escape(str(environment.folder)))
    said = refused[f"{scheme}:it"]
    assert re.fullmatch(rf"tseval: {named} {why}\.?\n  {what_to_do}\n", said), said


def test_an_adapter_registered_after_the_installation_is_found_in_its_project(
    environment: Environment, refused: dict[str, str]
) -> None:
    shown = refused["late:it"]
    edited = environment.folder / "tseval-edited"
    assert "late:it: no file has this name, and no adapter has the name 'late'." in shown
    assert f"{edited}/pyproject.toml registers 'late', but you installed tseval-edited before" in shown
    assert f"only when a package is installed. Install it again: pip install -e {edited}\n" in shown


def test_a_module_in_adapters_that_does_not_say_what_opens_its_models_is_noticed(
    environment: Environment, tmp_path: Path
) -> None:
    for name in ("tseval", "adapters"):
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True)
    (tmp_path / "adapters" / "my_own.py").write_text(SOUND, "utf-8")
    assert environment.refuses("my-own:it", path=tmp_path)["my-own:it"].endswith(
        "The module adapters/my_own.py does not name the function that opens my-own: models.\n"
        '  Add this line to it: SCHEMES = {"my-own": "NAME_OF_THE_FUNCTION"}\n'
    )


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("nothing",
         ("has the type NoneType, which is not a model. To be a SentenceModel, the class must also have: "
          "card, word_logprobs.\n")),
        ("class", ("is the class Sound itself, but tseval needs an object of this class.\n  Create an "
                   "object: Sound(...)\n")),
        ("half",
         ("has the type HalfRecurrent, which is not a model. To be a SentenceModel, the class must also "
          "have: word_logprobs.\n")),
    ],
)  # fmt: skip
def test_an_adapter_that_gives_no_model_is_one_message(
    refused: dict[str, str], rest: str, message: str
) -> None:
    shown = refused[f"sound:{rest}"]
    assert shown.startswith(f"tseval: what the adapter 'sound' (foreign.sound:open_it) returns {message}")


def test_the_list_of_models_says_what_is_broken_and_goes_on(environment: Environment) -> None:
    listed = environment.python("-m", "tseval", "models").splitlines()
    lines = {line.split()[0]: line for line in listed if line}
    assert lines["native"].split() == ["native", "tseval.adapters.native:open_checkpoint"]
    assert lines["sound"].split() == ["sound", "foreign.sound:open_it"]
    for scheme, why in (
        ("lacking", "No module named 'no_such_library'"),
        ("misspelt", "SyntaxError: expected ':' (misspelt.py, line 1)"),
        ("crashing", "RuntimeError: the licence is missing"),
        ("renamed", "edited.renamed has no function open_it"),
        ("moved", "there is no module edited.moved"),
    ):
        assert "broken: " in lines[scheme]
        assert why in lines[scheme]
    assert "bundled:lstm" in lines
