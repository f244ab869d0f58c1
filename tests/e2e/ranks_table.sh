#!/bin/sh
# The main table with tiny settings, trained by one process, under mpirun by 2 ranks, and by 4 ranks: the
# same cells.
#   ranks_table.sh REPRODUCE GABBRO
set -u
. "$(dirname -- "$0")/../checks.sh"
reproduce=$1
GABBRO=$2
unset GABBRO_VALIDATION # tiny_table.sh runs the same commands under it
LP_NUM_THREADS=1
export GABBRO LP_NUM_THREADS
need_ranks "$GABBRO"
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-ranks.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

table() # NAME LAUNCHER-OR-NOTHING RANK-OPTIONS
{
    # shellcheck disable=SC2086 # lists of words
    $2 "$reproduce" table1 --store "$work/$1.store" --out "$work/$1" $3 --jobs 1 --set vocabulary_tokens=600 \
        --set passage_tokens=16 --set query_tokens=12 --set encoder_layers=1 --set encoder_hidden=16 \
        --set encoder_heads=2 --set encoder_ffn=32 --set mlm_steps=4 --set mlm_batch_passages=8 \
        --set context_steps=4 --set context_batch_pairs=4 --set finetune_epochs=1 \
        --set finetune_train_queries=32 --set bm25_depth=20 --set search_depth=50 \
        >"$work/$1.stdout" 2>"$work/$1.stderr" </dev/null
    code=$?
    [ $code = 0 ] || bad "table1, $1: ends with 0, not $code" "$work/$1.stderr"
    sed '/^ "times": {$/,/^ }/d' "$work/$1/table.json" >"$work/$1.json" || echo "$1: no table" >"$work/$1.json"
}

same() # WHAT NAME
{
    trust "$1: lines of table.json that differ, but for times" "one process ($(wc -l <"$work/one.json") lines)" \
        "$(diff "$work/$2.json" "$work/one.json" | grep -c '^[<>]')" 0
}

table one '' '--simulate-ranks 4'
table two 'mpirun --oversubscribe -n 2' ''
same "table1 under mpirun, 2 ranks" two
expect "its trainings ran as 2 ranks" grep -q '^gabbro: 2 ranks' "$work/two.stderr"
expect "and its evaluations" grep -q '^gabbro: 2 ranks$' "$work/two.stderr"
table four '' '--ranks 4'
same "table1, 4 ranks" four
checks_end
