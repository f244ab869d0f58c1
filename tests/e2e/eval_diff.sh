#!/bin/sh
# gabbro eval --diff: queries won and lost, by kinds of queries, passages side by side.
#   eval_diff.sh GABBRO
set -u
. "$(dirname -- "$0")/../checks.sh"
enter_work eval-diff "$1"

mkdir -p beir/qrels
printf '{"_id": "d%s", "title": "", "text": "%s"}\n' 1 'Gabbro is\tdark and coarse.' 2 'Basalt is dark and fine.' \
    3 'Granite is light.' >beir/corpus.jsonl
{
    printf '{"_id": "q1", "text": "what is dark and coarse"}\n{"_id": "q2", "text": "Is granite light"}\n'
    printf '{"_id": "q3", "text": "basalt"}\n{"_id": "q4", "text": "what is neither dark nor light nor of any other colour that one could name"}\n'
} >beir/queries.jsonl
printf 'query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td3\t1\nq3\td2\t1\nq4\td1\t1\n' >beir/qrels/test.tsv
# A is right on q1 and q3, B on q2; both fail on q4.
printf '%s Q0 %s %s %s A\n' q1 d1 1 9 q1 d2 2 8 q2 d1 1 9 q2 d3 2 8 q3 d2 1 9 q4 d2 1 9 >a.trec
printf '%s Q0 %s %s %s B\n' q1 d2 1 9 q1 d3 2 8 q1 d1 3 7 q2 d3 1 9 q3 d1 1 9 q4 d2 1 9 >b.trec
qrels=beir/qrels/test.tsv

"$gabbro" eval $qrels a.trec --diff b.trec -m MRR@10 >plain 2>log
expect "two runs are set side by side ($?)" grep -q '^# MRR@10; A A, B B$' plain
expect "won, lost and equal queries are counted, with the means" \
    grep -q '^all  *4  *2  *1  *1   0.6250   0.3333  +0.2917$' plain
expect "without texts there are no kinds of queries" [ "$(grep -c '^# by' plain)" = 0 ]
expect "the query that was won by most comes first" \
    [ "$(grep -c . plain) $(sed -n 5p plain)" = "14 q3	A 1.0000	B 0.0000	+1.0000" ]
expect "passages stand beside each other with their grades" grep -q '^   1  2 d1  *|  0 d2$' plain
expect "lost queries follow" grep -q '^q2	A 0.5000	B 1.0000	-0.5000$' plain
expect "queries that are equal are not shown" [ "$(grep -c '^q4' plain)" = 0 ]

"$gabbro" eval $qrels a.trec --diff b.trec -m MRR@10 --collection beir --diff-queries 1 --diff-passages 1 >texts 2>log
expect "by length" grep -q '^5 to 6 words  *1  *1  *0  *0 ' texts
expect "the longest" grep -q '^13 words and more  *1  *0  *0  *1 ' texts
expect "by first word" grep -q '^what  *2  *1  *0  *1 ' texts
expect "questions of yes or no are told by their verb" grep -q '^yes or no  *1  *0  *1  *0 ' texts
expect "a query is shown with its text" grep -q '^q3	A 1.0000	B 0.0000	+1.0000	basalt$' texts
expect "a passage with its own" grep -q '|  - d1  Gabbro is dark and coarse.$' texts
expect "so many queries and passages as asked for" [ "$(grep -c '^q' texts) $(grep -c '^   2' texts)" = "2 0" ]
collection=$(made collection --from beir --keep-splits) || exit 1
"$gabbro" eval $qrels a.trec --diff b.trec -m MRR@10 --collection "$collection" --diff-queries 1 --diff-passages 1 >stored 2>log
expect "a stored collection gives the same" cmp -s texts stored

sed 's/B$/A/' b.trec >same.trec
"$gabbro" eval $qrels a.trec --diff same.trec -m MRR@10 2>log | sed -n 1p >named
expect "runs of one tag are named by their files: $(cat named)" grep -qx '# MRR@10; A a.trec, B same.trec' named

refused() # WHAT TEXT ARGUMENTS...
{
    what=$1 text=$2
    shift 2
    "$gabbro" eval $qrels a.trec "$@" >said 2>&1
    expect "$what ($?)" grep -q -e "$text" said
}
refused "two measures are refused" 'by one measure' --diff b.trec -m map -m MRR@10
refused "so are two ways to compare" 'print different things' --diff b.trec --compare b.trec
refused "and texts without a use" '--collection has no effect without --diff' --collection beir
refused "a missing run is named" 'nothing.trec' --diff nothing.trec
checks_end
