#!/bin/sh
# Tables at scale paper: the public collections' files under their own names, made up and tiny, and a tiny
# BERT in the place of the published ones; few steps. A row has all of its values.
#   paper_scale.sh REPRODUCE GABBRO
set -u
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
reproduce=$1
GABBRO=$2 gabbro=$2
unset GABBRO_VALIDATION # tiny_table.sh runs the same commands under it
LC_ALL=C
export GABBRO LC_ALL
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-paper.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
data=$work/data

# Forty texts of sixty words, ten documents; the query of a text are two of its words.
mkdir -p "$data/msmarco-passage-titles" "$data/msmarco-document" "$data/wikipedia" "$data/dpr-nq" "$data/dpr-triviaqa"
awk -v data="$data" '
function word(n) { return "w" substr("bdfgkl", 1 + int(n / 10), 1) substr("bdfgklmnpr", 1 + n % 10, 1) }
function words(i, from, to,    out, k) {
    for (k = from; k <= to; k++) out = out (k % 5 == 1 ? "W" : "w") substr(word((i * 7 + k * k) % 60), 2) (k % 5 == 0 ? ". " : " ")
    return out
}
function title(i) { return "title " word(i) }
function answer(i) { return word((i * 7 + 1) % 60) }
function query(i) { return answer(i) " " word((i * 7 + 4) % 60) }
function split_of(i) { return i % 5 == 0 ? "dev" : "train" }
function trec(year, i, grade) {
    print 9000 + i "\t" query(i) >passages "/msmarco-test" year "-queries.tsv"
    print 9000 + i "\t" query(i) >documents "/msmarco-test" year "-queries.tsv"
    print 9000 + i " 0 " i " " grade >passages "/" year "qrels-pass.txt"
    print 9000 + i " 0 D" int(i / 4) " " grade >documents "/" year "qrels-docs.txt"
}
BEGIN {
    passages = data "/msmarco-passage-titles"; documents = data "/msmarco-document"
    for (i = 0; i < 40; i++) {
        print i "\t" words(i, 1, 20) >passages "/para.txt"
        print i "\t" title(i) >passages "/para.title.txt"
        print 1000 + i "\t" query(i) >passages "/" split_of(i) ".query.txt"
        print 1000 + i "\t0\t" i "\t1" >passages "/qrels." split_of(i) ".tsv"
        if (i % 4 == 0) {
            print "D" i / 4 "\thttp://d" i "\t" title(i) "\t" words(i, 1, 400) >documents "/msmarco-docs.tsv"
            printf "{\"id\": \"a%d\", \"text\": \"%s\"}\n", i, words(i, 1, 400) >data "/wikipedia/documents.jsonl"
            print 1000 + i "\t" query(i) >documents "/msmarco-doc" split_of(i) "-queries.tsv"
            print 1000 + i " 0 D" i / 4 " 1" >documents "/msmarco-doc" split_of(i) "-qrels.tsv"
        }
        printf "{\"id\": \"%d\", \"queries\": [\"%s\", \"%s\"]}\n", i, query(i), words(i, 2, 5) >passages ".queries.jsonl"
        for (g = 0; g < 3; g++)
            printf "{\"id\": \"%d\", \"queries\": [\"%s\", \"%s\"]}\n", i, words(i, 3 + g, 6), query(i) \
                >passages "." substr("3b 7b 13b", 1 + 3 * g, 2 + (g == 2)) ".jsonl"
        for (s = 0; s < 2; s++) {
            set = data (s ? "/dpr-triviaqa" : "/dpr-nq")
            if (i == 0) print "id\ttext\ttitle" >set "/psgs_w100.tsv"
            print i + 1 "\t\"" words(i, 1, 20) "\"\t" title(i) >set "/psgs_w100.tsv"
            if (i % 5 == 0) { print query(i) "\t[\"" answer(i) "\"]" >set "/" (s ? "trivia" : "nq") "-test.qa.csv"; continue }
            printf "%s{\"question\": \"%s\", \"answers\": [\"%s\"], \"positive_ctxs\": [{\"title\": \"%s\", \"text\": \"%s\", \"passage_id\": \"%d\"}], \"negative_ctxs\": [], \"hard_negative_ctxs\": []}\n", \
                (i == 1 ? "[" : ","), query(i), answer(i), title(i), words(i, 1, 20), i + 1 \
                >set "/biencoder-" (s ? "trivia" : "nq") "-train.json"
        }
    }
    for (s = 0; s < 2; s++) print "]" >data (s ? "/dpr-triviaqa/biencoder-trivia" : "/dpr-nq/biencoder-nq") "-train.json"
    for (i = 1; i < 40; i += 6) { trec(2019, i, 1 + i % 3); trec(2020, i, 1 + i % 2) }
}'

# The scale with other numbers, and the same otherwise.
GABBRO_STORE=$work/store
export GABBRO_STORE
sed -E -n 's/ *#.*//; s/^([a-z_]*_steps) = [0-9]+$/\1 = 3/p; s/^([a-z_]*batch_(pairs|passages|queries)) = .*/\1 = 4/p
    s/^([a-z_]*passage_tokens) = .*/\1 = 24/p; s/^query_tokens = .*/query_tokens = 8/p
    s/^([a-z_]*negatives_per_query) = .*/\1 = 2/p; s/^(generated_queries|queries_per_passage) = .*/\1 = 2/p
    s/^encoder_layers = .*/encoder_layers = 1/p; s/^encoder_hidden = .*/encoder_hidden = 16/p
    s/^encoder_heads = .*/encoder_heads = 2/p; s/^encoder_ffn = .*/encoder_ffn = 32/p
    ' "$(dirname -- "$0")/../../reproduce/scales/paper" >"$work/settings"

{
    printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' .
    cut -f 2 "$data/msmarco-passage-titles/para.txt" "$data/msmarco-passage-titles/para.title.txt" |
        tr -s 'W. ' 'w\n\n' | sort -u | grep .
} >"$work/vocab.txt"
if ! { collection=$(made collection --from "$data/wikipedia") && vocabulary=$(made vocabulary --from "$work/vocab.txt") &&
    tokens=$(made tokenize --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 24 --query-tokens 8) &&
    bert=$(made pretrain none --collection "$collection" --tokens "$tokens" --vocabulary "$vocabulary" --layers 1 \
        --hidden 16 --heads 2 --ffn 32 --steps 0); }; then
    checks_end
    exit 1
fi
cp -R "$bert/model" "$data/bert-base-uncased"
cp -R "$bert/model" "$data/condenser"

table() # TABLE ROWS
{
    out=$work/$(echo "$1" | tr / -)
    "$reproduce" "$1" --scale paper --settings "$work/settings" --rows "$2" --data "$data" --out "$out" --quiet \
        >"$work/stdout" 2>"$work/stderr" </dev/null
    status=$?
    [ $status = 0 ] || bad "$1: ends with 0, not $status" "$work/stderr"
    for row in $(echo "$2" | tr , ' '); do
        expect "$1, row $row: a value in each column" \
            awk -F , -v row="$row" '{ gsub(/"[^"]*"/, "quoted") } $3 == row { if ($13 == "") exit empty = 1; cells++ } END { exit empty || !cells }' "$out/table.csv"
    done
}

table qac/table1 bm25,cocondenser-query-r1,cotmae-query-r2
expect "BM25 finds the passage of two of its words" [ "$(table_value "$work/qac-table1/table.csv" bm25 msmarco-dev:MRR@10)" = 100 ]
table bow/table3 bm25,bow
expect "and an answer in it" [ "$(table_value "$work/bow-table3/table.csv" bm25 nq:R@20)" = 100 ]
table costa/table2 bm25,prop-i1
table llm/table1 contrast-3b,contrast-13b
expect "queries of two generators make two models" [ "$(sed -n 's/.*"model": "\([^"]\{1,\}\)".*/\1/p' \
    "$work/llm-table1/results.jsonl" | sort -u | wc -l)" = 2 ]
table qac/table5 spans,queries
spans=$(grep -l '"source": "spans of a collection"' "$GABBRO_STORE"/collection-*/collection/collection.json)
number() { sed -n "s/^  \"$1\": \([0-9]*\),\$/\1/p" "$spans"; }
expect "documents of 400 words are four spans each" [ "$(number documents) $(number passages) $(number queries)" = '10 40 0' ]
checks_end
