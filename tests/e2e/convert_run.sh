#!/bin/sh
# gabbro convert-run: runs in the layouts of TREC, MS MARCO, DPR and Pyserini, there and back.
#   convert_run.sh GABBRO
set -u
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
enter_work convert-run "$1"

# Passages and questions as DPR has them.
mkdir dpr
printf 'id\ttext\ttitle\n1\t"Gabbro is a ""dark"" rock from Müggia."\tGabbro\n2\tBasalt is fine.\tBasalt\n3\tGranite is light.\tGranite\n' >dpr/psgs_w100.tsv
printf "which rock is dark\t['dark rock', 'a \"dark\" rock']\nwhich rock is light\t[\"granite\"]\n" >dpr/nq-test.qa.csv

# What DPR's retriever writes: an array, scores as texts, no ids of questions.
cat >dpr.json <<'END'
[
    {
        "question": "which rock is light",
        "answers": ["granite"],
        "ctxs": [
            {"id": "2", "title": "Basalt", "text": "Basalt is fine.", "score": "12.25", "has_answer": false},
            {"id": "3", "title": "Granite", "text": "Granite is light.", "score": "11.5", "has_answer": true}
        ]
    },
    {
        "question": "which rock is dark",
        "answers": ["dark rock"],
        "ctxs": [{"id": 1, "title": "Gabbro", "text": "...", "score": 3, "has_answer": true}]
    }
]
END
"$gabbro" convert-run dpr.json --to plain.trec >out
expect "DPR's array is read" [ "$(cat out)" = "2 queries, 3 passages" ]
expect "without a collection questions are numbered from 0" \
    [ "$(tr '\n' '|' <plain.trec)" = "0 Q0 2 1 12.25 gabbro|0 Q0 3 2 11.5 gabbro|1 Q0 1 1 3 gabbro|" ]
{ echo before && "$gabbro" convert-run dpr.json --to /dev/stdout && echo behind; } >out
expect "a file that is the standard output keeps what others write there" \
    [ "$(sed '/^[01] Q0/d' out | tr '\n' '|') $(grep -c ' Q0 ' out)" = "before|2 queries, 3 passages|behind| 3" ]
collection=$(made collection --from dpr --keep-splits) || exit 1
"$gabbro" collection --from dpr --keep-splits --store shown --progress json >out 2>said
vocabulary=$("$gabbro" vocabulary --collection "$collection" --store shown --progress json 2>>said)
"$gabbro" tokenize --collection "$collection" --vocabulary "$vocabulary" --store shown --progress json >out 2>>said
for job in 'import psgs_w100.tsv' 'extract queries' 'count words' 'learn tokens' 'tokenize passages'; do
    expect "$job shows how far it is, and its end" [ "$(grep -c "^{\"event\": \"[a-z]*\", \"label\": \"$job\"" said)" -ge 2 ]
done
ids=$(cut -f 1 "$collection/collection/answers.tsv" | tr '\n' ' ')
dark=${ids%% *} light=${ids#* } light=${light% }
"$gabbro" convert-run dpr.json --to known.trec --collection "$collection" --tag dpr >out 2>&1
expect "with one they have its ids" \
    [ "$(tr '\n' '|' <known.trec)" = "$light Q0 2 1 12.25 dpr|$light Q0 3 2 11.5 dpr|$dark Q0 1 1 3 dpr|" ]

# There and back.
"$gabbro" convert-run known.trec --form dpr --to back.json --collection "$collection" >out
expect "a run becomes DPR's JSON, with texts and answers" \
    grep -qF "{\"question\": \"which rock is light\", \"answers\": [\"granite\"], \"query_id\": \"$light\", "'"ctxs": [{"id": "2", "title": "Basalt", "text": "Basalt is fine.", "score": "12.25"' back.json
expect "it says which passages hold an answer, by words" \
    [ "$(grep -o '"has_answer": [a-z]*' back.json | cut -d ' ' -f 2 | tr '\n' ' ')" = "false true true " ]
"$gabbro" convert-run back.json --to again.trec --collection "$collection" --tag dpr >out
expect "and the same run again" cmp known.trec again.trec
"$gabbro" convert-run known.trec --form pyserini --to pyserini.json --collection "$collection" >out
expect "Pyserini's has the ids of questions, and titles before texts" \
    grep -qF "\"$dark\": {\"question\": \"which rock is dark\", \"answers\": [\"dark rock\", \"a \\\"dark\\\" rock\"], \"contexts\": [{\"docid\": \"1\", \"text\": \"Gabbro\\nGabbro is a" pyserini.json
"$gabbro" convert-run pyserini.json --to again.trec --tag dpr >out
expect "it is read without a collection" cmp known.trec again.trec
{
    grep -v '^[][]$' back.json | sed 's/,$//'
} >lines.json
"$gabbro" convert-run lines.json --to again.trec --collection dpr --tag dpr >out
expect "objects may be lines, a collection a folder" cmp known.trec again.trec
printf '{"0": {\n"contexts": [{"docid": "x", "score": 1}]} ,\n"1"\n:{"contexts": []}}\n' >spread.json
"$gabbro" convert-run spread.json --to spread.trec >out
expect "members may be spread over lines" [ "$(cat out) $(cat spread.trec)" = "2 queries, 1 passages 0 Q0 x 1 1 gabbro" ]
"$gabbro" convert-run known.trec --form msmarco --depth 1 --to first.tsv >out
expect "MS MARCO's layout, the first passages alone" \
    [ "$(tr '\t\n' ' |' <first.tsv)" = "$light 2 1|$dark 1 1|" ]
printf 'q1\td1\t3\nq1\td2\t1\n' >fallen
"$gabbro" convert-run fallen --to fallen.trec >out
expect "three columns that fall are scores" [ "$(head -n 1 fallen.trec)" = "q1 Q0 d1 1 3 gabbro" ]
"$gabbro" convert-run fallen --from msmarco --to fallen.trec >out
expect "--from decides" [ "$(head -n 1 fallen.trec)" = "q1 Q0 d2 1 -1 gabbro" ]
printf 'q1 Q0 d1 1 2 t\nq1 Q0 d2 2 1 t\n' >two.trec
"$gabbro" convert-run two.trec --form scores --to two.tsv >out
"$gabbro" convert-run two.tsv --to again.trec --tag t >out
expect "scores that are whole numbers are no ranks when they are read again" cmp two.trec again.trec

# Two questions of one text are told apart by their ids.
mkdir twins
printf '{"_id": "1", "text": "a town"}\n{"_id": "2", "text": "a lake"}\n' >twins/corpus.jsonl
printf '{"_id": "q3", "text": "town"}\n{"_id": "q4", "text": "town"}\n' >twins/queries.jsonl
mkdir twins/qrels
printf 'query-id\tcorpus-id\tscore\nq3\t1\t1\nq4\t1\t1\n' >twins/qrels/test.tsv
printf 'q3 Q0 1 1 2 t\nq4 Q0 2 1 3 t\n' >twins.trec
"$gabbro" convert-run twins.trec --form dpr --to twins.json --collection twins >out 2>log
"$gabbro" convert-run twins.json --to again.trec --collection twins --tag t >out 2>log
expect "two questions of one text" cmp twins.trec again.trec

# Measures: what holds an answer is relevant.
values() # QRELS RUN MEASURE
{
    "$gabbro" eval "$1" "$2" -m "$3" 2>log | cut -f 3 | tr '\n' ' '
}
expect "top 1 and 2 of DPR's own file" [ "$(values dpr.json dpr.json Hit.1,2)" = "0.5000 1.0000 " ]
printf '[{"question": "a", "ctxs": [{"id": 1, "score": 1, "has_answer": true}]}, {"question": "b", "ctxs": []}]\n' >none.json
expect "a question for which nothing was found counts" [ "$(values none.json none.json Hit.1)" = "0.5000 " ]
expect "the same of standard input" [ "$(values pyserini.json - Hit.1,2 <pyserini.json)" = "0.5000 1.0000 " ]
expect "with judgements of one kind and the run of another" [ "$(values pyserini.json known.trec Hit.1,2)" = "0.5000 1.0000 " ]

# Answers that are regular expressions, as CuratedTREC has them.
sed 's/"granite"/"gr[ae]nite is l"/; s/"dark rock"/"^gabbro|basalt$"/' dpr.json >regex.json
values_by() # RULE FILE
{
    "$gabbro" eval "$2" "$2" -m Hit.1,2 --answers "$1" 2>log | cut -f 3 | tr '\n' ' '
}
expect "top 1 and 2 by regular expressions" [ "$(values_by regex regex.json)" = "0.0000 0.5000 " ]
expect "as words they are nowhere" [ "$(values_by words regex.json)" = "0.0000 0.0000 " ]
expect "what the file says is believed without" [ "$(values regex.json regex.json Hit.1,2)" = "0.5000 1.0000 " ]
mkdir trec
cp dpr/psgs_w100.tsv trec/
printf "which rock is dark\t['basalts?', '(dark|black)\\\\W+rock']\nwhich rock is light\t['^Gr.*t\\\\.\$']\n" >trec/curatedtrec-test.qa.csv
curated=$(made collection --from trec --keep-splits --answers regex) || exit 1
"$gabbro" convert-run dpr.json --form dpr --to curated.json --collection "$curated" >out 2>&1
expect "a collection knows that its answers are regular expressions" \
    [ "$(grep -o '"has_answer": [a-z]*' curated.json | cut -d ' ' -f 2 | tr '\n' ' ')" = "false true true " ]
expect "which go on into JSON" [ "$(values_by regex curated.json)" = "$(values curated.json curated.json Hit.1,2)" ]
"$gabbro" convert-run dpr.json --form pyserini --to curated.pyserini --collection "$curated" >out 2>&1
expect "and into Pyserini's, where titles are not looked at" [ "$(values_by regex curated.pyserini)" = "0.5000 1.0000 " ]
evaluated=$(made evaluate --bm25 --collection "$curated") || exit 1
expect "Top@k is measured by them" grep -q '"test:Top@5"' "$evaluated/metrics.json"
printf "which rock is dark\t['(dark']\n" >trec/curatedtrec-test.qa.csv
refused 3 "a wrong expression" 'curatedtrec-test.qa.csv:1: the regular expression "(dark" is wrong at character 5: a parenthesis' \
    collection --from trec --answers regex
sed 's/"dark rock"/"(.+)+z$"/; s/"[.]\{3\}"/"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"/' dpr.json >slow.json
refused 3 "an expression that never ends" 'slow.json:[0-9]*: the regular expression "(.+)+z\$" can match in so many ways' \
    eval slow.json slow.json --answers regex
refused 2 "answers of judgements" 'answers are looked for in the JSON' eval known.trec known.trec --answers regex
refused 2 "answers of a cut collection" '--answers is of what --from imports' collection --cut "$curated" --answers regex
refused 3 "generators that learn expressions" 'its answers are regular expressions' \
    collection --questions-of "$curated" --target answer

# A run is ranked by its scores, not by its lines.
printf 'q1 Q0 d1 1 1 t\nq1 Q0 d2 2 3 t\nq1 Q0 d3 3 2 t\nq1 Q0 d4 4 3 t\n' >unsorted.trec
"$gabbro" convert-run unsorted.trec --form msmarco --to ranks >out
expect "by scores, equal ones as they stand" [ "$(tr '\t\n' ' ,' <ranks)" = 'q1 d2 1,q1 d4 2,q1 d3 3,q1 d1 4,' ]
"$gabbro" convert-run unsorted.trec --depth 1 --to first >out
expect "the first, of which one is counted" [ "$(cut -d ' ' -f 3 first) $(cat out)" = 'd2 1 queries, 1 passages' ]
expect "a limit of files is told" sh -c '(ulimit -f 0; "$1" convert-run unsorted.trec --to limited 2>&1) | grep -q "File too large"' - "$gabbro"
refused 2 "a mean of what is none" 'gm_map is no mean' eval known.trec unsorted.trec --diff unsorted.trec -m gm_map
refused 2 "two ways to print" 'leave --msmarco out' eval known.trec unsorted.trec --msmarco -m map

refused 2 "JSON without texts" 'the texts of passages are in a collection' convert-run known.trec --form dpr --to x.json
for bad in '{"0": {"contexts": [{"score": 1}]}}|a passage without an id' \
    '{"0": {"contexts": [{"docid": "a b", "score": 1}]}}|the passage id "a b" has a blank' \
    '{"q 1": {"contexts": []}}|the query id "q 1" has a blank' \
    '[{"question": "a", "ctxs": [{"id": "1", "score": "high"}]}]|the score of passage "1" is no number' \
    '[{"question": "a", "ctxs": [{"id": "1", "score": 1}, {"id": 1, "score": 2}]}]|listed twice for its query: passage "1"' \
    '[{"question": "a", "ctxs": [{"id": "1", "score": 1}, {"id": "2"}]}]|have no score' \
    '{"0": {"contexts": []}, "0": {"contexts": []}}|a question is there twice' \
    '[{"question": "a"}]|without a list "ctxs" or "contexts"' \
    '{"0": {"contexts": []}|the object is not closed' \
    '[{"question": "a", "ctxs": []}|the array is not closed' \
    '{"0": 1}|expected\|no object\|without a list' '{"0" {}}|expected\|no colon' '|no ranked passages'; do
    echo "${bad%%|*}" >bad.json
    refused 3 "${bad%%|*}" "bad.json.*\(${bad#*|}\)" convert-run bad.json --to x.trec
done
refused 3 "a question of another collection" 'unknown query "who"' convert-run --to x.trec --collection "$collection" \
    "$(echo '[{"question": "who", "ctxs": []}]' >who.json && echo who.json)"
refused 3 "judgements that do not say" 'a passage without "has_answer"' eval spread.json spread.json
expect "nothing is left of what was refused" [ ! -e x.trec ]
checks_end
