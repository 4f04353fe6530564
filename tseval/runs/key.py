"""What identifies a run: everything that could change one of its numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping  # noqa: TC003 - manifests are read into a RunKey
from dataclasses import dataclass, field, fields

from tseval.errors import shown
from tseval.formats import Json  # noqa: TC001 - likewise

# Characters that would break the one line of a signature or forge a part of it.
UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff|]")


@dataclass(frozen=True, slots=True)
class RunKey:
    """The identity of a run. Two runs with equal keys hold equal numbers.

    The names of suite and model are for readers; the digests decide.

    Attributes:
        suite: Name of the suite.
        suite_digest: SHA-256 of the suite.
        model: Name of the model.
        fingerprint: SHA-256 of the model's weights and vocabulary.
        score: What sentences are compared by (`tseval.questions`).
        terminator: Token appended to every sentence, or None.
        items: `all`, or how items were selected: `limit=100`.
        tseval: Version of tseval.
        protocol: The adapter's presentation of sentences: start symbol, unknown words, dtype, ...
    """

    suite: str = field(compare=False)
    suite_digest: str
    model: str = field(compare=False)
    fingerprint: str
    score: str
    terminator: str | None
    items: str
    tseval: str
    protocol: Mapping[str, Json]

    def __repr__(self) -> str:
        return shown(self, f"{self.model} on {self.suite}", f"score {self.score}", f"items {self.items}")

    @property
    def signature(self) -> str:
        """The key on one line, digests shortened, in the manner of sacreBLEU.

        Source: Post 2018, "A Call for Clarity in Reporting BLEU Scores", WMT.
        """
        parts = {
            "suite": f"{self.suite}@{self.suite_digest[:8]}",
            "model": f"{self.model}@{self.fingerprint[:8]}",
            "score": self.score,
            **{name: _text(value) for name, value in sorted(self.protocol.items())},
            "terminator": _text(self.terminator),
            "items": self.items,
            "tseval": self.tseval,
        }
        return "|".join(f"{UNSAFE.sub('?', name)}:{UNSAFE.sub('?', value)}" for name, value in parts.items())

    def differences(self, other: RunKey) -> list[str]:
        """Say in which parts another key differs, each as `part: ours, not theirs`."""
        # A part that is missing is not one that is null, and 1 is not true.
        ours, theirs = (
            {name: json.dumps(value, sort_keys=True) for name, value in key.parts().items()}
            for key in (self, other)
        )
        return [
            f"{name}: {_shown(ours.get(name))}, not {_shown(theirs.get(name))}"
            for name in ours | theirs
            if ours.get(name) != theirs.get(name)
        ]

    @property
    def hidden(self) -> set[str]:
        """The parts of the protocol that have the name of another part of the key, and would stand for it."""
        return set(self.protocol) & {part.name for part in fields(self)}

    def parts(self) -> dict[str, Json]:
        """Give what decides, by name, the protocol's parts among them."""
        decisive = {part.name for part in fields(self) if part.compare} - {"protocol"}
        return {name: value for name, value in self.to_mapping().items() if name in decisive} | dict(
            self.protocol
        )

    def to_mapping(self) -> dict[str, Json]:
        """Give the key as it stands in a manifest."""
        return {part.name: getattr(self, part.name) for part in fields(self)} | {
            "protocol": dict(self.protocol)
        }


def _shown(part: str | None) -> str:
    """Give a part that is compared, or say that there is none."""
    return "nothing" if part is None else _text(json.loads(part))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
