#!/bin/sh
# A stand-in for gabbro in tests of scripts. It logs its arguments in $WORK/log and prints a folder named by
# them, or what it takes; it fails at the step $FAIL_AT, by the signal $KILL_BY where that is given, and sleeps at
# $SLEEP_AT. Where $COMPILES names a file, the first training after it was removed takes 40 seconds more.
[ "$1" = doctor ] || printf '%s\n' "$*" >>"$WORK/log"
case "$1 $*" in
*--cost*)
    echo "steps=$(printf '%s' "$*" | sed -n 's/.*--steps \([0-9]*\).*/\1/p') batch=32 part=8 flops=1e9 update_flops=0 \
activation_bytes=4e9 parameter_bytes=4e9 passages=1000 queries=100 passage_flops=1e9 query_flops=0 width=10 passage_tokens=60"
    exit
    ;;
esac
if [ "${SLEEP_AT:-none}" = "$1" ]; then
    printf 'gabbro: training: %s/100 steps  %s.0%%  1 steps/s  left 9 s  loss %s\n' 10 10 4.0 20 20 2.0 >&2
    sleep 20
fi
case $1 in
doctor)
    case $* in
    doctor | 'doctor --device '?) ;;
    *) exec echo "${DEVICE_TYPE:-discrete}" ;;
    esac
    printf 'Devices\nWRONG        a: b\nREFUSED      c\nSomething is wrong: see above.\n'
    exit "${DOCTOR_STATUS:-0}"
    ;;
"${FAIL_AT:-none}")
    [ -z "${KILL_BY:-}" ] || kill "-$KILL_BY" $$
    exit "${FAIL_WITH:-75}"
    ;;
report) echo "report $*" ;;
compare-devices)
    case $* in
    *--names*) printf 'first\nsecond\n' ;;
    *) echo "compared $*" ;;
    esac
    ;;
*)
    folder=$WORK/$1-$(printf '%s' "$*" | cksum | tr -d ' ')
    [ ! -e "$folder/run.json" ] || exec echo "$folder"
    mkdir -p "$folder/collection/qrels" && echo page >"$folder/page.html"
    printf 'header\n1\n2\n' >"$folder/collection/qrels/train.tsv"
    index=''
    case "$*" in bm25-run* | *--bm25*) index=' "index_bytes": 50000,' ;; esac
    work_s=2.2
    if [ "$1 $2" = "pretrain mlm" ] && [ -n "${COMPILES:-}" ] && [ ! -e "$COMPILES" ]; then
        : >"$COMPILES"
        work_s=42.2
    fi
    printf '{\n%s\n "steps": 12,\n "build_s": 1.0,\n "wall_s": 6.0,\n "work_s": %s,\n "peak_resident_bytes": 2e8\n}\n' \
        "$index" "$work_s" >"$folder/run.json"
    echo "$folder"
    ;;
esac
