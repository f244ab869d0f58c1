#!/bin/sh
# A whole table while its store has trouble: two runs on it at once, one of them killed; no space left; no
# permission to write. In the end every file is that of a quiet run.
#   stores.sh REPRODUCE GABBRO
# shellcheck disable=SC2154 # of own.sh and mini.sh
set -u
here=$(dirname -- "$0")
. "$here/../checks.sh"
. "$here/own.sh"
. "$here/mini.sh"
unset GABBRO_VALIDATION # tiny_table.sh runs the same commands under it

finish "$work/quiet" "$work/quiet.out" --jobs 2
if [ "$status" != 0 ]; then
    bad "the quiet run ends with 0, not $status" "$work/quiet.out.stderr"
    checks_end
    exit 1
fi
results "$work/quiet" "$work/quiet.out" >"$work/quiet.results"
kilobytes=$(du -sk "$work/quiet" | cut -f 1)

# ---- two runs -----------------------------------------------------------------------------------------
# Each makes what the other does not make, and waits for what it needs.
begin() # OUT: in a group of its own; its process is $!
{
    run setsid "$work/two" "$work/$1" --jobs 1 >"$work/$1.stdout" 2>"$work/$1.stderr" </dev/null &
}

if command -v setsid >/dev/null 2>&1; then
    begin left
    left=$!
    begin right
    wait $!
    right_status=$?
    wait $left
    expect "two runs on one store: both end with 0" [ "$? $right_status" = "0 0" ]
    same_results "one of two runs on one store" "$work/two" "$work/left"
    same_results "the other of two runs on one store" "$work/two" "$work/right"
    rm -rf "$work/two"

    begin left
    child=$!
    begin right
    right=$!
    waited=0 # until there is some training to be killed in
    while [ $waited -lt 2400 ] && ! ls -d "$work/two/work"/pretrain-*/ >/dev/null 2>&1; do
        sleep 0.05
        waited=$((waited + 1))
    done
    kill -9 "-$child"
    wait "$child" 2>/dev/null
    killed=$?
    child=''
    wait $right
    expect "one of two runs is killed (137: $killed): the other ends with 0" [ "$? $killed" = "0 137" ]
    same_results "a run whose neighbour was killed" "$work/two" "$work/right"
    rm -rf "$work/two"
else
    skipped "two runs on one store: there is no setsid"
fi

# ---- no space -----------------------------------------------------------------------------------------
one_line() # WHAT CODE PATTERN LOG: the run ended with CODE and one line that has PATTERN
{
    if [ "$status" = "$2" ] && [ "$(wc -l <"$4")" = 1 ] && grep -q "^gabbro: .*$3" "$4"; then
        good "$1: $2, $(sed "s|$work/||g" "$4" | cut -c 1-140)"
    else
        bad "$1: one line with $3 and $2, not $status" "$4"
    fi
}

goes_on() # WHAT STORE: with room again what was finished stays, and the rest is as ever
{
    touch "$work/marker"
    done_before=$(find "$2" -mindepth 2 -maxdepth 2 -name run.json ! -path '*/work/*' | wc -l)
    finish "$2" "$work/again.out" --jobs 2
    kept=$(find "$2" -mindepth 2 -maxdepth 2 -name run.json ! -path '*/work/*' ! -newer "$work/marker" | wc -l)
    expect "$1: with room again the same command ends with 0" [ "$status" = 0 ]
    expect "$1: the $done_before steps that were finished stay" [ "$done_before" -gt 0 ] &&
        expect "$1: they are not made again" [ "$kept" = "$done_before" ]
    same_results "$1, and room again" "$2" "$work/again.out"
    rm -rf "$work/again.out"
}

# Files cannot grow beyond a bound, as with a quota: 48 blocks of 512 bytes, less than a model takes.
(
    trap '' XFSZ
    ulimit -f 48
    finish "$work/short" "$work/short.out" --jobs 1 --quiet
    exit "$status"
)
status=$?
one_line "no file above 24 KiB" 3 'cannot write: .*(.*limit on the size' "$work/short.out.stderr"
expect "no file above 24 KiB: no table" [ ! -e "$work/short.out/table.json" ]
expect "no file above 24 KiB: the store is whole" whole "$work/short"
goes_on "no file above 24 KiB" "$work/short"
rm -rf "$work/short"

mkdir "$work/small"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=$((kilobytes / 2))k tmpfs "$work/small" 2>/dev/null; then
    mounted=$work/small
    finish "$mounted/store" "$work/full.out" --jobs 1 --quiet
    # Where it is full decides which of two says so: the write, or the check before a training.
    one_line "a full disk" 3 '.*(.*free' "$work/full.out.stderr"
    expect "a full disk: no table" [ ! -e "$work/full.out/table.json" ]
    expect "a full disk: the store is whole" whole "$mounted/store"
    mount -o remount,size=$((kilobytes * 4))k "$mounted"
    goes_on "a full disk" "$mounted/store"
else
    skipped "a full disk: needs root and mount for a small file system"
    cp -r "$work/quiet" "$work/small/store"
fi

# ---- no permission to write ---------------------------------------------------------------------------
store=$work/small/store
writing() # yes | no
{
    if [ -n "$mounted" ] && [ "$1" = no ]; then
        mount -o remount,ro "$mounted"
    elif [ -n "$mounted" ]; then
        mount -o remount,rw "$mounted"
    elif [ "$1" = no ]; then
        chmod -R a-w "$store"
    else
        chmod -R u+w "$store"
    fi
}

if [ -n "$mounted" ] || [ "$(id -u)" != 0 ]; then
    writing no
    finish "$store" "$work/read.out" --jobs 2
    expect "a store that cannot be written: a complete one gives its table" [ "$status" = 0 ]
    same_results "a store that cannot be written" "$store" "$work/read.out"
    writing yes
    rm -rf "$store"/evaluate-*
    writing no
    finish "$store" "$work/read.out" --jobs 1 --quiet
    one_line "a store that cannot be written, and a step that is not there" 3 \
        'the store cannot be written: ' "$work/read.out.stderr"
    expect "it says what to do" grep -q 'copy it to where you can write' "$work/read.out.stderr"
    writing yes
else
    skipped "a store that cannot be written: root needs mount for it"
fi
checks_end
