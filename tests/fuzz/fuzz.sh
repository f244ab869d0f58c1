#!/bin/sh
# Feeds damaged files to every reader, as many at a time as there are processors, with libFuzzer and the
# sanitizers.
#   tests/fuzz/fuzz.sh SECONDS [[but] TARGET...]    SECONDS of a processor for each target (names as in
#                meson.build), or for all but these, however long that takes beside other work
#   FUZZ_JOBS    how many at a time
#   FUZZ_RECORD  yes: write what found nothing into longest.tsv, if it ran at least as long as what is there
# Needs clang with its runtime (Debian: clang libclang-rt-dev). An input that fails stays in
# build-fuzz/findings; its minimised form belongs into corpus/TARGET once the fault is mended.
# Status: 0 nothing found, 1 a finding, 2 usage, 70 the build failed, 77 no clang.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd) || exit 70
seconds=${1:-}
case $seconds in
'' | *[!0-9]*) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0"; exit 2 ;;
esac
shift
clang=${CLANG:-clang}
if ! printf 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n ? 0 : 0; }' |
    "$clang" -x c -fsanitize=fuzzer,address - -o /dev/null 2>/dev/null; then
    echo "skipped - fuzzing: no clang with libFuzzer (Debian: clang libclang-rt-dev)"
    exit 77
fi
but=''
if [ "${1:-but}" = but ]; then
    but=" $* "
    set --
    for source in "$root"/tests/fuzz/*.c; do
        source=${source##*/} source=${source%.c}
        case $but in *" $source "*) ;; *) set -- "$@" "$source" ;; esac
    done
fi

build=${FUZZ_BUILD:-$root/build-fuzz} programs=
log=$(mktemp "${TMPDIR:-/tmp}/gabbro-fuzz.XXXXXX") || exit 70
for target; do
    programs="$programs tests/fuzz/fuzz_$target"
done
# shellcheck disable=SC2086 # a list of words
if ! { [ -f "$build/build.ninja" ] ||
    CC=$clang CXX=$(echo "$clang" | sed 's|clang\([^/]*\)$|clang++\1|') meson setup "$build" "$root" --buildtype=debugoptimized -Dfuzz=true \
        -Dtests=disabled -Db_sanitize=address,undefined -Db_lundef=false; } >"$log" 2>&1 ||
    ! ninja -C "$build" $programs >>"$log" 2>&1; then
    tail -n 30 "$log"
    exit 70
fi
rm -f "$log"

UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export UBSAN_OPTIONS
status=0 jobs=${FUZZ_JOBS:-$(nproc 2>/dev/null || echo 1)}
mkdir -p "$build/findings"

# Again, from what was grown, until the processor time is used up; $build/TARGET.inputs: how many.
fuzz() # TARGET
{
    log=$build/$1.log left=$seconds inputs=0
    mkdir -p "$build/grown/$1" "$root/tests/fuzz/corpus/$1"
    trap 'kill $child; exit 1' INT TERM
    while [ "$left" -gt 0 ]; do
        "$build/tests/fuzz/fuzz_$1" -max_total_time="$left" -max_len=4096 \
            -timeout=100 -rss_limit_mb=2048 -artifact_prefix="$build/findings/$1-" -print_final_stats=1 -verbosity=0 \
            "$build/grown/$1" "$root/tests/fuzz/corpus/$1" >"$log" 2>&1 &
        child=$!
        wait $child || exit
        inputs=$((inputs + $(sed -n 's/^stat::number_of_executed_units: *//p' "$log")))
        times >"$build/$1.times" # in a subshell it would be the subshell's
        left=$(sed -n '2s/[ms]/ /gp' "$build/$1.times" | awk -v wanted="$seconds" '{
            left = wanted - 60 * ($1 + $3) - $2 - $4
            print (left < .05 * wanted ? 0 : left < 1 ? 1 : int(left)) }')
    done
    echo "$inputs" >"$build/$1.inputs"
}

# The last change of what is compiled.
source_of_readers()
{
    git -C "$root" log -1 --format=%h -- src include tests/fuzz/*.c 2>/dev/null | tr -d '\n'
    git -C "$root" diff --quiet HEAD -- src include 2>/dev/null || printf ' with changes'
}

record() # TARGET INPUTS
{
    [ "${FUZZ_RECORD:-no}" = yes ] || return 0
    file=$root/tests/fuzz/longest.tsv
    {
        sed 1q "$file"
        sed 1d "$file" | awk -F '\t' -v OFS='\t' -v target="$1" -v seconds="$seconds" -v inputs="$2" \
            -v date="$(date -u +%Y-%m-%d)" -v source="$compiled" '
            $1 != target { print; next }
            $2 > seconds { print; longer = 1 }
            END { if (!longer) print target, seconds, inputs, date, source }' | sort
    } >"$file.new" && mv -f "$file.new" "$file"
}

# Wait for the target that was started first, and say what came of it.
report()
{
    first=${running%% *} running=${running#* }
    wait "${first#*:}"
    code=$? first=${first%:*}
    if [ $code = 0 ]; then
        runs=$(cat "$build/$first.inputs")
        echo "ok - fuzz $first: $runs inputs in $seconds s of a processor"
        printf 'trust:\treader of %s, %s damaged inputs in %s s of a processor\tno crash, leak or silent failure\t0\t0\n' \
            "$first" "$runs" "$seconds"
        record "$first" "$runs"
    else
        echo "not ok - fuzz $first: see $build/findings and $build/$first.log"
        tail -n 30 "$build/$first.log" | sed 's/^/    /'
        status=1
    fi
}

compiled=$(source_of_readers)
running='' count=0 # "TARGET:PID " of each, in the order of targets
trap 'for target in $running; do kill "${target#*:}"; done; exit 1' INT TERM
for target; do
    [ "$count" -lt "$jobs" ] || report
    fuzz "$target" &
    running="$running$target:$! " count=$((count + 1))
done
while [ -n "$running" ]; do
    report
done
exit $status
