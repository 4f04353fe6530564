"""Sweeps of small models on a small suite, and a way to kill their workers at work."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from killing import files_below

from tseval.evidence import evidence_bytes, gather
from tseval.models import Vocabulary
from tseval.models.checkpoint import save_checkpoint
from tseval.models.network import LanguageModel, Sizes
from tseval.runs import read_run

NOUNS = ["author", "chef", "guard", "pilot", "waiter", "farmer", "doctor", "judge"]
# Runs in every worker: slow shards of three sentences, and a log line before and after saving each.
LEDGER = """
import os, sys
if "tseval.sweeps.worker" in sys.orig_argv:
    import time
    from tseval.runs import directory
    from tseval.scoring import engine
    engine.SHARD = 3
    save = directory.RunWriter.save_part
    def save_part(writer, i, part):
        line = f"{os.getpid()} {os.getppid()} {writer.path.name} {i} {part.table.num_rows}\\n"
        ledger = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(ledger, f"begun {line}".encode())
        save(writer, i, part)
        os.write(ledger, f"saved {line}".encode())
        os.close(ledger)
        time.sleep(float(os.environ.get("PAUSE", "0.05")))
        if "SPARE" in os.environ:  # the process may take so many bytes more than it has, and no more
            import resource
            pages = int(open("/proc/self/statm").read().split()[5])
            most = pages * resource.getpagesize() + int(os.environ.pop("SPARE"))
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    directory.RunWriter.save_part = save_part
"""


class Sweeps:
    """A folder with models, suites, and sweeps of them."""

    def __init__(self, place, models=3):
        self.place = place
        words = Vocabulary(("<eos>", "<unk>", "the", *NOUNS, "laughs", "laugh", "."), lowercase=True)
        (place / "ckpt").mkdir(parents=True)
        for i in range(models):
            network = LanguageModel(Sizes("srn", len(words), 3 + i, 3, 1))
            save_checkpoint(
                place / f"ckpt/step{5 * i}.pt", network, words, training={}, validation_perplexity=None
            )
        for suite, nouns in (("one", NOUNS), ("two", NOUNS[:5])):
            (place / suite).mkdir()
            (place / suite / "lexicon.yaml").write_text(f"noun:\n  animate: [{', '.join(nouns)}]\n")
            (place / suite / "simple.jinja").write_text(
                "---\nconstruction: Simple\nphenomenon: Agreement\nlexicon: lexicon.yaml\n"
                "slots:\n  subject: {class: noun.animate, number: sing}\n---\n"
                "grammatical:   the {{ subject }} laughs\nungrammatical: the {{ subject }} laugh\n"
            )
        (place / "site").mkdir()
        (place / "site/sitecustomize.py").write_text(LEDGER)
        slurm = {"cluster": "local", "timeout_min": 5}
        plan = {"models": ["ckpt/step*.pt"], "suites": ["./one", "./two"], "slurm": slurm}
        (place / "plan.yaml").write_text(json.dumps(plan))  # JSON is YAML
        self.environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(place / "site"), os.environ.get("PYTHONPATH", "")]),
            "LEDGER": str(place / "ledger"), "XDG_CACHE_HOME": str(place / "cache"),
        }  # fmt: skip
        self.environment.pop("RAY_ADDRESS", None)

    def start(self, *arguments, **variables):
        """Start a sweep as users do."""
        command = [sys.executable, "-m", "tseval", "sweep", *map(str, arguments)]
        return subprocess.Popen(
            command, cwd=self.place, env=self.environment | variables, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def sweep(self, *arguments, code=0, seconds=120, **variables):
        """Run a sweep to its end; return its output."""
        with self.start(*arguments, **variables) as process:
            said, errors = process.communicate(timeout=seconds)
        assert process.returncode == code, errors
        assert "Traceback" not in errors
        return said + errors

    def saved(self):
        """Return every logged saved shard, in order: process, its parent, run, number, sentences."""
        return [line[1:] for line in self._lines() if line[0] == "saved"]

    def saved_unsaid(self):
        """Count shards that were saved but not logged, as the worker was killed; they never run again."""
        begun = {(run, i) for _, _, _, run, i, _ in self._lines()}
        return len(begun - {(run, i) for _, _, run, i, _ in self.saved()})

    def _lines(self):
        ledger = self.place / "ledger"
        return [line.split() for line in ledger.read_text().splitlines()] if ledger.exists() else []

    def saved_twice(self):
        """Count sentences that were saved and then scored again."""
        times = Counter((run, i, int(n)) for _, _, run, i, n in self.saved())
        return sum((count - 1) * n for (_, _, n), count in times.items())

    def sweep_under_fire(self, arguments, kills, parents=False, seed=0, **variables):
        """Run a sweep, kill workers, and repeat it until it is complete; return the number of kills.

        Args:
            arguments: Arguments of the command.
            kills: Number of workers to kill, each after a randomly chosen shard.
            parents: Whether every second kill is the worker's parent, unless that is the command itself.
            seed: Seed of the random choices.
            variables: More environment variables.
        """
        draw, killed = random.Random(seed), 0
        (self.place / "ledger").unlink(missing_ok=True)
        for _ in range(kills + 1):
            with self.start(*arguments, **variables) as process:
                due = draw.randint(1, 4)
                seen = len(self.saved())
                while process.poll() is None:
                    time.sleep(0.01)
                    saved = self.saved()
                    if killed < kills and len(saved) >= seen + due:
                        worker, parent, *_ = map(int, saved[-1][:2])
                        victim = parent if parents and killed % 2 and parent != process.pid else worker
                        try:
                            os.kill(victim, signal.SIGKILL)
                            killed += 1
                        except ProcessLookupError:
                            pass
                        seen, due = len(saved), draw.randint(1, 4)
                _, errors = process.communicate()
            assert "Traceback" not in errors
            if process.returncode == 0:
                return killed
            assert process.returncode == 1, errors
            assert "To continue, repeat the same command." in errors
        raise AssertionError(errors)


def skip_unless_ray_starts():
    """Skip if a sandbox forbids what Ray needs at its start: shared memory, ports."""
    program = "import ray; ray.init('local', include_dashboard=False, object_store_memory=80 * 2**20)"
    started = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    if started.returncode:
        pytest.skip(f"Ray itself does not start here: {(started.stderr.splitlines() or [''])[-1]}")


def results_of(folder):
    """Return the results of runs without durations and numbers of starts."""
    found = {}
    for name, content in files_below(folder).items():
        if name.startswith("sweep") or not Path(name).suffix:
            continue
        if name.endswith("manifest.json"):
            manifest = json.loads(content)
            manifest["counts"]["resumed_sentences"] = manifest["timings"] = manifest["seal"] = None
            found[name] = json.dumps(manifest).encode()
            run = read_run(folder / Path(name).parent)
            found[f"{name}: evidence"] = evidence_bytes(
                gather(run.load_sentences(), run.manifest.key.suite_digest)
            )
        else:
            found[name] = content
    return found
