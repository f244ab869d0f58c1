#!/bin/sh
# gabbro collection of files of token ids: as coCondenser's, query-as-context's and COSTA's scripts write them.
#   token_ids.sh GABBRO
set -u
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
golden=$(CDPATH='' cd -- "$(dirname -- "$0")/../golden" && pwd) || exit 1
enter_work token-ids "$1"

has_ids() # FILE ID...: they stand in a row file behind each other
{
    od -An -v -tu4 -w4 "$1" | awk -v wanted="$(shift; echo "$*")" \
        '{ all = all " " $1 } END { exit !index(all " ", " " wanted " ") }'
}

# A vocabulary of whole words and pieces; ids are the places of its lines, from 0.
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' dark rock ice '##s' gab '##bro' . , is river >vocab.txt
vocabulary=$(made vocabulary --from vocab.txt)

printf '{"spans": [[9, 10, 13, 5], [6, 8, 12, 7], [14]]}\n{"spans": [[7, 13, 1], [14, 8]]}\n' >spans.jsonl
collection=$(made collection --from spans.jsonl --vocabulary "$vocabulary" --keep-splits)
tokens=$(made tokenize --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 10)
expect "coCondenser's spans are passages of documents" \
    [ "$(grep -cE '"passages": 5,|"documents": 2,' "$collection/collection/collection.json")" = 2 ]
expect "the same vocabulary makes the same ids again, document after document" \
    has_ids "$tokens/tokens/passages.ids.gbt" 9 10 13 5 6 8 12 7 14 7 13 1 14 8
expect "no text is said to have changed" [ "$(grep -c 'other ids' "$collection/collection/collection.json")" = 0 ]
model=$("$gabbro" pretrain cocondenser --collection "$collection" --tokens "$tokens" --vocabulary "$vocabulary" --context span --steps 2 --batch 2 \
    --layers 2 --hidden 16 --heads 2 --ffn 16 --quiet 2>log)
expect "coCondenser is pre-trained on it ($(tail -n 1 log))" [ -f "$model/model/model.safetensors" ]

printf '{"anchor": [9, 10, 11], "doct5query": [[13, 7], [5, 6]], "nearby": [14]}\n{"anchor": [6, 8], "doct5query": [5]}\n' |
    gzip >anchors.jsonl.gz
collection=$(made collection --from anchors.jsonl.gz --vocabulary "$vocabulary" --keep-splits)
tokens=$(made tokenize --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 10)
expect "an anchor has its queries" has_ids "$tokens/tokens/generated.ids.gbt" 13 7 3 5 6 5
expect "and its context as a passage of its document" has_ids "$tokens/tokens/passages.ids.gbt" 9 10 11 14 6 8

printf '{"text_id": "D7", "text": [9, 10, 3, 5]}\n{"text_id": 8, "text": [10, 5]}\n' >passages.jsonl
collection=$(made collection --from passages.jsonl --vocabulary "$vocabulary" --keep-splits)
expect "COSTA's passages keep their ids" grep -qa 'D78' "$collection/collection/passages.id.gbt"
expect "a text that begins inside a word is counted" \
    grep -q 'Of 2 texts that were ids of tokens, 1 give other ids' "$collection/collection/collection.json"

refused 2 "a file of ids without a vocabulary" 'name the vocabulary that made them' collection --from spans.jsonl
for bad in '{"spans": [[9, 99]]}|no token 99' '{"spans": [[9, "x"]]}|a token that is no number' '{"spans": [[-1]]}|no token -1' \
    '{"spans": [[9], 7]}|no list of ids' '{"text": "plain"}|without ids of tokens'; do
    printf '{"spans": [[9]]}\n%s\n' "${bad%%|*}" >bad.jsonl
    refused 3 "${bad%%|*}" "bad.jsonl:2: .*${bad#*|}" collection --from bad.jsonl --vocabulary "$vocabulary"
done
refused 2 "ids of another tokenizer" 'another kind of tokens' collection --from spans.jsonl \
    --vocabulary "$(made vocabulary --from "$golden/encoders/roberta")"
checks_end
