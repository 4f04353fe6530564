"""Options of a cell: defaults stay the same, errors get a message, and a checkpoint stores the options."""

from typing import Any

import pytest
import torch
from equations import KNOWN
from small_training import rewrite

from tseval.errors import ModelError
from tseval.models import Vocabulary
from tseval.models.cells import CELLS
from tseval.models.cells.cell import options_of
from tseval.models.checkpoint import load_checkpoint, save_checkpoint
from tseval.models.network import LanguageModel, Sizes

WORDS = Vocabulary(("<eos>", "<unk>", "the", "author", "laughs", "."), lowercase=True)
CHOSEN = {arch: known.options for arch, known in KNOWN.items() if known.options}


def sizes(arch, hidden=4, **options):
    return Sizes(arch, vocabulary=len(WORDS), embedding=4, hidden=hidden, layers=2, options=options)


def save(path, arch, **options):
    torch.manual_seed(0)
    model = LanguageModel(sizes(arch, **options)).eval()
    save_checkpoint(path, model, WORDS, training={}, validation_perplexity=None)
    return model


def output(model):
    words = torch.tensor([[2], [3], [4]])
    return model(words, model.initial_state(1))[0]


def test_every_option_has_a_value_to_be_tried_with():
    options = {arch: set(options_of(cell)) for arch, cell in CELLS.items() if options_of(cell)}
    assert options == {arch: set(chosen) for arch, chosen in CHOSEN.items()}


def test_the_defaults_are_those_of_the_papers():
    assert sizes("drnn").options == {"initial_alpha": 0.8, "alpha_bound": "sigmoid", "activation": "tanh"}
    assert sizes("eirnn").options == {"beta": 0.17, "sigma": 0.15, "self_connections": False}
    assert sizes("drnn-cnn").options == {"window": 3, "activation": "tanh"}
    assert sizes("lstm").options == {}


@pytest.mark.parametrize(
    ("arch", "options"), [("lstm", {"activation": "tanh"}), ("drnn", {"inhibitory": "0.2:last"})]
)
def test_an_option_that_came_later_leaves_no_trace_at_its_default(arch, options):
    # Models of today must have the same fingerprint as earlier models with the same weights.
    assert sizes(arch, **options).to_mapping() == sizes(arch).to_mapping()
    assert not options.keys() & sizes(arch).options.keys()


def test_the_units_that_inhibit_are_the_chosen_share_in_the_chosen_place():
    def inhibitory(choice, hidden=20):
        cell: Any = sizes("drnn", hidden, inhibitory=choice).cell(0)
        return cell.signs.lt(0).nonzero().flatten().tolist()

    assert inhibitory("0.2:last") == [16, 17, 18, 19]
    assert inhibitory("0.24:first") == [0, 1, 2, 3]
    drawn = [inhibitory(f"0.5:drawn:{seed}") for seed in (1, 2, 1)]
    assert [len(units) for units in drawn] == [10, 10, 10]
    assert drawn[0] == drawn[2] != drawn[1]
    assert inhibitory("0:last") == []
    assert inhibitory("1:drawn:1") == list(range(20))


@pytest.mark.parametrize(
    ("arch", "options", "message"),
    [
        ("drnn", {"alpha": 0.5}, "DecayRNN has no option 'alpha'. Did you mean 'alpha_bound'?"),
        ("ablated-lstm", {"chunk": 2}, "AblatedLSTM has no option 'chunk'. Options: none."),
        ("lstm", {"chunk": 2}, "LSTM has no option 'chunk'. Options: activation, projection."),
        ("drnn", {"inhibitory": 0.3}, "option inhibitory must be of type str, not float"),
        ("drnn", {"inhibitory": "0.3"}, "option inhibitory must be a share from 0 to 1 and a place, such as"),
        ("eirnn", {"inhibitory": "1.2:last"}, "such as 0.2:last, 0.2:first or 0.2:drawn:7, not '1.2:last'"),
        ("drnn-cnn", {"inhibitory": "0.2:middle"}, "such as 0.2:last, 0.2:first or 0.2:drawn:7, not"),
        ("sdrnn", {"inhibitory": "0.2:last"}, "SlackedDecayRNN has no option 'inhibitory'."),
        ("drnn", {"initial_alpha": "0.5"}, "option initial_alpha must be of type float, not str"),
        ("drnn", {"initial_alpha": 10**400}, "option initial_alpha must be at most 1,000,000,000"),
        ("drnn", {"initial_alpha": 1}, "option initial_alpha must be between 0 and 1, not 1.0"),
        ("drnn", {"initial_alpha": float("nan")}, "option initial_alpha must be between 0 and 1, not nan"),
        ("sdrnn", {"initial_alpha": float("inf"), "alpha_bound": "none"},
         "option initial_alpha must be finite, not inf"),
        ("abdrnn", {"alpha_bound": "relu"}, "option alpha_bound must be sigmoid or none, not 'relu'"),
        ("drnn", {"activation": "gelu"}, "option activation must be tanh or relu, not 'gelu'"),
        ("drnn-cnn", {"window": 0}, "option window must be from 1 to 1000, not 0"),
        ("drnn-cnn", {"window": 3.0}, "option window must be of type int, not float"),
        ("drnn-cnn", {"window": 10**30}, "option window must be at most 1,000,000,000"),
        ("eirnn", {"beta": 0}, "option beta must be above 0 and at most 1, not 0.0"),
        ("eirnn", {"sigma": -0.1}, "option sigma must be a finite number, 0 or above, not -0.1"),
        ("eirnn", {"self_connections": 1}, "option self_connections must be of type bool, not int"),
        ("onlstm", {"chunk": 3}, "option chunk must be a divisor of the hidden size 4, not 3"),
        ("onlstm", {"weight_drop": 1.0}, "option weight_drop must be in [0, 1), not 1.0"),
    ],
)  # fmt: skip
def test_an_option_that_cannot_be_gets_a_message(arch, options, message):
    with pytest.raises(ModelError) as error:
        sizes(arch, **options)
    assert message in str(error.value)
    assert len(str(error.value).splitlines()) <= 2


@pytest.mark.parametrize(
    ("arch", "hidden", "message"),
    [
        ("urn", 1, "the hidden size of a URN must be above 1, not 1"),
        ("srn", 10**18, "hidden size must be at most 1,000,000,000"),
        ("lstm", 10**9, "lstm with hidden size 1,000,000,000 is not possible"),
        ("urn", 10**9, "urn with hidden size 1,000,000,000 is not possible"),
    ],
)
def test_a_size_that_cannot_be_gets_a_message(arch, hidden, message):
    with pytest.raises(ModelError) as error:
        sizes(arch, hidden)
    assert message in str(error.value)


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
@pytest.mark.parametrize("arch", CHOSEN)
def test_a_checkpoint_remembers_the_options(tmp_path, arch, suffix):
    path = tmp_path / f"model{suffix}"
    model = save(path, arch, **CHOSEN[arch])
    loaded = load_checkpoint(path).model
    assert loaded.sizes.options == CHOSEN[arch]
    assert torch.equal(output(loaded), output(model))


def test_a_checkpoint_holds_the_defaults_too(tmp_path):
    save(tmp_path / "model.pt", "drnn", initial_alpha=0.6)
    stored = torch.load(tmp_path / "model.pt", weights_only=True)["sizes"]["options"]
    assert stored == {"initial_alpha": 0.6, "alpha_bound": "sigmoid", "activation": "tanh"}


@pytest.mark.parametrize(
    ("arch", "options", "message"),
    [
        ("drnn", {"activation": "relu"}, "does not match its stored checksum"),
        ("onlstm", {"chunk": 1}, r"has the shape \(.*\), but the sizes of the model need"),
        ("drnn", {"activation": torch.zeros(2)}, "option activation must be of type str, not Tensor"),
        ("drnn", {3: 1}, "DecayRNN has no option 3"),
        ("drnn", None, "options must be a mapping, not a NoneType"),
    ],
)
def test_a_checkpoint_whose_options_were_edited_is_refused(tmp_path, arch, options, message):
    path = tmp_path / "model.pt"
    save(path, arch)
    rewrite(path, lambda content: content["sizes"].update(options=options))
    with pytest.raises(ModelError, match=message) as error:
        load_checkpoint(path)
    assert str(path) in str(error.value)
    assert len(str(error.value).splitlines()) <= 2


def test_a_checkpoint_with_sizes_beyond_all_machines_is_refused(tmp_path):
    for arch in sorted(CELLS):
        path = tmp_path / f"{arch}.pt"
        save(path, arch)
        for hidden in (10**6, 10**9, 10**5000):
            rewrite(path, lambda content, hidden=hidden: content["sizes"].update(hidden=hidden))
            with pytest.raises(ModelError) as error:
                load_checkpoint(path)
            assert len(str(error.value).splitlines()) <= 2
