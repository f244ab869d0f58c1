#!/bin/sh
# SQuAD's layout as scale squad has it, and GAR: generators that learn to write answers, sentences and titles
# for questions, and BM25 with what they write. The settings are too small to learn anything; what is learned
# from is looked at instead.
#   gar.sh GABBRO
# shellcheck disable=SC2086 # lists of words
set -u
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
enter_work gar "$1"

# 40 paragraphs of three sentences, the second of which has the answer.
{
    printf '{"version": "1.1", "data": ['
    i=0
    while [ $i -lt 40 ]; do
        [ $i = 0 ] || printf ', '
        context="Stone $i lies in the river bed. It weighs $((7 * i + 100)) grams. Ice and rain made stone $i round."
        at=$(printf '%s' "${context%%"$((7 * i + 100)) grams"*}" | wc -c)
        printf '{"title": "Stone %d", "paragraphs": [{"context": "%s", "qas": [{"id": "q%d", "question": "%s", %s}]}]}' $i \
            "$context" $i "How heavy is stone $i, made round by rain?" \
            "\"answers\": [{\"text\": \"$((7 * i + 100)) grams\", \"answer_start\": $at}]"
        i=$((i + 1))
    done
    printf ']}\n'
} >squad.json
collection=$(made collection --from squad.json)
questions=$(cat "$collection"/collection/qrels/*.tsv | cut -f 1 | grep -c '^q[0-9]')
judged=$(($(wc -l <"$collection/collection/qrels/train.tsv") - 1))
fusion=''
for target in answer sentence title; do
    asked=$(made collection --questions-of "$collection" --target $target)
    expect "$target: all $questions questions are passages" \
        [ "$(sed -n 's/.*"passages": \([0-9]*\).*/\1/p' "$asked/collection/collection.json" | head -n 1)" = "$questions" ]
    expect "$target: of the $judged of the training split" \
        [ "$(($(wc -l <"$asked/collection/qrels/train.tsv") - 1))" = "$judged" ]
    case $target in
    answer) wanted='[0-9]* grams' ;;
    sentence) wanted='It weighs [0-9]* grams\.' ;;
    title) wanted='Stone [0-9]*' ;;
    esac
    learned=$(tr '\000' '\n' <"$asked/collection/queries.text.gbt" | grep -a -o "$wanted" | wc -l)
    expect "$target: targets are such ($learned)" [ "$learned" -ge "$judged" ]
    vocabulary=$(made vocabulary --collection "$asked" --size 200)
    tokens=$(made tokenize --collection "$asked" --vocabulary "$vocabulary" --passage-tokens 24 --query-tokens 16)
    generator=$(made train-generator --collection "$asked" --tokens "$tokens" --vocabulary "$vocabulary" --layers 1 \
        --hidden 16 --heads 2 --ffn 16 --epochs 20 --batch 4 --learning-rate 5e-3)
    written=$(made generate --model "$generator" --collection "$asked" --prompt doc2query --queries 1)
    expect "$target: there is a text for nearly every question" \
        [ "$(cut -d '"' -f 4 "$written/queries.jsonl" | sort -u | wc -l)" -gt $((questions / 2)) ]
    sed 's/.*"id":"\([^"]*\)","query":"\([^"]*\)".*/{"_id":"\1","text":"\2"}/' "$written/queries.jsonl" >$target.jsonl
    row=$(made evaluate --bm25 --collection "$collection" --expansions "$written" --keep 40)
    file=$(made evaluate --bm25 --collection "$collection" --expansions $target.jsonl --keep 40)
    expect "$target: BM25 with what was generated is BM25 with its lines" cmp "$row/metrics.json" "$file/metrics.json"
    fusion="$fusion --fuse $row"
done
fused=$(made evaluate $fusion --fusion turns --collection "$collection")
expect "the three rankings are taken in turn" [ -s "$fused/metrics.json" ]

# Without answers the sentence is that which shares most terms with the question.
mkdir -p beir/qrels
printf 'query-id\tcorpus-id\tscore\nq1\td1\t1\n' >beir/qrels/train.tsv
printf 'query-id\tcorpus-id\tscore\nq2\td1\t1\n' >beir/qrels/test.tsv
printf '{"_id": "d1", "text": "Rivers are long. Ice makes stones round. It is cold."}\n' >beir/corpus.jsonl
printf '{"_id": "q%d", "text": "what makes a stone round"}\n' 1 2 >beir/queries.jsonl
plain=$(made collection --from beir)
asked=$(made collection --questions-of "$plain" --target sentence)
expect "the sentence that shares most terms" grep -a -q 'Ice makes stones round\.' "$asked/collection/queries.text.gbt"
refuses() # CODE TEXT OPTION...
{
    code=$1 text=$2
    shift 2
    "$gabbro" collection "$@" --quiet >out 2>log
    [ $? = "$code" ] && grep -q "$text" log
}
expect "no titles to learn: refused" refuses 3 'no training query has a target "title"' --questions-of "$plain" --target title
expect "no target: refused" refuses 2 'given together' --questions-of "$plain"
# ---- scale squad -----------------------------------------------------------------------------------

mkdir -p data/squad
cp squad.json data/squad
"$gabbro" reproduce table1 --scale squad --data data --rows bm25,random-r1 --set finetune_epochs=1 \
    --set vocabulary_tokens=200 --out squad --quiet >said 2>&1
expect "the main table is made on questions of people" [ "$(table_value squad/table.csv bm25 msmarco-dev:MRR@10)" -gt 50 ]
expect "with the encoder of scale mini" grep -q '"encoder_layers": "2"' squad/results.jsonl
expect "and says which collection it is" grep -q "SQuAD 1.1's development set" squad/table.md
"$gabbro" reproduce bow/table3 --scale squad --data data --dry-run >said 2>&1
expect "a table that needs other texts is refused" grep -q 'this scale has no texts of the set nq' said
checks_end
