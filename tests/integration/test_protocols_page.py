"""The page of published protocols: its commands run on tiny models that have the names on the page."""

import gzip
import json
import re
from pathlib import Path

import pytest
from checkpoints import bpe_tokenizer, save_causal, save_masked, wordpiece_tokenizer
from pages import follow
from small import number_prep
from supplied import BLIMP_SAMPLE
from untokenised import untokenised_pairs

pytestmark = pytest.mark.slowest

ROOT = Path(__file__).parents[2]
PAGE, CHECKS = ROOT / "docs/protocols.md", ROOT / "docs/results/checks.md"
PROTOCOLS = ("LM_syneval", "BLiMP", "minicons", "lm-eval", "SyntaxGym", "Salazar", "Kauf & Ivanova")


def test_every_command_of_the_page_runs(tmp_path, monkeypatch):
    texts = [sentence for pair in untokenised_pairs() for sentence in pair]
    save_causal(tmp_path / "gpt2", tokenizer=bpe_tokenizer(size=500, texts=texts), n_positions=128)
    save_causal(tmp_path / "smollm2", tokenizer=bpe_tokenizer(size=500, texts=texts), n_positions=128)
    save_masked(tmp_path / "bert", tokenizer=wordpiece_tokenizer(500, texts), max_position_embeddings=128)
    some = gzip.decompress(BLIMP_SAMPLE.read_bytes()).splitlines(keepends=True)[::20]
    (tmp_path / "blimp.jsonl.gz").write_bytes(gzip.compress(b"".join(some), mtime=0))
    (tmp_path / "number_prep.json").write_text(json.dumps(number_prep()))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # Fewer items of each row than on the page.
    (tmp_path / "page.md").write_text(PAGE.read_text("utf-8").replace("--sample 300", "--sample 10"), "utf-8")
    followed = follow(tmp_path / "page.md", tmp_path)
    assert ["--sample 10" in command.line for command in followed].count(True) == 2
    assert len(followed) == 11
    signatures = [command.printed for command in followed]
    assert ["leading_space:true" in text for text in signatures].count(True) == 1
    assert ["text:natural" in text for text in signatures].count(True) == 1
    assert ["first_token:unscored" in text for text in signatures].count(True) == 1
    assert ["pll:original" in text for text in signatures].count(True) == 1
    assert ["pll:within_word_l2r" in text for text in signatures].count(True) == 1


def test_the_page_names_every_protocol_and_its_checks_are_tests_that_exist():
    assert [name for name in PROTOCOLS if name not in PAGE.read_text("utf-8")] == []
    checks = CHECKS.read_text("utf-8").partition("## Protocols")[2].partition("\n## ")[0]
    named = re.findall(r"`(tests/[\w/]+(?:\.py)?)`", checks)
    assert len(named) >= 8
    assert [name for name in named if not (ROOT / name).exists()] == []
