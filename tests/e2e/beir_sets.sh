#!/bin/sh
# The sets of BEIR at scale paper: a made-up folder for each, CQADupStack's forums as twelve of them,
# whose result is the mean of theirs.
#   beir_sets.sh REPRODUCE GABBRO
set -u
. "$(dirname -- "$0")/../checks.sh"
reproduce=$1
GABBRO=$2
LC_ALL=C
export GABBRO LC_ALL
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-sets.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# BEIR's files; of the queries, whose words are those of their passage, the first so many ask for another one.
make_set() # FOLDER WRONG [QUERIES]
{
    mkdir -p "$work/data/$1/qrels"
    awk -v folder="$work/data/$1" -v wrong="$2" -v queries="${3:-8}" 'BEGIN {
        split("stone river ice rain sand peak wind moss lake fire dust salt clay iron root leaf", word)
        for (i = 1; i <= 16; i++)
            printf "{\"_id\": \"d%d\", \"title\": \"\", \"text\": \"the %s of %s\"}\n", i, word[i], word[i] >folder "/corpus.jsonl"
        print "query-id\tcorpus-id\tscore" >folder "/qrels/test.tsv"
        for (i = 1; i <= queries; i++) {
            # ArguAna: the query is a passage itself, and an answer to it is wanted.
            id = (folder ~ /arguana/ ? "d" : "q") i
            text = folder ~ /arguana/ ? "the " word[i] " of " word[i] " " word[i + 8] : word[i]
            printf "{\"_id\": \"%s\", \"text\": \"%s\"}\n", id, text >folder "/queries.jsonl"
            printf "%s\td%d\t1\n", id, i + (i <= wrong ? 8 : 0) >folder "/qrels/test.tsv"
        }
    }'
}

scale=$(dirname -- "$0")/../../reproduce/scales/paper
sets=$(sed -n 's/^beir_sets = //p' "$scale")
forums=$(sed -n 's/^parts_beir_cqadupstack = \([a-z ]*[a-z]\) *#.*/\1/p' "$scale")
make_set msmarco-passage-titles 0
for set in $sets; do
    case $set in
    beir-cqadupstack) ;;
    beir-arguana) make_set "$set" 8 ;;
    *) make_set "$set" 4 ;;
    esac
done
wrong=0
for forum in $forums; do
    make_set "beir-cqadupstack/$forum" $wrong $((wrong == 0 ? 4 : 8))
    wrong=$(((wrong + 1) % 9))
done
expect "twelve forums" [ "$(echo "$forums" | wc -w)" = 12 ]
mkdir "$work/bert"
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' the of >"$work/bert/vocab.txt"

"$reproduce" llm/table3 --scale paper --rows bm25 --data "$work/data" --init "$work/bert" --store "$work/store" \
    --set encoder_layers=1 --set encoder_hidden=16 --set encoder_heads=2 --set encoder_ffn=32 --out "$work/out" \
    --quiet >"$work/stdout" 2>"$work/stderr" </dev/null
status=$?
[ $status = 0 ] || bad "llm/table3, BM25: ends with 0, not $status" "$work/stderr"
value() # SET: nDCG@10 of BM25, in the table
{
    table_value "$work/out/table.csv" bm25 "$1:nDCG@10"
}
for set in $sets; do
    case $set in beir-cqadupstack | beir-arguana) continue ;; esac
    expect "$set: half of its queries find their passage" [ "$(value "$set")" = 50 ]
done
expect "a forum counts like every other, however few its queries" [ "$(value beir-cqadupstack)" = 59.375 ]
expect "beir-arguana: a query is not its own answer" [ "$(value beir-arguana)" = 100 ]
expect "a set counts like every other" [ "$(value beir-average)" = 54.2411 ]

expect "the results say so, the mean of the forums too" [ "$(grep -c '"drop_identical": true' "$work/out/results.jsonl")" = \
    "$(echo "$sets" | wc -w)" ]
expect "and so does the table" grep -q '^Rankings: passages with the id of the query were left out (beir-trec-covid, .*)\.$' \
    "$work/out/table.md"

# The same set as a collection of one's own.
for drop in no yes; do
    "$reproduce" table1 --collection "$work/data/beir-arguana" --rows bm25,bm25-rm3 --set drop_identical=$drop \
        --store "$work/store" --out "$work/own.$drop" >"$work/stdout" 2>"$work/stderr" </dev/null
    status=$?
    [ $status = 0 ] || bad "ArguAna as one's own, drop_identical=$drop: ends with 0, not $status" "$work/stderr"
    mv "$work/stderr" "$work/said.$drop"
done
for row in bm25 bm25-rm3; do
    expect "one's own: a query is not its own answer, $row" [ "$(table_value "$work/own.yes/table.csv" $row dev:MRR@10)" = 100 ]
    expect "unless that is not asked for" [ "$(table_value "$work/own.no/table.csv" $row dev:MRR@10)" = 50 ]
done
alike() # FOLDER: lines of a run that rank a passage for the query whose id it has
{
    awk '$1 == $3' "$1/run.trec" | wc -l | tr -d ' '
}
own=$("$GABBRO" collection --from "$work/data/beir-arguana" --store "$work/store" 2>/dev/null)
found=
for drop in '' --drop-identical; do
    # shellcheck disable=SC2086 # nothing, or an option
    ran=$("$GABBRO" bm25-run --collection "$own" --depth 1 $drop --store "$work/store" 2>"$work/stderr") || bad "bm25-run $drop" "$work/stderr"
    found="$found $(alike "$ran")/$(wc -l <"$ran/run.trec" | tr -d ' ')"
done
expect "nor is it a negative of its own, where another takes its place ($found)" [ "$found" = ' 4/4 0/4' ]
expect "which is said, and what to do about it" \
    grep -q '8 passages are queries of the collection, too.*drop_identical = yes of reproduce' "$work/said.no"
expect "but only then" [ "$(grep -c 'are queries' "$work/said.yes")" = 0 ]
rankings() # DROP: how many forms of the table say that passages were left out
{
    grep -l 'assages with the id of the query were left out' "$work/own.$1/table".* | sed 's/.*\.//' | tr '\n' ' '
}
expect "table and page say what was left out: $(rankings yes)" [ "$(rankings yes)" = 'html json md ' ]
expect "or nothing" [ -z "$(rankings no)" ]

mkdir "$work/a" "$work/b"
echo '{"dev:x": 1, "test:x": {"value": 2}, "test:y": {"value": 2, "chance": 1}}' >"$work/a/metrics.json"
echo '{"test:x": {"value": 4, "chance": 1}, "test:y": {"value": 4, "chance": 0}}' >"$work/b/metrics.json"
mean=$("$GABBRO" mean --of "$work/a" --of "$work/b" --store "$work/store" --quiet)
expect "the mean of what both measured, nothing else" [ "$(tr -d ' \n' <"$mean/metrics.json")" = \
    '{"test:x":{"value":3.0},"test:y":{"chance":0.5,"value":3.0}}' ]
echo '{"train:x": 4}' >"$work/b/metrics.json"
"$GABBRO" mean --of "$work/a" --of "$work/b" --store "$work/store" --quiet 2>"$work/stderr" >"$work/stdout"
status=$?
expect "nothing in common is refused ($status)" [ $status = 3 ]
expect "and it says so" grep -q 'no measure that all the evaluations have' "$work/stderr"
checks_end
