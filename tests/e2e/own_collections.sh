#!/bin/sh
# The main table on collections that a user brings: a BEIR folder without a training split and of
# documents of one passage, documents alone, and documents with queries for them. The model and the
# training are too small to learn anything.
#   own_collections.sh REPRODUCE GABBRO
# shellcheck disable=SC2154 # of own.sh
set -u
. "$(dirname -- "$0")/../checks.sh"
. "$(dirname -- "$0")/own.sh"

words() # NUMBER: a word that no other number has
{
    printf '%s' "$1" | tr 0123456789 bdfgklmnpr | sed 's/./&a/g'
}

mkdir -p "$work/stones/qrels"
printf 'query-id\tcorpus-id\tscore\n' >"$work/stones/qrels/test.tsv"
row=0
while [ $row -lt 48 ]; do
    word=$(words $((row + 100)))
    echo "{\"_id\": \"d$row\", \"title\": \"\", \"text\": \"The $word stone lies in the river bed. It" \
        "weighs $((row * 7)) grams, and ice and rain have made it round.\"}" >&3
    echo "{\"_id\": \"q$row\", \"text\": \"how heavy is the $word stone\"}" >&4
    printf 'q%d\td%d\t1\n' $row $row >>"$work/stones/qrels/test.tsv"
    echo "{\"id\": \"$row\", \"title\": \"$word\", \"passages\": [{\"id\": \"$row-a\", \"text\": \"The" \
        "$word stone is round.\"}, {\"id\": \"$row-b\", \"text\": \"Ice made the $word stone.\"}]}" >&5
    printf '{"id": "%s-a", "queries": ["what is round"]}\n' $row >&6
    row=$((row + 1))
done 3>"$work/stones/corpus.jsonl" 4>"$work/stones/queries.jsonl" 5>"$work/documents.jsonl" \
    6>"$work/generated.jsonl"

table stones --collection "$work/stones"
says stones 'on stones, 48 passages'
says stones 'generated queries: extractive'
says stones 'spans are the halves of a passage'
says stones 'split test is left out: it holds the training queries'
says stones 'D19 spans'
columns=$(grep -c '"dev:MRR@10": {' "$work/stones/table.json")
expect "stones: measured on the other half ($columns)" [ "$columns" = 13 ]
expect "stones: not on the whole" [ "$(grep -c '"test:' "$work/stones/table.json")" = 0 ]

# From an encoder of one's own, here the one that masked LM made above.
encoder=$(grep -l '"objective": "mlm"' "$work"/store/*/run.json | sed 's/run.json$/model/;q')
# shellcheck disable=SC2086 # a list of words
"$reproduce" table1 --scale small --store "$work/store" --out "$work/init" --collection "$work/stones" $tiny \
    --init "$encoder" --rows 'init,mlm-r1' >"$work/init.stdout" 2>"$work/init.stderr" </dev/null
expect "init: ends with 0" [ $? = 0 ]
expect "init: two rows" [ "$(grep -c ' here  *[0-9]' "$work/init.stdout")" = 2 ]
says init 'against the encoder as it is, p .* over 24 queries'

# Documents alone: generated queries stand for the missing ones.
table documents --collection "$work/documents.jsonl"
says documents 'on documents.jsonl, 96 passages'
says documents 'one generated query of each passage (96) asks for it'
columns=$(grep -c '"dev:MRR@10": {' "$work/documents/table.json")
expect "documents alone: measured on held-out queries ($columns)" [ "$columns" = 13 ]

# With queries and judgements beside them, and queries as somebody generated them.
mkdir -p "$work/docs/qrels"
mv "$work/documents.jsonl" "$work/docs/documents.jsonl"
cp "$work/stones/queries.jsonl" "$work/docs/"
sed 's/\td\([0-9]*\)\t/\t\1-a\t/' "$work/stones/qrels/test.tsv" >"$work/docs/qrels/test.tsv"
table docs --collection "$work/docs" --queries "$work/generated.jsonl"
says docs 'on docs, 96 passages'
says docs 'generated queries: file generated.jsonl'
expect "docs: spans are other passages" [ "$(grep -c 'halves' "$work/docs.stderr")" = 0 ]
checks_end
