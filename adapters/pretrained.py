"""Open what transformers saved, from a folder or the hub; weights and tokenizers."""

from __future__ import annotations

import inspect
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock, Thread
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from tseval.adapters.claims import refuse_claims, refuse_empty_sizes
from tseval.adapters.folders import (
    check_saved,
    find_lora,
    fingerprint_of,
    holds_tokenizer,
    place_in_training,
    refuse_hostile,
    stored_type,
)
from tseval.adapters.gguf_files import opened_gguf
from tseval.adapters.merging import merge
from tseval.adapters.tokenizer import open_tokenizer
from tseval.adapters.trials import begun_trial
from tseval.adapters.weights import load_weights, refuse_lacking, refuse_left_over
from tseval.errors import LimitError, ModelError, one_line, suggest
from tseval.scoring.numerics import NOTHING_GAINED, has_fast_products, pick_device
from tseval.scoring.protocol import ModelCard

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from tseval.adapters.gguf_files import Gguf
    from tseval.scoring.protocol import Encoded


ANSWER_SECONDS = 1.5  # in which a hub that can be reached answers


def stays_here(rest: str) -> bool:
    """Return whether a model must be opened without asking the hub: it is a folder, or the hub is silent."""
    return Path(rest).exists() or not _answers()


def _answers() -> bool:
    """Ask the hub for nothing, in a thread that is left behind: a look-up of a name knows no limit."""
    from huggingface_hub import constants, get_session  # noqa: PLC0415  optional, and heavy

    if constants.HF_HUB_OFFLINE:
        return False
    answered: list[bool] = []

    def ask() -> None:
        try:
            get_session().head(constants.ENDPOINT, timeout=ANSWER_SECONDS)
            answered.append(True)
        except Exception:  # whatever keeps it from being reached
            return

    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(ANSWER_SECONDS)
    return bool(answered)


# Arguments that say where to find a model; the fingerprint says which one was found.
WHERE = ("revision", "subfolder", "cache_dir", "token", "local_files_only")
# Arguments that cannot change a number, or say more than a manifest should.
UNRECORDED = {*WHERE, "trust_remote_code", "device_map", "dtype", "max_memory", "offload_folder"}
# What a tokenizer without a limit says is some 10**30.
UNLIMITED = 10**12
# Tokens read at once: enough for full speed of a matrix product. Weights on `meta` wait on the CPU or a disk.
BATCH_TOKENS = {"cpu": 1_024, "meta": 1_024, "mps": 4_096}
TOKENS_ON_ACCELERATOR = 16_384
# Logits of the whole vocabulary held at once where a model's own head must give them.
OWN_LOGITS = 2**26
# Of an output matrix that are widened to float32 at once.
ROWS_AT_ONCE = 8_192
QUANTISATION = ("load_in_", "bnb_", "llm_int8_")
OptionValue = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Pretrained:
    """A model that was opened."""

    name: str  # last part of the path, or id on the hub
    model: PreTrainedModel  # in evaluation mode, on its device
    tokenizer: PreTrainedTokenizerBase  # as saved with it
    fingerprint: str  # over the files of weights, configuration and tokenizer; independent of the path
    options: dict[str, OptionValue]  # what was passed on to `from_pretrained` and can change a number
    origin: dict[str, OptionValue] = field(default_factory=dict)  # its revision, or its place in a training
    # tokens for which its tables of positions have a row; None where it has no table
    positions: int | None = None
    needs_mask: bool = False  # it reads nothing without an attention mask
    notes: tuple[str, ...] = ()  # what a user is to know of how it was opened

    def __repr__(self) -> str:
        return one_line(self, self.name, type(self.model).__name__, self.dtype)

    @property
    def dtype(self) -> str:
        """Type of the weights, for example `float32`."""
        return str(self.model.dtype).removeprefix("torch.")

    @property
    def rounded_to(self) -> torch.dtype:
        """Type with about as many digits as the products have; quantised ones have few."""
        return torch.bfloat16 if getattr(self.model, "is_quantized", False) else self.model.dtype

    @property
    def batch_tokens(self) -> int:
        """Tokens to read at once, by the kind of device."""
        return BATCH_TOKENS.get(self.model.device.type, TOKENS_ON_ACCELERATOR)

    @property
    def details(self) -> dict[str, OptionValue]:
        """What a reader may want to know."""
        return {
            "architecture": type(self.model).__name__,
            "vocabulary": len(self.tokenizer),
            "parameters": self.model.num_parameters(),
            "device": str(self.model.device),
            **self.origin,
        }

    def card(
        self, kind: str, protocol: Mapping[str, OptionValue], white_space: str, **details: OptionValue
    ) -> ModelCard:
        """Make the card; where there are single spaces, signatures stay what they were before others came."""
        spaces = {} if white_space == "single" else {"white_space": white_space}
        whole = {**protocol, **spaces, **self.options}
        return ModelCard(self.name, kind, self.fingerprint, whole, self.details | details)

    @property
    def n_tokens(self) -> int:
        """Tokens that the model knows."""
        return int(self.model.get_input_embeddings().weight.shape[0])

    @property
    def longest(self) -> int | None:
        """Tokens that the model reads at most; None where neither it nor its tokenizer sets a limit."""
        said = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        # A configuration may say more than there is: RoBERTa has two positions that no token takes.
        limits = (said, self.positions, self.tokenizer.model_max_length)
        return min((one for one in limits if isinstance(one, int) and 0 < one < UNLIMITED), default=None)

    def inputs(self, tokens: Tensor, mask: Tensor | None = None) -> dict[str, Tensor]:
        """Lay out (rows, tokens) ids for the model; where it needs a mask, one that hides nothing."""
        if mask is None and self.needs_mask:
            mask = torch.ones_like(tokens)
        return {"input_ids": tokens} if mask is None else {"input_ids": tokens, "attention_mask": mask}

    def logits(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """Return logits, (rows, tokens, vocabulary); a model's own code may give a tuple, these first."""
        found = self.model(**inputs)
        return cast("Tensor", found[0] if isinstance(found, tuple) else found.logits)

    def check_known(self, argument: str, tokens: Sequence[int]) -> None:
        """Refuse special tokens that the model has no row for: they came to the tokenizer after training."""
        if beyond := [token for token in tokens if token >= self.n_tokens]:
            spelt = self.tokenizer.convert_ids_to_tokens(beyond[0])
            advice = "  Resize the embeddings of the model, or save the tokenizer of its training."
            if argument:
                advice = f"  Name another token: --model-args {argument}=TOKEN"
            raise ModelError(
                f"the token {spelt} of the tokenizer has the id {beyond[0]}, but the model has only "
                f"{self.n_tokens} tokens.\n{advice}"
            )

    def check_tokens(self, encoded: Encoded) -> None:
        """Refuse sentences with tokens that the model has no row for."""
        if encoded.tokens.max() >= self.n_tokens:
            token = self.tokenizer.convert_ids_to_tokens(int(encoded.tokens.max()))
            raise ModelError(
                f"the token {token!r} of the tokenizer has the id {int(encoded.tokens.max())}, but the model "
                f"has only {self.n_tokens} tokens.\n  Save the tokenizer of its training in the folder."
            )

    def check_fits(self, encoded: Encoded, n_special: int) -> None:
        """Refuse sentences that the model cannot read, with so many special tokens."""
        self.check_tokens(encoded)
        lengths = encoded.token_counts + n_special
        if self.longest is not None and self.longest < lengths.max():
            row = int(lengths.argmax())
            raise ModelError(
                f"a sentence has {lengths[row]} tokens, but the model reads at most {self.longest}: "
                f"'{str(encoded.seen[row].as_py())[:60]}...'.\n"
                "  Shorten the sentence, or run with --too-long skip."
            )


class _Tables(TorchFunctionMode):
    """Watches which rows a model takes of tables while it reads a token several times over."""

    def __init__(self) -> None:
        super().__init__()
        self.rooms: list[int] = []

    def __torch_function__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> object:
        """Note how many tokens find a row in a table of positions: of this alone rows are read in turn."""
        if func is nn.functional.embedding:
            ids, weight = [*args, *(kwargs or {}).values()][:2]
            rows = ids.flatten().tolist()
            if len(rows) == REPEATED and np.all(np.diff(rows) == 1):
                self.rooms.append(len(weight) - rows[0])
        return func(*args, **(kwargs or {}))


REPEATED = 3  # times that one token is read to find a model's positions


@torch.inference_mode()
def probe(opened: Pretrained) -> Pretrained:
    """Find out what no configuration says in the same way for all models, by reading a token several times.

    That is for how many tokens a model's tables of positions have a row (some have rows that no token takes),
    and whether it reads them without a mask.
    """
    tables, needs_mask = _Tables(), False
    token = int(ordinary_tokens(opened)[-1])
    ids = torch.full((1, REPEATED), token, device=opened.model.device)
    with suppress(Exception):  # what a model cannot read is told where it is checked
        try:
            with tables:
                opened.model(input_ids=ids)
        except Exception:  # a model without a mask may raise anything
            with tables:
                opened.model(input_ids=ids, attention_mask=torch.ones_like(ids))
            needs_mask = True
    return replace(opened, positions=min(tables.rooms, default=None), needs_mask=needs_mask)


@contextmanager
def wide_logits(model: PreTrainedModel) -> Iterator[list[Tensor]]:
    """Let the output layer, if it is a matrix, give float32 logits; what it was given last is listed."""
    output = model.get_output_embeddings()
    given: list[Tensor] = []

    def widen(layer: nn.Linear, inputs: tuple[Tensor], logits: Tensor) -> Tensor | None:
        given[:] = inputs
        if logits.dtype not in {torch.float16, torch.bfloat16}:
            return None
        rows = torch.split(layer.weight, ROWS_AT_ONCE)
        biases = [None] * len(rows) if layer.bias is None else torch.split(layer.bias.float(), ROWS_AT_ONCE)
        parts = zip(rows, biases, strict=True)
        return torch.cat([nn.functional.linear(inputs[0].float(), one.float(), b) for one, b in parts], -1)

    if type(output) is not nn.Linear or output.weight.is_meta:
        yield given
        return
    hook = output.register_forward_hook(widen)
    try:
        yield given
    finally:
        hook.remove()


def ordinary_tokens(opened: Pretrained) -> np.ndarray:
    """Return the ids of all tokens but the special ones, to make up sentences from."""
    known = min(len(opened.tokenizer), opened.n_tokens)
    return np.setdiff1d(np.arange(known), opened.tokenizer.all_special_ids)


def take_option(arguments: dict[str, str], name: str, choices: tuple[str, ...]) -> str:
    """Take an argument of ours out of those for `from_pretrained`; the first choice is the default."""
    value = arguments.pop(name, choices[0])
    if value not in choices:
        raise ModelError(f"--model-args {name}={value}: unknown value. {suggest(value, choices, 'Values')}")
    return value


# What `from_pretrained` takes as text; it also takes what a model's config.json may hold.
TAKEN = (
    *WHERE, "allow_all_kernels", "attn_implementation", "device_map", "disable_mmap", "dtype",
    "experts_implementation", "force_download", "gguf_file", "ignore_mismatched_sizes", "max_memory",
    "offload_buffers", "offload_folder", "torch_dtype", "tp_plan", "tp_size", "trust_remote_code",
    "use_kernels", "use_safetensors", "variant", "weights_only",
)  # fmt: skip
USUAL = ("attn_implementation", "device_map", "dtype", "revision", "subfolder", "trust_remote_code")


def _refuse_foreign(
    scheme: str, given: Mapping[str, OptionValue], own: Sequence[str], source: str, where: Mapping[str, Any]
) -> None:
    """Refuse arguments that nobody takes: a model's own code may take any, and do nothing with it."""
    import transformers  # noqa: PLC0415  optional, and heavy

    if given.keys() <= {*TAKEN}:
        return
    config = transformers.AutoConfig.from_pretrained(source, **where)
    of_bits = inspect.signature(transformers.BitsAndBytesConfig).parameters
    known = {*own, *TAKEN, *of_bits, *config.to_dict(), *config.attribute_map}
    for name in given.keys() - known:
        inside = [word for word in name.split("_") if word in {*own, *USUAL}]
        near = (inside or get_close_matches(name, sorted(known), n=1) or [name])[0]
        named = {*own, *USUAL, near} & known
        raise ModelError(
            f"--model-args {name}: {scheme}: models have no such argument. "
            f"{suggest(near, named, 'Arguments')}\n"
            "  You can also use arguments of transformers' from_pretrained and fields of config.json."
        )


def open_pretrained(
    scheme: str, head: str, rest: str, arguments: Mapping[str, str], device: str, own: Sequence[str]
) -> Pretrained:
    """Open a model and its tokenizer.

    Args:
        head: Class of transformers that opens the model: `AutoModelForCausalLM`.
        rest: Folder, or id on the hub.
        arguments: For `from_pretrained`, as text.
        device: `auto`, `cpu`, `cuda`, ...; `auto` if `device_map` is among the arguments.
        own: Names of the adapter's own arguments, for messages.
    """
    _refuse_precision(scheme, arguments)
    arguments = _with_types(arguments)
    with begun_trial(Path(rest, arguments.get("subfolder", ""), "tokenizer.json")):
        return _open(scheme, head, rest, arguments, device, own)


def _open(
    scheme: str, head: str, rest: str, arguments: Mapping[str, str], device: str, own: Sequence[str]
) -> Pretrained:
    try:
        import transformers  # noqa: F401, PLC0415  optional, and heavy
    except ImportError:
        raise ModelError(
            f"{scheme}: models need the package transformers.\n  Install the package: pip install "
            '"tseval[hf]"'
        ) from None
    if not rest:
        raise ModelError(
            f"{scheme}: no model is named after the colon.\n"
            f"  Name a folder or a model of the Hugging Face hub: --model {scheme}:FOLDER_OR_ID"
        )
    with opened_gguf(f"{scheme}:{rest}", rest) as gguf:
        if gguf is None:
            return _open_saved(scheme, head, rest, arguments, device, own)
        return _open_gguf(scheme, head, gguf, arguments, device)


def _open_gguf(scheme: str, head: str, gguf: Gguf, arguments: Mapping[str, str], device: str) -> Pretrained:
    """Open a GGUF as what transformers makes of it; what is computed with are plain weights, dequantised."""
    import transformers  # noqa: PLC0415  optional, and heavy

    where = f"{scheme}:{gguf.path.name}"
    options = {name: typed(name, text) for name, text in arguments.items()}
    if foreign := sorted(options.keys() - {"dtype", "attn_implementation", "device_map"}):
        raise ModelError(
            f"--model-args {foreign[0]}: a GGUF file has no such argument.\n"
            "  Use only dtype, attn_implementation and device_map."
        )
    keywords: dict[str, object] = {"dtype": torch.float32, **options}
    target = _place(keywords, device, quantised=False)
    place = {"pretrained_model_name_or_path": str(gguf.path.parent), "gguf_file": gguf.path.name}
    # Bars of tqdm's that nothing else can silence.
    quiet = redirect_stderr(StringIO())
    with plain_errors(scheme, gguf.path.name), TemporaryDirectory() as folder, quiet:
        transformers.AutoTokenizer.from_pretrained(**place).save_pretrained(folder)
        tokenizer, notes = open_tokenizer(where, folder, {})
        model, info = getattr(transformers, head).from_pretrained(
            **place, **keywords, output_loading_info=True
        )
        if target is not None:
            model = model.to(target)
    refuse_lacking(where, model, info["missing_keys"])
    # The weights are plain ones now; what says otherwise would be saved with them.
    model.config.__dict__.pop("quantization_config", None)
    model.hf_quantizer, model.is_quantized = None, False
    fuse_activations(model)
    recorded = {name: value for name, value in options.items() if name not in UNRECORDED}
    recorded["quantisation"] = f"{gguf.quantisation},dequantised"
    opened = Pretrained(gguf.path.stem, model.eval(), tokenizer, gguf.digest, recorded)
    note = (
        f"weights stored as {gguf.quantisation} are dequantised; "
        "llama.cpp also rounds activations, so its numbers differ"
    )
    return probe(replace(opened, notes=(*notes, note)))


def _open_saved(
    scheme: str, head: str, rest: str, arguments: Mapping[str, str], device: str, own: Sequence[str]
) -> Pretrained:
    """Open what was saved in a folder, or lies on the hub."""
    import transformers  # noqa: PLC0415  optional, and heavy

    lora = find_lora(scheme, rest)
    source = rest if lora is None else lora.base.base_model_name_or_path
    options = {name: typed(name, text) for name, text in arguments.items()}
    if lora and lora.base.revision:
        options["revision"] = lora.base.revision
    away = not stays_here(source)
    if not away:
        options["local_files_only"] = True
    keywords: dict[str, object] = {"trust_remote_code": False, **options}
    quantised = {name: keywords.pop(name) for name in options if name.startswith(QUANTISATION)}
    where = {name: options[name] for name in WHERE if name in options}
    target = _place(keywords, device, bool(quantised))
    inside = str(options.get("subfolder", ""))
    spelling = rest if holds_tokenizer(Path(rest, inside)) else source
    chosen = _look_through(f"{scheme}:{source}", Path(source, inside), Path(spelling, inside), options)
    with plain_errors(scheme, source, away):
        folder = Path(transformers.utils.cached_file(source, "config.json", **where)).parent
        allowed = {**where, "trust_remote_code": keywords["trust_remote_code"]}
        _refuse_foreign(scheme, options, own, source, allowed)
        tokenizer, notes = open_tokenizer(f"{scheme}:{rest}", spelling, allowed)
        stored = stored_type(folder)
        if not allowed["trust_remote_code"]:
            refuse_empty_sizes(f"{scheme}:{source}", head, source, where, (folder, *chosen))
        keywords.setdefault("dtype", _default_type(stored, target))
        if quantised:
            keywords["quantization_config"] = transformers.BitsAndBytesConfig(**quantised)
        model, info = load_weights(getattr(transformers, head), source, keywords)
    refuse_lacking(f"{scheme}:{source}", model, info["missing_keys"], info["unexpected_keys"])
    if options.keys() <= {*TAKEN}:  # who changes the configuration means another model
        refuse_left_over(f"{scheme}:{source}", model, info["unexpected_keys"])
    fingerprint = fingerprint_of(folder, *chosen)
    with plain_errors(scheme, rest):
        if lora:
            model = merge(f"{scheme}:{rest}", lora.folder, model)
            fingerprint = lora.fingerprint(fingerprint, fingerprint_of(Path(rest)))
        if target is not None:
            model = model.to(target)
    fuse_activations(model)
    recorded = {name: value for name, value in options.items() if name not in UNRECORDED}
    name = Path(rest).resolve().name if Path(rest).exists() else rest
    origin: dict[str, OptionValue] = dict(place_in_training(Path(rest, inside)))
    if lora is None and "revision" in options and not Path(source).exists():
        origin["revision"] = options["revision"]
    opened = Pretrained(name, model.eval(), tokenizer, fingerprint, recorded, origin)
    return probe(replace(opened, notes=(*notes, *_notes_on_type(stored, arguments, opened))))


# Names of types as people and torch write them.
TYPES = {
    "bf16": "bfloat16", "fp16": "float16", "f16": "float16", "half": "float16", "float": "float32",
    "fp32": "float32", "f32": "float32", "double": "float64", "fp64": "float64", "f64": "float64",
}  # fmt: skip


def _with_types(arguments: Mapping[str, str]) -> dict[str, str]:
    """Return types the names that torch has for them; refuse what is no type."""
    found = dict(arguments)
    for name in ("dtype", "torch_dtype"):
        if name in found:
            value = found[name].removeprefix("torch.")
            value = TYPES.get(value.lower(), value)
            known = ("auto", "float32", "float16", "bfloat16", "float64")
            if not isinstance(getattr(torch, value, None), torch.dtype) and value != "auto":
                raise ModelError(
                    f"--model-args {name}={found[name]}: unknown type. {suggest(value, known, 'Types')}"
                )
            found[name] = value
    return found


def _look_through(
    where: str, folder: Path, tokenizer: Path, options: Mapping[str, OptionValue]
) -> tuple[str | None, bool]:
    """Refuse a hostile folder before anything opens it; say which files of weights are read."""
    variant = options.get("variant")
    chosen = None if variant is None else str(variant), options.get("use_safetensors", True) is not False
    refuse_hostile(where, folder, *chosen)
    check_saved(where, folder, tokenizer)
    refuse_claims(where, folder, *chosen)
    return chosen


def _refuse_precision(scheme: str, arguments: Mapping[str, str]) -> None:
    if "precision" in arguments:
        raise ModelError(
            f"--precision {arguments['precision']}: a transformers model computes in the number format of "
            f"its weights.\n  Remove --precision, and add --model-args dtype={arguments['precision']}"
        )


def _notes_on_type(stored: str | None, arguments: Mapping[str, str], opened: Pretrained) -> Iterator[str]:
    """Say so where weights are computed with in another type than they are stored in, or in vain."""
    dtype, device = opened.dtype, opened.model.device
    wanted = arguments.get("dtype", "").removeprefix("torch.")
    if stored not in (None, dtype):
        yield (
            f"the weights are stored in {stored}, but tseval computes in {dtype} "
            f"(to compute in {stored}: --model-args dtype={stored})"
        )
    if wanted == "bfloat16" and device.type == "cpu" and not has_fast_products(device):
        yield NOTHING_GAINED


def _default_type(stored: str | None, target: torch.device | None) -> torch.dtype | str:
    """Compute as stored, but on a CPU in float32, which it multiplies fastest and loses nothing by."""
    on_cpu = target is not None and target.type == "cpu"
    return torch.float32 if on_cpu and stored in {"float16", "bfloat16"} else "auto"


def fuse_activations(model: nn.Module) -> None:
    """Let torch compute the tanh form of GELU in one pass, where transformers spells it out in eight.

    Those eight take as long as the matrix product before them. A form that gives other numbers stays.
    """
    from transformers.activations import FastGELUActivation, NewGELUActivation  # noqa: PLC0415  heavy

    fused, inputs = nn.GELU(approximate="tanh"), torch.linspace(-12, 12, 1_001)
    for module in model.modules():
        for name, child in module.named_children():
            is_spelt_out = isinstance(child, NewGELUActivation | FastGELUActivation)
            if is_spelt_out and torch.allclose(child(inputs), fused(inputs), rtol=1e-5, atol=1e-5):
                setattr(module, name, fused)


def _place(keywords: dict[str, object], device: str, quantised: bool) -> torch.device | None:
    """Find the device to move a model to; None where `from_pretrained` puts it in its place."""
    if "device_map" in keywords:
        if device != "auto":
            raise ModelError(
                f"--device {device} and --model-args device_map=... cannot be used together.\n"
                "  Remove one of the two."
            )
        return None
    target = pick_device(device)
    if quantised:  # quantised weights cannot be moved later
        keywords["device_map"] = {"": str(target)}
        return None
    return target


def typed(name: str, text: str) -> OptionValue:
    """Read the value of an argument: a number, true, false, none, or text."""
    words: dict[str, bool | None] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if name not in WHERE:  # a revision may look like a number
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
    return text


# transformers keeps in globals what it is loading: two loads at once leave models without weights.
ONE_AT_A_TIME = RLock()


@contextmanager
def plain_errors(scheme: str, rest: str, away: bool = True) -> Iterator[None]:
    """Silence transformers and the hub while a model is opened, and say whatever is raised in one message.

    One thread at a time is let in. `away` says whether the hub could be asked.
    """
    with ONE_AT_A_TIME, _silenced(scheme, rest, away):
        yield


@contextmanager
def _silenced(scheme: str, rest: str, away: bool) -> Iterator[None]:
    from huggingface_hub.utils import logging as hub  # noqa: PLC0415  optional, and heavy
    from transformers.utils import logging  # noqa: PLC0415  optional, and heavy

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    hub_verbosity = hub.get_verbosity()
    hub.set_verbosity_error()  # type: ignore[no-untyped-call] # untyped in huggingface_hub
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    except (LimitError, ModelError):
        raise
    except Exception as error:  # transformers and what it calls raise errors of every type
        said = " ".join(str(error).split())[:300] or type(error).__name__
        if not away and not Path(rest).exists() and isinstance(error, OSError):
            said = (
                "no folder has this name, and the local cache of the hub has no such model. tseval does not "
                "ask the hub: there is no network, or HF_HUB_OFFLINE is set."
            )
        raise ModelError(
            f"{scheme}:{rest} cannot be opened: {said}\n"
            f"  Name the folder of a saved model or a model of the hub: --model {scheme}:FOLDER_OR_ID"
        ) from error
    finally:
        logging.set_verbosity(verbosity)
        hub.set_verbosity(hub_verbosity)
        if bars:
            logging.enable_progress_bar()
