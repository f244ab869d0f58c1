#!/bin/sh
# What `gabbro evaluate` writes of graded judgements, held to `gabbro eval` and to sums by hand.
#   evaluate.sh GABBRO
set -u
. "$(dirname -- "$0")/../checks.sh"
enter_work evaluate "$1"

# Ten passages of which the query's word is in the last six; of q1, grades 3, 2, 1, 1, 0; of q2, 1.
mkdir -p beir/qrels
for row in 0 1 2 3 4 5 6 7 8 9; do
    word=$([ $row -lt 4 ] && echo sand || echo stone)
    echo "{\"_id\": \"d$row\", \"text\": \"$word $(seq -s ' ' $row)\"}"
done >beir/corpus.jsonl
printf '{"_id": "q%s", "text": "stone"}\n' 1 2 >beir/queries.jsonl
{
    printf 'query-id\tcorpus-id\tscore\n'
    printf 'q1\td%s\t%s\n' 0 3 5 2 8 1 1 1 4 0
    printf 'q2\td9\t1\n'
} >beir/qrels/dl19.tsv
sed 's/[23]$/1/' beir/qrels/dl19.tsv >beir/qrels/dev.tsv
collection=$(made collection --from beir --keep-splits) || exit 1
step=$(made evaluate --bm25 --collection "$collection") || exit 1

measured() # MEASURE value|chance
{
    tr -d ' \n' <"$step/metrics.json" | sed -n "s/.*\"$1\":{[^}]*\"$2\":\([-+.0-9e]*\).*/\1/p"
}
same() # A B
{
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && (a - b) ^ 2 < 1e-16) }'
}
judged() # LEVEL MEASURE: as gabbro eval has it, of the run that the step wrote
{
    "$gabbro" eval -c -l "$1" -m "$2" beir/qrels/dl19.tsv "$step/runs/dl19.trec" 2>log |
        awk '{ print $3 }'
}

for level in 1 2; do
    name=$([ $level = 1 ] || echo "(rel=$level)")
    value=$(measured "dl19:R$name@50" value)
    expect "recall from grade $level on is that of gabbro eval -l $level ($value)" \
        same "$value" "$(judged $level recall.50)"
done
expect "the two are not the same" \
    [ "$(measured 'dl19:R@50' value)" != "$(measured 'dl19:R(rel=2)@50' value)" ]
expect "the ranks of grade 2 are named apart too" [ -n "$(measured 'dl19:MRR(rel=2)@10' value)" ]
expect "nDCG takes all grades" [ -z "$(measured 'dl19:nDCG(rel=2)@10' value)" ]
expect "where all grades are 1 nothing is written twice" \
    [ "$(grep -c '"dev:.*rel=' "$step/metrics.json")" = 0 ]
expect "values of queries say their level" \
    grep -q "^query	recall(rel=2)_50	recall(rel=2)_100" "$step/per-query/dl19.trec.rel2.tsv"

# By chance: one of ten passages is first; q1 has four (two of grade 2), q2 one (none).
expect "Hit@1 by chance" same "$(measured 'dl19:Hit@1' chance)" .25
expect "Hit@1 by chance from grade 2 on" same "$(measured 'dl19:Hit(rel=2)@1' chance)" .1
expect "recall of all by chance" same "$(measured 'dl19:R(rel=2)@50' chance)" .5

# ---- runs of three columns: Tevatron's scores and MS MARCO's ranks ----------------------------------
printf 'q1 0 d2 1\n' >qrels
printf 'q1\td1\t187\nq1\td2\t90\n' >scores
printf 'q1\td2\t2\nq1\td1\t1\n' >ranks
first() # ARGUMENTS...: the reciprocal rank
{
    "$gabbro" eval -m recip_rank "$@" 2>log | awk '{ print $3 }'
}
expect "whole numbers that are no ranks are scores" [ "$(first qrels scores)" = 0.5000 ]
expect "and it is said" [ "$(grep -c 'scores: the third column is read as scores' log)" = 1 ]
expect "ranks are ranks" [ "$(first qrels ranks)" = 0.5000 ]
expect "and it is said" [ "$(grep -c 'ranks: the third column is read as ranks' log)" = 1 ]
expect "--format decides" [ "$(first --format scores qrels ranks)" = 1.0000 ]
expect "and nothing is said" [ ! -s log ]
checks_end
