#!/bin/sh
# What has threads of its own, tokenising and BM25, for ThreadSanitizer to watch (tests/run --tsan; Criterion
# cannot run under it). Without the sanitizer it shows that twice the same comes out.
#   threads.sh GABBRO
set -u
. "$(dirname -- "$0")/../checks.sh"
gabbro=$(readlink -f "$1")
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-threads.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
cd "$work" || exit 1
TSAN_OPTIONS="exitcode=66 halt_on_error=0 ${TSAN_OPTIONS:-}"
export TSAN_OPTIONS

step() # WHAT COMMAND...: the folder in $made
{
    what=$1
    shift
    made=$("$gabbro" "$@" --quiet 2>log)
    status=$?
    if [ $status = 0 ] && [ -d "$made" ]; then
        good "$what"
    else
        bad "$what: ends with $status" log
    fi
}

for store in first second; do
    GABBRO_STORE=$work/$store
    export GABBRO_STORE
    step "collection" collection --world 3
    collection=$made
    step "vocabulary" vocabulary --collection "$collection" --size 400
    vocabulary=$made
    step "tokens, by all processors" tokenize --collection "$collection" --vocabulary "$vocabulary"
    tokens=$made
    step "BM25, by all processors" bm25-run --collection "$collection" --depth 20
    for made in "$tokens" "$made"; do
        (cd "$made" && find . -type f ! -name run.json -exec sha256sum {} + | sort -k 2)
    done >"$work/sums.$store"
done
trust "tokens and BM25 by all processors: files that differ" "the same again ($(wc -l <sums.first) files)" \
    "$(diff sums.first sums.second | grep -c '^[<>]')" 0
checks_end
