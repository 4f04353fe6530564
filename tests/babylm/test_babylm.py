"""BabyLM's zero-shot tasks: predictions equal those recorded from BabyLM's pipeline, item by item."""

import gzip
import json
import shutil

import pytest
from babylm_folder import write_folder, write_models
from in_process import call, refuse
from sound_models import Whole
from supplied import BABYLM

from tseval.babylm import load_tasks, plan_tasks, results_folder
from tseval.errors import ModelError, SuiteError
from tseval.runs import read_run

MODELS = {"plain": ("hf", "causal"), "started": ("hf", "causal"), "masked": ("mlm", "mlm")}
FOLDERS = {
    "blimp_filtered": 268, "supplement_filtered": 37, "ewok_filtered": 48, "entity_tracking": 36,
    "wug_adj_nominalization": 6, "wug_past_tense": 6, "comps": 96,
}  # fmt: skip


@pytest.fixture(scope="module")
def recorded():
    return json.loads(gzip.decompress(BABYLM.read_bytes()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, recorded):
    path = tmp_path_factory.mktemp("babylm")
    write_folder(path / "data")
    write_models(path, recorded["tokenizers"])
    return path


@pytest.fixture(scope="module")
def results(folder):
    """Run each model; return its results folder and the command's output."""
    said = {}
    for model, (scheme, backend) in MODELS.items():
        ended = call("babylm", "--model", f"{scheme}:{model}", "--data", "data", cwd=folder)
        said[model] = folder / "results" / model / "main/zero_shot" / backend, ended
    return said


@pytest.fixture
def small(folder, tmp_path):
    """Make a folder with two tasks and a model."""
    for name in ("comps", "wug_past_tense"):
        shutil.copytree(folder / "data" / name, tmp_path / "data" / name)
    shutil.copytree(folder / "plain", tmp_path / "plain.v1")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_the_predictions_are_those_of_babylms_pipeline(results, recorded, model):
    where, ended = results[model]
    assert ended.returncode == 0, ended.stderr
    expected = recorded["predictions"][model]
    assert {name.partition("/")[2] for name in expected} == set(FOLDERS)
    for task, subsets in expected.items():
        found = json.loads((where / task / "predictions.json").read_text("utf-8"))
        assert found.keys() == subsets.keys()
        n_items = 0
        for subset, answers in subsets.items():
            theirs, ours = answers["predictions"], found[subset]["predictions"]
            n_items += len(ours)
            assert [(a["id"], a["pred"]) for a in ours] == [(a["id"], a["pred"]) for a in theirs]
            shares = [a["prob"] for a in theirs if "prob" in a]
            assert [a["prob"] for a in ours if "prob" in a] == pytest.approx(shares, abs=1e-5)
            assert len(shares) == (len(ours) if subset.startswith("wug_") else 0)
        assert n_items == FOLDERS[task.partition("/")[2]]


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_the_scores_are_those_of_its_reports(results, recorded, model):
    where, ended = results[model]
    tasks = json.loads((where / "tseval.json").read_text("utf-8"))["tasks"]
    assert tasks.keys() == recorded["scores"][model].keys()
    for folder, theirs in recorded["scores"][model].items():
        scale = {"accuracy": 100, "spearman": 1}
        (ours,) = (tasks[folder][name] * factor for name, factor in scale.items() if name in tasks[folder])
        assert f"{ours:.2f}" == theirs
        assert f"| {folder} " in ended.stdout


@pytest.mark.slow
def test_a_tie_is_right_in_the_predictions_and_wrong_in_the_run(results):
    where, _ = results["plain"]
    tied = "If Kim has a dog, then Kim has a dog."
    found = json.loads((where / "blimp/supplement_filtered/predictions.json").read_text("utf-8"))
    assert found["hypernym"]["predictions"][-1]["pred"] == tied
    summary = json.loads((where / "tseval.json").read_text("utf-8"))["tasks"]
    assert [task["ties"] for task in summary.values()] == [0, 1, 0, 0, 0, 0, 0]
    verdicts = read_run(where / "blimp/supplement_filtered/run").verdicts
    last = verdicts[verdicts["case"] == "hypernym"].iloc[-1]
    assert (last["correct"], last["undecidable"]) == (False, True)


def test_a_score_that_rests_on_ties_is_no_surprise(small):
    ended = call("babylm", "--model", "bundled:lstm", "--data", "data", cwd=small)
    assert "warning: comps: " in ended.stderr
    assert "items are ties, which BabyLM counts as right" in ended.stderr
    assert (small / "results/lstm/main/zero_shot/causal/comps/comps/predictions.json").exists()


@pytest.mark.slow
def test_a_missing_folder_is_named_and_the_others_are_scored(small):
    (small / "data/reading").mkdir()
    ended = call("babylm", "--model", "hf:plain.v1", "--data", "data", "--out", "out", cwd=small)
    assert ended.returncode == 1
    for name in set(FOLDERS) - {"comps", "wug_past_tense"}:
        assert (
            f"missing: the folder data/{name} does not exist, so tseval wrote no predictions" in ended.stderr
        )
    assert "left out: data/reading: tseval does not score this task" in ended.stderr
    # The pipeline treats the text after the last period of a model's name as a file extension.
    made = small / "out/plain/main/zero_shot/causal"
    assert sorted(path.parent.name for path in made.rglob("predictions.json")) == ["comps", "wug_past_tense"]


def test_the_data_for_checkpoints_have_no_comps(folder, tmp_path):
    for name, fast in {"ewok_filtered": "ewok_fast", "wug_past_tense": "wug_past_tense"}.items():
        shutil.copytree(folder / "data" / name, tmp_path / fast)
    tasks, missing = load_tasks(tmp_path)
    assert [loaded.folder for loaded in tasks] == ["ewok_fast", "wug_past_tense"]
    assert missing == ["blimp_fast", "supplement_fast", "entity_tracking_fast", "wug_adj_nominalization"]


def test_results_of_another_model_are_left_as_they_are(small, folder):
    arguments = "babylm", "--data", "data", "--model", "hf:plain.v1"
    assert call(*arguments, cwd=small).returncode == 1
    made = small / "results/plain/main/zero_shot/causal/comps/comps"
    before = (made / "predictions.json").read_bytes(), (made / "run/manifest.json").read_bytes()

    again = call(*arguments, cwd=small)  # nothing is scored again
    assert again.returncode == 1
    assert (made / "run/manifest.json").read_bytes() == before[1]

    shutil.rmtree(small / "plain.v1")
    shutil.copytree(folder / "started", small / "plain.v1")
    ended = refuse(*arguments, cwd=small)
    assert "has a run with other settings, so --resume cannot continue it" in ended.stderr
    assert ((made / "predictions.json").read_bytes(), (made / "run/manifest.json").read_bytes()) == before


@pytest.mark.parametrize("with_run", [False, True])
def test_predictions_of_another_program_are_left_as_they_are(small, with_run):
    made = small / "results/plain/main/zero_shot/causal/comps/comps"
    arguments = "babylm", "--data", "data", "--model", "hf:plain.v1"
    if with_run:
        call(*arguments, cwd=small)
    made.mkdir(parents=True, exist_ok=True)
    (made / "predictions.json").write_text("{}")
    ended = refuse(*arguments, cwd=small)
    assert "predictions.json holds predictions of another model or program" in ended.stderr
    assert (made / "predictions.json").read_text() == "{}"


def test_a_text_that_is_too_long_is_refused_before_anything_is_scored(small):
    file = small / "data/wug_past_tense/wug_past_tense.jsonl"
    record = {"sentences": f"They {'wug ' * 300}.\tThey wug.", "ratio": 0.5}
    file.write_text(file.read_text() + json.dumps(record) + "\n")
    ended = refuse("babylm", "--data", "data", "--model", "hf:plain.v1", cwd=small)
    assert "wug_past_tense: 1 texts are longer than the context of the model 'plain.v1'" in ended.stderr
    assert not (small / "results").exists()


def test_a_model_that_gives_one_number_for_a_text_is_refused(small):
    tasks, _ = load_tasks(small / "data")
    with pytest.raises(ModelError, match="gives only one log-probability for a whole sentence"):
        plan_tasks(Whole(), tasks, small / "out")


BOXES = {"input_prefix": "Box 0 contains ", "options": ["a.", "b."], "numops": 0}
COMPS = {"prefix_acceptable": "A", "prefix_unacceptable": "B", "property_phrase": "is."}
WRONG = [
    ("blimp_filtered/a.jsonl", [{"field": "syntax", "sentence_good": "a", "sentence_bad": "b"}],
     "a.jsonl:1: the column 'UID' is missing. The columns are 'field', 'sentence_good', 'sentence_bad'"),
    ("supplement_filtered/a.jsonl", [{"sentence_good": "a b", "sentence_bad": "b"}, {"sentence_good": "a"}],
     "a.jsonl:2: the column 'sentence_bad' is missing. The columns are 'sentence_good'"),
    ("ewok_filtered/a.jsonl", [{"Domain": "d", "Context1": "c", "Target1": 3, "Target2": "t"}],
     "a.jsonl:1: the column 'Target1' has 3, but must have a text"),
    ("entity_tracking/regular.jsonl", [BOXES | {"options": "a."}],
     "regular.jsonl:1: the key 'options' should be a list of texts, not 'a.'"),
    ("entity_tracking/regular.jsonl", [BOXES | {"numops": "many"}],
     "regular.jsonl:1: the key 'numops' should be a whole number, not 'many'"),
    ("entity_tracking/regular.jsonl", [BOXES | {"input_prefix": "Box 0 contains"}], "follows its text "
                                                                                    "without a space, "
                                                                                    "inside a word"),
    ("entity_tracking/regular.jsonl", [BOXES, BOXES | {"options": ["a.", "b.", "c."]}],
     "regular.jsonl:2: the item has 3 options, but"),
    ("wug_past_tense/a.jsonl", [{"sentences": "They wugged.", "ratio": 1}], "the item has 1 options"),
    ("wug_past_tense/a.jsonl", [{"sentences": "a\tb", "ratio": "nan"}], "should be a number, not 'nan'"),
    ("wug_past_tense/a.jsonl", [{"sentences": "a\t ", "ratio": 1}], "an option of this item has no words"),
    ("comps/comps_bass.jsonl", [COMPS], "the task COMPS has no file with the name 'comps_bass'"),
    ("comps/notes.txt", [COMPS], "comps has no .jsonl file with items"),
    ("reading/a.jsonl", [COMPS], "has no folder with the name of a BabyLM task"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "records", "said"), WRONG, ids=range(len(WRONG)))
def test_wrong_data_are_named_with_their_line(tmp_path, name, records, said):
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    with pytest.raises(SuiteError) as error:
        load_tasks(tmp_path)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("hf:./my.model", "my/main/zero_shot/causal"),
        ("mlm:me/bert", "bert/main/zero_shot/mlm"),
        ("seq2seq:me/t5", "t5/main/zero_shot/enc_dec_mask"),
        ("drnn.pt", "drnn/main/zero_shot/causal"),
    ],
)
def test_results_lie_where_the_pipeline_looks_for_them(tmp_path, spec, named):
    assert results_folder(tmp_path, spec, "main") == tmp_path / named
