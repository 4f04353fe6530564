"""All commands: their modules, their one-line help texts, and the purposes under which they are listed."""

# Command name to (module in tseval.cli, one-line help). The help texts are here so that a list of the
# commands imports none of them. A test compares each text with that of its command.
COMMANDS = {
    "run": ("run", "Score a model on a suite, save the results as a run, and print the table of accuracies."),
    "sweep": ("sweep", "Score many models on many suites, in parallel."),
    "babylm": (
        "babylm",
        "Score the zero-shot tasks of BabyLM and write predictions for its pipeline.",
    ),
    "table": ("table", "Print the accuracies of runs and leaderboards side by side, with ranks."),
    "items": (
        "items",
        "List single items: both sentences, scores, margin, what differs, unknown words, features.",
    ),
    "gate": ("gate", "Fail if a model lost accuracy against an earlier one."),
    "report": (
        "report",
        "Write a web page about runs: table of accuracies, comparisons of two models, single items.",
    ),
    "cite": ("cite", "Write BibTeX, a paragraph on methods and a LaTeX table for a paper."),
    "verify": (
        "verify",
        "Verify runs: files intact, numbers recomputed from the evidence, scores confirmed by the model.",
    ),
    "board": ("board", "Create and maintain leaderboards: folders of entries that anyone can check."),
    "analyze": (
        "analyze",
        "Analyse runs by row, attractors, words, pairs of models, ratings, training steps or contexts.",
    ),
    "suites": (
        "suites",
        "List all suites: those that come with tseval, data sets to download, and formal languages.",
    ),
    "models": (
        "models",
        "List the kinds of models that tseval can score, and the checkpoints that come with tseval.",
    ),
    "check-model": (
        "check_model",
        "Check a model: the same scores in any batch, no look-ahead to later words, finite scores, "
        "bounded memory.",
    ),
    "expand": ("expand", "Print the items of a suite, or write them to a file."),
    "new": (
        "new",
        "Create a suite: a folder with a working example grammar and lexicon.",
    ),
    "data": ("data", "Make data sets from treebanks, texts and published files."),
    "export": ("export", "Export suites and runs to other tools: lm-eval, R, Every Eval Ever."),
    "lm-eval": ("lm_eval", "Run the program lm-eval, which can then also evaluate the models of tseval."),
    "lint": ("lint", "Check grammars and data sets for mistakes."),
    "surprisal": ("surprisal", "Print the surprisal of every token of a text, or of every row of a table."),
    "pair": ("pair", "Compare two sentences token by token, and say which one the model prefers."),
    "convert": (
        "convert",
        "Convert a recurrent language model from torch to a tseval checkpoint, or compress a checkpoint.",
    ),
    "oracle": ("oracle", "Build a network that knows a Dyck language exactly, without training."),
    "train": ("train", "Train language models and classifiers."),
    "completion": (
        "completion",
        "Print the completion script for a shell.",
    ),
}
PURPOSES = {
    "Score models": ("run", "sweep", "babylm", "pair", "surprisal"),
    "Compare and report": ("table", "report", "analyze", "items", "cite", "export"),
    "Check and verify": ("verify", "gate", "check-model", "lint"),
    "Suites": ("suites", "expand", "new", "data"),
    "Models": ("models", "train", "convert", "oracle"),
    "Leaderboards": ("board",),
    "Setup": ("completion", "lm-eval"),
}
TRAININGS = {
    "lm": (
        "train_lm",
        "Train a word-level language model on tokenised text or on a formal language.",
    ),
    "number": (
        "train_classifiers",
        "Train a classifier that predicts the number of a verb from the words before it.",
    ),
    "grammaticality": (
        "train_classifiers",
        "Train a classifier that judges sentences as grammatical or ungrammatical.",
    ),
    "zoo": (
        "train_zoo",
        "Train every architecture on the same text, score each on Marvin & Linzen, print the ranks.",
    ),
    "curves": ("train_curves", "Draw the learning curves of several models into one figure."),
}
