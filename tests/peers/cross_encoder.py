#!/usr/bin/env python3
"""What sentence-transformers makes of the folders of cross-encoders.

    cross_encoder.py make FOLDER            FOLDER/beir, a small collection; FOLDER/saved, a random
                                            cross-encoder as CrossEncoder writes it; and FOLDER/pickled,
                                            the same with its tensors in a pytorch_model.bin
    cross_encoder.py scores MODEL BEIR RUN [raw]
                                            how far the scores of RUN are from those of
                                            CrossEncoder.predict, relative to their largest; raw:
                                            from the logits, whatever the folder says"""
import json
import os
import random
import shutil
import sys

import torch
import transformers
from safetensors.torch import load_file
from sentence_transformers import CrossEncoder

import golden_bert

POSITIONS = 40


def collection(folder):
    draw = random.Random(23)

    def text(most):
        return " ".join(draw.choice(golden_bert.WORDS) for _ in range(1 + draw.randrange(most)))
    os.makedirs(f"{folder}/qrels")
    with open(f"{folder}/corpus.jsonl", "w", encoding="utf-8") as out:
        for i in range(60):
            out.write(json.dumps({"_id": f"d{i}", "title": "", "text": text(50)}) + "\n")
    with open(f"{folder}/queries.jsonl", "w", encoding="utf-8") as out:
        for i in range(20):
            out.write(json.dumps({"_id": f"q{i}", "text": text(30)}) + "\n")
    with open(f"{folder}/qrels/train.tsv", "w", encoding="utf-8") as out:
        out.write("query-id\tcorpus-id\tscore\n")
        out.write("".join(f"q{i}\td{3 * i}\t1\n" for i in range(20)))


def make(folder):
    collection(f"{folder}/beir")
    config = transformers.BertConfig(
        vocab_size=99, hidden_size=32, num_hidden_layers=3, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=POSITIONS, initializer_range=0.2, num_labels=1)
    torch.manual_seed(24)
    plain = f"{folder}/plain"
    transformers.BertForSequenceClassification(config).save_pretrained(plain)
    with open(f"{plain}/vocab.txt", "w", encoding="utf-8") as out:
        out.write("".join(token + "\n" for token in golden_bert.vocabulary(99)))
    transformers.BertTokenizerFast(f"{plain}/vocab.txt", model_max_length=POSITIONS).save_pretrained(plain)
    CrossEncoder(plain, device="cpu").save_pretrained(f"{folder}/saved")
    if not os.path.exists(f"{folder}/saved/vocab.txt"):
        shutil.copy(f"{plain}/vocab.txt", f"{folder}/saved/vocab.txt")
    shutil.copytree(f"{folder}/saved", f"{folder}/pickled")
    torch.save(load_file(f"{folder}/saved/model.safetensors"), f"{folder}/pickled/pytorch_model.bin")
    os.remove(f"{folder}/pickled/model.safetensors")


def texts(path):
    with open(path, encoding="utf-8") as file:
        return {row["_id"]: row["text"] for row in map(json.loads, file)}


def predict(model, pairs, raw):
    how = dict(batch_size=16, show_progress_bar=False)
    if not raw:
        return model.predict(pairs, **how)
    try:
        return model.predict(pairs, activation_fn=torch.nn.Identity(), **how)
    except TypeError:  # before version 4
        return model.predict(pairs, activation_fct=torch.nn.Identity(), **how)


def scores(folder, beir, path, raw):
    passages, queries = texts(f"{beir}/corpus.jsonl"), texts(f"{beir}/queries.jsonl")
    with open(path, encoding="utf-8") as file:
        rows = [line.split() for line in file]
    ours = [float(row[4]) for row in rows]
    theirs = predict(CrossEncoder(folder, device="cpu"),
                     [(queries[row[0]], passages[row[2]]) for row in rows], raw)
    largest = max(abs(float(value)) for value in theirs)
    print(f"{max(abs(a - float(b)) for a, b in zip(ours, theirs)) / largest:.2g}")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "make":
        make(sys.argv[2])
    elif len(sys.argv) in (5, 6) and sys.argv[1] == "scores":
        scores(*sys.argv[2:5], len(sys.argv) == 6)
    else:
        sys.exit(__doc__)
