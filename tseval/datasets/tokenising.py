"""Penn Treebank tokens, for word-level models: `can't help himself.` becomes `ca n't help himself .`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from tseval.items import ENDING

if TYPE_CHECKING:
    from tseval.items import Case


def tokenise(case: Case) -> Case:
    """Split punctuation and clitics off the words of a case, and count its endings in tokens."""
    from nltk.tokenize import NLTKWordTokenizer  # noqa: PLC0415 - slow to import

    def split(text: str) -> list[str]:
        # Double quotes stay as they are, as in running text.
        return [text[start:end] for start, end in tokenizer.span_tokenize(text)]

    tokenizer = NLTKWordTokenizer()
    before = {label: list(map(str, case.sentences[label].to_pylist())) for label in case.labels}
    sentences = {label: [" ".join(split(text)) for text in texts] for label, texts in before.items()}
    features = case.features
    if ENDING in features.column_names:
        pairs = zip(before[case.labels[0]], features[ENDING].to_numpy(), strict=True)
        lengths = [len(split(" ".join(text.split()[-length:]))) for text, length in pairs]
        at = features.column_names.index(ENDING)
        features = features.set_column(at, ENDING, pa.array(lengths, pa.int64()))
    tokenised = {label: pa.array(texts, pa.string()) for label, texts in sentences.items()}
    return replace(case, sentences=pa.table(tokenised), features=features)
