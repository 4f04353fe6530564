"""Equations of all cells, independent of their code: `KNOWN` has one entry for each architecture.

The entry of a new cell is in its own test file in `tests/models/cells/`, as for the URN.

An entry has the paper's equation as a numpy float64 function, the number of parameters as a formula, and
options.

Equations read the parameters of a checkpoint by name and share no other code with `tseval.models`. If a
paper says "for every unit", there is a loop over units; if it says "the last n words", these are kept.

An equation takes the layer's weights, the options, the word vectors so far and the previous state. Each
word vector is (batch, input); the last is the word to read. It returns the next state, output first.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import expit as sigmoid
from scipy.special import logsumexp
from stated import stated

F: dict[str, Any] = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0)}


def dale(hidden, inhibitory="0.2:last"):
    """Return D: diagonal, -1 for inhibitory units (default: the last floor(hidden / 5)), 1 for the others."""
    share, place, *seed = inhibitory.split(":")
    count = int(Fraction(share) * hidden)
    units = list(range(hidden))
    if place == "last":
        units.reverse()
    if place == "drawn":
        units.sort(key=lambda unit: hashlib.sha256(f"{seed[0]} {unit}".encode()).hexdigest())
    d = np.eye(hidden)
    for unit in units[:count]:
        d[unit, unit] = -1
    return d


def chosen(options):
    """Return the option that chooses the inhibitory units, if it is set."""
    return [options["inhibitory"]] if "inhibitory" in options else []


def torch_layer(weights):
    """Return U, W and both biases of torch's own layers."""
    return (
        weights[f"layer.{name}_l0"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )  # fmt: skip


def drive(weights, words, h):
    """Return W h + U x + b, with W as it is stored."""
    return h @ weights["recurrent"].T + words[-1] @ weights["input.weight"].T + weights["input.bias"]


def srn(weights, options, words, state):
    u, w, b, b_recurrent = torch_layer(weights)
    return (F[options.get("activation", "tanh")](state[0] @ w.T + words[-1] @ u.T + b + b_recurrent),)


def gru(weights, options, words, state):
    h, (u, w, b, b_recurrent) = state[0], torch_layer(weights)
    u_r, u_z, u_n = np.split(words[-1] @ u.T + b, 3, axis=1)
    w_r, w_z, w_n = np.split(h @ w.T + b_recurrent, 3, axis=1)
    r, z = sigmoid(u_r + w_r), sigmoid(u_z + w_z)
    return ((1 - z) * F[options.get("activation", "tanh")](u_n + r * w_n) + z * h,)


def lstm(weights, options, words, state):
    u, w, b, b_recurrent = torch_layer(weights)
    i, f, g, o = np.split(state[0] @ w.T + words[-1] @ u.T + b + b_recurrent, 4, axis=1)
    c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * F[options.get("activation", "tanh")](c)
    return h @ weights["layer.weight_hr_l0"].T if options.get("projection") else h, c


def eirnn(weights, options, words, state):
    beta, s = options["beta"], state[1]
    w = np.maximum(weights["recurrent"], 0) @ dale(s.shape[1], *chosen(options))
    if not options["self_connections"]:
        for unit in range(len(w)):
            w[unit, unit] = 0
    r = np.maximum(s, 0)
    u, b = weights["input.weight"], weights["input.bias"]
    s = (1 - beta) * s + beta * (r @ w.T + words[-1] @ u.T + b)
    return np.maximum(s, 0), s


def decayed(options, alpha, h, c):
    return (F[options["activation"]](alpha * h + (1 - alpha) * c),)


def decay_rate(weights, options):
    bounds: dict[str, Any] = {"sigmoid": sigmoid, "none": float}
    return bounds[options["alpha_bound"]](weights["decay"])


def drnn(weights, options, words, state):
    h = state[0]
    w = np.maximum(weights["recurrent"], 0) @ dale(h.shape[1], *chosen(options))
    return decayed(options, decay_rate(weights, options), h, drive(weights | {"recurrent": w}, words, h))


def sdrnn(weights, options, words, state):
    return decayed(options, decay_rate(weights, options), state[0], drive(weights, words, state[0]))


def abdrnn(weights, options, words, state):
    c = words[-1] @ weights["input.weight"].T + weights["input.bias"]
    return decayed(options, decay_rate(weights, options), state[0], c)


def drnn_cnn(weights, options, words, state):
    total = weights["decay"]
    for lag in range(min(options["window"], len(words))):
        total = total + words[-1 - lag] @ weights["taps.weight"][lag]
    h = state[0]
    w = np.maximum(weights["recurrent"], 0) @ dale(h.shape[1], *chosen(options))
    c = drive(weights | {"recurrent": w}, words, h)
    return decayed(options, sigmoid(total)[:, None], h, c)


def ablated_lstm(weights, options, words, state):
    o, candidate = np.split(drive(weights, words, state[0]), 2, axis=1)
    c = sigmoid(weights["forget"]) * state[1] + sigmoid(weights["admit"]) * np.tanh(candidate)
    return sigmoid(o) * np.tanh(c), c


def onlstm(weights, options, words, state):
    h, c = state
    batch, hidden = h.shape
    chunk = options["chunk"] or next(
        size for size in range(10, 0, -1) if hidden % size == 0 and hidden > size
    )
    n = hidden // chunk
    sizes = n, n, hidden, hidden, hidden, hidden
    forget, admit, i, f, o, g = np.split(drive(weights, words, h), np.cumsum(sizes)[:-1], axis=1)
    h, c = h.copy(), c.copy()
    for row in range(batch):
        p_f, p_i = (np.exp(x[row]) / sum(np.exp(x[row])) for x in (forget, admit))
        for unit in range(hidden):
            # All units of a chunk have the same master gates.
            m_f, m_i = sum(p_f[: unit // chunk + 1]), 1 - sum(p_i[: unit // chunk + 1])
            overlap = m_f * m_i
            f_hat = sigmoid(f[row, unit]) * overlap + (m_f - overlap)
            i_hat = sigmoid(i[row, unit]) * overlap + (m_i - overlap)
            c[row, unit] = f_hat * c[row, unit] + i_hat * np.tanh(g[row, unit])
            h[row, unit] = sigmoid(o[row, unit]) * np.tanh(c[row, unit])
    return h, c


@dataclass(frozen=True, slots=True)
class Known:
    """Facts about a cell that do not come from its code.

    Attributes:
        equation: Computes the next state; see the module docstring.
        parameters: Number of parameters of one layer, from the word vector size and the number of units.
        options: A value other than the default for every option.
    """

    equation: Callable[..., Any]
    parameters: Callable[[int, int], int]
    options: dict[str, Any] = field(default_factory=dict)


OF_DECAY = {"initial_alpha": 0.5, "alpha_bound": "none", "activation": "relu"}
OF_DALE = {"inhibitory": "0.5:drawn:3"}

# Number of parameters: for each gate, a matrix for the word, a matrix for the state, and biases (torch's
# layers have two). Then the parameters that the architecture adds.
KNOWN = {
    "srn": Known(srn, lambda e, n: n * (e + n) + 2 * n, {"activation": "relu"}),
    "gru": Known(gru, lambda e, n: 3 * (n * (e + n) + 2 * n), {"activation": "relu"}),
    "lstm": Known(lstm, lambda e, n: 4 * (n * (e + n) + 2 * n), {"activation": "relu", "projection": 2}),
    "eirnn": Known(
        eirnn, lambda e, n: n * (e + n) + n, {"beta": 0.005, "sigma": 0.2, "self_connections": True} | OF_DALE
    ),
    "drnn": Known(drnn, lambda e, n: n * (e + n) + n + 1, OF_DECAY | OF_DALE),
    "sdrnn": Known(sdrnn, lambda e, n: n * (e + n) + n + 1, OF_DECAY),
    "abdrnn": Known(abdrnn, lambda e, n: n * e + n + 1, OF_DECAY),
    "drnn-cnn": Known(
        drnn_cnn, lambda e, n: n * (e + n) + n + 1 + 3 * e, {"window": 5, "activation": "relu"} | OF_DALE
    ),
    "ablated-lstm": Known(ablated_lstm, lambda e, n: 2 * (n * (e + n) + n) + 2 * n),
    "onlstm": Known(
        onlstm, lambda e, n: (4 * n + 2 * n // 10) * (e + n + 1), {"chunk": 2, "weight_drop": 0.45}
    ),
}
KNOWN |= stated("models/cells", "KNOWN")
EQUATIONS = {arch: known.equation for arch, known in KNOWN.items()}


def first_state(arch, batch, hidden):
    """Return the state before the first word: h and a second part. For the URN, h is a unit vector."""
    h = np.zeros((batch, hidden))
    if arch == "urn":
        h[:, 0] = 1
    return h, np.zeros((batch, hidden))


def outputs_after(sizes, weights, ids):
    """Yield the outputs of a model after each word, (outputs,), computed word by word with the equations."""
    prefixes = [f"layers.{depth}." for depth in range(sizes["layers"])]
    layers = [{n.removeprefix(p): w for n, w in weights.items() if n.startswith(p)} for p in prefixes]
    states = [first_state(sizes["arch"], 1, sizes["hidden"]) for _ in layers]
    read = [[] for _ in layers]
    for word in ids:
        x = weights["embedding.weight"][[word]]
        for depth, layer in enumerate(layers):
            read[depth].append(x)
            states[depth] = EQUATIONS[sizes["arch"]](
                layer, sizes.get("options", {}), read[depth], states[depth]
            )
            x = states[depth][0]
        yield (x @ weights["output.weight"].T + weights["output.bias"])[0]


def sentence_logprob(sizes, weights, ids):
    """Return the log-probability, in nats, of all words after the first."""
    logits = outputs_after(sizes, weights, ids[:-1])
    return sum(one[word] - logsumexp(one) for one, word in zip(logits, ids[1:], strict=True))


def class_logprobs(sizes, weights, ids):
    """Return the log-probability, in nats, of each class after the last word."""
    *_, logits = outputs_after(sizes, weights, ids)
    return logits - logsumexp(logits)
