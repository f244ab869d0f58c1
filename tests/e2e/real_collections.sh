#!/bin/sh
# The main table on real collections, and BM25 against Lucene's figures for them. GABBRO_TEST_DATA is a
# folder with scifact/ (BEIR), xquad-en/ (BEIR, with documents.jsonl), cacm/ (corpus.jsonl, TREC
# topics and judgements) and squad/ (SQuAD's JSON).
#   real_collections.sh REPRODUCE GABBRO
# shellcheck disable=SC2154 # of own.sh
set -u
. "$(dirname -- "$0")/../checks.sh"
. "$(dirname -- "$0")/own.sh"
data=${GABBRO_TEST_DATA:-}
if [ -z "$data" ]; then
    skipped "real collections: GABBRO_TEST_DATA names no folder with them"
    checks_end
    exit 77
fi

near() # WHAT VALUE WANTED WITHIN
{
    expect "$1: $2, Lucene $3" awk -v a="${2:-9}" -v b="$3" -v e="$4" \
        'BEGIN { exit !(a - b <= e && b - a <= e) }'
}

measured() # MEASURE ARGUMENTS...
{
    measure=$1
    shift
    "$GABBRO" bm25 "$@" 2>/dev/null | awk -v m="$measure" '$3 == m { print $4 }'
}

near "SciFact nDCG@10" "$(measured ndcg_cut_10 --collection "$data/scifact")" .6789 .003
near "CACM MAP" "$(measured map --collection "$data/cacm" --queries "$data/cacm/topics.trec.txt" \
    --qrels "$data/cacm/qrels.trec.txt")" .3123 .003

table xquad-en --collection "$data/xquad-en"
says xquad-en 'on xquad-en, 240 passages'
says xquad-en 'split test is left out'
table scifact --collection "$data/scifact"
says scifact 'on scifact, 5183 passages'
says scifact 'spans are the halves of a passage'
if [ -d "$data/squad" ]; then
    table squad --collection "$data/squad"
    says squad 'generated queries: questions of people'
    # The example from one published encoder: its collections, and its row of BM25, with any encoder.
    example=$(CDPATH='' cd -- "$(dirname -- "$0")/../../reproduce/examples/realtext" && pwd)
    "$example/prepare.sh" "$data/scifact" "$data/cacm" "$data/squad" "$work/data" >"$work/log" 2>&1
    gabbro=$GABBRO GABBRO_STORE=$work/store
    export GABBRO_STORE
    random_model "$(made collection --from "$work/data/beir-squad" --keep-splits)" 600
    "$reproduce" realtext/table1 --paper "$example" --scale small --settings "$example/settings" --data "$work/data" \
        --init "$model/model" --rows bm25 --quiet --out "$work/realtext" >"$work/log" 2>&1
    near "SciFact nDCG@10 of the example" \
        "$(awk -F, '$3 == "bm25" && $7 ~ /scifact/ { print $13 / 100 }' "$work/realtext/table.csv")" .6789 .003
else
    skipped "SQuAD: GABBRO_TEST_DATA has no folder squad"
fi
checks_end
