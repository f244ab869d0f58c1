# What tables will cost (POSIX sh, sourced by reproduce). A table's script runs with its steps replaced:
# those that train or encode only count their arithmetic (--cost), on stand-ins where a scale has public
# collections; the others are quick and really run. A short training then says how fast this device is.
# shellcheck shell=sh disable=SC2034,SC2154 # the settings, and what reproduce sets

STAND_IN_PASSAGES=256 # of a collection that need not be here

# Value of an option among arguments.
plan_option() # NAME ARGUMENTS...
{
    option=--$1
    shift
    while [ $# -gt 1 ]; do
        [ "$1" != "$option" ] || printf '%s\n' "$2"
        shift
    done | tail -n 1
}

# NAME=NUMBER among words.
plan_number() # NAME WORDS
{
    printf '%s\n' "$2" | tr ' ' '\n' | sed -n "s/^$1=//p"
}

# ---- stand-ins for public collections ----------------------------------------------------------------

# A row of datasets/sizes.tsv: name passages words query_words train_queries eval_queries
public_sizes() # NAME
{
    awk -F '\t' -v name="$1" '$1 == name { print; found = 1 } END { exit !found }' \
        "$here/../datasets/sizes.tsv" || fail 3 "datasets/sizes.tsv does not say how big $1 is"
}

# A small collection of words that mean nothing, in texts as long as those of the real one. A word is
# one token here, in the real one 1.34 (MS MARCO).
stand_in() # NAME
{
    stand=$plan_dir/stand-in/$1
    [ -d "$stand" ] || {
        mkdir -p "$stand/qrels"
        if [ "$1" = "$initial_encoder" ]; then
            stand_in_words >"$stand/vocab.txt"
        else
            public_sizes "$1" | stand_in_texts "$stand"
        fi
    }
    printf '%s\n' "$stand"
}

stand_in_words()
{
    awk -v tokens="$vocabulary_tokens" 'BEGIN {
        split("[PAD] [UNK] [CLS] [SEP] [MASK] .", special, " ")
        for (i = 1; i <= tokens; i++) print (i <= 6 ? special[i] : "w" i)
    }'
}

stand_in_texts() # FOLDER, reads a row of sizes
{
    awk -F '\t' -v folder="$1" -v passages="$STAND_IN_PASSAGES" -v tokens="$vocabulary_tokens" '
    function text(mean,    words, out, i) {
        words = 1 + int(mean * 1.34 * (.5 + rand()))
        for (i = 1; i <= words; i++)
            out = out "w" (7 + int(rand() * (tokens - 6))) (i % 15 == 0 ? ". " : " ")
        return out
    }
    {
        srand(1)
        for (p = 0; p < passages; p++) {
            printf "{\"_id\": \"%d\", \"title\": \"\", \"text\": \"%s\"}\n", p, text($3) >folder "/corpus.jsonl"
            if (p % 4 == 0)
                printf "%s{\"id\": \"%d\", \"passages\": [", (p ? "]}\n" : ""), p / 4 >folder "/documents.jsonl"
            printf "%s{\"id\": \"%d\"}", (p % 4 ? ", " : ""), p >folder "/documents.jsonl"
            printf "{\"id\": \"%d\", \"queries\": [", p >folder ".queries.jsonl"
            for (q = 0; q < 20; q++)
                printf "%s\"%s\"", (q ? ", " : ""), text(6) >folder ".queries.jsonl"
            printf "]}\n" >folder ".queries.jsonl"
        }
        printf "]}\n" >folder "/documents.jsonl"
        for (q = 0; q < passages; q++) {
            split_name = q % 2 ? "dev" : "train"
            printf "{\"_id\": \"q%d\", \"text\": \"%s\"}\n", q, text($4) >folder "/queries.jsonl"
            if (q < 2) print "query-id\tcorpus-id\tscore" >folder "/qrels/" split_name ".tsv"
            printf "q%d\t%d\t1\n", q, q >folder "/qrels/" split_name ".tsv"
        }
    }'
}

# In the place of a published encoder: one of its size, with 512 positions.
stand_in_model()
{
    passage_tokens=512 set_key=any # for this step only: it runs in a shell of its own
    tokens=$(tokens)
    random_encoder
}

# Passages, queries to train on and to measure, and how many times its stand-in the collection is.
plan_sizes() # COLLECTION
{
    name=$(cat "$1.public" 2>/dev/null || true)
    if [ -n "$name" ]; then
        public_sizes "$name" | awk -F '\t' -v n="$STAND_IN_PASSAGES" '{ print $2, $5, $6, $2 / n }'
    else
        judged=$1/collection/qrels/train.tsv
        trained=0
        [ ! -f "$judged" ] || trained=$(($(wc -l <"$judged") - 1))
        printf '0 %s 0 1\n' $trained
    fi
}

# ---- counting ----------------------------------------------------------------------------------------

# In the place of step: prints a folder as the step would, and notes the cost where it was not noted
# before. The folder's name stands for the whole command; beside it NAME.memory says how many bytes it
# needs on the device, in memory, and on the disk until it ends.
plan_step() # COMMAND ARGUMENTS...
{
    plan_name=$plan_dir/steps/$1-$(printf '%s' "$*" | checksum)
    [ -e "$plan_name" ] || {
        case "$1 $2 ${3-}" in
        'pretrain none '* | 'evaluate --bm25 '*) plan_host "$@" ;;
        'pretrain '*' --in-turns-with') plan_turns "$@" ;;
        'pretrain '* | 'finetune '*) plan_training "$@" ;;
        'mlm-loss '* | 'mine '* | 'evaluate '*) plan_encoding "$@" ;;
        'efficiency '*) ln -s "$plan_dir" "$plan_name" ;; # it reads what a training noted
        *) plan_host "$@" ;;
        esac || exit
    }
    [ ! -f "$plan_name.memory" ] || note_cost memory "$(cat "$plan_name.memory")"
    printf '%s\n' "$plan_name"
}

note_cost() # KIND NUMBERS...
{
    printf '%s %s\n' "$table" "$*" >>"$plan_dir/costs"
}

# $words of a step: NAME=NUMBER. Steps that differ by models and seeds alone cost the same.
count_cost() # COMMAND ARGUMENTS...
{
    kind=$plan_dir/kinds/$(printf '%s' "$*" |
        sed 's/ --\(init\|model\|negatives\|seed\|learning-rate\) [^ ]*//g' | checksum)
    if [ ! -e "$kind" ]; then
        "$gabbro" "$@" --cost --quiet >"$kind.$job" || return
        mv "$kind.$job" "$kind"
    fi
    words=$(cat "$kind")
}

# An awk program over the words of a step: value["NAME"].
with_words() # PROGRAM OPTIONS...
{
    program=$1
    shift
    printf '%s\n' "$words" | tr ' =' '\n ' | awk "$@" "{ value[\$1] = \$2 } END { $program }"
}

# Later steps find the encoder that the training starts from: it has the same size.
plan_training() # COMMAND ARGUMENTS...
{
    count_cost "$@" || return
    steps=$(plan_number steps "$words")
    if [ "$1" = finetune ]; then
        queries=$(plan_option train-queries "$@")
        [ "$queries" != 0 ] || queries=$(plan_sizes "$(plan_option collection "$@")" | cut -d ' ' -f 2)
        batch=$(plan_number batch "$words")
        steps=$(((queries * $(plan_option epochs "$@") + batch - 1) / batch))
    fi
    ln -s "$(readlink -f "$(plan_option init "$@")")" "$plan_name"
    with_words 'printf "%.0f 0 0\n", value["parameter_bytes"] + value["activation_bytes"]' >"$plan_name.memory"
    note_cost "$(with_words 'printf "train %.6g %.0f", steps * (value["flops"] + value["update_flops"]),
        value["parameter_bytes"] / 4' -v steps="$steps")"
    noted=$plan_dir/training
    [ "$1" != finetune ] || noted=$plan_dir/finetuning
    [ -e "$noted" ] || printf '%s\n' "$@" >"$noted"
}

# All of them in one process, nothing to be found by later steps.
plan_turns() # pretrain OBJECTIVE --in-turns-with OBJECTIVES OPTIONS...
{
    turns=$plan_name objectives="$2 $(echo "$4" | tr , ' ')"
    shift 4
    for objective in $objectives; do
        plan_name=$turns-$objective
        plan_training pretrain "$objective" "$@" || return
    done
    plan_name=$turns
    cat "$turns"-*.memory | awk '{ sum += $1 } END { printf "%.0f 0 0\n", sum }' >"$turns.memory"
    ln -s "$plan_dir" "$turns"
}

# Of mine, later steps find BM25's run.
plan_encoding() # COMMAND ARGUMENTS...
{
    count_cost "$@" || return
    if [ "$1" = mine ]; then
        of=$(plan_option collection "$@")
        [ -e "$of.run" ] || "$gabbro" bm25-run --collection "$of" --quiet >"$of.run" || return
        ln -s "$(cat "$of.run")" "$plan_name"
    else
        ln -s "$plan_dir" "$plan_name" # nobody reads it
    fi
    sizes=$(plan_sizes "$(plan_option collection "$@")")
    encoding=$(with_words '
        split(sizes, of, " ")
        passages = of[1]
        if (!passages) passages = value["passages"]
        else value["queries"] = command == "mine" ? of[2] : of[3]
        if (command == "mlm-loss") passages = value["sample"]
        search = 2 * passages * value["queries"] * value["width"]
        flops = passages * value["passage_flops"] + value["queries"] * value["query_flops"] + search
        # A passage that was found takes 16 bytes in memory, of the search and of the run.
        in_memory = value["queries"] * (value["width"] * 4 + depth * 16)
        printf "%.6g %.0f 0 %.0f %.0f", flops, value["queries"] * 5000, in_memory, passages * value["width"] * 4' \
        -v command="$1" -v sizes="$sizes" -v depth="$(plan_option depth "$@")")
    printf '%s\n' "${encoding#* * }" >"$plan_name.memory"
    note_cost encode "${encoding% * * *}"
    [ "$1 ${sizes%% *}" != 'evaluate 0' ] || [ -e "$plan_dir/evaluation" ] ||
        printf '%s\n' "${encoding%% *}" "$@" >"$plan_dir/evaluation"
}

# Really run; of a stand-in, its time is multiplied.
plan_host() # COMMAND ARGUMENTS...
{
    made=$("$gabbro" "$@" --quiet) || return
    ln -s "$made" "$plan_name"
    case "$* " in 'bm25-run '*' --split train '*) printf '%s\n' "$made" >"$(plan_option collection "$@").run" ;; esac
    of=$(plan_option collection "$@") from=$(plan_option from "$@")
    if [ "$1" = collection ] && [ "${from%/*}" = "$plan_dir/stand-in" ]; then
        printf '%s\n' "${from##*/}" >"$plan_name.public"
        note_cost data "${from##*/}"
        of=$plan_name
    fi
    whole=$(plan_option cut "$@")
    if [ -f "$whole.public" ]; then
        cp "$whole.public" "$plan_name.public"
        of=$plan_name
    fi
    times=1
    [ -z "$of" ] || [ "$1" = pretrain ] || times=$(plan_sizes "$of" | cut -d ' ' -f 4)
    note_cost host "$(step_number wall_s "$made")" "$times"
    index=$(step_number index_bytes "$made") # of BM25
    [ -z "$index" ] || awk -v bytes="$index" -v times="$times" 'BEGIN { printf "0 %.0f 0\n", bytes * times }' \
        >"$plan_name.memory"
}

count_tables() # FOLDER TABLES
{
    plan_dir=$1
    shift
    mkdir -p "$plan_dir/steps" "$plan_dir/kinds" "$plan_dir/stand-in"
    : >"$plan_dir/costs"
    for table in "$@"; do
        run_script plan
        [ "$code" = 0 ] || exit "$code"
    done
}

# ---- how fast this device is ---------------------------------------------------------------------------

# So many steps of a training, by its command.
short_training() # BATCH STEPS COMMAND ARGUMENTS...
{
    if [ "$3" = finetune ]; then # an epoch of one batch is a step
        length="--train-queries $1 --epochs $2"
    else
        length="--steps $2"
    fi
    short_batch=$1
    shift 2
    # shellcheck disable=SC2086 # words
    "$gabbro" "$@" --batch "$short_batch" $length --quiet
}

# Arithmetic a second of a short training: the first one that was counted, its batch made so small that a
# step takes seconds at most, repeated for some seconds. It counts when another went before it: kernels that
# this machine has never run are compiled in their first step. Prints that, the seconds to start one, the most
# memory that it took, and what is counted of it as the device's.
measure_training()
{
    set --
    while IFS= read -r word; do set -- "$@" "$word"; done <"$plan_dir/training"
    count_cost "$@" || return
    batch=$(with_words 'fit = int(5e10 / value["flops"] * value["batch"])
        print fit < 1 ? 1 : fit < value["part"] ? fit : value["part"]')
    count_cost "$@" --batch "$batch" || return
    flops=$(plan_number flops "$words") steps=1 warm=no
    while :; do
        made=$(short_training "$batch" "$steps" "$@") || return
        took=$(awk -v work="$(step_number work_s "$made")" -v build="$(step_number build_s "$made")" \
            -v wall="$(step_number wall_s "$made")" -v steps="$steps" -v flops="$flops" 'BEGIN {
                seconds = work - build
                printf "%.6g %.3f %d\n", flops * steps / seconds, wall - seconds,
                    (seconds >= 5 || steps > 2000 ? 0 : 1 + steps * (seconds > .5 ? 6 / seconds : 12))
            }')
        if [ "${took##* }" != 0 ]; then
            steps=${took##* } warm=no
        elif [ "$warm" = no ]; then
            steps=$((steps + 1)) warm=yes # as many again would be the step that is there
        else
            break
        fi
    done
    peak=$(step_number peak_resident_bytes "$made")
    printf '%s %s %s\n' "${took% *}" "${peak:-0}" \
        "$(with_words 'printf "%.0f", value["parameter_bytes"] + value["activation_bytes"]')"
}

# Seconds of an evaluation beside its arithmetic: measures and files. Of a stand-in they are not known; where
# the arithmetic alone takes long they are little.
measure_evaluation() # RATE
{
    [ -e "$plan_dir/evaluation" ] || {
        echo 0
        return
    }
    rate=$1
    set --
    while IFS= read -r word; do set -- "$@" "$word"; done <"$plan_dir/evaluation"
    flops=$1
    shift
    if awk -v flops="$flops" -v rate="$rate" 'BEGIN { exit !(flops > 20 * rate) }'; then
        echo 0
        return
    fi
    made=$("$gabbro" "$@" --quiet) || return
    awk -v wall="$(step_number wall_s "$made")" -v flops="$flops" -v rate="$rate" \
        'BEGIN { rest = wall - flops / rate; print (rest > 0 ? rest : 0) }'
}

plan() # TABLES
{
    plan_root=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-plan.XXXXXX") || fail 3 "no folder for temporary files"
    trap 'rm -rf "$plan_root"' EXIT
    GABBRO_STORE=$plan_root/store
    export GABBRO_STORE
    seeds=${seeds%% *} job=0
    say "counting what the tables take"
    count_tables "$plan_root" "$@"
    rate=1 start=0 peak=0 counted=0 evaluation=0 on_host=0
    [ -e "$plan_root/training" ] || [ ! -e "$plan_root/finetuning" ] ||
        mv "$plan_root/finetuning" "$plan_root/training"
    if [ -e "$plan_root/training" ]; then
        say "measuring how fast the device is${LP_NUM_THREADS:+, $jobs steps at once}"
        # The others only keep the device as busy as it will be.
        while [ $((job += 1)) -lt "$jobs" ]; do
            GABBRO_STORE=$plan_root/store.$job measure_training >/dev/null &
        done
        measured=$(measure_training) || exit
        wait
        # shellcheck disable=SC2086 # words
        set -- $measured
        rate=$1 start=$2 peak=$3 counted=$4
        evaluation=$(measure_evaluation "$rate") || exit
        ! on_cpu || on_host=1
    fi
    "$gabbro" data list 2>/dev/null | awk '{ print "- size", $1, $2, $3 }' >>"$plan_root/costs"
    print_plan <"$plan_root/costs"
}

print_plan()
{
    awk -v jobs="$jobs" -v rate="$rate" -v start="$start" -v evaluation="$evaluation" -v peak="$peak" \
        -v counted="$counted" -v on_host="$on_host" '
    BEGIN { program = peak - on_host * counted }
    function amount(bytes) { return sprintf(bytes < 1e9 ? "%.2f GB" : "%.1f GB", bytes / 1e9) }
    function duration(time)
    {
        if (time < 7200) return sprintf("%7.1f minutes", time / 60)
        if (time < 172800) return sprintf("%7.1f hours", time / 3600)
        if (time < 86400000) return sprintf("%7.1f days", time / 86400)
        return sprintf("%7.1f years", time / 31557600)
    }
    function line(name,    text)
    {
        text = sprintf("%-14s %15s  device %s, memory %s, disk %s", name, duration(seconds[name]),
            amount(device[name]), amount(jobs * memory[name]), amount(disk[name] + jobs * passing[name]))
        if (download[name]) text = text ", download " at_least[name] amount(download[name])
        print text
    }
    function add(table, time, bytes) { seconds[table] += time / jobs; disk[table] += bytes }
    function largest(table, on_device, in_memory, for_now)
    {
        if (for_now > passing[table]) passing[table] = for_now
        if (on_device > device[table]) device[table] = on_device
        in_memory += program + on_host * on_device # a CPU device has the memory of the host
        if (in_memory > memory[table]) memory[table] = in_memory
    }
    function take(table)
    {
        if ($2 == "train") add(table, $3 / rate + start, $4)
        if ($2 == "encode") add(table, $3 / rate + evaluation, $4)
        if ($2 == "host") add(table, $3 * $4, 0)
        if ($2 == "memory") largest(table, $3, $4, $5)
        if ($2 == "data") wanted[table, $3] = 1
    }
    $1 == "-" { size[$3] = $4 * 1e6; more[$3] = $5 == "MB+"; next } # +: of some files nobody says it
    { take($1); take("all"); if (!seen[$1]++) order[++count] = $1 }
    END {
        for (pair in wanted) {
            split(pair, of, SUBSEP)
            download[of[1]] += size[of[2]]
            if (more[of[2]]) at_least[of[1]] = "at least "
        }
        for (i = 1; i <= count; i++) line(order[i])
        line("all")
        printf "A seed; each step is counted where it is first needed."
        if (rate > 1) printf " This device: %.1f GFLOP/s in training.", rate / 1e9
        printf "\n"
    }'
}
