"""Files of other tools: faiss indexes, Parquet. Prints one line a check.

    files.py GABBRO    the program; the Python package is installed
"""

import json
import pathlib
import subprocess
import sys
import tempfile

program = sys.argv[1]
work = pathlib.Path(tempfile.mkdtemp(prefix="gabbro-files."))


def check(what, held):
    print(("ok - " if held else "not ok - ") + what)


def gabbro(*words):
    return pathlib.Path(subprocess.run([program, *words, "--quiet", "--store", str(work / "store")], check=True,
                                       capture_output=True, text=True).stdout.strip())


def faiss_indexes():
    import faiss
    import numpy

    vectors = numpy.random.default_rng(1).standard_normal((50, 12)).astype("float32")
    folder = work / "faiss"
    folder.mkdir()
    index = faiss.IndexFlatIP(12)
    index.add(vectors)
    faiss.write_index(index, str(folder / "index"))
    (folder / "docid").write_text("".join(f"d{i}\n" for i in range(50)))
    read = numpy.load(gabbro("vectors", "--from", str(folder)) / "vectors.npy")
    check("vectors of a faiss index are read as they are", (read == vectors).all())
    written = gabbro("vectors", "--from", str(folder), "--form", "faiss") / "index"
    check("an index is written with faiss' own bytes", written.read_bytes() == (folder / "index").read_bytes())
    small = gabbro("vectors", "--from", str(folder), "--form", "int8")
    values = numpy.load(small / "vectors.npy") * numpy.load(small / "scales.npy")[:, None]
    worst = abs(values - vectors).max() / abs(vectors).max()
    print(f"trust:\tint8 vectors\tfloat32\t{worst:.2g}\t{1 / 254:.2g}")
    check("int8 vectors are off by half a step at most", worst <= 1 / 254)


def parquet_files():
    import pyarrow
    import pyarrow.parquet

    from gabbro import parquet

    tables = {
        "corpus": {"_id": ["d1", "d2"], "title": ["", "Rock"], "text": ["Rain \u2013 wet", "Stone"]},
        "queries": {"_id": ["q1"], "text": ["what is wet?"]},
        "qrels": {"query-id": ["q1"], "corpus-id": ["d1"]},
    }
    for name, table in tables.items():
        (work / "parquet" / name).mkdir(parents=True)
        pyarrow.parquet.write_table(pyarrow.table(table), work / "parquet" / name / "train-00000.parquet")
    counts = parquet.convert_folder(work / "parquet", work / "beir")
    check("a folder of Parquet files", counts == {"passages": 2, "queries": 1, "judgements of test": 1})
    lines = [json.loads(line) for line in (work / "beir" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    check("titles and letters are kept", lines == [{"_id": "d1", "text": "Rain \u2013 wet"},
                                                   {"_id": "d2", "title": "Rock", "text": "Stone"}])
    collection = gabbro("collection", "--from", str(work / "beir"), "--keep-splits")
    check("it is imported", (collection / "collection" / "qrels" / "test.tsv").read_text().endswith("q1\td1\t1\n"))


for part in (faiss_indexes, parquet_files):
    try:
        part()
    except ModuleNotFoundError as why:
        print(f"skipped - {part.__name__}: {why}")
