#!/bin/sh
# Memory does not run away with the collection: a generated one of many short passages is imported,
# tokenised, encoded and searched with a thousand queries under a limit of private memory. Encoded in
# shards, searched and evaluated, each killed on the way, it gives the vectors and runs of a quiet run.
#   million.sh GABBRO PASSAGES MEGABYTES
set -u
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
passages=$2 limit=$3
enter_work million "$1"
if ! command -v prlimit >/dev/null; then
    skipped "memory: needs prlimit (Debian: util-linux)"
    exit 77
fi
unset GABBRO_VALIDATION # its layer keeps what it sees

limited() # WHAT COMMAND...: its artifact's folder in $step, whose record says what was resident at most
{
    what=$1
    shift
    prlimit --data=$((limit * 1048576)) "$gabbro" "$@" --quiet >folder 2>log
    status=$?
    step=$(cat folder)
    most=$(sed -n 's/.*"peak_resident_bytes": *\([0-9]*\).*/\1/p' "$step/run.json" 2>/dev/null)
    if [ $status = 0 ] && [ "${most:-0}" -gt 0 ]; then
        trust "$what, $passages passages: MiB resident" "under a limit of private memory" \
            $((most / 1048576)) "$limit"
    else
        bad "$what, $passages passages: ends with $status under $limit MiB" log
        checks_end
        exit 1
    fi
}

# The best hundred of the queries of RUN that are in KEPT too: query, passage, rank and score.
best() # RUN KEPT
{
    awk 'FNR == NR { kept[$1]; next } $1 in kept && $4 <= 100 { print $1, $3, $4, $5 }' "$2" "$1"
}

mkdir -p beir/qrels
awk -v n="$passages" 'BEGIN {
    split("stone river ice rain sand peak wind moss lake fire dust salt clay iron root leaf", word)
    printf "query-id\tcorpus-id\tscore\n" >"beir/qrels/test.tsv"
    for (i = 0; i < n; i++) {
        a = word[1 + i % 16]; b = word[1 + int(i / 16) % 16]; c = word[1 + int(i / 256) % 16]
        printf "{\"_id\": \"d%d\", \"text\": \"%s %s %s %d\"}\n", i, a, b, c, i
    }
    for (i = 0; i < 1000; i++) {
        printf "{\"_id\": \"q%d\", \"text\": \"stone %d\"}\n", i, i * 3 >"beir/queries.jsonl"
        printf "q%d\td%d\t1\n", i, i * 3 >"beir/qrels/test.tsv"
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
    --steps 0 --layers 2 --hidden 32 --heads 2 --ffn 64
model=$step
limited "BM25" bm25-run --collection "$collection" --split test --depth 100

# Quiet, and in three shards of which one is killed, as is the search.
encode="encode --model $model --collection $collection --tokens $tokens"
# shellcheck disable=SC2086 # a list of words
limited "encoding of queries" $encode --split test
queries=$step
# shellcheck disable=SC2086
limited "encoding" $encode
whole=$step
limited "search, 1000 queries" search --queries "$queries" --passages "$whole" --depth 100
run=$step

killed() # KIND NAME COMMAND...: with SIGKILL once resume/NAME is there
{
    kind=$1 name=$2
    shift 2
    "$gabbro" "$@" --quiet >folder 2>log &
    child=$!
    while kill -0 $child 2>/dev/null; do
        if cat "$GABBRO_STORE"/work/"$kind"-*/resume/"$name" >/dev/null 2>&1; then
            kill -9 $child
            break
        fi
        sleep 0.01
    done
    wait $child 2>/dev/null
    status=$?
    if [ "$status" = 137 ]; then
        good "$kind is killed on the way"
    else
        expect "$kind was over ($status) before it could be killed" [ "$status" = 0 ]
    fi
}

GABBRO_STORE=$work/killed
# shellcheck disable=SC2086
killed encode encoded.0-of-1 $encode --shard-index 1 --shard-count 3
set --
for shard in 2 0 1; do
    # shellcheck disable=SC2086
    limited "shard $shard of 3" $encode --shard-index $shard --shard-count 3
    set -- "$@" "$step"
done
killed search found.0-of-1 search --queries "$queries" --passages "$1" --passages "$2" --passages "$3" \
    --depth 100 --piece $((passages / 20 + 1))
limited "search of 3 shards" search --queries "$queries" --passages "$1" --passages "$2" \
    --passages "$3" --depth 100 --piece $((passages / 20 + 1))
expect "three shards give the run of the whole" cmp "$run/run.trec" "$step/run.trec"
killed evaluate passages.0-of-1 evaluate --model "$model" --collection "$collection" --tokens "$tokens"
limited "evaluation, killed before" evaluate --model "$model" --collection "$collection" --tokens "$tokens"
cat "$step"/runs/*.trec >all
best all all >evaluated
best "$run/run.trec" all >searched
expect "every query of the split that is kept for evaluation has its passages" \
    [ "$(cut -d ' ' -f 1 evaluated | uniq | wc -l)" = 500 ]
expect "those that the quiet search found" cmp evaluated searched
limited "merging" vectors --from "$1" --from "$2" --from "$3"
expect "their vectors are those of the whole" cmp "$whole/vectors.npy" "$step/vectors.npy"
expect "and their ids" cmp "$whole/ids.txt" "$step/ids.txt"
checks_end
