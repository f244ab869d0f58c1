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

# ---- training queries that are judged -----------------------------------------------------------------
cp -R beir both
printf 'query-id\tcorpus-id\tscore\nq0\td8\t1\nq1\td8\t1\n' >both/qrels/train.tsv
printf '{"_id": "q0", "text": "stone"}\n' >>both/queries.jsonl
both=$(made collection --from both --keep-splits) || exit 1
"$gabbro" evaluate --bm25 --collection "$both" >step 2>log
expect "they are counted: $(grep -c 'training queries' log)" grep -q 'warning: 1 of 2 queries of split dl19 are training queries, too' log

# ---- runs that end early --------------------------------------------------------------------------------
short=$(made evaluate --bm25 --collection "$collection" --keep 3) || exit 1
"$gabbro" evaluate --runs "$short" --collection "$collection" --depth 3 >step 2>log
expect "a run that has what is measured needs no word" [ "$(grep -c 'first 3 passages' log)" = 0 ]
"$gabbro" evaluate --runs "$short" --collection "$collection" >step 2>log
expect "one that ends before does" grep -q 'warning: the runs of .* have the first 3 passages of a query, not 1000' log

none=$(made evaluate --bm25 --collection "$collection" --keep 0) || exit 1
refused 3 "runs that were not kept" "evaluate again with --keep" evaluate --runs "$none" --collection "$collection"

# ---- questions for which nothing is found ---------------------------------------------------------------
mkdir -p asked/qrels
cp beir/corpus.jsonl asked
printf '{"_id": "q%s", "text": "%s"}\n' 1 stone 2 unknown 3 nowhere >asked/queries.jsonl
printf 'q1\tstone\nq2\tstone\nq3\tstone\n' >asked/answers.tsv
printf 'query-id\tcorpus-id\tscore\nq1\td5\t1\nq2\td5\t1\n' >asked/qrels/dev.tsv
printf 'query-id\tcorpus-id\tscore\nq3\td5\t1\n' >asked/qrels/test.tsv
asked=$(made collection --from asked --keep-splits) || exit 1
top() # STEP SPLIT
{
    tr -d ' \n' <"$1/metrics.json" | sed -n "s/.*\"$2:Top@5\":{[^}]*\"value\":\([.0-9]*\).*/\1/p"
}
found=$(made evaluate --bm25 --collection "$asked") || exit 1
expect "they count 0 in top@k" [ "$(top "$found" dev) $(top "$found" test)" = "0.5 0.0" ]
again=$(made evaluate --runs "$found" --collection "$asked") || exit 1
expect "also of the run in its file, and of a split without any" [ "$(top "$again" dev) $(top "$again" test)" = "0.5 0.0" ]
again=$(made evaluate --fuse "$found" --fuse "$found" --collection "$asked") || exit 1
expect "and fused" [ "$(top "$again" dev) $(top "$again" test)" = "0.5 0.0" ]

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
expect "and also where the rank column decides" [ "$(first --ties rank qrels ranks)" = 0.5000 ]
expect "--format decides" [ "$(first --format scores qrels ranks)" = 1.0000 ]
expect "and nothing is said" [ ! -s log ]

# ---- options that came later ----------------------------------------------------------------------
expect "an added option with its default leaves the key" \
    [ "$(made evaluate --bm25 --k1 0.9 --collection "$collection")" = "$step" ]
expect "another value has another key" \
    [ "$(made evaluate --bm25 --k1 1.5 --collection "$collection")" != "$step" ]

# ---- a folder of packed files ----------------------------------------------------------------------
mkdir -p packed/qrels
printf '{"_id": "p%d", "text": "%s"}\n' 1 "grey stone" 2 "wide river" | gzip >packed/corpus.jsonl.gz
printf '{"_id": "q1", "text": "a river"}\n' | gzip >packed/queries.jsonl.gz
printf 'q1\tp2\t1\n' | gzip >packed/qrels/test.tsv.gz
expect "its judgements are found, too" \
    sh -c "\"$gabbro\" bm25 --collection packed --run run 2>log | grep -q '^trec_eval -c recip_rank  *1\.0000$'"

"$gabbro" bm25 --collection packed --feedback-terms 3 --run run >log 2>&1
expect "options of what is not asked for are refused of a folder, too" grep -q 'are of RM3' log
"$gabbro" store list --store nowhere >log 2>&1
expect "a store that is not there is not made ($?)" [ "$(grep -c 'there is no such store' log)$(ls -d nowhere 2>/dev/null)" = 1 ]

# ---- passages with generated queries: d0 says stone only in one of them ----------------------------
printf '{"id": "d0", "queries": ["what is grit", "stone stone stone"]}\n' >written.jsonl
queries=$(made queries --collection "$collection" --from written.jsonl) || exit 1
ranked() # ARGUMENTS...: passages of q1, in order
{
    "$gabbro" bm25 --collection "$collection/collection" --split dl19 --run run "$@" >log 2>&1
    awk '$1 == "q1" { printf "%s%s", (n++ ? " " : ""), $3 }' run
}
plain='d4 d5 d6 d7 d8 d9'
expect "six passages have the query's word" [ "$(ranked)" = "$plain" ]
expect "a generated query appends it" \
    [ "$(ranked --generated "$queries" --queries-per-passage 2)" = "d0 $plain" ]
expect "only as many as are asked for" \
    [ "$(ranked --generated "$queries" --queries-per-passage 1)" = "$plain" ]
score() # REPETITIONS: score of d0
{
    ranked --generated "$queries" --queries-per-passage 2 --b 0 --repetitions "$1" >log
    awk '$1 == "q1" && $3 == "d0" { print $5 }' run
}
# b = 0: 3 or 6 occurrences; the word is in 7 of 10 texts.
for times in 1 2; do
    expect "repetitions are counted, $times" same "$(printf %.5f "$(score $times)")" \
        "$(awk -v n=$((3 * times)) 'BEGIN { printf "%.5f", log(1 + 3.5 / 7.5) * n / (n + .9) }')"
done

# ---- fusion, by hand -------------------------------------------------------------------------------
printf '%s Q0 %s 0 %s a\n' q1 d1 9 q1 d2 5 q1 d3 1 q2 d7 4 >a.trec
printf '%s Q0 %s 0 %s b\n' q1 d3 .5 q1 d1 .25 q1 d9 .25 q3 d8 7 >b.trec
fused() # ARGUMENTS...: "qid docno score" of every line
{
    "$gabbro" fuse a.trec b.trec --out fused.trec "$@" >log 2>&1 &&
        awk '{ printf "%s %s %.6f\n", $1, $3, $5 }' fused.trec
}
awk 'BEGIN { # rank 1 and 2; 3 and 1; 2; 3 (equal scores keep their order)
    printf "q1 d1 %.6f\nq1 d3 %.6f\nq1 d2 %.6f\nq1 d9 %.6f\n", 1/61 + 1/62, 1/63 + 1/61, 1/62, 1/63
    printf "q2 d7 %.6f\nq3 d8 %.6f\n", 1/61, 1/61 }' >want
expect "reciprocal ranks" [ "$(fused)" = "$(cat want)" ]
printf '%s\n' 'q1 d1 1.000000' 'q1 d3 1.000000' 'q1 d2 0.500000' 'q1 d9 0.000000' \
    'q2 d7 1.000000' 'q3 d8 1.000000' >want
expect "scores scaled by the least and largest" [ "$(fused --fusion sum)" = "$(cat want)" ]
printf '%s\n' 'q1 d3 3.000000' 'q1 d1 2.000000' 'q2 d7 2.000000' 'q3 d8 3.000000' >want
expect "weights, and a depth" \
    [ "$(fused --fusion sum --weight 2 --weight 3 --depth 2)" = "$(cat want)" ]
fused --weight 2
expect "one weight of two runs is refused" grep -q "1 weights of 2 runs" log
other=$(made evaluate --bm25 --b 0 --rm3 --collection "$collection") || exit 1
both=$(made evaluate --fuse "$step" --fuse "$other" --collection "$collection") || exit 1
"$gabbro" fuse "$step/runs/dl19.trec" "$other/runs/dl19.trec" --out fused.trec >log
expect "evaluations are fused as their runs are" \
    [ "$(cut -d' ' -f 1-5 "$both/runs/dl19.trec")" = "$(cut -d' ' -f 1-5 fused.trec)" ]

# ---- for other tools ---------------------------------------------------------------------------------
"$gabbro" eval -m nDCG@10 -m 'P(rel=2)@5' beir/qrels/dl19.tsv "$step/runs/dl19.trec" >want 2>log
gzip -c "$step/runs/dl19.trec" | "$gabbro" eval -m nDCG@10 -m 'P(rel=2)@5' beir/qrels/dl19.tsv - >got 2>log
expect "a run on standard input, packed: $(tail -n 1 got)" cmp -s want got
# Against a run that finds nothing, the difference of means and its interval are the run's own.
awk '{ print $1, "Q0", "none", 1, 1, "nothing" }' beir/qrels/dl19.tsv | sed 1d | sort -u >nothing.trec
"$gabbro" eval -c -m nDCG@10 --interval beir/qrels/dl19.tsv "$step/runs/dl19.trec" >got 2>log
"$gabbro" eval -m nDCG@10 --compare nothing.trec beir/qrels/dl19.tsv "$step/runs/dl19.trec" 2>log | tail -n 1 >want
expect "a mean with its interval: $(cut -f 3- got | tr '\t' ' ')" \
    [ "$(awk '{ print $3, $4, $5 }' got)" = "$(awk -F '\t' '{ printf "%.4f %.4f %.4f\n", $4, $5, $6 }' want)" ]
expect "which is no point" [ "$(awk '{ print ($4 < $3 && $3 < $5) }' got)" = 1 ]
"$gabbro" eval - - </dev/null >got 2>log
expect "but one file alone" grep -q "only one file can be standard input" log
run=$(made bm25-run --collection "$collection" --split dl19 --depth 4 --jsonl mined.jsonl --jsonl-skip 1)
expect "queries, positives and negatives as JSON lines" \
    [ "$(grep -c '"query_id":"q[12]","query":"stone","positive_passages":\[{"docid":"d[0-9]*","title":"","text":"' mined.jsonl)" = 2 ]
ranked=$(awk '$1 == "q2" && $4 > 1 && $3 != "d9" { printf "%s ", $3 }' "$run/run.trec")
given=$(sed -n '2s/.*negative_passages//p' mined.jsonl | grep -o '"docid":"[^"]*"' | cut -d '"' -f 4 | tr '\n' ' ')
expect "negatives from the second rank on: $given" [ "$given" = "$ranked" ]
again=$(made collection --from mined.jsonl)
expect "they are read as training queries again" [ "$(grep -rc '.' "$again/collection/qrels/train.tsv")" = 6 ]
checks_end
