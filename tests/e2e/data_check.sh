#!/bin/sh
# gabbro data check: what it says of a collection and of official counts.
#   data_check.sh GABBRO
set -u
. "$(dirname -- "$0")/../checks.sh"
gabbro=$1
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
check stones --as more
expect "a count that differs ends with 1 ($status)" [ "$status" = 1 ]
expect "and is said beside the official one" grep -q '^passages  *2  should be 3' said
printf 'q\tz\t1\n' >>stones/qrels/test.tsv
check stones
expect "a judgement of an unknown id ends with 1 ($status)" [ "$status" = 1 ]
expect "and is counted" grep -q '^judgements.test  *1  of ids that are not there' said
check stones/corpus.jsonl.gz
expect "a missing file ends with 3 ($status)" [ "$status" = 3 ]
check
expect "no folder ends with 2 ($status)" [ "$status" = 2 ]
check stones --as nothing
expect "an unknown entry ends with 2 ($status)" [ "$status" = 2 ]
expect "nothing is left behind" [ -z "$(ls temporary)" ]
checks_end
