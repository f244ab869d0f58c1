#!/bin/sh
# gabbro data check, slice and show: what is said of a collection and of official counts; a part of it;
# some of it, for reading. data_check.sh GABBRO
set -u
. "$(dirname -- "$0")/../checks.sh"
gabbro=$(readlink -f "$1")
entries=$(readlink -f "$(dirname -- "$0")/../../docs/design/mini-world-entries.md")
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-data-check.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir -p stones/qrels temporary
TMPDIR=$work/temporary
export TMPDIR

printf '{"_id": "a", "title": "t", "text": "Gabbro is dark."}\n{"_id": "b", "title": "", "text": "Basalt is dark."}\n' >stones/corpus.jsonl
printf '{"_id": "q", "text": "what is dark"}\n' >stones/queries.jsonl
printf 'query-id\tcorpus-id\tscore\nq\ta\t1\n' >stones/qrels/test.tsv
entry() # NAME PASSAGES
{
    printf '[%s]\nabout = a test\nterms = none\ncount = passages %s\ncount = queries.test 1\n' "$1" "$2"
    printf 'file = x\nurl = http://127.0.0.1:1/x\n'
}
{
    entry stones 2
    entry more 3
    entry arguing 2 | sed '/^about/s/$/\ndrop_identical = yes/'
} >manifest

check() # ARGUMENTS...
{
    "$gabbro" data check "$@" --manifest manifest >said 2>&1
    status=$?
}
check stones/
expect "a sound collection is sound ($status)" [ "$status" = 0 ]
expect "the entry of the folder's name is compared with" grep -q '^passages  *2  as it should be' said
expect "titles are counted" grep -q '^titles  *1$' said
expect "no rule of measuring is told that there is not" [ "$(grep -c '^measured' said)" = 0 ]
check stones --as arguing
expect "but the one of the entry is ($status)" grep -q '^measured: .*--drop-identical.*drop_identical=yes' said
check stones --as more
expect "a count that differs ends with 1 ($status)" [ "$status" = 1 ]
expect "and is said beside the official one" grep -q '^passages  *2  should be 3' said
printf 'q\tz\t1\n' >>stones/qrels/test.tsv
check stones
expect "a judgement of an unknown id ends with 1 ($status)" [ "$status" = 1 ]
expect "and is counted" grep -q '^judgements.test  *1  left out: 1 of passages, 0 of queries that are not there' said
cp -r stones seen
printf 'query-id\tcorpus-id\tscore\nq\ta\t1\nq\tb\t1\n' | tee seen/qrels/train.tsv >seen/qrels/test.tsv
check seen
expect "a query that trains and judges is told" grep -q '^queries to train and to judge  *1  e.g. q$' said
check stones/corpus.jsonl.gz
expect "a missing file ends with 3 ($status)" [ "$status" = 3 ]
check
expect "no folder ends with 2 ($status)" [ "$status" = 2 ]
check stones --as nothing
expect "an unknown entry ends with 2 ($status)" [ "$status" = 2 ]

# SQuAD's layout: paragraphs are counted too, and all questions judge.
mkdir questions
printf '{"data": [{"title": "A", "paragraphs": [{"context": "Gabbro is dark.", "qas": [%s]}]}]}' \
    '{"id": "q", "question": "what is dark", "answers": [{"text": "Gabbro", "answer_start": 0}]}' >questions/dev.json
entry questions 1 | sed '/queries.test/s/.*/count = paragraphs 1\ncount = queries.dev 1/' >>manifest
check questions
expect "paragraphs and questions are counted ($status)" [ "$status $(grep -c '^\(paragraphs\|queries.dev\) .* 1  as it should be' said)" = '0 2' ]

# The same bytes under another name are another collection where the name decides the split.
for name in asked asked-dev; do
    echo '{"query": "dark rock", "pos": ["Basalt."], "neg": ["Chalk."]}' >$name.jsonl
    named=$("$gabbro" collection --from $name.jsonl --keep-splits --store store --quiet 2>said)
    splits="${splits:-}$(ls "$named/collection/qrels") "
done
expect "a file's name is a part of what is made of it ($splits)" [ "$splits" = 'train.tsv dev.tsv ' ]

# A part: all that was judged, and others.
mkdir -p many/qrels
seq 1 50 | sed 's/.*/{"_id": "p&", "title": "", "text": "text \\"&\\" of many"}/' >many/corpus.jsonl
printf '{"_id": "q1", "text": "one"}\n{"_id": "q2", "text": "two"}\n{"_id": "q3", "text": "three"}\n' >many/queries.jsonl
printf 'query-id\tcorpus-id\tscore\nq1\tp7\t1\nq1\tp9\t0\n' >many/qrels/train.tsv
printf 'query-id\tcorpus-id\tscore\nq3\tp50\t2\n' >many/qrels/test.tsv
printf '{"id": "d", "passages": [{"id": "p7"}, {"id": "p8"}, {"id": "p9"}]}\n' >many/documents.jsonl
slice() # ARGUMENTS...
{
    "$gabbro" data slice "$@" >said 2>&1
    status=$?
}
slice many --to few --others 4
expect "a part is cut ($status)" [ "$status $(wc -l <few/corpus.jsonl)" = '0 7' ]
expect "with what was judged" [ "$(grep -c '"_id":"p\(7\|9\|50\)"' few/corpus.jsonl)" = 3 ]
expect "and the judged queries" [ "$(grep -o 'q[0-9]' few/queries.jsonl | tr '\n' ' ')" = 'q1 q3 ' ]
slice many --to again --others 4
expect "the same again" diff -r few again
slice many --to other --others 4 --seed 43
expect "another by another seed" [ "$(diff few/corpus.jsonl other/corpus.jsonl | wc -l)" -gt 0 ]
check few
expect "what was cut is a sound collection" [ "$status" = 0 ]
expect "judgements are whole" [ "$(grep -c '^judgements.*  [12]$' said)" = 2 ]
slice many --to whole --others 100
expect "more than there is is all of it" [ "$(wc -l <whole/corpus.jsonl)" = 50 ]
expect "documents stay" grep -q '{"id":"p7"},{"id":"p8"},{"id":"p9"}' whole/documents.jsonl
before=$(cat many/corpus.jsonl)
slice many --to many --others 4
expect "the collection itself is not replaced ($status)" [ "$status $(cat many/corpus.jsonl)" = "2 $before" ]
slice many --to few --others 5
expect "an earlier slice is ($status)" [ "$status $(wc -l <few/corpus.jsonl)" = '0 8' ]
cp -R many asked
printf 'q1\tseven\tthe 7th\nq2\tnine\n' >asked/answers.tsv
slice asked --to answered --others 4
expect "answers of its queries come along ($status)" [ "$status $(cat answered/answers.tsv)" = "0 $(head -n 1 asked/answers.tsv)" ]
expect "and questions that have nothing else are counted" grep -q 'warning: 1 queries that have answers but no judged' said
mkdir mine && echo work >mine/work
slice many --to mine
expect "nobody's folder is replaced ($status)" [ "$status $(ls mine)" = '2 work' ]
slice many
expect "no place to write ends with 2 ($status)" [ "$status" = 2 ]
slice many --to x --others none
expect "no number ends with 2 ($status)" [ "$status" = 2 ]

# For reading.
printf '{"id": "p7", "queries": ["what is p7", "which one is seven"]}\n' >generated.jsonl
"$gabbro" data show many --documents 3 >said 2>&1
expect "documents are shown ($?)" [ "$(grep -c '^## Document' said)" = 3 ]
"$gabbro" data show many --documents 2 >said 2>&1
expect "those with questions, where they suffice" [ "$(grep -c '^- asked: ' said)" = 2 ]
"$gabbro" data show many --documents 100 >said 2>&1
expect "with what they answer" grep -q '^- asked: \*one\* (train)$' said
expect "and topics with their judgements" grep -q '^- grade 2: \*\*p50\*\* text' said
cp -R many titled
sed -i 's/\("_id": "p7", "title": "\)/\1Is it seven?/; s/\("_id": "p9", "title": "\)/\1Nine/' titled/corpus.jsonl
"$gabbro" data show titled --documents 100 >said 2>&1
expect "a title ends with one mark" [ "$(grep -c -e '^\*\*p7\*\* \*Is it seven?\* text' -e '^\*\*p9\*\* \*Nine\*\. text' said)" = 2 ]
{
    sleep 1
    "$gabbro" data show many --documents 100 2>said
} | true
expect "a reader that has seen enough is no failure to tell: $(cat said)" [ ! -s said ]
step=$("$gabbro" collection --from many --queries generated.jsonl --store store --quiet 2>said)
"$gabbro" data show "$step" --documents 100 --queries 1 >said 2>&1
expect "a step's collection too, with generated queries" grep -q '^- generated: \*what is p7\*$' said
"$gabbro" data show "$("$gabbro" collection --world 1 --store store --quiet)" >said
expect "the page of entries is what the mini world has" [ "$(sed -n '/^## Document 0$/,$p' "$entries")" = "$(cat said)" ]

# Stopped while it reads: what was imported goes.
seq 1 200000 | sed 's/.*/{"_id": "p&", "title": "", "text": "text & of very many"}/' >many/corpus.jsonl
"$gabbro" data check many >said 2>&1 &
child=$!
while kill -0 $child 2>/dev/null && [ -z "$(ls temporary)" ]; do
    sleep 0.01
done
kill -TERM $child
wait $child
status=$?
expect "stopped, it ends with 75 ($status)" [ "$status" = 75 ]
expect "nothing is left behind" [ -z "$(ls temporary)" ]

# One that waits for its input, too.
mkdir waiting
mkfifo waiting/corpus.jsonl
timeout --preserve-status -k 20 1 "$gabbro" data check waiting >said 2>&1
status=$?
expect "stopped while it waits, it ends with 75 ($status)" [ "$status" = 75 ]
checks_end
