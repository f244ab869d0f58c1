#!/bin/sh
# gabbro agreement: runs and tables beside those that they reproduce. Values by hand, and as repro_eval
# 0.5.0 gives them for the same runs (tau, RMSE, p, effect ratio, delta RI).
#   agreement.sh GABBRO
set -u
. "$(dirname -- "$0")/../checks.sh"
enter_work agreement "$1"

run() # TAG "ids of q1" "ids of q2"
{
    tag=$1 query=0
    shift
    for ids; do
        query=$((query + 1)) rank=0
        for id in $ids; do
            rank=$((rank + 1))
            echo "q$query Q0 $id $rank $((9 - rank)) $tag"
        done
    done
}
run original "a b c d" "a b c d" >original
run reproduced "b a c e" "a b d c" >reproduced
run base "d c b a" "c a b d" >original-base
run base "d c a b" "c b a d" >base
printf 'q%s 0 %s 1\n' 1 a 2 b >qrels

agree() { "$gabbro" agreement "$@" >said 2>log; }
line() { grep -q -e "^$(printf "$1")$" said; }
agree --qrels qrels original reproduced -m recip_rank --original-base original-base --base base
# q1: numbers 1 0 2 4, one of six pairs wrong; q2: 0 1 3 2, too.
expect "Kendall's tau union" line 'Kendall tau union\t0.6667\t2 queries'
expect "two reciprocal ranks, their error and effects" \
    line 'recip_rank\t0.7500\t0.5000\t-0.2500\t0.3536\t0.5\t0.1818\t+1.3714'
agree --qrels qrels original original
expect "a run agrees with itself in order" line 'Kendall tau union\t1.0000\t2 queries'
expect "and overlap" line 'RBO, p 0.8\t1.0000\t2 queries'
expect "the usual measures" [ "$(grep -c '	0.0000	1$' said)" = 4 ]
agree --qrels qrels original reproduced --depth 2
expect "only the first ranks" line 'Kendall tau union\t0.0000\t2 queries'

cell() { printf '"cells": {"dev:MRR@10": {"published": %s, "here": {"42": %s, "43": %s}}}' "$@"; }
{
    printf '{"columns": [{"column": "dev:MRR@10", "scale": 100.0}], "rows": ['
    printf '{"row": "bm25", "published_row": "BM25 @ x", %s},' "$(cell 20.0 0.30 0.30)"
    printf '{"row": "-", "published_row": "quoted @ x", "cells": {"dev:MRR@10": {"published": 33.0}}},'
    printf '{"row": "one", "published_row": "One @ x", %s},' "$(cell 30.0 0.34 0.36)"
    printf '{"row": "two", "published_row": "Two @ x", %s}]}\n' "$(cell 40.0 0.32 0.32)"
} >table.json
agree table.json
expect "a table beside the published values: its rows" grep -q '^# dev:MRR@10: 3 rows	Kendall tau 0.3333	RMSE 7.9373	p t-test ' said
expect "a row: the mean of its seeds, its effect over the first" line 'one\t30.0000\t35.0000\t+5.0000\t0.5000\t+0.3333'
expect "the first row has no effect" line 'bm25\t20.0000\t30.0000\t+10.0000\t-\t-'
agree table.json --base one
expect "another baseline" line 'two\t40.0000\t32.0000\t-8.0000\t-0.3000\t+0.4190'
agree table.json table.json
expect "two tables: no difference from itself" grep -q '^# dev:MRR@10: 3 rows	Kendall tau 1.0000	RMSE 0.0000	p t-test 1$' said

# A row that was not run has no value, though one is recorded; a table without any run is its records.
sed 's/"published": 40.0, "here": {"42": 0.32, "43": 0.32}/"published": 40.0, "recorded": {"mean": 41.0}/' table.json >part.json
agree part.json
expect "a recorded value does not stand in for a run" [ "$(grep -c '^two' said)" = 0 ]
sed 's/"here": {"42": \([.0-9]*\), "43": [.0-9]*}/"recorded": {"mean": 1\1}/g' table.json >kept.json
agree kept.json
expect "recorded values are called so" line '# row\toriginal\trecorded\tdifference\teffect ratio\tdelta RI'

refused() # WHAT CODE TEXT ARGUMENTS...
{
    what=$1 code=$2 text=$3
    shift 3
    agree "$@"
    expect "$what" [ "$? $(grep -c -e "$text" log)" = "$code 1" ]
}
refused "an unknown row is named" 2 'no row is called "none"' table.json --base none
refused "what is no table is refused" 3 'there are no rows' "$(echo '{}' >no.json && echo no.json)"
refused "one run is not enough" 2 'ORIGINAL RUN' --qrels qrels original
refused "one baseline is not enough" 2 'go together' --qrels qrels original reproduced --base base
refused "the persistence has bounds" 2 'between 0 and 1' --qrels qrels original reproduced --persistence 1
refused "a missing run is named" 3 'nothing' --qrels qrels original nothing
checks_end
