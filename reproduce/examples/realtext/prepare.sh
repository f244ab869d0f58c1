#!/bin/sh
# Writes the collections of realtext/table1 into one folder, as the scale's settings name them.
#   prepare.sh SCIFACT CACM SQUAD DATA
#   SCIFACT  BEIR's folder of SciFact
#   CACM     a folder with corpus.jsonl (BEIR), topics.trec.txt (<DOC>, <DOCNO>, text) and qrels.trec.txt
#   SQUAD    SQuAD 1.1's development set, as gabbro data fetch squad writes it
#   DATA     is made: beir-scifact, beir-cacm, and beir-squad with every twentieth question, the passages that
#            answer them, and 2,000 others
# GABBRO names the program (default: gabbro).
set -eu
if [ $# != 4 ] || [ ! -d "$1" ] || [ ! -d "$2" ] || [ ! -e "$3" ]; then
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0" >&2
    exit 2
fi
gabbro=${GABBRO:-gabbro}
mkdir -p "$4/beir-cacm/qrels"
ln -sfn "$(realpath "$1")" "$4/beir-scifact"

ln -sf "$(realpath "$2")/corpus.jsonl" "$4/beir-cacm/corpus.jsonl"
# Judgements number passages without the leading zeros that the texts' ids have.
awk 'BEGIN { OFS = "\t"; print "query-id", "corpus-id", "score" }
    { split($3, id, "-"); printf "%s\tCACM-%04d\t%s\n", $1, id[2], $4 }' "$2/qrels.trec.txt" >"$4/beir-cacm/qrels/test.tsv"
awk '/<DOCNO>/ { id = $2; next }
    /<\/DOC>/ { gsub(/[ \t]+/, " ", text); gsub(/^ | $/, "", text); printf "{\"_id\": \"%s\", \"text\": \"%s\"}\n", id, text; text = ""; next }
    !/^</ { gsub(/[\\"]/, "\\\\&"); text = text (text == "" ? "" : " ") $0 }' "$2/topics.trec.txt" >"$4/beir-cacm/queries.jsonl"

all=$4/squad
rm -rf "$4/beir-squad" "$all" "$4/sampled"
"$gabbro" data slice "$3" --to "$all" --others 10000
mkdir -p "$4/sampled/qrels"
ln -s "$(realpath "$all")/corpus.jsonl" "$(realpath "$all")/queries.jsonl" "$4/sampled/"
awk 'NR == 1 || NR % 20 == 0' "$all/qrels/dev.tsv" >"$4/sampled/qrels/test.tsv"
"$gabbro" data slice "$4/sampled" --to "$4/beir-squad" --others 2000
rm -rf "$all" "$4/sampled"
