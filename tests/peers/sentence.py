#!/usr/bin/env python3
"""What sentence-transformers makes of a model folder.

    sentence.py texts DATA FILE             1,000 real texts, one a line: 800 claims, 200 abstracts
    sentence.py pickle MODEL FILE           the model's tensors as a pytorch_model.bin
    sentence.py vectors MODEL FILE GOLDEN   vectors of the texts of FILE, and their tokens, for
                                            gabbro verify --golden; prints how far transformers alone
                                            is from them
    sentence.py towers MODEL BEIR Q P       how far vectors of BEIR's queries and passages in the folders
                                            Q and P are from those of MODEL, a Router
    sentence.py prompts MODEL FILE Q P      how far vectors of the texts of FILE as queries and as documents, in
                                            the files Q and P, are from those of MODEL
    sentence.py ndcg MODEL DATA TOKENS      nDCG@10 of SciFact's test queries by pytrec_eval

DATA: a folder with scifact/ in BEIR's form. TOKENS: longest text and query."""
import csv
import json
import sys

import numpy
import torch
from safetensors.torch import load_file, save_file


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def passage(row):
    return (row["title"] + " " + row["text"]).strip()


def texts(data, path):
    claims = [row["text"] for row in lines(f"{data}/scifact/queries.jsonl")][:800]
    abstracts = [passage(row) for row in lines(f"{data}/scifact/corpus.jsonl")][::25][:200]
    with open(path, "w", encoding="utf-8") as out:
        for text in claims + abstracts:
            out.write(" ".join(text.split()) + "\n")


def pickle(folder, path):
    torch.save(load_file(f"{folder}/model.safetensors"), path)


def vectors(folder, path, golden):
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel, AutoTokenizer
    with open(path, "rb") as file:
        raw = file.read()
    all_texts = raw.decode().split("\n")[:-1]
    model = SentenceTransformer(folder, device="cpu")
    found = torch.tensor(model.encode(all_texts, batch_size=32, show_progress_bar=False))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    longest = model.get_max_seq_length()
    rows = [tokenizer(t, truncation=True, max_length=longest)["input_ids"] for t in all_texts]
    ids = torch.full((len(rows), max(map(len, rows))), -1, dtype=torch.int32)
    for i, row in enumerate(rows):
        ids[i, :len(row)] = torch.tensor(row, dtype=torch.int32)
    save_file({"text": torch.tensor(list(raw), dtype=torch.uint8), "ids": ids, "sentence": found},
              golden)
    plain, worst = AutoModel.from_pretrained(folder).eval(), 0.0
    pooling = model[1].get_pooling_mode_str() if hasattr(model[1], "get_pooling_mode_str") else model[1].pooling_mode
    for i in range(0, len(rows), 50):  # some, one by one: no padding at all
        with torch.no_grad():
            states = plain(input_ids=torch.tensor([rows[i]])).last_hidden_state[0]
        vector = states[0] if pooling == "cls" else states[-1] if pooling == "lasttoken" else states.mean(0)
        if len(model) > 2:
            vector = vector / vector.norm()
        worst = max(worst, float((vector - found[i]).abs().max() / found.abs().max()))
    print(f"{worst:.2g}")


def towers(folder, beir, queries, passages):
    from sentence_transformers import SentenceTransformer
    model, worst = SentenceTransformer(folder, device="cpu"), 0.0
    texts = {row["_id"]: passage({"title": "", **row}) for name in ("queries", "corpus")
             for row in lines(f"{beir}/{name}.jsonl")}
    for ours, encode in ((queries, model.encode_query), (passages, model.encode_document)):
        with open(f"{ours}/ids.txt", encoding="utf-8") as file:
            ids = file.read().split()
        theirs = encode([texts[i] for i in ids], show_progress_bar=False)
        found = numpy.load(f"{ours}/vectors.npy")
        worst = max(worst, float(numpy.abs(found - theirs).max() / numpy.abs(theirs).max()))
    print(f"{worst:.2g}")


def prompts(folder, path, queries, passages):
    from sentence_transformers import SentenceTransformer
    model, worst = SentenceTransformer(folder, device="cpu"), 0.0
    with open(path, encoding="utf-8") as file:
        texts = file.read().split("\n")[:-1]
    for ours, name in ((queries, "query"), (passages, "document")):
        theirs = model.encode(texts, prompt_name=name, show_progress_bar=False)
        worst = max(worst, float(numpy.abs(numpy.load(ours) - theirs).max()))
    print(f"{worst:.2g}")


def ndcg(folder, data, tokens):
    import pytrec_eval
    from sentence_transformers import SentenceTransformer
    model = SentenceTransformer(folder, device="cpu")
    model.max_seq_length = int(tokens)
    qrels = {}
    with open(f"{data}/scifact/qrels/test.tsv", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            qrels.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    passages = lines(f"{data}/scifact/corpus.jsonl")
    queries = [row for row in lines(f"{data}/scifact/queries.jsonl") if row["_id"] in qrels]
    encode = dict(batch_size=32, show_progress_bar=False)
    p = model.encode([passage(row) for row in passages], **encode)
    q = model.encode([row["text"] for row in queries], **encode)
    run = {}
    for row, scores in zip(queries, q @ p.T):
        best = numpy.argsort(-scores, kind="stable")[:1000]
        run[row["_id"]] = {passages[i]["_id"]: float(scores[i]) for i in best}
    measured = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"}).evaluate(run)
    print(f"{sum(m['ndcg_cut_10'] for m in measured.values()) / len(qrels):.6f}")


if __name__ == "__main__":
    commands = {"texts": texts, "pickle": pickle, "vectors": vectors, "towers": towers, "prompts": prompts,
                "ndcg": ndcg}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])
