"""The Python package beside the program: python.py MODEL COLLECTION QRELS RUN QUESTIONS VECTORS ANSWERS

Compares what the package gives with what the program wrote: VECTORS (.npy of the lines of QUESTIONS, by gabbro embed)
and ANSWERS (gabbro ask --json). One line a check."""
import copy
import json
import os
import pathlib
import pickle
import sys
import threading

import gabbro
import numpy

model, collection, qrels, run, questions, vectors, answers = sys.argv[1:]
good = True


def expect(what, held):
    global good
    good = good and bool(held)
    print(("ok - " if held else "not ok - ") + what)


def refused(what, error, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except error as raised:
        expect(f"{what}: {type(raised).__name__}", True)
        return raised
    expect(what, False)


with open(questions, encoding="utf-8") as file:
    texts = file.read().splitlines()
expected = numpy.load(vectors)
encoder = gabbro.Encoder(model)
found = encoder.encode(texts, "query")
expect("vectors are those of gabbro embed, to the bit", numpy.array_equal(found, expected))
expect("of one text, too", numpy.array_equal(encoder.encode(texts[0], prompt_name="query"), expected[0]))
expect("no texts give no vectors", encoder.encode([]).shape == (0, encoder.width))
expect("a model says its pooling", encoder.pooling == "cls")
cross = gabbro.Encoder(pathlib.Path(__file__).parents[1] / "golden" / "cross")
expect("which a cross-encoder has not", cross.pooling is None)
expect("pairs are scored", numpy.allclose(
    encoder.score([(texts[0], texts[1])]), found[0] @ encoder.encode(texts[1], "passage"), atol=1e-5))
expect("a device may be told by its number", gabbro.Encoder(model, device=0).width == encoder.width)
refused("a number of none", gabbro.GabbroError, gabbro.Encoder, model, device=99)
same = []
threads = [threading.Thread(target=lambda: same.append(numpy.array_equal(encoder.encode(texts, "query"), expected)))
           for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
expect("threads share an encoder", same == [True] * 8)
expect("it is opened again in another process",
       numpy.array_equal(pickle.loads(pickle.dumps(encoder)).encode(texts, "query"), expected))

searcher = gabbro.Searcher(encoder, collection)
with open(answers, encoding="utf-8") as file:
    asked = [json.loads(line) for line in file]
hits = searcher.batch_search(texts, texts)
expect("a searcher finds what gabbro ask finds",
       [[(h.docid, h.title, h.text) for h in hits[text]] for text in texts] ==
       [[(p["_id"], p["title"], p["text"]) for p in answer["passages"]] for answer in asked])
index = gabbro.Index.of(found, texts)
scores, rows = index.search(found, len(texts) + 1)
expect("vectors of one's own are searched", numpy.allclose(scores[:, :-1], -numpy.sort(-(found @ found.T)), atol=1e-5))
expect("and end where there are no more", (rows[:, -1] == -1).all() and index.id(rows[0, 0]) in texts)

# Folders that say "cosine" and "manhattan", without a module that scales.
plain, compared, distant = gabbro.Encoder("cosine"), gabbro.Encoder("cosine", compare=True), gabbro.Encoder("manhattan")
raw, unit = plain.encode(texts), compared.encode(texts)
cosines = plain.similarity(raw, raw)
expect("vectors are those of encode()", numpy.array_equal(raw, distant.encode(texts)) and not numpy.allclose(raw, unit))
expect("and of length 1 to compare them", numpy.allclose(unit @ unit.T, cosines, atol=1e-6))
for name, model in (("as they are", plain), ("to compare them", compared)):
    expect(f"scores are cosines of vectors {name}",
           numpy.allclose(model.score([(texts[0], texts[1]), (texts[2], texts[0])]), cosines[[0, 2], [1, 0]], atol=1e-6))
expect("a searcher that opens a model gives cosines",
       abs(gabbro.Searcher("cosine", collection).search(texts[0], 1)[0].score) < 1 + 1e-6)
refused("scores by a distance", gabbro.GabbroError, distant.score, [(texts[0], texts[1])])
refused("similarities by a distance", ValueError, distant.similarity, raw, raw)
refused("vectors to compare by a distance", gabbro.GabbroError, gabbro.Encoder, "manhattan", compare=True)

# Folders with prompts for queries, under other names, and by default.
prompted, apart = gabbro.Encoder("prompted"), gabbro.Encoder("apart")
topics, asking = plain.encode(["moss " + text for text in texts]), plain.encode(["rain " + text for text in texts])
expect("without a word the default prompt is taken", numpy.array_equal(prompted.encode(texts), topics))
expect("and by its name", numpy.array_equal(prompted.encode(texts, prompt_name="topic"), topics))
expect("of queries, too", numpy.array_equal(prompted.encode_query(texts, prompt_name="topic"), topics))
expect("but for plain texts", numpy.array_equal(prompted.encode(texts, "plain"), raw))
for name, right in (("query", asking), ("ask", asking), ("document", raw), ("corpus", raw)):
    expect(f"the prompt {name}", numpy.array_equal(prompted.encode(texts, prompt_name=name), right))
apart_asking = apart.encode(texts, "query")
expect("a prompt that is left out of the mean",
       numpy.array_equal(apart.encode(texts, prompt_name="ask"), apart_asking) and not numpy.allclose(apart_asking, asking))
for what, model, named in (("such a prompt of neither kind", apart, {}),
                           ("an unknown prompt", prompted, {"prompt_name": "title"}),
                           ("a prompt of a model without", plain, {"prompt_name": "topic"}),
                           ("int8", plain, {"precision": "int8"}),
                           ("vectors of tokens", plain, {"output_value": "token_embeddings"})):
    refused(what, ValueError, model.encode, texts, **named)
expect("what is computed may be said", numpy.array_equal(
    plain.encode(texts, precision=None, output_value="sentence_embedding"), raw))

ranked = gabbro.Run.read(run)
mean, values = ranked.measure(qrels, "ndcg_cut_10", per_query=True)
expect("a run is measured", abs(sum(values.values()) / len(values) - mean) < 1e-12 and 0 < mean <= 1)
again = gabbro.Run.of(ranked.to_dict())
expect("and made of what BEIR has", again.measure(qrels, "ndcg_cut_10") == mean)
again.write("again.trec", "somebody")
expect("and written", gabbro.Run.read("again.trec").to_dict() == ranked.to_dict())

# Pickled vectors, in two files, under the names of either NumPy; and a file that would run code.
from gabbro import pickled


def other_numpy(text):
    return text.replace(b"numpy._core", b"numpy.core") if b"numpy._core" in text else text.replace(b"numpy.core", b"numpy._core")


class Code:
    def __reduce__(self):
        return os.mkdir, ("ran",)


for number, rows in enumerate((expected[:1], expected[1:])):
    text = pickle.dumps((rows, [f"p{number}{row}" for row in range(len(rows))]), protocol=2 if number else 5)
    with open(f"part.{number}.pkl", "wb") as file:
        file.write(other_numpy(text) if number else text)
with open("code.pkl", "wb") as file:
    pickle.dump((expected, [Code()]), file)
expect("pickled vectors are converted", pickled.main(["part.0.pkl", "part.1.pkl", "--to", "unpickled"]) == 0)
expect("to the bit", numpy.array_equal(numpy.load("unpickled/vectors.npy"), expected))
with open("unpickled/ids.txt", encoding="utf-8") as file:
    expect("with their ids", file.read().split() == ["p00"] + [f"p1{row}" for row in range(len(expected) - 1)])
text = pickle.dumps((expected, texts), protocol=5)
for name, words in (("state", (b"NNNJ", b"NqNJ")), ("name", (b"f4", b"f3"))):
    with open(f"{name}.pkl", "wb") as file:
        file.write(text.replace(*words))
expect("a dtype's state that crashes NumPy does nothing", numpy.array_equal(pickled.read("state.pkl")[0], expected))
expect("a damaged file is refused by its name",
       "name.pkl" in str(refused("a dtype that there is not", pickle.UnpicklingError, pickled.read, "name.pkl")))
refused("a pickle that would run code", pickle.UnpicklingError, pickled.read, "code.pkl")
expect("it did not", not os.path.exists("ran"))

# What is made of a list of texts takes no single one, whose letters would be texts.
refused("the letters of a text", TypeError, encoder.encode_texts, "rain")
refused("tokens of letters", TypeError, encoder.count_tokens, "rain")
refused("pairs of letters", TypeError, encoder.score, ["rain", "moss"])
refused("questions of letters", TypeError, searcher.batch_search, "rain", list("rain"))
refused("the keys of a passage", TypeError, encoder.encode_document, {"title": "moss", "text": "rain"})
refused("a kind that there is not", ValueError, encoder.encode, texts, "document")
refused("its tokens", ValueError, encoder.count_tokens, texts, "document")
for pair in (texts[:1], texts):
    refused(f"a pair of {len(pair)}", ValueError, encoder.score, [pair])
refused("a question without an id", ValueError, searcher.batch_search, texts, texts[1:])
refused("an id of two questions", ValueError, searcher.batch_search, texts, texts[:1] * len(texts))

error = refused("no model of that name", gabbro.GabbroError, gabbro.Encoder, "nothing")
expect("with a stable code", error.code == 3)
again = pickle.loads(pickle.dumps(error))
expect("it comes from another process as it is",
       (again.code, again.what, again.where, again.hint, str(again)) ==
       (error.code, error.what, error.where, error.hint, str(error)))
for what, one in (("a run", ranked), ("an index", index)):
    refused(f"a copy of {what}, which would close it, too", TypeError, copy.copy, one)
    refused(f"{what} in another process", TypeError, pickle.dumps, one)
refused("no path", gabbro.GabbroError, gabbro.Run.read, None)
refused("a path with a NUL", ValueError, gabbro.Run.read, run + "\0x")
refused("a text that is none", TypeError, encoder.encode, [1])
refused("queries of another width", gabbro.GabbroError, index.search, found[:, :1])
refused("a row that is not there", IndexError, index.id, 99)
own = gabbro.Searcher("cosine", collection)
for one in (own, gabbro.Searcher(compared, collection)):
    one.close()
refused("what a searcher opened is closed with it", ValueError, own.model.encode, texts)
expect("but not what it was given", numpy.array_equal(compared.encode(texts), unit))
child = os.fork()
if child == 0:
    try:
        encoder.encode("x")
    except RuntimeError:
        os._exit(0)
    os._exit(1)
expect("a forked process is told to open its own", os.waitpid(child, 0)[1] == 0)
beside = gabbro.Index.of(found, texts, model=plain)
plain.close()
refused("an index on the device of a model that is closed", ValueError, beside.search, found)
index.close()
refused("what is closed", ValueError, index.search, found)
sys.exit(not good)
