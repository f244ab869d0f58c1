# What the tests of own collections share (POSIX sh, to be sourced after checks.sh, with REPRODUCE and
# GABBRO as arguments): runs of the main table with a model and training too small to learn anything.
# shellcheck shell=sh
reproduce=$1
GABBRO=$(readlink -f "$2")
export GABBRO
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-own.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

tiny=
for change in vocabulary_tokens=600 encoder_layers=1 encoder_hidden=16 encoder_heads=2 encoder_ffn=32 \
    mlm_steps=6 mlm_batch_passages=8 context_steps=6 context_batch_pairs=4 finetune_epochs=1 \
    finetune_train_queries=32 bm25_depth=20 search_depth=20; do
    tiny="$tiny --set $change"
done

table() # NAME ARGUMENTS...: status in $status, output in NAME.stdout and NAME.stderr
{
    name=$1
    shift
    # shellcheck disable=SC2086 # a list of words
    "$reproduce" table1 --store "$work/store" --out "$work/$name" "$@" $tiny \
        >"$work/$name.stdout" 2>"$work/$name.stderr" </dev/null
    status=$?
    if [ "$status" = 0 ]; then
        good "$name: ends with 0"
    else
        bad "$name: ends with 0, not $status" "$work/$name.stderr"
    fi
    shown=$(grep -c ' here  *[0-9]' "$work/$name.stdout")
    expect "$name: 13 rows are obtained ($shown)" [ "$shown" = 13 ]
    marked=$(grep -c '^ .*did not converge' "$work/$name.stdout")
    expect "$name: 12 of them did not converge ($marked)" [ "$marked" = 12 ]
    expect "$name: no published number stands beside them" \
        [ "$(grep -c 'published  ' "$work/$name.stdout")" = 0 ]
    expect "$name: no claim is judged" [ "$(grep -c '^qac-' "$work/$name.stdout")" = 0 ]
}

says() # NAME PATTERN
{
    expect "$1: says \"$2\"" grep -q -- "$2" "$work/$1.stdout" "$work/$1.stderr"
}
