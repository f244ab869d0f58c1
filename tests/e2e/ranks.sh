#!/bin/sh
# Trainings by several ranks: the bits of one process with the same shards, near the whole batch, killed
# and resumed by other numbers of ranks.
#   ranks.sh GABBRO [full]
# shellcheck disable=SC2086 # $mlm and friends are lists of words
set -u
. "$(dirname -- "$0")/../checks.sh"
GABBRO=$(readlink -f "$1")
full=${2:-}
LC_ALL=C LP_NUM_THREADS=1 GABBRO_DEVICE=cpu
# What MPI leaves behind is no leak of ours.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS LC_ALL LP_NUM_THREADS GABBRO_DEVICE
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-ranks.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
cd "$work" || exit 1

need_ranks "$GABBRO"

gabbro()
{
    "$GABBRO" "$@" --quiet
}

# ---- a small collection ----------------------------------------------------------------------------
mkdir -p beir/qrels
row=0
printf 'query-id\tcorpus-id\tscore\n' >beir/qrels/train.tsv
while [ $row -lt 24 ]; do
    echo "{\"_id\": \"d$row\", \"title\": \"Stone $row\", \"text\": \"Stone number $row lies in" \
        "the river bed. It weighs $((row * 7)) grams. Ice and rain have made it round.\"}" >&3
    echo "{\"_id\": \"q$row\", \"text\": \"how heavy is stone number $row\"}" >&4
    printf 'q%d\td%d\t1\n' $row $row >>beir/qrels/train.tsv
    row=$((row + 1))
done 3>beir/corpus.jsonl 4>beir/queries.jsonl
GABBRO_STORE=$work/begin
export GABBRO_STORE
if ! { collection=$(gabbro collection --from beir) &&
    vocabulary=$(gabbro vocabulary --collection "$collection" --size 300) &&
    queries=$(gabbro queries --collection "$collection" --generator extractive) &&
    tokens=$(gabbro tokenize --collection "$collection" --vocabulary "$vocabulary" \
        --generated "$queries" --passage-tokens 24 --query-tokens 12) &&
    bm25=$(gabbro bm25-run --collection "$collection" --depth 10) &&
    encoder=$(gabbro pretrain none --collection "$collection" --tokens "$tokens" \
        --vocabulary "$vocabulary" --steps 0 --layers 1 --hidden 16 --heads 2 --ffn 32); }; then
    bad "the steps to begin with"
    checks_end
    exit 1
fi
data="--collection $collection --tokens $tokens --init $encoder"
pretraining="$data --vocabulary $vocabulary --batch 11 --steps 5 --learning-rate .01"
mlm="pretrain mlm $pretraining"
cocondenser="pretrain cocondenser $pretraining --context query"
finetune="finetune $data --negatives $bm25 --batch 4 --negatives-per-query 2 --epochs 1
    --train-queries 18 --learning-rate .01"

# ---- the same bits ---------------------------------------------------------------------------------
# made STORE COMMAND...: into a store of its own; $step is the folder
made()
{
    GABBRO_STORE=$work/$1
    shift
    gabbro "$@" >step 2>said || { bad "$*: ends with 0, not $?" said && return 1; }
    step=$(cat step)
}

same_files() # WHAT FOLDER FOLDER: same names, so same keys, and same bytes but for run.json
{
    if [ "$(basename "$2")" = "$(basename "$3")" ] && diff -r -x run.json "$2" "$3" >differ; then
        trust "$1: files that differ" "one process with the same shards" 0 0
    else
        bad "$1: has the key and the files of one process" differ
    fi
}

# What all ranks read is told by one.
cp -r "$encoder/model" bare
rm bare/config_sentence_transformers.json
made bare encode --model bare --collection "$collection" --tokens "$tokens" --ranks 2 &&
    expect "two ranks warn once" [ "$(grep -c 'warning: bare: no "similarity_fn_name"' said)" = 1 ]

# The worst relative difference of two losses.tsv.
losses_differ()
{
    paste "$1/losses.tsv" "$2/losses.tsv" | awk '
        NR > 1 {
            for (i = 2; i <= NF / 2; i++) {
                d = ($i - $(i + NF / 2)) / $(i + NF / 2)
                if (d < 0) d = -d
                if (d > worst) worst = d
            }
        }
        END { print worst + 0 }'
}

compare_ranks() # WHAT COUNTS COMMAND...
{
    what=$1 counts=$2
    shift 2
    made one "$@" --simulate-ranks 2 || return
    one=$step
    for count in $counts; do
        made "ranks$count" "$@" --ranks "$count" && same_files "$what, $count ranks" "$step" "$one"
    done
}

compare_ranks "masked LM with dropout" "2 ${full:+3 4}" $mlm
one_mlm=$one
compare_ranks "coCondenser in parts" "2 ${full:+4}" $cocondenser --micro-batch 1
one_cocondenser=$one
compare_ranks "fine-tuning without duplicates" "2" $finetune --negatives-per-query 1 --no-duplicates
steps=$(awk 'END { print NR - 1 }' "$one/losses.tsv")
left_out=$(sed -n 's/.*"left_out": \([0-9]*\).*/\1/p' "$one/run.json")
expect "its batches are whole: $steps of 4 queries, and $left_out are left out of 18" \
    [ $((4 * steps + left_out)) = 18 ]
made parts $finetune --negatives-per-query 1 --no-duplicates --gradient-shards 1 --micro-batch 3 &&
    trust "fine-tuning without duplicates in parts: losses" "two shards" "$(losses_differ "$one" "$step")" 1e-5
if [ -n "$full" ]; then
    made whole $cocondenser && trust "coCondenser, 5 steps by ranks: losses" "the whole batch" \
        "$(losses_differ "$one_cocondenser" "$step")" 1e-6
    made whole $mlm && trust "masked LM, 5 steps by ranks: losses" "the whole batch" \
        "$(losses_differ "$one_mlm" "$step")" 1e-6
    compare_ranks "fine-tuning" "2 4" $finetune
    compare_ranks "fine-tuning by tokens" "2" $finetune --scoring tokens --token-width 8 --query-length 10
    compare_ranks "fine-tuning by COIL" "2" $finetune --scoring coil --coil-width 8
    late=$one
    compare_ranks "cross-encoder" "2 4" finetune-cross $data --negatives "$bm25" --batch 4 --negatives-per-query 2 \
        --epochs 1 --train-queries 18 --learning-rate .01
    compare_ranks "fine-tuning, term weights" "2" $finetune --scoring sparse
fi

# divided WHAT COMMAND...: its texts or vectors by 2 ranks, as by one process
divided()
{
    what=$1
    shift
    made alone "$@" || return
    alone=$step
    made together "$@" --ranks 2 && same_files "$what, 2 ranks" "$step" "$alone"
}

texts="--model $encoder --collection $collection --tokens $tokens"
divided "vectors of queries" encode $texts --split train
queries=$alone
divided "vectors of passages" encode $texts
divided "search" search --queries "$queries" --passages "$alone" --depth 9
divided "mining" mine $texts --depth 9
if [ -n "$full" ]; then
    texts="--model $late --collection $collection --tokens $tokens"
    divided "COIL, vectors of passages" encode $texts
    divided "COIL, mining" mine $texts --depth 9
fi
if made one $finetune --scoring sparse; then
    texts="--model $step --collection $collection --tokens $tokens"
    divided "term weights of passages" encode $texts
    divided "mining by term weights" mine $texts --depth 9
fi
if made one pretrain deepct $pretraining --init "$encoder"; then
    divided "words weighed" weigh-words --model "$step" --collection $collection --tokens $tokens
fi

code=0
"$GABBRO" $mlm --ranks 9 >step 2>said || code=$?
expect "more ranks than shards are a wrong command ($code)" [ $code = 2 ]
expect "that names the option" grep -q -- '--gradient-shards' said

# HOW COMMAND: two ranks of a command that differ: rank 1 runs HOW, where "$@" is the command. Not by `mpirun A : B`, of which
# Open MPI 5.0.7's mpirun dies.
two_ranks()
{
    how=$1
    shift
    mpirun --oversubscribe -n 2 sh -c "if [ \"\$OMPI_COMM_WORLD_RANK\" = 1 ]; then exec $how; fi; exec \"\$@\"" sh \
        "$GABBRO" "$@" >step 2>said </dev/null
}

code=0
GABBRO_STORE=$work/different
two_ranks '"$@" --seed 7' $mlm || code=$?
expect "ranks with different options are refused ($code)" [ $code = 1 ]
expect "one of them says so" [ "$(grep -c '^gabbro: rank 1 .*what it makes .* is not that of rank 0' said)" = 1 ]
expect "and nothing is made" [ "$(ls different)" = work ]

# ---- stopped, killed, failed, and resumed by others ------------------------------------------------
child=''
begun() # RANKS: $long in the background by so many ranks, in the store `stopped`, on its way
{
    : >said # what the last one said is not meant
    GABBRO_STORE=$work/stopped "$GABBRO" $long --ranks "$1" >step 2>said &
    child=$!
    patience=1200
    while kill -0 $child 2>/dev/null && [ $patience -gt 0 ] && ! grep -q 'device:' said; do
        patience=$((patience - 1))
        sleep 0.05
    done
}

children() # PROCESS: those that it began
{
    grep -l "^PPid:[[:space:]]*$1\$" /proc/[0-9]*/status 2>/dev/null | tr -dc '0-9\n'
}

ended() # status of the child in $code, how long it took in $took
{
    code=0 since=$(date +%s)
    wait $child || code=$?
    took=$(($(date +%s) - since))
}

long="$mlm --steps 300" # so many that none ends before it is told
if made one $long --simulate-ranks 1; then
    undisturbed=$step
    begun 2
    kill -USR1 $child # what a scheduler sends before it takes the machine away; mpirun passes it on
    ended
    expect "2 ranks asked to stop end with 75 ($code)" [ $code = 75 ]
    expect "they keep where they are" [ -s "$(echo "$work"/stopped/work/*/resume/checkpoint)" ]
    expect "one of them says so" [ "$(grep -c 'stopped after step' said)" = 1 ]
    begun 2
    kill -INT $child # what Ctrl-C sends
    ended
    expect "2 ranks stopped by Ctrl-C end with 75 ($code)" [ $code = 75 ]
    expect "and keep where they are" grep -q 'stopped after step' said
    begun 2
    kill -KILL "$(children "$(children $child)" | tail -n 1)"
    ended
    expect "of a killed rank the others end, with 137 ($code)" [ $code = 137 ]
    expect "within a minute ($took s)" [ $took -lt 60 ]
    expect "who was killed is said" [ -n "$(tr '\n' ' ' <said | grep 'rank [0-9] .*on node .*signal 9')" ]
    made stopped $long --gradient-shards 8 &&
        same_files "2 ranks, stopped, killed, ended by one process" "$step" "$undisturbed"
fi

# A call that fails on one rank only, in the middle of its steps.
GABBRO_STORE=$work/failed
code=0
two_ranks 'env GABBRO_FAIL_AT=3000 "$@"' $long || code=$?
expect "a failure on rank 1 ends all with its code ($code)" [ "$code" -ge 3 ]
expect "in one line: rank, machine, step and cause" \
    [ "$(grep -c '^gabbro: rank 1 of 2 on .*, pretrain mlm, step [0-9].*: ' said)" = 1 ]
checks_end
