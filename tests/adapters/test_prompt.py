"""The adapter of prompt models."""

from typing import Any

import pytest
from chat_models import save_chat
from own_models import NO_STATE, NO_WORDS, Own

from tseval.adapters import open_model
from tseval.errors import ModelError
from tseval.testing import check_model


def _own(what, folder, device):
    return Own(
        open_model(f"prompt:hf:{save_chat(folder / 'chat')}", device=device), None, NO_STATE | NO_WORDS
    )


KINDS = {"prompt": _own}


@pytest.mark.parametrize("rest", ["", "gpt2", "ftp://host/v1", "hf"])
def test_what_is_neither_at_hand_nor_an_address_is_refused(rest):
    with pytest.raises(ModelError, match="neither hf: nor the address of a server"):
        open_model(f"prompt:{rest}")


def test_a_model_that_answers_has_no_log_probabilities_to_check(tmp_path):
    with pytest.raises(ModelError, match="only answers questions about two sentences"):
        check_model(_own("", tmp_path, "cpu").model)


def test_a_live_object_without_the_method_answers_is_no_model():
    class Half:
        card = None

        def answer(self):
            """Have another method than the required one."""

    half: Any = Half()
    with pytest.raises(ModelError):
        open_model(half)
