"""Minimal pairs in ordinary spelling: a BLiMP sample, and our own pairs with more punctuation and clitics."""

import gzip
import json
from collections import Counter
from pathlib import Path

from supplied import BLIMP_SAMPLE

# A frame, and the words that fill it in the good and the bad sentence.
FRAMES = [
    ("The {}'s mother-in-law {} here, isn't she?", ("author", "guard", "pilot"), ("is", "are")),
    ("“Aren't the {}s late?” {} asked.", ("author", "guard", "pilot"), ("he", "him")),
    ("The {}s, who don't swim, {} well-known.", ("author", "guard", "pilot"), ("are", "is")),
    ("It's the {} who {} (as ever) to blame!", ("author", "guard", "pilot"), ("is", "are")),
    ("{}s' half-finished books {} 3.5% longer; why?", ("Author", "Guard", "Pilot"), ("are", "is")),
    ("Mr. {} hasn't seen {}...", ("O'Neil", "Smith-Jones", "d'Arcy"), ("himself", "themselves")),
    ("No {}'d say that Anna's taxis {} re-painted.", ("author", "guard", "pilot"), ("were", "was")),
    ("Can't the {}s see that she {}n't here?", ("author", "guard", "pilot"), ("is", "are")),
    ("Kim's {}'s sister's dog-walker {}.", ("author", "guard", "pilot"), ("laughs", "laugh")),
    ("Who's the {} that they'd {}?", ("author", "guard", "pilot"), ("like", "likes")),
    ("The {}, he's said, {}/was tired: very.", ("author", "guard", "pilot"), ("is", "are")),
    ("{}s'll laugh, won't {}?", ("Author", "Guard", "Pilot"), ("they", "them")),
]


def untokenised_pairs(of_a_paradigm: int = 4) -> list[tuple[str, str]]:
    """Return pairs, good sentence first: up to four of each BLiMP paradigm, and 36 of our own."""
    with gzip.open(BLIMP_SAMPLE, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    seen: Counter[str] = Counter()
    pairs = []
    for row in rows:
        seen[row["UID"]] += 1
        if seen[row["UID"]] <= of_a_paradigm:
            pairs.append((row["sentence_good"], row["sentence_bad"]))
    for frame, nouns, forms in FRAMES:
        good, bad = forms
        pairs += [(frame.format(noun, good), frame.format(noun, bad)) for noun in nouns]
    assert len(pairs) == len(set(pairs)) == 67 * of_a_paradigm + 36
    return pairs


def write_untokenised(path: Path, pairs: list[tuple[str, str]]) -> Path:
    """Write pairs as a suite."""
    lines = (json.dumps({"good": good, "bad": bad}) for good, bad in pairs)
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path
