"""The digest of a suite: what tells apart two suites that could give different numbers."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from tseval.questions.columns import hash_column, named_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.suites.items import Case


def suite_digest(terminator: str | None, cases: Sequence[Case]) -> str:
    """Hash everything that can change a score or a table row, in order.

    Per case a JSON line (row names, what counts, column names and kinds), then each column, and what the
    question holds besides. So the digest does not depend on how Arrow lays the columns out.
    """
    digest = hashlib.sha256(json.dumps(["tseval suite 1", terminator]).encode())
    for case in cases:
        columns = [("item", case.index), *named_columns(case.sentences), *named_columns(case.features)]
        about = [case.name, case.construction, case.phenomenon, case.dependency, case.n_items]
        kinds = [[name, str(column.type)] for name, column in columns]
        digest.update(json.dumps([about, case.question.describe(), len(case.labels), kinds]).encode())
        for _, column in columns:
            hash_column(digest, column)
        case.question.hash_into(digest)
    return digest.hexdigest()
