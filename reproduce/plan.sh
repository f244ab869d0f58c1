# What tables will cost (POSIX sh, sourced by reproduce): a table's script runs with its steps replaced
# by short ones, each kind of step once, and the rest is multiplication.
# shellcheck shell=sh disable=SC2154 # the settings, and what reproduce sets

PLAN_STEPS=24

# What a step needs that was calibrated by a short one: seconds of N steps.
plan_training() # FOLDER STEPS
{
    awk -v work="$(step_number work_s "$1")" -v build="$(step_number build_s "$1")" \
        -v steps="$(step_number steps "$1")" -v all="$2" \
        'BEGIN { printf "%.2f", (steps > 0 ? build + (work - build) / steps * all : 0) }'
}

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

# Runs the short form of a step and prints its folder.
plan_short() # COMMAND ARGUMENTS...
{
    case $1 in
    pretrain)
        if [ "$2" = none ]; then
            "$gabbro" "$@" --quiet
        else
            "$gabbro" "$@" --steps $PLAN_STEPS --quiet
        fi
        ;;
    finetune)
        "$gabbro" "$@" --epochs 1 --train-queries $((PLAN_STEPS * finetune_batch_queries)) --quiet
        ;;
    *) "$gabbro" "$@" --quiet ;;
    esac
}

# Steps of the same kind on the same texts cost the same.
plan_kind() # COMMAND ARGUMENTS...
{
    case $1 in
    pretrain) printf '%s' "$2-$(plan_option context "$@")-$(plan_option tokens "$@")" ;;
    finetune | mine | evaluate)
        printf '%s' "$1-$(plan_option collection "$@")-$(plan_option tokens "$@")-$(
            plan_option bm25 "$@" | wc -l)"
        ;;
    *) printf '%s' "$*" ;;
    esac | cksum | tr ' ' -
}

plan_cost() # FOLDER COMMAND ARGUMENTS...
{
    folder=$1 command=$2
    shift
    case $command in
    pretrain) plan_training "$folder" "$(plan_option steps "$@")" ;;
    finetune)
        queries=$(plan_option train-queries "$@")
        judged=$(plan_option collection "$@")/collection/qrels/train.tsv
        [ "$queries" != 0 ] || queries=$(($(wc -l <"$judged") - 1))
        plan_training "$folder" $((queries * $(plan_option epochs "$@") / finetune_batch_queries))
        ;;
    *) step_number wall_s "$folder" ;;
    esac
}

# In the place of step: prints a folder as the step would, and notes the cost where it was not noted
# before. The folder's name stands for the whole command.
plan_step() # COMMAND ARGUMENTS...
{
    plan_name=$plan_dir/steps/$1-$(printf '%s' "$*" | cksum | tr ' ' -)
    if [ ! -e "$plan_name" ]; then
        kind=$plan_dir/kinds/$(plan_kind "$@")
        if [ ! -e "$kind" ]; then
            made=$(plan_short "$@") || exit
            ln -s "$made" "$kind"
        fi
        ln -s "$(readlink "$kind")" "$plan_name"
        printf '%s %s\n' "$table" "$(plan_cost "$plan_name" "$@")" >>"$plan_dir/costs"
    fi
    printf '%s\n' "$plan_name"
}

measure_tables() # FOLDER TABLES
{
    plan_dir=$1
    shift
    mkdir -p "$plan_dir/steps" "$plan_dir/kinds"
    : >"$plan_dir/costs"
    GABBRO_STORE=$plan_dir/store
    export GABBRO_STORE
    for table in "$@"; do
        say "$table"
        run_script plan
        [ $code = 0 ] || exit $code
    done
}

plan() # TABLES
{
    plan_root=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-plan.XXXXXX") || fail 3 "no folder for temporary files"
    trap 'rm -rf "$plan_root"' EXIT
    say "measuring short steps of every kind${LP_NUM_THREADS:+, $jobs at once}"
    seeds=${seeds%% *}
    # The others only keep the device as busy as it will be.
    job=1 flags=$step_flags step_flags="$step_flags --quiet"
    while [ $job -lt "$jobs" ]; do
        measure_tables "$plan_root/$job" "$@" &
        job=$((job + 1))
    done
    step_flags=$flags
    measure_tables "$plan_root/0" "$@"
    wait
    awk -v jobs="$jobs" '
    { $2 /= jobs; minutes[$1] += $2 / 60; all += $2 / 60; if (!seen[$1]++) order[++count] = $1 }
    END {
        for (i = 1; i <= count; i++) printf "%-14s %6.1f minutes\n", order[i], minutes[order[i]]
        printf "%-14s %6.1f minutes a seed, each step counted where it is first needed\n", "all", all
    }' "$plan_root/0/costs"
}
