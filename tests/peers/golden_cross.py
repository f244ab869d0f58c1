#!/usr/bin/env python3
"""Golden numbers of cross-encoders by Hugging Face transformers and torch: golden_cross.py FOLDER

Writes a small random BertForSequenceClassification with one label as a model folder, and beside it
golden.safetensors:
  queries, passages   i32 [texts, longest]   tokens of every text, without specials, -1 behind its end
  pairs               i32 [pairs, 2]         rows of both; those of a query together, its positive first
  logits              [pairs]                of pairs of at most LENGTH tokens, cut by "longest_first"
  loss                f64 [2]                mean over queries of the softmax over a query's pairs,
                                             and over pairs of the binary cross entropy
  softmax.NAME, binary.NAME                  gradient of every parameter of these losses
and golden.json, which says how they were made. All is computed in float64 from float32 weights, so
that only the other side rounds."""
import json
import os
import platform
import random
import sys

import torch
import transformers
from safetensors.torch import save_file

import golden_bert

LENGTH, QUERIES, PER_QUERY = 24, 3, 3
QUERY_WORDS = [4, 13, 1]
PASSAGE_WORDS = [[6, 14, 2], [9, 30, 12], [25, 3, 17]]


def random_model():
    config = transformers.BertConfig(
        vocab_size=99, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=LENGTH, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, num_labels=1)
    model = transformers.BertForSequenceClassification(config)
    draw = random.Random(22)
    for name, value in sorted(model.named_parameters()):
        ones = 1.0 if "LayerNorm.weight" in name else 0.0
        flat = [ones + 0.2 * draw.gauss(0, 1) for _ in range(value.numel())]
        value.data = torch.tensor(flat, dtype=torch.float32).reshape(value.shape)
    return model.eval()


def texts(words):
    draw = random.Random(words[0])
    return [" ".join(draw.choice(golden_bert.WORDS) for _ in range(count)) for count in words]


def gradient(model, loss, name):
    model.zero_grad()
    loss.backward(retain_graph=True)
    return {f"{name}.{n}": torch.zeros_like(p) if p.grad is None else p.grad.clone()
            for n, p in model.named_parameters()}


def main(folder):
    model = random_model()
    model.save_pretrained(folder)
    os.chmod(f"{folder}/model.safetensors", 0o644)
    with open(f"{folder}/vocab.txt", "w", encoding="utf-8") as out:
        out.write("".join(t + "\n" for t in golden_bert.vocabulary(model.config.vocab_size)))
    tokenizer = transformers.BertTokenizerFast(f"{folder}/vocab.txt")
    queries, passages = texts(QUERY_WORDS), texts([w for words in PASSAGE_WORDS for w in words])
    pairs = [(q, q * PER_QUERY + p) for q in range(QUERIES) for p in range(PER_QUERY)]
    inputs = tokenizer([queries[q] for q, _ in pairs], [passages[p] for _, p in pairs],
                       truncation="longest_first", max_length=LENGTH, padding=True,
                       return_tensors="pt")
    model.double()
    logits = model(**inputs).logits.flatten()
    softmax = torch.nn.functional.cross_entropy(logits.reshape(QUERIES, PER_QUERY),
                                                torch.zeros(QUERIES, dtype=torch.long))
    wanted = torch.tensor([1.0] + [0.0] * (PER_QUERY - 1), dtype=torch.float64).repeat(QUERIES)
    binary = torch.nn.functional.binary_cross_entropy_with_logits(logits, wanted)
    found = {"logits": logits.detach(), **gradient(model, softmax, "softmax"),
             **gradient(model, binary, "binary")}
    tensors = {name: value.float().contiguous().clone() for name, value in found.items()}
    plain = dict(add_special_tokens=False)
    tensors["queries"] = golden_bert.pad(tokenizer(queries, **plain)["input_ids"], -1)
    tensors["passages"] = golden_bert.pad(tokenizer(passages, **plain)["input_ids"], -1)
    tensors["pairs"] = torch.tensor(pairs, dtype=torch.int32)
    tensors["loss"] = torch.tensor([softmax.item(), binary.item()], dtype=torch.float64)
    save_file(tensors, f"{folder}/golden.safetensors", metadata={"format": "pt"})
    os.chmod(f"{folder}/golden.safetensors", 0o644)
    made = {"script": "tests/peers/golden_cross.py", "python": platform.python_version(),
            "torch": torch.__version__, "transformers": transformers.__version__, "length": LENGTH}
    with open(f"{folder}/golden.json", "w", encoding="utf-8") as out:
        json.dump(made, out, indent=2)
        out.write("\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
