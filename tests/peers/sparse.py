#!/usr/bin/env python3
"""How far vectors of gabbro encode are from those of SparseEncoder: sparse.py MODEL BEIR PASSAGES QUERIES

MODEL is a folder of gabbro finetune --scoring sparse, BEIR a folder with corpus.jsonl and queries.jsonl,
the other two are vectors.jsonl of its passages and queries. Prints the worst difference of a weight,
relative to the largest. Ends with 77 where this sentence-transformers has no SparseEncoder."""
import json
import sys

import torch


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def worst(model, encode, texts, path):
    rows = lines(path)
    assert rows, path
    vectors = encode([texts[row["id"]] for row in rows], show_progress_bar=False)
    vectors = (vectors.to_dense() if vectors.is_sparse else vectors).float()
    ids = model.tokenizer.get_vocab()
    ours = torch.zeros_like(vectors)
    for i, row in enumerate(rows):
        for term, weight in row["vector"].items():
            ours[i, ids[term]] = weight
    return float((ours - vectors).abs().max() / vectors.abs().max())


def main(folder, beir, passages, queries):
    try:
        from sentence_transformers import SparseEncoder
    except ImportError:
        print("this sentence-transformers has no SparseEncoder")
        sys.exit(77)
    model = SparseEncoder(folder, device="cpu")
    texts = {name: {row["_id"]: row["text"] for row in lines(f"{beir}/{name}.jsonl")}
             for name in ("corpus", "queries")}
    print(f"{max(worst(model, model.encode_document, texts['corpus'], passages), worst(model, model.encode_query, texts['queries'], queries)):.2g}")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
