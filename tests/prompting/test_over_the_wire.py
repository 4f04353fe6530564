"""A real server with a chat model: its answers equal those of the local model."""

import pytest
from chat_models import save_chat
from chat_servers import transformers_serve
from in_process import succeed

from tseval.runs import read_run

pytestmark = pytest.mark.slowest


def test_answers_over_the_wire_equal_those_at_hand_on_200_pairs(tmp_path):
    pytest.importorskip("fastapi", reason="pip install transformers[serving]")
    chat = save_chat(tmp_path / "chat")
    suite = ["--suite", "marvin_linzen", "--sample", "10", "--quiet"]
    cases = [f"--case={name}" for name in CASES]
    with transformers_serve(chat) as url:
        model = ["--model", f"prompt:{url}", "--model-args", f"model={chat},max_tokens=1"]
        succeed("run", *model, *suite, *cases, "--out", tmp_path / "wire")
    at_hand = ["--model", f"prompt:hf:{chat}", "--model-args", "answer=text,max_tokens=1"]
    succeed("run", *at_hand, *suite, *cases, "--out", tmp_path / "hand")
    wire, hand = (read_run(tmp_path / name) for name in ("wire", "hand"))
    assert wire.manifest.counts.items == 200
    assert wire.sentences["answer"].tolist() == hand.sentences["answer"].tolist()
    assert {"1", "2"} < {*wire.sentences["answer"]}  # the model also gives other words, which are not answers
    assert wire.load_verdicts().equals(hand.load_verdicts())
    assert str(wire.manifest.key.protocol["served"]).startswith(str(chat))


CASES = [
    "simple_agrmt", "sent_comp", "vp_coord", "long_vp_coord", "prep_anim", "prep_inanim", "subj_rel",
    "obj_rel_across_anim", "obj_rel_across_inanim", "obj_rel_within_anim", "obj_rel_within_inanim",
    "obj_rel_no_comp_across_anim", "obj_rel_no_comp_across_inanim", "obj_rel_no_comp_within_anim",
    "obj_rel_no_comp_within_inanim", "simple_reflexives", "reflexive_sent_comp", "reflexives_across",
    "simple_npi_anim", "simple_npi_inanim",
]  # fmt: skip
