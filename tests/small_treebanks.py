"""Treebanks of a few sentences, typed as words: form/lemma/upos/features/head/relation[/misc]."""

from tseval.errors import SuiteError
from tseval.suites.agreement.phenomenon import open_phenomenon
from tseval.suites.agreement.treebank_pairs import make_pairs

HEAD = "# sent_id = {0}\n# text = {0}\n"


def treebank(folder, *lines):
    """Write a treebank, one sentence a line, each word as form/lemma/upos/features/head/relation[/misc]."""
    blocks = []
    for number, line in enumerate(lines):
        rows = []
        for at, cells in enumerate(line.split(), 1):
            form, lemma, upos, feats, head, relation, *misc = cells.split("/")
            row = [str(at), form, lemma, upos, "_", feats, head, relation, "_", *(misc or ["_"])]
            rows.append("\t".join(row))
        blocks.append(HEAD.format(f"s{number}") + "\n".join(rows) + "\n\n")
    path = folder / "t.conllu"
    path.write_text("".join(blocks), "utf-8")
    return path


# Treebanks of a few words do not have all features that the requests use.
ALL_FEATURES = "x/x/X/Case=Acc|Gender=Com|Number=Coll|Person=0|VerbForm=Inf/0/root"


def full_treebank(folder, *lines):
    """Write a treebank with all features that requests use."""
    return treebank(folder, ALL_FEATURES, *lines)


def pairs_of(folder, phenomenon, *lines, **more):
    """Return the pairs of a phenomenon, and the reasons for words that were left out."""
    opened = phenomenon if not isinstance(phenomenon, str) else open_phenomenon(phenomenon)
    try:
        pairs = make_pairs([full_treebank(folder, *lines)], opened, **more)
    except SuiteError as error:
        return set(), str(error)
    return {(row["target"], row["other_form"]) for row in pairs.table.to_pylist()}, pairs.left_out
