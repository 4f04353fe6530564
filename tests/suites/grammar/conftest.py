from pathlib import Path

import pytest

from tseval.errors import GrammarError
from tseval.suites import load_suite

LEXICON = """\
irregular: {is: are, child: children}
noun:
  person: [author, security guard, child]
  odd: [box]
  fixed: [{sing: mouse, plur: mice}]
verb:
  main: [laughs, is tall]
  past: [said]
  odd: [watches]
pronoun:
  reflexive: [{sing: himself, plur: themselves}]
determiner:
  npi:
    - {licensor: no, intrusive: the}
    - {licensor: few, intrusive: some}
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def message():
    """Return a function that gives the message about a wrong grammar, with file names only."""

    def message(path):
        with pytest.raises(GrammarError) as caught:
            load_suite(path, limit=4)
        return str(caught.value).replace(f"{path}/", "").replace(f"{path.parent}/", "")

    return message


@pytest.fixture
def write_grammar(tmp_path):
    """Return a function that writes a grammar (and its lexicon) from some parts; the body is on line 9."""

    def write(
        body: str, slots: str = "{subject: noun.person, verb: verb.main}", more: str = "", name: str = "case"
    ) -> Path:
        (tmp_path / "lexicon.yaml").write_text(LEXICON)
        path = tmp_path / f"{name}.jinja"
        path.write_text(
            f"---\nconstruction: C\nphenomenon: P\nsource: null\nlexicon: lexicon.yaml\nslots: {slots}\n"
            f"{more}\n---\n{body}"
        )
        return path

    return write
