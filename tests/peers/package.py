#!/usr/bin/env python3
"""The Python package, and the server, beside the programs that they are made for.

    package.py MODEL DATA GABBRO

MODEL: a folder that sentence-transformers opens. DATA: a folder with scifact/ in BEIR's form. Prints a line a check, and
lines of trust:. What is not installed (beir, mteb, openai) is skipped. Needs the package gabbro."""
import importlib.util
import os
import subprocess
import sys
import tempfile

import numpy

import gabbro

model_path, data, program = sys.argv[1:]
good, bad, skips = 0, 0, 0


def expect(what, held):
    global good, bad
    good, bad = good + bool(held), bad + (not held)
    print(("ok - " if held else "not ok - ") + what, flush=True)


def skipped(what, package):
    global skips
    if importlib.util.find_spec(package):
        return False
    skips += 1
    print(f"skipped - {what}: {package} is not installed")
    return True


def trust(what, against, worst, bound):
    print(f"trust:\t{what}\t{against}\t{worst:.2g}\t{bound}")
    expect(f"{what}: at most {bound} from {against} ({worst:.2g})", worst <= bound)


def collection():
    """Forty claims of SciFact with their abstracts, and as many others: queries, corpus, qrels."""
    import json
    with open(f"{data}/scifact/corpus.jsonl", encoding="utf-8") as file:
        corpus = {row["_id"]: row for row in map(json.loads, file)}
    with open(f"{data}/scifact/queries.jsonl", encoding="utf-8") as file:
        claims = {row["_id"]: row["text"] for row in map(json.loads, file)}
    qrels = {}
    with open(f"{data}/scifact/qrels/test.tsv", encoding="utf-8") as file:
        for line in list(file)[1:]:
            query, passage, grade = line.split()
            if len(qrels) < 40 or query in qrels:
                qrels.setdefault(query, {})[passage] = int(grade)
    wanted = {passage for judged in qrels.values() for passage in judged}
    wanted |= set(list(corpus)[:len(wanted)])
    # The first words: texts of a few tokens keep the test short.
    short = {i: {"title": corpus[i]["title"], "text": " ".join(corpus[i]["text"].split()[:12])} for i in wanted}
    return {query: claims[query] for query in qrels}, short, qrels


def passages_of(corpus):
    return {i: (p["title"] + " " + p["text"]).strip() for i, p in corpus.items()}


def of_sentence_transformers(ours, theirs, queries, corpus, qrels):
    from sentence_transformers.evaluation import EmbeddingSimilarityEvaluator, InformationRetrievalEvaluator
    texts = list(queries.values()) + list(passages_of(corpus).values())
    trust("Python package, vectors", "sentence-transformers",
          float(numpy.abs(ours.encode(texts) - theirs.encode(texts, show_progress_bar=False)).max()), 1e-5)
    def information():
        return InformationRetrievalEvaluator(queries, passages_of(corpus), {q: set(j) for q, j in qrels.items()}, name="x",
                                             show_progress_bar=False, write_csv=False,
                                             score_functions={"dot": lambda a, b: torch_of(a) @ torch_of(b).T})
    mine, other = information()(ours), information()(theirs)
    key = "x_dot_ndcg@10"
    trust("Python package in InformationRetrievalEvaluator: nDCG@10", "sentence-transformers' model",
          abs(mine[key] - other[key]), 1e-3)
    expect(f"it finds something ({mine[key]:.3f})", mine[key] > .5)
    pairs = list(zip(texts[:-1:2], texts[1::2]))[:30]
    scores = numpy.linspace(0, 1, len(pairs)).tolist()
    def similarity():
        return EmbeddingSimilarityEvaluator([a for a, _ in pairs], [b for _, b in pairs], scores, write_csv=False)
    mine, other = similarity()(ours), similarity()(theirs)
    trust("Python package in EmbeddingSimilarityEvaluator", "sentence-transformers' model",
          max(abs(mine[key] - other[key]) for key in mine), 1e-3)


def torch_of(vectors):
    import torch
    return torch.as_tensor(numpy.asarray(vectors))


def of_beir(ours, queries, corpus, qrels):
    if skipped("BEIR", "beir"):
        return
    from beir.retrieval.evaluation import EvaluateRetrieval
    from beir.retrieval.search.dense import DenseRetrievalExactSearch
    found = DenseRetrievalExactSearch(ours, batch_size=64).search(corpus, queries, 10, "dot")
    ndcg = EvaluateRetrieval.evaluate(qrels, found, [10])[0]["NDCG@10"]
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/qrels", "w", encoding="utf-8") as file:
            file.writelines(f"{q} 0 {p} {g}\n" for q, judged in qrels.items() for p, g in judged.items())
        own = gabbro.Run.of(found).measure(f"{folder}/qrels", "ndcg_cut_10")
    trust("Python package in BEIR: nDCG@10", "gabbro's measure of BEIR's run", abs(ndcg - own), 1e-5)


def of_mteb(ours, queries, corpus, qrels):
    if skipped("MTEB", "mteb"):
        return
    import datasets
    import mteb
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from mteb.abstasks.task_metadata import TaskMetadata

    class Claims(AbsTaskRetrieval):
        metadata = TaskMetadata(
            name="GabbroClaims", description="claims of SciFact", reference=None, type="Retrieval", category="t2t",
            modalities=["text"], eval_splits=["test"], eval_langs=["eng-Latn"], main_score="ndcg_at_10",
            dataset={"path": "none", "revision": "none"}, date=("2020-01-01", "2020-01-02"), domains=["Academic"],
            task_subtypes=[], license="not specified", annotations_creators="derived", dialect=[], sample_creation="found",
            bibtex_citation="")

        def load_data(self, *arguments, **named):
            self.dataset = {"default": {"test": {
                "corpus": datasets.Dataset.from_list([{"id": i, **p} for i, p in corpus.items()]),
                "queries": datasets.Dataset.from_list([{"id": i, "text": t} for i, t in queries.items()]),
                "relevant_docs": qrels, "top_ranked": None}}}
            self.data_loaded = True

    with tempfile.TemporaryDirectory() as folder:
        result = mteb.evaluate(ours, Claims(), cache=mteb.ResultCache(folder), overwrite_strategy="always",
                               encode_kwargs={"batch_size": 32})
    score = result.task_results[0].get_score()
    vectors = ours.encode(list(passages_of(corpus).values()), "passage")
    index = gabbro.Index.of(vectors, list(corpus), model=ours)
    run = gabbro.Run()
    scores, rows = index.search(ours.encode(list(queries.values()), "query"), 10)
    for query, of, where in zip(queries, scores, rows):
        run.add(query, [(index.id(row), score_) for row, score_ in zip(where, of)])
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.writelines(f"{q} 0 {p} {g}\n" for q, judged in qrels.items() for p, g in judged.items())
        file.flush()
        own = run.measure(file.name, "ndcg_cut_10")
    trust("Python package in MTEB: nDCG@10", "gabbro's search and measure", abs(score - own), 1e-4)


def of_openai(ours, queries):
    if skipped("the openai client", "openai"):
        return
    import openai
    server = subprocess.Popen([program, "serve", model_path, "--name", "served", "--port", "0", "--max-kilobytes", "64"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        url = server.stdout.readline().decode().strip()
        client = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
        texts = list(queries.values())
        answer = client.embeddings.create(model="served", input=texts)
        found = numpy.array([item.embedding for item in answer.data], numpy.float32)
        trust("gabbro serve by the openai client", "the Python package", float(numpy.abs(found - ours.encode(texts)).max()),
              1e-6)
        expect("the tokens are counted", answer.usage.total_tokens == int(ours.count_tokens(texts).sum()))
        short = client.embeddings.create(model="served", input="rain", dimensions=8, encoding_format="float")
        expect("as many dimensions as wanted", len(short.data[0].embedding) == 8)
        expect("the models are listed", [m.id for m in client.models.list()] == ["served"])
        for what, error, arguments in (
                ("another model", openai.NotFoundError, {"model": "gpt", "input": "x"}),
                ("no input", openai.BadRequestError, {"model": "served", "input": []}),
                ("a text that is too long", openai.BadRequestError, {"model": "served", "input": "rain " * 1000}),
                ("a body that is too large", openai.APIStatusError, {"model": "served", "input": "x" * 100000})):
            try:
                client.embeddings.create(**arguments)
                expect(what, False)
            except error as raised:
                expect(f"{what}: {type(raised).__name__}, {raised.status_code}", raised.body and raised.body["message"])
        expect("the server goes on", client.embeddings.create(model="served", input="x").data)
    finally:
        server.terminate()
        expect("it ends well", server.wait(60) == 0)


def main():
    from sentence_transformers import SentenceTransformer
    queries, corpus, qrels = collection()
    ours, theirs = gabbro.Encoder(model_path), SentenceTransformer(model_path, device="cpu")
    of_sentence_transformers(ours, theirs, queries, corpus, qrels)
    of_beir(ours, queries, corpus, qrels)
    of_openai(ours, queries)
    of_mteb(ours, queries, corpus, qrels)
    sys.exit(bad > 0)


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
