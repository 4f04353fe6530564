"""A small chat model with random weights that answers 1, 2 or another word. Nothing is downloaded."""

import torch
import transformers
from checkpoints import LLAMA, TEXT, bpe_tokenizer, save_spread

from tseval.prompting.template import bundled_templates, open_template

# One user message and the start of the reply, with special tokens around them.
CHAT = (
    "{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
LOUD, QUIET = 1.5, 0.02  # spread of the weights for 1 and 2, and for all other tokens


def save_chat(path, template=CHAT):
    """Save a tiny chat model. Its answer (1, 2 or another word) depends on the whole prompt."""
    texts = [*TEXT, *(open_template(name).text for name in bundled_templates()), "<|user|> <|assistant|> 1 2"]
    tokenizer = bpe_tokenizer(size=400, texts=texts)
    tokenizer.chat_template = template
    sizes = {**LLAMA, "max_position_embeddings": 512, "tie_word_embeddings": False}
    special = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 1}
    torch.manual_seed(0)
    config = transformers.LlamaConfig(vocab_size=len(tokenizer), **special, **sizes)
    model = transformers.LlamaForCausalLM(config)
    save_spread(path, model, tokenizer)  # draws all weights
    with torch.no_grad():
        head = model.lm_head.weight
        head.normal_(0, QUIET)
        for number in ("1", "2"):
            (token,) = tokenizer.encode(number, add_special_tokens=False)
            head[token].normal_(0, LOUD)
    model.save_pretrained(path)
    return path
