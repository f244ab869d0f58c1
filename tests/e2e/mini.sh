# What the tests of kills and of stores share (POSIX sh, to be sourced after checks.sh and own.sh): the
# main table on 48 passages about stones, with a model and training too small to learn anything.
# shellcheck shell=sh disable=SC2154 # work, reproduce and tiny of own.sh
child='' mounted=''
TMPDIR=$work
export TMPDIR
# shellcheck disable=SC2329 # by the trap
tidy()
{
    [ -z "$child" ] || kill -9 "-$child" 2>/dev/null
    [ -z "$mounted" ] || umount "$mounted"
    rm -rf "$work"
}
trap tidy EXIT

make_stones()
{
    mkdir -p "$work/stones/qrels"
    printf 'query-id\tcorpus-id\tscore\n' >"$work/stones/qrels/test.tsv"
    row=0
    while [ $row -lt 48 ]; do
        word=$(printf '%s' $((row + 100)) | tr 0123456789 bdfgklmnpr | sed 's/./&a/g')
        echo "{\"_id\": \"d$row\", \"title\": \"\", \"text\": \"The $word stone lies in the river bed. It" \
            "weighs $((row * 7)) grams, and ice and rain have made it round.\"}" >&3
        echo "{\"_id\": \"q$row\", \"text\": \"how heavy is the $word stone\"}" >&4
        printf 'q%d\td%d\t1\n' $row $row >>"$work/stones/qrels/test.tsv"
        row=$((row + 1))
    done 3>"$work/stones/corpus.jsonl" 4>"$work/stones/queries.jsonl"
}
make_stones

# Becomes the run: in a subshell or in the background, so that $! is its process.
run() # COMMAND-BEFORE-IT STORE OUT ARGUMENTS...
{
    before=$1 run_store=$2 run_out=$3
    shift 3
    # shellcheck disable=SC2086 # $tiny is a list of words
    exec "$before" "$reproduce" table1 --collection "$work/stones" --store "$run_store" \
        --out "$run_out" $tiny "$@"
}

# To its end: status in $status, output in OUT.stdout and OUT.stderr.
finish() # STORE OUT ARGUMENTS...
{
    (run env "$@") >"$2.stdout" 2>"$2.stderr" </dev/null
    # shellcheck disable=SC2034 # for who sources this
    status=$?
}

# Everything that must not differ: the files of the finished artifacts but their records, which hold times, and
# the table and its rows without times and places. A line each: sum and name.
results() # STORE OUT
{
    (cd "$1" && find . -type f ! -name run.json ! -path './work/*' -exec sha256sum {} +) | sort -k 2
    for result in table.json results.jsonl; do
        printf '%s  %s\n' "$(sed '/^ "times": {$/,/^ }/d; s|"[^"]*/\([a-z0-9-]*\)"|"\1"|g; s/, "times": {[^}]*}//' \
            "$2/$result" | sha256sum | cut -d ' ' -f 1)" "$result"
    done
}

compare_results() # STORE OUT: with those of the quiet run, in $work/quiet.results; lines in $differ
{
    results "$1" "$2" >"$2.results"
    differ=$(diff "$work/quiet.results" "$2.results" | grep -c '^[<>]')
    against="a quiet run ($(wc -l <"$work/quiet.results") files)"
}

same_results() # WHAT STORE OUT
{
    compare_results "$2" "$3"
    trust "$1: files of steps and results that differ, but for times" "$against" "$differ" 0
}

whole() # STORE: every file of its steps is as it was written
{
    "$GABBRO" store --store "$1" verify >"$work/verify" 2>&1
}
