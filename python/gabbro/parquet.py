"""Parquet files, as Hugging Face keeps data sets, into JSON lines that gabbro reads.

    python -m gabbro.parquet NanoSciFact --to nanoscifact      # a folder as BEIR's: corpus, queries, qrels
    python -m gabbro.parquet train.parquet --to train.jsonl    # rows as they are

Needs pyarrow. A folder's files are told apart by their columns: "query-id" and "corpus-id" are judgements, an id and a
text are queries where the path says so, else passages. Judgements are of the split that is a word of the file's name or
else of its folder's: train, test, or dev (also valid, validation); where there is none, of --split. Where train is the
only one, it says nothing: Hugging Face calls data without splits so.
"""

import argparse
import contextlib
import json
import pathlib
import re
import sys

from ._whole import whole

ROWS = 4096  # in memory
SPLITS = {"train": "train", "dev": "dev", "valid": "dev", "validation": "dev", "test": "test"}


def _rows(path):
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=ROWS):
            yield from batch.to_pylist()


def _columns(path):
    import pyarrow.parquet

    return set(pyarrow.parquet.read_schema(path).names)


def _id(row):
    for name in ("_id", "id", "docid", "query_id", "qid"):
        if row.get(name) is not None:
            return str(row[name])
    raise ValueError("a row without an id")


def _split(path):
    """The split that the name of a file says, or else of the nearest folder; None: none does."""
    for part in reversed(path.parts):
        said = {SPLITS[word] for word in re.split("[-_.]", part.lower()) if word in SPLITS}
        if len(said) > 1:
            raise ValueError(f"{path}: the name \"{part}\" says several splits: give each its own file, and rename it")
        if said:
            return said.pop()
    return None


def _splits_of(judgements, folder, split):
    """Path of each file of judgements -> its split."""
    said = {path: _split(path.relative_to(folder)) for path in judgements}
    if set(said.values()) <= {"train", None}:
        said = dict.fromkeys(said)
    return {path: name or split for path, name in said.items()}


def _line(row):
    return json.dumps(row, ensure_ascii=False, default=str) + "\n"


def convert_file(path, to):
    """Writes the rows of a file as JSON lines; returns their number."""
    count = 0
    with whole(to) as out:
        for row in _rows(path):
            out.write(_line(row))
            count += 1
    return count


def convert_folder(folder, to, split="test"):
    """Writes a folder as BEIR's; returns the numbers of passages, queries and judgements of each split. split: of
    judgements whose path says none."""
    to = pathlib.Path(to)
    (to / "qrels").mkdir(parents=True, exist_ok=True)
    columns = {path: _columns(path) for path in sorted(pathlib.Path(folder).rglob("*.parquet"))}
    judging = _splits_of([path for path in columns if {"query-id", "corpus-id"} <= columns[path]], folder, split)
    counts = {"passages": 0, "queries": 0}
    with contextlib.ExitStack() as files:
        def create(*name):
            return files.enter_context(whole(to.joinpath(*name)))

        corpus, queries, qrels = create("corpus.jsonl"), create("queries.jsonl"), {}
        for path in columns:
            if path in judging:
                name = judging[path]
                what = f"judgements of {name}"
                if name not in qrels:
                    qrels[name], counts[what] = create("qrels", f"{name}.tsv"), 0
                    qrels[name].write("query-id\tcorpus-id\tscore\n")
                for row in _rows(path):
                    qrels[name].write(f"{row['query-id']}\t{row['corpus-id']}\t{int(row.get('score', 1))}\n")
                    counts[what] += 1
            elif "text" in columns[path]:
                asks = "quer" in str(path.relative_to(folder)).lower()
                for row in _rows(path):
                    title = {} if asks or not row.get("title") else {"title": row["title"]}
                    (queries if asks else corpus).write(_line({"_id": _id(row), **title, "text": row["text"]}))
                    counts["queries" if asks else "passages"] += 1
        if not counts["passages"]:
            raise ValueError(f"{folder}: no Parquet file of passages, with an id and a text")
    return counts


def main(words=None):
    parser = argparse.ArgumentParser(prog="python -m gabbro.parquet", description=__doc__.split("\n", 1)[0])
    parser.add_argument("source", help="a Parquet file, or a folder of them")
    parser.add_argument("--to", required=True, help="file of JSON lines, or folder")
    parser.add_argument("--split", default="test", help="split of judgements whose path says none (test)")
    given = parser.parse_args(words)
    try:
        if pathlib.Path(given.source).is_dir():
            print(", ".join(f"{n} {what}" for what, n in convert_folder(given.source, given.to, given.split).items()))
        else:
            print(f"{convert_file(given.source, given.to)} rows")
    except ImportError:
        sys.exit("gabbro.parquet needs pyarrow: pip install pyarrow")
    except (OSError, ValueError) as why:
        sys.exit(f"gabbro.parquet: {why}")


if __name__ == "__main__":
    main()
