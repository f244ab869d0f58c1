# What the shell tests share (POSIX sh, to be sourced): one line a check, counted by tests/run.
# shellcheck shell=sh
# Settings of whoever runs the tests have no part in them.
XDG_CONFIG_HOME=/nonexistent
export XDG_CONFIG_HOME
checks_good=0 checks_bad=0 checks_skipped=0

good() # WHAT
{
    checks_good=$((checks_good + 1))
    printf 'ok - %s\n' "$1"
}

bad() # WHAT [FILE]: the end of FILE says more
{
    checks_bad=$((checks_bad + 1))
    printf 'not ok - %s\n' "$1"
    [ $# -lt 2 ] || tail -n 20 "$2" | sed 's/^/    /'
}

skipped() # WHAT AND WHY
{
    checks_skipped=$((checks_skipped + 1))
    printf 'skipped - %s\n' "$1"
}

# Status: of the command, so that "|| tail FILE" may follow. A second condition behind && would be no part of the check.
expect() # WHAT COMMAND...
{
    expected=$1
    shift
    if "$@"; then
        good "$expected"
    else
        bad "$expected"
        return 1
    fi
}

# Takes over the lines "ok - WHAT", "not ok - WHAT", "skipped - WHAT" and "trust:..." of another program's output.
take_checks() # FILE
{
    while read -r line; do
        case $line in
        'ok - '*) good "${line#ok - }" ;;
        'not ok - '*) bad "${line#not ok - }" ;;
        'skipped - '*) skipped "${line#skipped - }" ;;
        trust:*) printf '%s\n' "$line" ;;
        esac
    done <"$1"
}

# A measured difference, in the one form that tables are made of (tests/parity/trust.h prints the same):
#   trust:<TAB>what<TAB>against what<TAB>worst difference<TAB>bound
trust() # WHAT AGAINST WORST BOUND
{
    printf 'trust:\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4"
    expect "$1: at most $4 from $2 ($3)" \
        awk -v worst="$3" -v bound="$4" 'BEGIN { exit !(worst != "" && worst + 0 <= bound + 0) }'
}

# Sets $gabbro and enters $work, a folder of this test's own that is gone at its end, with a store in it.
enter_work() # NAME GABBRO
{
    gabbro=$(readlink -f "$2")
    LC_ALL=C
    export LC_ALL
    work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-$1.XXXXXX") || exit 1
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' INT TERM
    cd "$work" || exit 1
    GABBRO_STORE=$work/store
    export GABBRO_STORE
}

made() # COMMAND...: of $gabbro; prints the artifact's folder, or ends the shell it is called in
{
    "$gabbro" "$@" --quiet 2>"$work/log" || { bad "$*" "$work/log" >&2 && exit 1; }
}

# Sets $python to one that has NumPy, or skips what needs it and ends the test.
needs_numpy() # WHAT
{
    for python in python3 /usr/bin/python3; do # the second is the distribution's
        ! "$python" -c 'import numpy' 2>/dev/null || return 0
    done
    skipped "$1: needs python3 with numpy"
    checks_end
    exit
}

# A command of $gabbro ends with this status and says why.
refused() # STATUS WHAT TEXT COMMAND...
{
    wanted=$1 what=$2 text=$3
    shift 3
    "$gabbro" "$@" >refusal 2>&1
    status=$?
    expect "$what is refused ($status)" [ $status = "$wanted" ]
    expect "$what: the message says why" grep -q -e "$text" refusal
}

# The smallest encoder of a collection, with random weights: sets $vocabulary, $tokens and $model.
# shellcheck disable=SC2034 # for those who source this
random_model() # COLLECTION [TOKENS]
{
    vocabulary=$(made vocabulary --collection "$1" --size "${2:-100}")
    tokens=$(made tokenize --collection "$1" --vocabulary "$vocabulary")
    model=$(made pretrain none --collection "$1" --tokens "$tokens" --vocabulary "$vocabulary" \
        --steps 0 --layers 1 --hidden 16 --heads 2 --ffn 16)
}

# A BEIR folder of short passages d0, d1 ... and nine queries q0 ... of the split test.
small_beir() # PASSAGES FOLDER
{
    mkdir -p "$2/qrels"
    awk -v passages="$1" -v folder="$2" 'BEGIN {
        split("stone river ice rain sand peak wind moss", word)
        for (i = 0; i < passages; i++)
            printf "{\"_id\": \"d%d\", \"text\": \"%s %s\"}\n", i, word[1 + i % 8], word[1 + int(i / 3) % 8] >(folder "/corpus.jsonl")
        printf "query-id\tcorpus-id\tscore\n" >(folder "/qrels/test.tsv")
        for (i = 0; i < 9; i++) {
            printf "{\"_id\": \"q%d\", \"text\": \"%s %s\"}\n", i, word[1 + i % 8], word[1 + i % 3] >(folder "/queries.jsonl")
            printf "q%d\td%d\t1\n", i, i >(folder "/qrels/test.tsv")
        }
    }'
}

# The same with other queries, twelve of which train and six of which judge.
training_beir() # PASSAGES FOLDER
{
    mkdir -p "$2/qrels"
    awk -v passages="$1" -v folder="$2" 'BEGIN {
        split("stone river ice rain sand peak wind moss", word)
        printf "query-id\tcorpus-id\tscore\n" >(folder "/qrels/train.tsv")
        printf "query-id\tcorpus-id\tscore\n" >(folder "/qrels/test.tsv")
        for (i = 0; i < passages; i++)
            printf "{\"_id\": \"d%d\", \"text\": \"%s %s\"}\n", i, word[1 + i % 8], word[1 + int(i / 3) % 8] >(folder "/corpus.jsonl")
        for (i = 0; i < 18; i++) {
            printf "{\"_id\": \"q%d\", \"text\": \"%s or %s\"}\n", i, word[1 + i % 8], word[1 + int(i / 3) % 8] >(folder "/queries.jsonl")
            printf "q%d\td%d\t1\n", i, i >(folder "/qrels/" (i % 3 ? "train" : "test") ".tsv")
        }
    }'
}

# Settings of a table whose trainings are too small to learn anything; each goes behind --set.
# shellcheck disable=SC2034 # of those who source this
tiny_settings="vocabulary_tokens=600 passage_tokens=16 query_tokens=12 encoder_layers=1 encoder_hidden=16
    encoder_heads=2 encoder_ffn=32 mlm_steps=6 mlm_batch_passages=8 context_steps=6
    context_batch_pairs=4 finetune_epochs=1 finetune_train_queries=32 bm25_depth=20 search_depth=50"

# A table.json without the one part that differs from run to run, the times.
table_numbers() # TABLE.JSON
{
    sed '/^ "times": {$/,/^ }/d' "$1"
}

# Whether GABBRO was built with its server.
has_server() # GABBRO
{
    ! "$1" serve nothing 2>&1 | grep -q 'without libmicrohttpd' && return
    skipped "gabbro serve: the program was built without libmicrohttpd"
    return 1
}

# Whether GABBRO can start ranks; lets root start them, as in a container.
has_ranks() # GABBRO
{
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
    command -v mpirun >/dev/null 2>&1 && GABBRO_MPIRUN=true "$1" pretrain none --ranks 2 \
        --collection x --tokens x --vocabulary x 2>/dev/null && return
    skipped "several ranks: there is no MPI, or the program was built without"
    return 1
}

need_ranks() # GABBRO: ends the test where it cannot
{
    has_ranks "$1" || { checks_end; exit; }
}

# What a row obtained here in a column of a table.csv.
table_value() # TABLE.CSV ROW COLUMN
{
    awk -F , -v row="$2" -v column="$3" '{ gsub(/"[^"]*"/, "quoted") } $3 == row && $7 == column { print $13 }' "$1"
}

# The last line and the status of a test.
checks_end()
{
    echo "$checks_good ok, $checks_bad not ok, $checks_skipped skipped"
    [ "$checks_bad" = 0 ]
}
