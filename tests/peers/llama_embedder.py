#!/usr/bin/env python3
"""Vectors of texts by a small random LLaMA, as sentence-transformers has it.

    llama_embedder.py make TOKENIZER FOLDER POOLING
                                            FOLDER, a LlamaModel with the tokenizer.model TOKENIZER, whose
                                            texts end with an end token, POOLING (lasttoken or mean) and
                                            vectors of length 1, and prompts
    llama_embedder.py vectors FOLDER FILE QUERIES PASSAGES
                                            how far vectors of the texts of FILE as queries and as documents
                                            in these .npy files are from those of sentence-transformers and,
                                            text by text in float64, of transformers: largest difference of a
                                            number, and 1 - the least cosine"""
import json
import os
import random
import shutil
import sys

import numpy
import torch
import transformers

PROMPTS = {"query": "Which river: ", "document": ""}


def make(tokenizer, folder, pooling):
    os.makedirs(f"{folder}/1_Pooling")
    config = transformers.LlamaConfig(
        vocab_size=608, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, rope_theta=1000.0, bos_token_id=1, eos_token_id=2)
    model, draw = transformers.LlamaModel(config), random.Random(40)
    for name, value in sorted(model.named_parameters()):
        flat = [(1.0 if "norm" in name else 0.0) + 0.3 * draw.gauss(0, 1) for _ in range(value.numel())]
        value.data = torch.tensor(flat).reshape(value.shape)
    model.save_pretrained(folder)
    shutil.copy(tokenizer, f"{folder}/tokenizer.model")
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    files = {"tokenizer_config.json": {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": True,
                                       "pad_token": "</s>", "legacy": False},
             "modules.json": [{"idx": i, "name": str(i), "path": path, "type": "sentence_transformers.models." + kind}
                              for i, (path, kind) in enumerate(kinds)],
             "sentence_bert_config.json": {"max_seq_length": 48, "do_lower_case": False},
             "config_sentence_transformers.json": {"prompts": PROMPTS, "similarity_fn_name": "cosine"},
             "1_Pooling/config.json": {"word_embedding_dimension": 32, "pooling_mode_cls_token": False,
                                       "pooling_mode_mean_tokens": pooling == "mean",
                                       "pooling_mode_lasttoken": pooling == "lasttoken"}}
    os.makedirs(f"{folder}/2_Normalize", exist_ok=True)
    for name, content in files.items():
        with open(f"{folder}/{name}", "w", encoding="utf-8") as out:
            json.dump(content, out, indent=1)


def alone(folder, texts, mean):
    """By transformers, text by text."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model, found = transformers.AutoModel.from_pretrained(folder).double().eval(), []
    for text in texts:
        ids = tokenizer(text, truncation=True, max_length=48)["input_ids"]
        with torch.no_grad():
            states = model(input_ids=torch.tensor([ids])).last_hidden_state[0]
        vector = states.mean(0) if mean else states[-1]
        found.append((vector / vector.norm()).numpy())
    return numpy.array(found)


def vectors(folder, path, queries, passages):
    from sentence_transformers import SentenceTransformer
    with open(path, encoding="utf-8") as file:
        texts = file.read().split("\n")[:-1]
    with open(f"{folder}/1_Pooling/config.json", encoding="utf-8") as file:
        mean = json.load(file)["pooling_mode_mean_tokens"]
    model, worst, cosine = SentenceTransformer(folder, device="cpu"), 0.0, 1.0
    for name, ours in (("query", queries), ("document", passages)):
        found = numpy.load(ours)
        for theirs in (model.encode(texts, prompt_name=name, show_progress_bar=False),
                       alone(folder, [PROMPTS[name] + text for text in texts], mean)):
            worst = max(worst, float(numpy.abs(found - theirs).max()))
            cosine = min(cosine, float((found.astype(float) * theirs).sum(1).min()))
    print(f"{worst:.2g}")
    print(f"{max(0.0, 1 - cosine):.2g}")


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] == "make":
        make(*sys.argv[2:])
    elif len(sys.argv) == 6 and sys.argv[1] == "vectors":
        vectors(*sys.argv[2:])
    else:
        sys.exit(__doc__)
