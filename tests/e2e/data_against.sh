#!/bin/sh
# gabbro data check --against: equal, plain, near and said texts between collections and between splits.
#   data_against.sh GABBRO
set -u
. "$(dirname -- "$0")/../checks.sh"
enter_work data-against "$1"

passage() { printf '{"_id": "%s", "title": "", "text": "%s"}\n' "$@"; }
query() { printf '{"_id": "%s", "text": "%s"}\n' "$@"; }
long='the coarse dark rock of the deep ocean floor is called gabbro and it crystallises slowly below the ridges of the sea where hot melt rises from the mantle'
mkdir -p a/qrels b/qrels
{
    passage p1 "$long" p2 'Basalt is fine, and dark.' p3 'Granite is light.'
    passage p4 'a wholly different text about the birds of the coast and of their nests'
} >a/corpus.jsonl
{
    passage x1 "$(echo "$long" | sed 's/hot melt/warm melt/')" x2 '“Basalt” IS fine — and dárk!' x3 'Granite is light.'
    passage x4 'people ask: who first described the rock gabbro in print, and when' x5 'nothing of note'
} >b/corpus.jsonl
query q1 'Who first described the rock gabbro?' q2 'what is basalt' q3 'birds of the northern coast' >a/queries.jsonl
query t1 'What is Basalt?' t2 'birds of the northern coast' t3 'some other thing' >>a/queries.jsonl
query y1 'what is basalt' y2 'unrelated words here' >b/queries.jsonl
printf 'query-id\tcorpus-id\tscore\nq1\tp1\t1\nq2\tp2\t1\nq3\tp4\t1\n' >a/qrels/test.tsv
printf 'query-id\tcorpus-id\tscore\nt1\tp2\t1\nt2\tp4\t1\nt3\tp4\t1\n' >a/qrels/train.tsv
printf 'query-id\tcorpus-id\tscore\ny1\tx2\t1\ny2\tx5\t1\n' >b/qrels/dev.tsv

check() { "$gabbro" data check "$@" >said 2>log; }
row() { grep -q -E -e "^$1 +$2 +$3 +$4 +$5 +$6 +$7(  e.g. $8)?\$" said; }
check a --against b
expect "texts in both end with 1" [ "$? $(grep -c '6 texts are in b too' log)" = '1 1' ]
expect "passages: one equal, one but for case, accents and punctuation, one near" \
    row passages passages 4 1 1 1 - 'p1, x1'
expect "queries: one equal" row queries.test queries.dev 3 1 0 0 - 'q2, y1'
expect "one but for case" row queries.train queries.dev 3 0 1 0 - 't1, y1'
expect "a query that a passage says" row queries.test passages 3 - - - 1 'q1, x4'
expect "and those that none says" row queries.train passages 3 - - - 0 ''
check a --against b --similarity 1
expect "the similarity is the user's" row passages passages 4 1 1 0 - 'p2, x2'
check a --against a
expect "the splits of one collection" row queries.test queries.train 3 1 1 0 - 'q2, t1'
expect "each pair once, and no passages" [ "$(grep -c 'queries.*queries' said) $(grep -c '^passages' said)" = '1 0' ]
stored=$(made collection --from b --keep-splits) || exit 1
check a --against b
cp said files
check a --against "$stored"
expect "a stored collection gives the same" cmp -s files said
mkdir -p c/qrels
passage z1 'nothing like it' >c/corpus.jsonl
query z 'nor here' >c/queries.jsonl
printf 'query-id\tcorpus-id\tscore\nz\tz1\t1\n' >c/qrels/dev.tsv
expect "nothing in common ends with 0" check a --against c
check a --against nothing
expect "a missing collection ends with 3" [ "$? $(grep -c nothing log)" = '3 1' ]
check a --against b --similarity 2
expect "a similarity above 1 ends with 2" [ $? = 2 ]
checks_end
