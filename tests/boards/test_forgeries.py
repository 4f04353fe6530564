"""Single edits of an entry, drawn from a seed: each is found, or is of a field that nothing follows from."""

import json
import random
import shutil

import pytest
import yaml
from forged import board_of_pairs
from small import leaves

from tseval.adapters import open_model
from tseval.boards.check import board_suite, verify_entry
from tseval.runs.manifest import seal

N_EDITS = 150
# What a submitter says of a model and who checked it: shown as said, and held to nothing.
SAID = {"about", "checks"}
# What a manifest says of how it was made; sealed, but nothing else holds who seals it anew to it.
UNHELD = {"device", "timings", "versions", "warnings", "seal"}
UNHELD_PARTS = {("model", "details"), ("model", "kind"), ("suite", "title"), ("suite", "source")}
UNHELD_PARTS |= {("counts", name) for name in ("contexts", "resumed_sentences", "sentences", "tokens")}


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    return board_of_pairs(tmp_path_factory.mktemp("forged"), open_model("bundled:lstm"))


def altered(value, draw):
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value + draw.choice((-1, 1))
    if isinstance(value, float):
        return value * 1.01 + 0.01
    return value[:-1] + ("a" if value[-1:] != "a" else "b") if isinstance(value, str) else "x"


def edit(content, draw, free=frozenset()):
    """Change one leaf in place, and say which."""
    where = draw.choice([leaf for leaf in leaves(content) if leaf[0] not in free and leaf[:2] not in free])
    place = content
    for name in where[:-1]:
        place = place[name]
    place[where[-1]] = altered(place[where[-1]], draw)
    return where


@pytest.mark.parametrize("resealed", [False, True])
def test_every_edit_of_what_follows_is_found(honest, tmp_path, resealed):
    suite = board_suite(honest.parents[1])
    assert verify_entry(honest, suite=suite).ok
    found = {"whole": 0, "recomputed": 0}
    for seed in range(N_EDITS):
        draw = random.Random(seed)
        folder = tmp_path / str(seed) / honest.name
        shutil.copytree(honest, folder)
        if draw.random() < 0.4:
            entry = yaml.safe_load((folder / "entry.yaml").read_text())
            where = edit(entry, draw, SAID)
            (folder / "entry.yaml").write_text(yaml.safe_dump(entry))
        else:
            manifest = json.loads((folder / "manifest.json").read_text())
            where = edit(manifest, draw, UNHELD | UNHELD_PARTS if resealed else frozenset())
            if resealed:
                sealed = seal(manifest)
                manifest["seal"] = {"manifest": sealed.manifest, "fields": dict(sealed.fields)}
            (folder / "manifest.json").write_text(json.dumps(manifest))
        report = verify_entry(folder, suite=suite)
        assert not report.ok, where
        found[report.checks[-1].level] += 1
        shutil.rmtree(folder)
    assert sum(found.values()) == N_EDITS
    assert found["whole"]
    assert found["recomputed"]
