#!/usr/bin/env python3
"""Losses of a training on vectors cut after several numbers, by sentence-transformers' MatryoshkaLoss.

    matryoshka.py make FOLDER               FOLDER/beir, a small collection of eight queries, each with
                                            one passage; FOLDER/model, a random encoder of means of
                                            length 1
    matryoshka.py losses FOLDER MODEL DIMS WEIGHTS RATE FILE
                                            how far the losses of FILE (losses.tsv of gabbro finetune
                                            with one batch of all queries, no negative of its own, no
                                            dropout) are from those of MatryoshkaLoss over
                                            MultipleNegativesRankingLoss with torch's AdamW, relative to
                                            the largest; and then the same of the vectors after training
                                            (MODEL)"""
import json
import os
import random
import sys

import numpy
import torch
import transformers
from sentence_transformers import SentenceTransformer, losses, models

import golden_bert

QUERIES = 8


def make(folder):
    draw = random.Random(29)
    os.makedirs(f"{folder}/beir/qrels")

    def text(words):
        return " ".join(draw.choice(golden_bert.WORDS) for _ in range(words))
    with open(f"{folder}/beir/corpus.jsonl", "w", encoding="utf-8") as out:
        for i in range(QUERIES + 4):
            out.write(json.dumps({"_id": f"d{i}", "title": "", "text": text(3 + draw.randrange(9))}) + "\n")
    with open(f"{folder}/beir/queries.jsonl", "w", encoding="utf-8") as out:
        for i in range(QUERIES):
            out.write(json.dumps({"_id": f"q{i}", "text": text(2 + draw.randrange(4))}) + "\n")
    with open(f"{folder}/beir/qrels/train.tsv", "w", encoding="utf-8") as out:
        out.write("query-id\tcorpus-id\tscore\n" + "".join(f"q{i}\td{i}\t1\n" for i in range(QUERIES)))
    config = transformers.BertConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                                     intermediate_size=64, max_position_embeddings=40, initializer_range=0.2)
    torch.manual_seed(30)
    plain = f"{folder}/plain"
    transformers.BertModel(config).save_pretrained(plain)
    with open(f"{plain}/vocab.txt", "w", encoding="utf-8") as out:
        out.write("".join(token + "\n" for token in golden_bert.vocabulary(99)))
    transformers.BertTokenizerFast(f"{plain}/vocab.txt", model_max_length=40).save_pretrained(plain)
    body = models.Transformer(plain, max_seq_length=40)
    SentenceTransformer(modules=[body, models.Pooling(32, "mean"), models.Normalize()], device="cpu").save(f"{folder}/model")


def texts(path):
    with open(path, encoding="utf-8") as file:
        return [row["text"] for row in map(json.loads, file)]


def train(model, queries, passages, dims, weights, rate, steps):
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if hasattr(module, "dropout_prob"):
            module.dropout_prob = 0.0
    loss = losses.MatryoshkaLoss(model, losses.MultipleNegativesRankingLoss(model), dims, weights)
    tokens = [{k: v for k, v in model.tokenize(side).items()} for side in (queries, passages)]
    decayed = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    found = []
    for _ in range(steps):
        value = loss([dict(side) for side in tokens], None)
        decayed.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        decayed.step()
        found.append(value.item())
    return found


def compare(folder, trained, dims, weights, rate, path):
    with open(path, encoding="utf-8") as file:
        ours = [float(line.split("\t")[1]) for line in list(file)[1:]]
    queries, passages = (texts(f"{folder}/beir/{name}.jsonl")[:QUERIES] for name in ("queries", "corpus"))
    model = SentenceTransformer(f"{folder}/model", device="cpu")
    theirs = train(model, queries, passages, [int(d) for d in dims.split(",")], [float(w) for w in weights.split(",")],
                   float(rate), len(ours))
    print(f"{max(abs(a - b) for a, b in zip(ours, theirs)) / max(theirs):.2g}")
    model.eval()
    a, b = (m.encode(passages, show_progress_bar=False) for m in (model, SentenceTransformer(trained, device="cpu")))
    print(f"{numpy.abs(a - b).max() / numpy.abs(a).max():.2g}")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "make":
        make(sys.argv[2])
    elif len(sys.argv) == 8 and sys.argv[1] == "losses":
        compare(*sys.argv[2:])
    else:
        sys.exit(__doc__)
