"""Data that tests compare with: oracles in the repository, and published data in `../shared/data`.

No other module knows these paths. Small data that may be redistributed are in `oracles/`, whose README
describes each file. Tests that need the other data are skipped if they are missing; their licences forbid
redistribution.
"""

from pathlib import Path

import pytest

from tseval.files import cache_folder

ORACLES = Path(__file__).with_name("oracles")
DATA = Path(__file__).parents[1] / ".." / "shared/data"

MARVIN_LINZEN = ORACLES / "marvin_linzen.json"
CLAMS = ORACLES / "clams.json"
TABLE4 = ORACLES / "table4.json"
GULORDAVA = ORACLES / "gulordava.json"
NEWMAN2021 = ORACLES / "newman2021.json"
BLIMP_ACCURACIES = ORACLES / "blimp_accuracies.jsonl"
BLIMP_HUMANS = ORACLES / "blimp_humans.tsv"
BLIMP_SAMPLE = ORACLES / "blimp.jsonl.gz"
BABYLM = ORACLES / "babylm.json.gz"
AGREEMENT = ORACLES / "agreement.tsv.gz"
AGREEMENT_COUNTS = ORACLES / "agreement_counts.tsv"
TREEBANK_SAMPLE = ORACLES / "ewt_dev.conllu.gz"
TREEBANKS = ORACLES / "treebanks"
TREEBANK_JUDGEMENTS = ORACLES / "treebank_judgements.tsv.gz"
TEXT_SAMPLE = ORACLES / "valid.txt.gz"
TURBLIMP_SAMPLE = ORACLES / "turblimp"
TURBLIMP_ORDERS_SAMPLE = ORACLES / "turblimp_orders"
RUBLIMP_SAMPLE = ORACLES / "rublimp"
LAU_RATINGS = ORACLES / "lau_ratings.csv"
TURBLIMP_RATINGS = ORACLES / "turblimp_ratings.csv"
RECORD_SCHEMA = ORACLES / "eee.schema.json"
GARDEN_PATHS = ORACLES / "sap_gpt2.tsv.gz"
N400 = ORACLES / "n400.tsv.gz"
AANN = ORACLES / "aann.tsv.gz"
EARLIER_TABLES = ORACLES / "earlier_tables"

BLIMP = DATA / "blimp/blimp.jsonl.gz"
CRAFT = DATA / "agreement/agreement_craft.tsv.gz"
LINZEN = DATA / "linzen_testset/subj_agr_filtered.text.gz"
GREEN = DATA / "linzen_testset"
TREEBANK = DATA / "agreement/en_ewt-ud-dev.conllu.gz"
TEXT = DATA / "corpus/valid.txt.gz"


NO_DATA = f"no ../{DATA.parent.name}/data"


def _needs(path: Path, why: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not path.exists(), reason=f"{NO_DATA}/{path.relative_to(DATA)}: {why}")


_PUBLISHED_BY_LINZEN = (
    "CC BY-NC 4.0, may not be redistributed here; published at github.com/facebookresearch/colorlessgreenRNNs"
)

needs_blimp = _needs(
    BLIMP,
    "CC BY 4.0, too large for the repository, which has a sample; published at github.com/alexwarstadt/blimp",
)
needs_craft = _needs(CRAFT, "CC BY-SA 4.0, too large for the repository")
needs_linzen = _needs(LINZEN, _PUBLISHED_BY_LINZEN)
needs_green = _needs(GREEN, _PUBLISHED_BY_LINZEN)
needs_treebank = _needs(
    TREEBANK,
    "CC BY-SA 4.0, too large for the repository, which has a sample; "
    "published at github.com/UniversalDependencies/UD_English-EWT",
)
needs_text = _needs(TEXT, "CC BY-SA 4.0, too large for the repository, which has a sample")


def real_weights(name: str) -> Path:
    """Return the transformers folder in which `benchmarks/real_weights.py` saves a model."""
    return cache_folder() / "real" / name


needs_real = pytest.mark.skipif(
    not all(real_weights(name).exists() for name in ("smollm2", "gemma3")),
    reason="no real weights in the cache: make test-real brings them; Gemma's may not be redistributed",
)
