#!/usr/bin/env python3
"""Golden vectors of a SparseEncoder of sentence-transformers: golden_sparse.py MODEL FOLDER

MODEL is a folder with a BertForMaskedLM, such as tests/golden/bert. Writes into FOLDER what makes a
SparseEncoder (SPLADE) of it, as sentence-transformers saves it:
  modules.json, config_sentence_transformers.json, sentence_bert_config.json, 1_SpladePooling/
and golden.safetensors for gabbro verify --golden:
  text              u8 texts, each ended by a line end
  ids               i32 [texts, longest] their tokens, -1 behind their end
  sentence          [texts, V] their vectors: the weights of all terms
Ends with 77 where this sentence-transformers has no SparseEncoder."""
import json
import os
import shutil
import sys
import tempfile

import torch
from safetensors.torch import save_file

FILES = ["modules.json", "config_sentence_transformers.json", "sentence_bert_config.json", "1_SpladePooling"]
TEXTS = ["", "ba", "lo de fi", "hu baba degoka zo", "ka lo mi nu pe ro sa te vu zo ba de fi go hu",
         "tevu tevu zofi mi, unknown zo ba"]


def encoder(folder):
    """A SparseEncoder from the modules, whatever this version calls their places."""
    try:
        from sentence_transformers import SparseEncoder
        from sentence_transformers.sparse_encoder import models
    except ImportError:
        print("this sentence-transformers has no SparseEncoder")
        sys.exit(77)
    transformer = models.MLMTransformer(folder)
    return SparseEncoder(modules=[transformer, models.SpladePooling("max")], device="cpu")


def vectors(model, texts):
    found = model.encode(texts, batch_size=len(texts), show_progress_bar=False)
    return (found.to_dense() if found.is_sparse else found).float()


def save(model, texts, path):
    raw = "".join(text + "\n" for text in texts).encode()
    rows = [model.tokenizer(text)["input_ids"] for text in texts]
    ids = torch.full((len(rows), max(map(len, rows))), -1, dtype=torch.int32)
    for i, row in enumerate(rows):
        ids[i, :len(row)] = torch.tensor(row, dtype=torch.int32)
    save_file({"text": torch.tensor(list(raw), dtype=torch.uint8), "ids": ids,
               "sentence": vectors(model, texts).contiguous()}, path)
    os.chmod(path, 0o644)


def main(folder, out):
    model = encoder(folder)
    os.makedirs(out, exist_ok=True)
    save(model, TEXTS, f"{out}/golden.safetensors")
    with tempfile.TemporaryDirectory() as saved:
        model.save_pretrained(saved)
        for name in FILES:
            shutil.rmtree(f"{out}/{name}", ignore_errors=True)
            (shutil.copytree if os.path.isdir(f"{saved}/{name}") else shutil.copy)(f"{saved}/{name}", f"{out}/{name}")
    with open(f"{out}/config_sentence_transformers.json", encoding="utf-8") as file:
        versions = json.load(file)["__version__"]
    print(f"sentence-transformers {versions['sentence_transformers']}, torch {versions['pytorch']}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
