"""The examples in the help of every command. A test runs each example."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = {
    "run": """\
tseval run --model bundled:lstm            # comes with tseval
tseval run --model drnn.pt --suite ./mine  # your checkpoint, your suite
tseval run --model hf:gpt2 --limit 50      # a quick look: 50 items a case""",
    "sweep": """\
tseval sweep --model lstm.pt --model drnn.pt --suite marvin_linzen -o runs/two
tseval sweep --model 'ckpt/step*.pt' --limit 50  # each checkpoint
tseval sweep status plan.yaml                    # how far a sweep is""",
    "babylm": """\
tseval babylm --model hf:./my-model --data evaluation_data/full_eval
tseval babylm --model bundled:lstm --data evaluation_data/full_eval -o out""",
    "table": """\
tseval table bhatt2020 runs/drnn             # with published models
tseval table runs/a runs/b --against runs/a  # differences, with intervals
tseval table runs/a runs/b --format latex -o table.tex""",
    "report": """\
tseval report runs/a runs/b -o page.html
tseval report runs/a runs/b -o page.html --title "Two models\"""",
    "items": """\
tseval items runs/a --wrong --sort margin      # the most wrong first
tseval items runs/a --where n_attractors=1 -o items.csv""",
    "gate": """\
tseval gate runs/new --against runs/old                  # exit code 1 if accuracy dropped
tseval gate runs/new --against runs/old --max-drop 0.05 --strict
tseval gate runs/new --against runs/old --rows 'Simple*' --junit gate.xml""",
    "cite": """\
tseval cite runs/a                  # print everything
tseval cite runs/a runs/b -o paper  # three files in the folder paper""",
    "verify": """\
tseval verify runs/a                  # files and numbers
tseval verify runs/b --model lstm.pt  # and scores of sentences
tseval verify leaderboards/public     # all entries""",
    "board": """\
tseval board new boards/new --suite marvin_linzen
tseval board add boards/new runs/mine --licence MIT
tseval board build boards/new -o site""",
    "board new": """\
tseval board new boards/new --suite marvin_linzen
tseval board new boards/own --suite marvin_linzen --title "Agreement\"""",
    "board add": """\
tseval board add boards/mine runs/mine --licence MIT
tseval board add boards/mine runs/other --name lstm-b --contains-suite no""",
    "board submit": """\
tseval board submit runs/mine boards/mine --licence MIT
tseval board submit runs/other boards/mine --name lstm-c --licence MIT""",
    "board check": """\
tseval board check boards/mine
tseval board check boards/mine lstm  # one entry""",
    "board retract": """\
tseval board retract boards/other/entries/lstm-small --reason "wrong weights"
tseval board retract boards/mine/entries/lstm --reason duplicate""",
    "board rescore": """\
tseval board rescore boards/mine                           # all entries
tseval board rescore boards/mine --weights ~/weights       # from your own copy of the weights
""",
    "board rename": """\
tseval board rename boards/mine/entries/lstm lstm-small
tseval board rename boards/mine/entries/lstm-small lstm""",
    "board hidden": """\
tseval board hidden boards/mine runs/hidden --suite ./twin
tseval board hidden boards/mine runs/hidden runs/hidden-2 --suite ./twin""",
    "board renew": """\
tseval board renew boards/mine
tseval board renew boards/mine -o boards/mine-2""",
    "board write": """\
tseval board write boards/mine
tseval board write boards  # every leaderboard in the folder""",
    "board build": """\
tseval board build boards/mine -o site
tseval board build zoo -o site  # a leaderboard that comes with tseval""",
    "analyze": """\
tseval analyze rows runs/a runs/b --figure rows.svg
tseval analyze pairwise runs/a runs/b""",
    "analyze rows": """\
tseval analyze rows runs/a runs/b --figure rows.svg
tseval analyze rows runs/lstm-1 runs/lstm-2 runs/drnn-1 --group""",
    "analyze pairwise": """\
tseval analyze pairwise runs/a runs/b
tseval analyze pairwise runs/a runs/b --margin 0.05""",
    "analyze robustness": """\
tseval analyze robustness runs/a --figure words.svg
tseval analyze robustness runs/a --counts-from train.txt""",
    "analyze trajectory": """\
tseval analyze trajectory runs/gpt2 --figure steps.svg
tseval analyze trajectory runs/gpt2 --over tokens""",
    "analyze context": """\
tseval analyze context runs/context
tseval analyze context runs/context --figure context.svg""",
    "analyze attractors": """\
tseval analyze attractors runs/lstm runs/drnn --figure attractors.svg
tseval analyze attractors runs/lstm --distance 7""",
    "analyze profile": """\
tseval analyze profile runs/profile --figure profile.svg
tseval analyze profile runs/profile --words 17""",
    "analyze inflection": """\
tseval analyze inflection runs/verbs --figure mass.svg
tseval analyze inflection runs/verbs --mass 0.5""",
    "analyze effects": """\
tseval analyze effects runs/gap
tseval analyze effects runs/gap --format json -o effects.json""",
    "analyze ratings": """\
tseval analyze ratings runs/rated --figure ratings.svg
tseval analyze ratings runs/rated --format json -o ratings.json""",
    "analyze formal": """\
tseval analyze formal runs/dyck
tseval analyze formal runs/dyck --figure dyck.svg""",
    "suites": """\
tseval suites
tseval suites fetch blimp
tseval run --model bundled:lstm --suite blimp  # a suite that was fetched""",
    "suites fetch": """\
tseval suites fetch blimp
tseval suites fetch blimp clams_de""",
    "suites twin": """\
tseval suites twin marvin_linzen --lexicon private.yaml -o twin
tseval suites twin marvin_linzen --lexicon private.yaml""",
    "expand": """\
tseval expand marvin_linzen --case prep_anim --limit 5
tseval expand ./mine --format jsonl -o items.jsonl""",
    "lint": """\
tseval lint ./mine
tseval lint ./mine --vocab drnn.pt  # and unknown words""",
    "new": """\
tseval new my_suite
tseval new suites/my_agreement""",
    "data": """\
tseval data agreement en_ewt-ud-dev.conllu -o agreement.parquet
tseval data pairs ru_gsd-ud-dev.conllu --list""",
    "data agreement": """\
tseval data agreement en_ewt-ud-dev.conllu -o agreement.parquet
tseval data agreement en_ewt-ud-train.conllu -o train.tsv --train 95 --valid 5""",
    "data pairs": """\
tseval data pairs ru_gsd-ud-dev.conllu --list
tseval data pairs ru_gsd-ud-dev.conllu --phenomenon subject-verb-gender -o ru.tsv
tseval data pairs de_gsd-ud-test.conllu --request det-noun.req --change D.Gender -o de.tsv""",
    "data parse": """\
tseval data parse text.txt.gz -o text.conllu --parser en_core_web_sm
tseval data parse story.txt --untokenised -o s.conllu --parser en_core_web_sm""",
    "data count": """\
tseval data count agreement.tsv.gz --figure nouns.svg
tseval data count agreement.tsv.gz --split train""",
    "data compare": """\
tseval data compare gold.tsv parsed.tsv
tseval data compare gold.tsv parsed.tsv --format json""",
    "export": """\
tseval export lm-eval marvin_linzen -o tasks
tseval export glmm runs/a runs/b -o verdicts.csv""",
    "export lm-eval": """\
tseval export lm-eval marvin_linzen -o tasks
tseval export lm-eval ./pairs.jsonl -o more_tasks""",
    "export glmm": """\
tseval export glmm runs/a runs/b -o verdicts.csv
tseval export glmm runs/a runs/b -o verdicts.csv --quiet > model.R""",
    "export eee": """\
tseval export eee runs/a -o records --model-id me/drnn
tseval export eee boards/mine -o records  # all entries""",
    "models": """\
tseval models
tseval run --model bundled:lstm  # one from the list""",
    "check-model": """\
tseval check-model drnn.pt
tseval check-model hf:./my-model --sentences text.txt""",
    "convert": """\
tseval convert large.pt -o small.pt --stored int8  # one sixth of the size
tseval convert state.pt -o lstm.safetensors --vocab vocab.txt""",
    "oracle": """\
tseval oracle dyck-lstm -k 4 -m 3 -o dyck.pt
tseval oracle dyck-srn -k 2 -m 2 --show-gates "(1 (2 )2 )1\"""",
    "pair": """\
tseval pair --model bundled:lstm "the authors laugh ." "the authors laughs ."
tseval pair --model hf:gpt2 "The author laughs." "The author laugh.\"""",
    "surprisal": """\
tseval surprisal --model bundled:lstm text.txt
tseval surprisal --model hf:gpt2 story.txt --words
tseval surprisal --model bundled:lstm text.txt --entropy --top 3""",
    "lm-eval": """\
tseval lm-eval --model tseval --model_args checkpoint=drnn.pt --tasks blimp
tseval lm-eval --help  # the options of lm-eval""",
    "train": """\
tseval train lm --arch drnn --train train.txt --valid valid.txt --out drnn.pt
tseval train number --arch drnn --data ./agreement.tsv.gz --out number.pt""",
    "train lm": """\
tseval train lm --arch drnn --train train.txt --valid valid.txt --out drnn.pt
tseval train lm --arch srn --train train.txt --valid valid.txt --out a.pt --resume
tseval train lm --arch urn --suite 'cross_serial(8)' --out urn.pt""",
    "train number": """\
tseval train number --arch drnn --data ./agreement.tsv.gz --out number.pt
tseval train number --arch lstm --data ./agreement.tsv.gz --seed 2 --out n2.pt""",
    "train grammaticality": """\
tseval train grammaticality --arch drnn --data ./agreement.tsv.gz --out a.pt
tseval train grammaticality --arch lstm --data ./agreement.tsv.gz --out b.pt""",
    "train zoo": """\
tseval train zoo --corpus corpus --recipe small --out runs/zoo
tseval train zoo --corpus corpus --arch drnn --seeds 1 --out runs/zoo""",
    "train curves": """\
tseval train curves srn.curves.parquet -o srn.svg
tseval train curves srn.curves.parquet -o srn.svg --numbers srn.csv
tseval train curves srn.curves.parquet --error -o error.svg""",
    "completion": """\
eval "$(tseval completion bash)"  # in ~/.bashrc
eval "$(tseval completion zsh)"   # in ~/.zshrc
tseval completion fish > ~/.config/fish/completions/tseval.fish""",
}


def examples_of(names: Sequence[str]) -> list[str]:
    """Return the example lines of a command, which is given by its words, such as ("board", "add")."""
    return EXAMPLES.get(" ".join(names), "").splitlines()
