"""Two processes that write into the same place at the same time: one succeeds, the other is refused."""

import pytest
from killing import in_a_process
from systems import needs_posix

# Both are forks of a process that has imported everything, and start at one signal.
PROGRAM = """
    import contextlib, json, os, shutil, sys
    from pathlib import Path
    from in_process import call
    from killing import different, files_below
    from small_zoo import SmallZoo, timeless
    from tseval.runs import directory
    from tseval.scoring import engine

    place, rounds = Path(sys.argv[1]), int(sys.argv[2])
    zoo = SmallZoo(place)
    engine.SHARD = 1  # so that a run writes for a while
    directory.ATTEMPTS = 1  # it is over before another would give up waiting

    texts = "--train", place / "corpus/train.txt.gz", "--valid", place / "corpus/valid.txt.gz"
    shape = "--arch srn --embedding 3 --hidden 3 --layers 1 --batch 2 --window 5".split()
    course = "--epochs 5 --validate-every 1 --no-figure --quiet".split()
    TRAINING = *shape, *course, *texts, "--out", "model.pt"

    def run(name):
        suite = place / "marvin_linzen"
        return call("run", "--model", place / "zoo/models/srn.pt", "--suite", suite, "--out", "run")

    ACTIONS = {
        "run": run,
        # each of a zoo of its own: of one they would not come so far
        "publication": lambda name: zoo.make("srn", out=place / name, more=["--publish", "tables"]),
        "zoo": lambda name: zoo.make("srn"),
        "resumed training": lambda name: call("train", "lm", *TRAINING, "--resume"),
    }

    def at_once(action, folder):
        folder.mkdir(parents=True)
        waits, starts = os.pipe()
        children = []
        for name in ("one", "other"):
            child = os.fork()
            if child == 0:
                os.close(starts)
                os.read(waits, 1)
                with contextlib.chdir(folder):
                    done = action(name)
                said = json.dumps([done.returncode, done.stderr])
                (folder.parent / f"{folder.name}.{name}").write_text(said)
                os._exit(0)
            children.append(child)
        os.close(waits)
        os.close(starts)  # now both begin
        for child in children:
            os.waitpid(child, 0)
        return [json.loads((folder.parent / f"{folder.name}.{n}").read_text()) for n in ("one", "other")]

    made = zoo.make("srn", out=place / "zoo")
    assert made.returncode == 0, made.stderr
    for name in ("one", "other"):
        shutil.copytree(place / "zoo", place / name)
    found = {}
    for what, action in ACTIONS.items():
        alone = place / what / "alone"
        alone.mkdir(parents=True)
        with contextlib.chdir(alone):
            assert action("one").returncode == 0
        whole, ends, damage = timeless(alone), [], []
        for i in range(rounds):
            ends.append(sorted(at_once(action, place / what / str(i))))
            damage += different(whole, timeless(place / what / str(i)))
            if "another" in ends[-1][1][1]:  # they met
                break
        found[what] = ends, damage
    print(json.dumps(found))
"""
# The second one's message: while the first writes, and after the first has ended.
SECOND = {
    "run": (
        "run is locked, because another tseval command is writing this run.\n  Wait",
        "run holds a complete run.\n  Read it",
    ),
    "publication": (
        "tables: another process of tseval is writing into this folder.\n  When that process "
        "has ended, repeat the command",
        None,
    ),
    "zoo": ("zoo: another process of tseval, here or on another machine, is working in this folder", None),
    "resumed training": (
        "model.pt is locked, because another tseval command is training this model.\n  Wait",
        None,
    ),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Return the messages of both and the damaged files, by action."""
    return in_a_process(PROGRAM, tmp_path_factory.mktemp("writers"), 40)


@needs_posix
@pytest.mark.slowest
@pytest.mark.parametrize("what", SECOND)
def test_of_two_writers_one_succeeds_and_the_other_says_that_it_may_not(found, what):
    ends, damage = found[what]
    assert damage == []
    busy, late = SECOND[what]
    heard = []
    for (code, _), (second, said) in ends:
        assert code == 0
        assert second in ({0, 2} if late is None else {2}), said
        if second:
            heard.append(said)
            assert said.startswith((f"tseval: {busy}", *([f"tseval: {late}"] if late else [])))
            assert said.count("tseval: ") == 1
            assert len(said) < 500
    assert any(busy in said for said in heard), "they never met"
