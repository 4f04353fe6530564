"""Small tokenizers for all ways to mark words, with pieces such as `laugh | s`."""

import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

END = "<|endoftext|>"
LAUGHTER = ["the gal laughs .", "the gals laugh .", "the gals that the gal saw laugh .", "a gal sleeps ."]


def _wrapped(tokenizer):
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=END, eos_token=END)


def _trained(tokenizer, size, **options):
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=[END], show_progress=False, **options)
    tokenizer.train_from_iterator(LAUGHTER, trainer)
    return _wrapped(tokenizer)


def byte_level(size=32, letters=""):
    """Mark the start of words, `Ġlaugh`, as in GPT-2; a first word has no mark."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return _trained(tokenizer, size, initial_alphabet=list(letters))


def metaspace(size=32):
    """Mark the start of words, `▁laugh`, as in Llama 2, also of a first word."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    return _trained(tokenizer, size)


def ends_marked(size=32):
    """Mark the end of words, `laugh</w>`, as in the first GPT."""
    tokenizer = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.BPEDecoder(suffix="</w>")
    return _trained(tokenizer, size, end_of_word_suffix="</w>")


def unmarked(size=32):
    """Remove spaces and mark nothing, although the byte alphabet has a piece `Ġ`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return _trained(tokenizer, size, initial_alphabet=["Ġ"])


def continuations_marked():
    """Mark pieces that continue a word, `##s`, as in BERT."""
    words = [END, "[UNK]", "the", "a", "gal", "laugh", "sleep", "that", "saw", "##s", "##a", "."]
    vocabulary = {word: i for i, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.WordPiece()
    return _wrapped(tokenizer)


def whole_words():
    """Make every word one piece."""
    words = [END, "the", "gal", "gals", "laugh", "laughs", "."]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="."))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return _wrapped(tokenizer)


def laugh_and_s():
    """Use few pieces, among them `Ġlaugh` and `s`: *laughs* is two."""
    stems = ["the", "boy", "laugh", "."]
    joined = [(stem[:n], stem[n]) for stem in stems for n in range(1, len(stem))]
    merges = [*joined, *(("Ġ", stem) for stem in stems)]
    pieces = ["Ġ", "s", *"".join(stems), *("".join(pair) for pair in merges)]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys([END, *pieces]))}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return _wrapped(tokenizer)
