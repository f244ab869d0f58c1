#!/usr/bin/env python3
"""Small random encoders and what transformers makes of texts by them: golden_encoders.py TOKENIZERS FOLDER [SIZE]

For every kind a folder FOLDER/KIND as sentence-transformers has it, with a tokenizer of TOKENIZERS
(golden_tokenizers.py), and beside it golden.safetensors for gabbro verify:
  text      u8      texts, one a line
  ids       i32     [texts, longest] their tokens, -1 behind the end
  sentence  f32     [texts, H] their vectors, computed in float64, each text alone
  logits    f32     [tokens, V] of the masked LM, where the folder has its head
SIZE: hidden size (16); with more the models are for the suite of peers.
Needs: pip install torch transformers"""
import copy
import json
import os
import random
import shutil
import sys

import torch
import transformers
from safetensors.torch import save_file

TEXTS = ["The river lies near the castle.", "a", "It isn't older than the harbour, they say: d\u00e9j\u00e0 vu!", "  two  spaces ",
         "x <mask> y", "Is the forest of \u00dcnder 250 years old? The village belongs to the island, and the bridge feeds the lake. "
         "We'll see beside the railway, quietly, since 1873, in the north."]
SIZES = {"num_hidden_layers": 2, "num_attention_heads": 2}


def kinds(size):
    """Kind: tokenizer, pooling, normalised, class and configuration."""
    modern = {"hidden_size": size, "intermediate_size": 2 * size, "num_attention_heads": 2, "max_position_embeddings": 64,
              "local_attention": 12, "global_rope_theta": 1000.0, "reference_compile": False}
    bert = {"hidden_size": size, "intermediate_size": 2 * size, "max_position_embeddings": 42, **SIZES}
    return {
        "distilbert": ("cased", "mean", False, "DistilBert", {
            "dim": size, "hidden_dim": 2 * size, "n_layers": 2, "n_heads": 2, "max_position_embeddings": 40}),
        "roberta": ("bytes", "cls", False, "Roberta", {**bert, "type_vocab_size": 1, "layer_norm_eps": 1e-5}),
        "xlm-roberta": ("pieces", "last", True, "XLMRoberta", {**bert, "type_vocab_size": 1, "layer_norm_eps": 1e-5}),
        "mpnet": ("mpnet", "mean", True, "MPNet", {**bert, "layer_norm_eps": 1e-5}),
        # The last layer looks at all tokens, or at a window alone.
        "modernbert": ("plain", "cls", False, "ModernBert", {**modern, "num_hidden_layers": 4}),
        "modernbert-head": ("plain", "cls", True, "ModernBert", {
            **modern, "num_hidden_layers": 3, "global_attn_every_n_layers": 2, "local_rope_theta": 100.0, "head": True}),
        "modernbert-means": ("plain", "mean", True, "ModernBert", {**modern, "num_hidden_layers": 3}),
    }


def random_values(model):
    """From Python's own generator, which is the same in all versions; float16 holds them."""
    draw = random.Random(20)
    for name, value in sorted(model.named_parameters()):
        norm = 1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0
        flat = [norm + 0.25 * draw.gauss(0, 1) for _ in range(value.numel())]
        value.data = torch.tensor(flat).half().float().reshape(value.shape)


def describe(folder, size, pooling, normalise, longest):
    modules = [("", "Transformer"), ("1_Pooling", "Pooling")] + ([("2_Normalize", "Normalize")] if normalise else [])
    files = {"modules.json": [{"idx": i, "name": str(i), "path": path, "type": "sentence_transformers.models." + kind}
                              for i, (path, kind) in enumerate(modules)],
             "sentence_bert_config.json": {"max_seq_length": longest, "do_lower_case": False},
             "1_Pooling/config.json": {"word_embedding_dimension": size, **{
                 "pooling_mode_" + mode: mode == pooling for mode in ("cls_token", "mean_tokens", "lasttoken")}}}
    os.makedirs(f"{folder}/1_Pooling", exist_ok=True)
    for name, content in files.items():
        with open(f"{folder}/{name}", "w", encoding="utf-8") as out:
            json.dump(content, out, indent=1)
            out.write("\n")


def numbers(folder, model, tokenizer, pooling, normalise, longest):
    found, head = [], getattr(model, "head", None)
    texts = TEXTS[:2] if head else TEXTS # logits are many
    rows = [tokenizer(text, truncation=True, max_length=longest)["input_ids"] for text in texts]
    ids = torch.full((len(rows), max(map(len, rows))), -1, dtype=torch.int32)
    logits = []
    for i, row in enumerate(rows):
        ids[i, :len(row)] = torch.tensor(row, dtype=torch.int32)
        with torch.no_grad():
            states = (model.model if head else model)(input_ids=torch.tensor([row])).last_hidden_state[0]
            if head:
                logits.append(model.decoder(head(states)).float())
        vector = {"cls_token": states[0], "mean_tokens": states.mean(0), "lasttoken": states[-1]}[pooling]
        found.append(vector / vector.norm() if normalise else vector)
    raw = "".join(text + "\n" for text in texts).encode()
    tensors = {"text": torch.tensor(list(raw), dtype=torch.uint8), "ids": ids, "sentence": torch.stack(found).float()}
    save_file({**tensors, "logits": torch.cat(logits)} if head else tensors, f"{folder}/golden.safetensors", metadata={"format": "pt"})


def make(tokenizers, folder, name, how, size):
    words, pooling, normalise, kind, settings = how
    pooling = {"cls": "cls_token", "mean": "mean_tokens", "last": "lasttoken"}[pooling]
    tokenizer_class = {"merges": "RobertaTokenizerFast", "pieces": "XLMRobertaTokenizerFast", "mpnet": "MPNetTokenizerFast",
                       "cased": "BertTokenizerFast"}.get(words, "PreTrainedTokenizerFast")
    shutil.copytree(f"{tokenizers}/{words}", folder, dirs_exist_ok=True)
    tokenizer_class = getattr(transformers, tokenizer_class)
    tokenizer = (tokenizer_class(vocab_file=f"{folder}/sentencepiece.bpe.model") if words == "pieces"
                 else tokenizer_class.from_pretrained(folder))
    head = settings.pop("head", False)
    config = getattr(transformers, kind + "Config")(vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, **settings)
    model = getattr(transformers, kind + ("ForMaskedLM" if head else "Model"))(config).eval()
    random_values(model)
    copy.deepcopy(model).half().save_pretrained(folder) # of ModernBERT, half() would round its angles as well
    model.double()
    describe(folder, size, pooling, normalise, 40)
    numbers(folder, model, tokenizer, pooling, normalise, 40)
    for file in ("model", "golden"):
        os.chmod(f"{folder}/{file}.safetensors", 0o644)


def main(tokenizers, folder, size):
    transformers.logging.set_verbosity_error()
    for name, how in kinds(size).items():
        make(tokenizers, f"{folder}/{name}", name, how, size)
    print(f"torch {torch.__version__}, transformers {transformers.__version__}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 16)
