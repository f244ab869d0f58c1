#!/bin/sh
# Parquet files as a BEIR folder: python -m gabbro.parquet. JSON lines stand for Parquet, so that no pyarrow is needed.
#   parquet.sh GABBRO LIBRARY
set -u
. "$(dirname -- "$0")/../checks.sh"
GABBRO_LIBRARY=$(readlink -f "$2")
PYTHONPATH=$(readlink -f "$(dirname -- "$0")/../../python") PYTHONDONTWRITEBYTECODE=1
export GABBRO_LIBRARY PYTHONDONTWRITEBYTECODE
enter_work parquet "$1"
PYTHONPATH=$work/stub:$PYTHONPATH
export PYTHONPATH
needs_numpy "Parquet files"

mkdir -p stub/pyarrow
: >stub/pyarrow/__init__.py
cat >stub/pyarrow/parquet.py <<'END'
import contextlib, json, types


class ParquetFile(contextlib.nullcontext):
    def __init__(self, path):
        super().__init__(self)
        with open(path, encoding="utf-8") as file:
            self.rows = [json.loads(line) for line in file]

    def iter_batches(self, batch_size):
        yield types.SimpleNamespace(to_pylist=lambda: self.rows)


def read_schema(path):
    return types.SimpleNamespace(names=list(ParquetFile(path).rows[0]))
END

judgement() # QUERY PASSAGE FILE
{
    mkdir -p "$(dirname "$3")"
    printf '{"query-id": "%s", "corpus-id": "%s"}\n' "$1" "$2" >"$3"
}
lists() # FILE: its judgements
{
    sed 1d "$1" | awk '{ printf "%s:%s ", $1, $2 }'
}
small_beir 8 beir
mkdir -p set/corpus set/queries
cp beir/corpus.jsonl set/corpus/0000.parquet
cp beir/queries.jsonl set/queries/test.parquet
judgement q0 d0 set/qrels/train-00000-of-00002.parquet
judgement q1 d1 set/qrels/train-00001-of-00002.parquet
judgement q2 d2 set/qrels/valid/0000.parquet
judgement q3 d3 set/qrels/my_validation.parquet
judgement q4 d4 set/test/qrels.parquet
judgement q5 d5 set/qrels/contest.parquet
judgement q6 d6 set/test/dev.parquet
"$python" -m gabbro.parquet set --to all --split late >out 2>said
expect "a folder is converted" [ $? = 0 ] || tail said
expect "each split has its file" [ "$(echo all/qrels/*)" = "all/qrels/dev.tsv all/qrels/late.tsv all/qrels/test.tsv all/qrels/train.tsv" ]
expect "that of training" [ "$(lists all/qrels/train.tsv)" = "q0:d0 q1:d1 " ]
expect "that of development, by file and folder" [ "$(lists all/qrels/dev.tsv)" = "q3:d3 q2:d2 q6:d6 " ]
expect "that of the folder test" [ "$(lists all/qrels/test.tsv)" = "q4:d4 " ]
expect "a part of a word is none: --split" [ "$(lists all/qrels/late.tsv)" = "q5:d5 " ]
expect "and is counted" grep -q '^8 passages, 9 queries, .*3 judgements of dev' out
collection=$(made collection --from all --keep-splits)
expect "the program reads them" [ "$(cd "$collection/collection/qrels" && echo *)" = "dev.tsv late.tsv test.tsv train.tsv" ]

# Hugging Face calls data without splits "train": NanoBEIR's judgements.
mkdir -p nano/corpus nano/queries
cp beir/corpus.jsonl nano/corpus/train-00000-of-00001.parquet
cp beir/queries.jsonl nano/queries/train-00000-of-00001.parquet
judgement q0 d0 nano/qrels/train-00000-of-00001.parquet
"$python" -m gabbro.parquet nano --to one >out 2>said
expect "where train is the only one, it says nothing ($(cd one/qrels && echo *))" [ "$(lists one/qrels/test.tsv)" = "q0:d0 " ]

judgement q0 d0 set/qrels/train-test.parquet
"$python" -m gabbro.parquet set --to both >out 2>said
expect "a name of two splits is refused" [ $? = 1 ]
expect "with its name" grep -q 'qrels/train-test.parquet: .* several splits' said

# A row without an id ends it on the way.
(cd all && find . -type f -exec sha256sum {} + | sort) >before
printf '{"text": "no id"}\n' >>set/corpus/0000.parquet
rm set/qrels/train-test.parquet
"$python" -m gabbro.parquet set --to all >out 2>said
expect "a row without an id is refused" grep -q 'a row without an id' said
(cd all && find . -type f -exec sha256sum {} + | sort) >after
expect "and the earlier files are whole, with nothing beside them" cmp before after

# Another process may have our number: in another container, or on another machine.
cat >ours.py <<'END'
import os
from gabbro._whole import whole
theirs = f".text.{os.getpid()}.draft"
open(theirs, "w").write("theirs")
with whole("text") as out:
    out.write("ours")
print(open(theirs).read(), open("text").read())
END
expect "a draft of somebody else stays" [ "$("$python" ours.py)" = 'theirs ours' ]
checks_end
