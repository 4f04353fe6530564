"""Write pickled models and their log-probabilities of a text into a folder: python write.py FOLDER.

It runs in a separate process, so that the reading process does not know the classes.
"""

import json
import pickle
import sys
import warnings
from collections import OrderedDict
from copy import deepcopy
from pathlib import Path

import torch
from model import RNNModel
from torch import nn
from torch.nn.backends.thnn import _get_thnn_function_backend

WORDS = ["the", "<unk>", "Author", "<eos>", "laughs", ".", "guard", "near"]
SENTENCES = ["the Author laughs .", "the guard near the Author laughs .", "guard laughs . ."]
KINDS = {"lstm": "LSTM", "gru": "GRU", "srn": "RNN_TANH", "relu": "RNN_RELU"}
FORMS = {"old": False, "zip": True}


def make(kind="LSTM", tied=False):
    torch.manual_seed(len(kind) + tied)
    made = RNNModel(kind, len(WORDS), 6, 6 if tied else 5, 2, tied)
    deviation = 0.5 if kind == "RNN_RELU" else 1.0  # ReLU is unbounded: rounding grows with the state
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=deviation)  # far from uniform, so that a wrong gate or bias shows
    return made.eval()


def logprobs(model):
    """Return log-probabilities of each sentence's words after <eos>, by the module's own forward pass."""
    found = []
    for sentence in SENTENCES:
        ids = torch.tensor([WORDS.index(word) for word in ["<eos>", *sentence.split()]])
        with torch.no_grad():
            table = model(ids[:-1, None])[:, 0].log_softmax(1)
        found.append(table.gather(1, ids[1:, None])[:, 0].tolist())
    return found


def write_as_of_2017(model, path):
    """Write the old format as PyTorch 0.3 did on a GPU.

    Parameters are saved as class and state, tensors by `_rebuild_tensor`. Every module has a THNN backend,
    and storages are views of a larger root.
    """
    for module in model.modules():
        module._backend = BACKEND
    storages, classes = {}, set()

    class Pickler(pickle.Pickler):
        def persistent_id(self, thing):
            if isinstance(thing, type) and issubclass(thing, nn.Module) and thing not in classes:
                classes.add(thing)
                return "module", thing, "model.py", "class RNNModel(nn.Module): ..."
            if isinstance(thing, torch.storage.TypedStorage):
                key, view = str(thing.data_ptr()), str(thing.data_ptr() + 1)
                storages[key] = thing
                place = "cuda:1", len(thing) + 5, (view, 3, len(thing))
                return "storage", torch.cuda.FloatStorage, key, *place
            return None

        def reducer_override(self, thing):
            if thing is BACKEND:
                return _get_thnn_function_backend, ()
            if isinstance(thing, nn.Parameter):
                return nn.Parameter, (thing.data,), (True, False, OrderedDict())
            if isinstance(thing, torch.Tensor):
                place = thing.storage_offset(), tuple(thing.size()), thing.stride()
                return torch._utils._rebuild_tensor, (thing._typed_storage(), *place)
            return NotImplemented

    with path.open("wb") as file:
        for head in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True, "protocol_version": 1001}):
            pickle.dump(head, file, 2)
        Pickler(file, 2).dump(model)
        pickle.dump(list(storages), file, 2)
        for storage in storages.values():
            numbers = torch.tensor([9.0, 9.0, 9.0, *storage, 9.0, 9.0])
            file.write(len(numbers).to_bytes(8, "little") + numbers.numpy().tobytes())


class BACKEND:
    """A replacement for the backend object that modules had."""


def on_gpu(path):
    """Change a file of the old format as if it had been saved on a GPU."""
    content = path.read_bytes()
    content = content.replace(b"ctorch\nFloatStorage\n", b"ctorch.cuda\nFloatStorage\n")
    path.write_bytes(content.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0"))


def flatten(model):
    """Move the recurrent weights into one buffer, as cuDNN needs them."""
    parameters = list(model.rnn.parameters())
    buffer = torch.cat([parameter.data.flatten() for parameter in parameters])
    for parameter, part in zip(parameters, buffer.split([p.numel() for p in parameters]), strict=True):
        parameter.data = part.view_as(parameter)
    return model


def main(folder):
    expected = {}

    def save(name, model, form="zip", protocol=2, wrapped=None):
        torch.save(
            wrapped or model,
            folder / f"{name}.pt",
            pickle_protocol=protocol,
            _use_new_zipfile_serialization=FORMS[form],
        )
        expected[name] = logprobs(model)

    for form in FORMS:
        for short, kind in KINDS.items():
            save(f"{short}-{form}", make(kind), form)
            save(f"{short}-{form}-tied", make(kind, tied=True), form)
        for protocol in (1, 3, 4, 5):
            save(f"protocol{protocol}-{form}", make(tied=True), form, protocol)
        save(f"flat-{form}", flatten(make("GRU")), form)
        model = make()
        # On a machine with a GPU, the wrapper moves the model to it.
        save(f"parallel-{form}", model, form, wrapped=nn.DataParallel(deepcopy(model), dim=1).cpu())
    save("gpu", make(tied=True), "old")
    on_gpu(folder / "gpu.pt")
    half = make().half()
    torch.save(half, folder / "half.pt")
    expected["half"] = logprobs(half.float())
    for tied in (False, True):
        model = make("GRU", tied)
        name = f"2017{'-tied' if tied else ''}"
        expected[name] = logprobs(model)
        write_as_of_2017(model, folder / f"{name}.pt")
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", "utf-8")
    (folder / "expected.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # torch warns about features that it cannot use here
    main(Path(sys.argv[1]))
