#!/bin/sh
# reproduce TABLE --compare-devices A,B on a small table with few steps: the same device with the
# smallest limits as the other one, then the same device twice.
#   compare_devices.sh REPRODUCE GABBRO
set -u
. "$(dirname -- "$0")/../checks.sh"
reproduce=$1
GABBRO=$2
export GABBRO
unset GABBRO_DEVICE GABBRO_LIMITS GABBRO_PROFILE
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-compare.XXXXXX") || exit 1
TMPDIR=$work
export TMPDIR
child=''
# shellcheck disable=SC2329 # by the trap
tidy()
{
    [ -z "$child" ] || kill -9 "-$child" 2>/dev/null
    rm -rf "$work"
}
trap tidy EXIT
trap 'exit 1' INT TERM
# ---- tables, cell by cell: no device is asked -----------------------------------------------------------
table() # FOLDER ROWS...
{
    mkdir "$work/$1"
    printf '{"table": "t", "columns": [{"column": "c", "header": "c", "scale": 1, "decimals": 1}], "rows": [%s]}' \
        "$2" >"$work/$1/table.json"
}
row() # NAME SEEDS
{
    printf '{"row": "%s", "cells": {"c": {"here": {%s}}}}' "$1" "$2"
}
table a "$(row x '"42": 1'), $(row y '"42": 2')"
table b "$(row x '"42": 1, "43": 5'), $(row z '"42": 3')"
"$GABBRO" compare-devices --tables "$work/a" "$work/b" >"$work/tables.stdout"
expect "cells of one device are counted on both sides" \
    grep -q '^1 cells: 1 with the same bits.*; 3 more on one device only' "$work/tables.stdout"

if ! "$GABBRO" doctor --list 2>/dev/null | grep -q .; then
    skipped 'two devices: there is none'
    checks_end
    exit
fi

tiny="vocabulary_tokens=600 long_passage_tokens=24 query_tokens=12 encoder_layers=1 encoder_hidden=16
    encoder_heads=2 encoder_ffn=32 mlm_steps=6 mlm_batch_passages=8 article_steps=6
    context_batch_pairs=4 finetune_epochs=1 finetune_train_queries=32 bm25_depth=20 search_depth=50"
compare() # OUT DEVICES ARGUMENTS...: status in $status, output in OUT.stdout and OUT.stderr
{
    out=$work/$1 devices=$2
    shift 2
    for change in $tiny; do
        set -- "$@" --set "$change"
    done
    set -- "$reproduce" costa/table3 --rows costa-r2 --store "$work/store" --out "$out" --compare-devices "$devices" "$@"
    status=0
    if [ "$out" = "$work/killed" ]; then
        setsid "$@" >"$out.stdout" 2>"$out.stderr" </dev/null &
        child=$!
    else
        "$@" >"$out.stdout" 2>"$out.stderr" </dev/null || status=$?
    fi
}
steps() { find "$work/store" -name run.json | wc -l; }

# ---- what it will cost, and devices that are none -----------------------------------------------------
compare dry 0,0,GABBRO_LIMITS=min --dry-run
expect "a dry run ends with 0" [ "$status" = 0 ]
expect "it says the cost of both" grep -q '^# cost: on each device 14 steps' "$work/dry.stdout"
expect "and names the devices" [ "$(grep -c '^# [AB]  .* profile ' "$work/dry.stdout")" = 2 ]
expect "and makes nothing" [ ! -e "$work/store" ]
compare none 0,no-such-device
expect "an unknown device ends with 4" [ "$status" = 4 ]
expect "in one message" [ "$(grep -c "no device is called 'no-such-device'" "$work/none.stderr")" = 1 ]
expect "before anything is made" [ ! -e "$work/store" ]
compare one 0
expect "one device is no comparison" [ "$status" = 2 ]

# ---- killed on the way, then to the end --------------------------------------------------------------
if command -v setsid >/dev/null 2>&1; then
    compare killed 0,0,GABBRO_LIMITS=min
    waited=0
    while [ $waited -lt 2400 ] && kill -0 "$child" 2>/dev/null && ! grep -q ' on B$' "$work/killed.stderr"; do
        sleep 0.05
        waited=$((waited + 1))
    done
    kill -TERM "$child"
    wait "$child"
    expect "asked to stop it ends with 75" [ $? = 75 ]
    child=''
    expect "A's table is there" [ -s "$work/killed/A/table.json" ]
    expect "B's is not" [ ! -e "$work/killed/B/table.json" ]
else
    skipped "a comparison that is stopped: there is no setsid"
fi
compare two 0,0,GABBRO_LIMITS=min
if [ "$status" = 0 ]; then
    good "then it runs to its end"
else
    bad "then it runs to its end, not $status" "$work/two.stderr"
fi
expect "a line for each of three cells" [ "$(grep -c '^costa-r2, .*, seed 42 ' "$work/two.stdout")" = 3 ]
expect "and one for all" grep -q '^3 cells: ' "$work/two.stdout"
expect "the training of the table is taken apart" grep -q 'first 10 steps of pretrain mlm' "$work/two.stderr"
expect "where they part is named" grep -q '^They part at step [1-6], .* of [0-9]* values' "$work/two.stdout"
made=$(steps)

# ---- the same device twice: nothing may differ, and B is no copy of A -----------------------------------
compare same 0,0
expect "the same device twice" [ "$status" = 0 ]
expect "A's steps are not made again" [ "$(steps)" = "$made" ]
expect "B has a store of its own" [ "$(find "$work/same/B/store" -name run.json | wc -l)" = 14 ]
trust "a table made twice on one device, each from an empty store: cells with other bits" "each other (3 cells)" \
    "$(sed -n 's/^3 cells: \([0-9]*\) with the same bits.*/\1/p' "$work/same.stdout" | awk '{ print 3 - $1 }')" 0
expect "no bit of its first training differs" grep -q '^No bit differs' "$work/same.stdout"
checks_end
