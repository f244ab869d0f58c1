#!/bin/sh
# Queries of a generator that is trained on the way, in the place of the built-in stand-in's, with settings
# too small to learn anything.
#   generator.sh REPRODUCE GABBRO
set -u
. "$(dirname -- "$0")/../checks.sh"
reproduce=$1
GABBRO=$2
export GABBRO
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-generator.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

set --
for change in vocabulary_tokens=1100 passage_tokens=32 query_tokens=12 generator_size=small generator_epochs=1 \
    generator_batch_pairs=512 generator_small_hidden=16 generator_queries=1; do
    set -- "$@" --set "$change"
done

"$reproduce" qac/table5 --generator trained --store "$work/store" --out "$work/out" "$@" \
    >"$work/stdout" 2>"$work/stderr" </dev/null
status=$?
if [ "$status" != 0 ]; then
    bad "table5 with a trained generator ends with 0, not $status" "$work/stderr"
    checks_end
    exit 1
fi
good "table5 with a trained generator ends with 0"
expect "it says how often queries are about their passage" \
    grep -q 'generator small: [0-9.]*% of 200 queries are strongly related' "$work/stderr"
expect "it says the loss on held-out pairs" grep -q 'held-out loss [0-9.]* nats' "$work/stderr"
model=$(echo "$work"/store/train-generator-*/model)
for file in config.json model.safetensors vocab.txt tokenizer.json tokenizer_config.json; do
    expect "the generator's folder has $file" [ -s "$model/$file" ]
done
queries=$(echo "$work"/store/generate-*)
expect "there is a line a passage" [ "$(wc -l <"$queries/queries.jsonl")" = 3192 ]
expect "related queries are the generator's" \
    [ "$(grep -l '"queries": "generate-' "$work"/store/relatedness-*/run.json | wc -l)" = 2 ]
expect "the table has both rows" [ "$(grep -c '"42": [0-9]' "$work/out/table.json")" = 2 ]

again=$("$reproduce" qac/table5 --generator "$model" --dry-run "$@" | grep -c "generate --model $model ")
expect "a folder is taken as it is" [ "$again" = 1 ]
"$reproduce" qac/table5 --generator trained --record 2>"$work/refused"
expect "results are not recorded" [ $? = 2 ]
expect "nothing is generated unasked" [ "$("$reproduce" qac/table5 --dry-run | grep -c generat)" = 0 ]
checks_end
