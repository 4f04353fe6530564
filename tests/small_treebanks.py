"""Treebanks of a few sentences, typed as words: form/lemma/upos/features/head/relation[/misc]."""

HEAD = "# sent_id = {0}\n# text = {0}\n"


def treebank(folder, *lines):
    """One sentence a line, each word as form/lemma/upos/features/head/relation[/misc]."""
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
