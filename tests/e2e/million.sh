#!/bin/sh
# Memory does not run away with the collection: a generated one of many short passages is imported,
# tokenised, encoded and searched under a limit of private memory.
#   million.sh GABBRO PASSAGES MEGABYTES
set -u
. "$(dirname -- "$0")/../checks.sh"
gabbro=$(readlink -f "$1") passages=$2 limit=$3
LC_ALL=C
export LC_ALL
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-million.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
cd "$work" || exit 1
if ! command -v prlimit >/dev/null; then
    skipped "memory: needs prlimit (Debian: util-linux)"
    exit 77
fi
GABBRO_STORE=$work/store
export GABBRO_STORE
unset GABBRO_VALIDATION # its layer keeps what it sees

limited() # WHAT COMMAND...: its step's folder in $step; VmHWM is the most that was resident
{
    what=$1
    shift
    prlimit --data=$((limit * 1048576)) "$gabbro" "$@" --quiet >folder 2>log &
    child=$! most=0
    while kill -0 $child 2>/dev/null; do
        now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$child/status 2>/dev/null)
        [ "${now:-0}" -le "$most" ] || most=$now
        sleep 0.02
    done
    wait $child
    status=$?
    step=$(cat folder)
    if [ $status = 0 ] && [ -d "$step" ] && [ $most = 0 ]; then
        good "$what, $passages passages: over before its memory was looked at"
    elif [ $status = 0 ] && [ -d "$step" ]; then
        trust "$what, $passages passages: MiB resident" "under a limit of private memory" \
            $((most / 1024)) "$limit"
    else
        bad "$what, $passages passages: ends with $status under $limit MiB" log
        checks_end
        exit 1
    fi
}

found() # QUERIES: so many have passages in the step's run
{
    [ "$(find "$step" -name '*.trec' -exec cut -d ' ' -f 1 {} + | sort -u | wc -l)" = "$1" ]
}

mkdir -p beir/qrels
awk -v n="$passages" 'BEGIN {
    split("stone river ice rain sand peak wind moss lake fire dust salt clay iron root leaf", word)
    printf "query-id\tcorpus-id\tscore\n" >"beir/qrels/test.tsv"
    for (i = 0; i < n; i++) {
        a = word[1 + i % 16]; b = word[1 + int(i / 16) % 16]; c = word[1 + int(i / 256) % 16]
        printf "{\"_id\": \"d%d\", \"text\": \"%s %s %s %d\"}\n", i, a, b, c, i
    }
    for (i = 0; i < 20; i++) {
        printf "{\"_id\": \"q%d\", \"text\": \"stone %d\"}\n", i, i * 7 >"beir/queries.jsonl"
        printf "q%d\td%d\t1\n", i, i * 7 >"beir/qrels/test.tsv"
    }
}' >beir/corpus.jsonl
limited "import" collection --from beir
collection=$step
limited "vocabulary" vocabulary --collection "$collection" --size 300
vocabulary=$step
limited "tokens" tokenize --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 12 \
    --query-tokens 8
tokens=$step
limited "model" pretrain none --collection "$collection" --tokens "$tokens" --vocabulary "$vocabulary" \
    --steps 0 --layers 1 --hidden 16 --heads 2 --ffn 16
model=$step
limited "encoding and search" evaluate --model "$model" --collection "$collection" --tokens "$tokens"
expect "every query of the split that is kept for evaluation has its passages" found 10
limited "BM25" bm25-run --collection "$collection" --split test --depth 100
checks_end
