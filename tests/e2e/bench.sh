#!/bin/sh
# gabbro bench measures what it is asked for, says what it cannot run, and bench/run puts peers beside
# it. Of times only that there are some. usage: bench.sh GABBRO
set -u
gabbro=$1
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
# shellcheck source=tests/checks.sh
. "$here/../checks.sh"
WORK=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-bench-test.XXXXXX") || exit 1
trap 'rm -rf "$WORK"' EXIT

# What is there, without a device.
"$gabbro" bench --dry-run --size mini,base --json "$WORK/dry.json" >"$WORK/out" 2>&1
expect 'a dry run lists the cases' grep -q '^base fine-tuning  *[0-9.]* GFLOP$' "$WORK/out"
for part in matmul attention bandwidth loss scores step encode search generate growth; do
    expect "of the part $part" grep -q "\"part\": \"$part\"" "$WORK/dry.json"
done
expect 'and of the sizes asked for alone' [ "$(grep -c '^small ' "$WORK/out")" = 0 ]

# Wrong options: a message, and nothing written.
for words in 'nothing' '--size huge' '--repeats 0' '--peer cublas' '--seconds -1'; do
    # shellcheck disable=SC2086 # words
    "$gabbro" bench $words --json "$WORK/none.json" >"$WORK/out" 2>"$WORK/err"
    code=$?
    expect "bench $words: exit 2" [ $code = 2 ]
    expect "bench $words: says so" [ -s "$WORK/err" ]
done
expect 'wrong options write nothing' [ ! -e "$WORK/none.json" ]

if ! "$gabbro" doctor --list 2>/dev/null | grep -q .; then
    skipped 'bench: there is no Vulkan device'
    checks_end
    exit
fi

# What a CPU driver does not take is named, and the rest follows.
"$gabbro" kernels --size base >"$WORK/out" 2>"$WORK/err"
code=$?
expect "kernels of every size: $(cat "$WORK/err")" [ "$code $(grep -c "^[0-9]* kernels, 0 fail to compile" "$WORK/out")" = "0 1" ]

# A case of every kind of measurement: products, programs with inputs, whole steps, calls.
quick() # WHAT OPTION...
{
    what=$1
    shift
    "$gabbro" bench "$@" --size mini --repeats 1 --json "$WORK/$what.json" >"$WORK/out" 2>"$WORK/err"
    code=$?
    cp "$WORK/out" "$WORK/$what.out"
    if [ $code = 0 ] && grep -q '"wall_ms": {' "$WORK/$what.json"; then
        good "$what is measured"
    else
        cat "$WORK/err" >>"$WORK/out"
        bad "$what is measured" "$WORK/out"
    fi
}
quick matmul matmul --only 'out weights'
quick attention attention --only '32 tokens, and gradient'
quick bandwidth bandwidth --only 'layer norm'
quick loss loss --only contrastive
quick interaction scores --only 'late interaction'
quick terms scores --only 'term weights'
quick step step --only fine-tuning --texts 2
expect 'of a step it is said what share is device time' grep -q '"device_share": [0-9]' "$WORK/step.json"
expect 'in the table too' grep -Eq '^mini fine-tuning  *[0-9.]+  *[0-9]+%  *[0-9.]+  *[0-9]+% ' "$WORK/step.out"
for word in '"driver"' '"shaders"' '"source"' '"copy_gbs"' '"device_ms"' '"of_ceiling"'; do
    expect "the record has $word" grep -q "$word" "$WORK/matmul.json"
done

# What would take too long is named, and does not stop the rest.
"$gabbro" bench matmul --size mini --only 'square' --seconds .001 --json "$WORK/late.json" >"$WORK/out" 2>&1
code=$?
expect 'too long a case is no failure' [ $code = 0 ]
expect 'it is named' grep -q '^square 512 NN  *not run: one run would take' "$WORK/out"
expect 'and noted' grep -q '"not_run": "one run' "$WORK/late.json"
"$gabbro" bench matmul --size mini --only 'no such' >"$WORK/out" 2>&1
code=$?
expect 'no case of that name: exit 2' [ $code = 2 ]

# Failing calls: a message and a code, never a crash. Caches that cannot be read are done without.
told=0
for n in 100 150 200 250 300; do
    GABBRO_FAIL_AT=$n "$gabbro" bench matmul --size mini --only 'out weights' --repeats 1 >"$WORK/out" 2>&1
    code=$?
    case $code in
    0) ;;
    5) told=$((told + 1)) ;;
    *) bad "call $n fails: exit $code" "$WORK/out" ;;
    esac
done
expect "most of them are told: $told of 5" [ "$told" -ge 3 ]

# Peers, where there is one.
python=${GABBRO_PEERS_PYTHON:-python3}
if ! "$python" -c 'import torch' 2>/dev/null; then
    skipped "bench/run: $python has no torch (GABBRO_PEERS_PYTHON)"
else
    GABBRO=$gabbro "$here/../../bench/run" --out "$WORK/peers" --peers torch --repeats 1 \
        loss --size mini --only contrastive >"$WORK/out" 2>"$WORK/err"
    code=$?
    if [ $code = 0 ] && grep -q '^loss  *mini contrastive  *[0-9.]*  *[0-9.]*  *[0-9.]*$' "$WORK/out"; then
        good 'bench/run puts torch beside'
    else
        cat "$WORK/err" >>"$WORK/out"
        bad 'bench/run puts torch beside' "$WORK/out"
    fi
fi
"$here/../../bench/run" --peers nobody >"$WORK/out" 2>&1
code=$?
expect 'an unknown peer: exit 2' [ $code = 2 ]
checks_end
