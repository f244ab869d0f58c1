# Several steps at once, and how far the run is (POSIX sh, sourced by reproduce).
#
# A helper runs the scripts of the tables ahead of the process that prints them. A step that somebody
# else is making it leaves for later, and with it all that needs its folder; with the rest it goes on.
# shellcheck shell=sh disable=SC2034,SC2154 # variables shared with lib.sh and reproduce

JOBS_MOST=8 # at a gigabyte each

# Whether the device in use is a CPU.
on_cpu()
{
    [ "$("$gabbro" doctor --type 2>/dev/null || true)" = cpu ]
}

# $jobs: given, or a step for every core of a device that is the CPU: small kernels leave cores idle
# when one step has them all. Not more than one where times are measured.
choose_jobs()
{
    cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
    if [ "$jobs" = auto ]; then
        jobs=1
        ! on_cpu || jobs=$cores
        [ "$jobs" -le $JOBS_MOST ] || jobs=$JOBS_MOST
    fi
    [ "$jobs" -gt 1 ] || return 0
    # Threads of Mesa's CPU driver; results do not depend on them.
    lone_threads=${LP_NUM_THREADS:-$cores}
    : "${LP_NUM_THREADS:=$(((cores + jobs - 1) / jobs))}"
    export LP_NUM_THREADS
}

measures_time() # TABLE
{
    grep -q '^# times:' "$here/$1"
}

# What a script finds set when it begins.
begin_script()
{
    exec 3>&1
    load_prefixed "paper_${table%%/*}"
    seed=${seeds%% *} figure_title='' figure_folder='' written=''
}

# The script of $table with this $dry_run, in a shell of its own; its status is in $code.
run_script() # DRY_RUN
{
    set +e # not "|| code=$?", which would switch -e off inside
    (
        set -e
        dry_run=$1
        begin_script
        # shellcheck source=/dev/null # one of the tables
        . "$here/$table"
    )
    code=$?
    set -e
}

# ---- how far ---------------------------------------------------------------------------------------

# Steps of a kind take about as long as each other. Of each kind how many there are, and how many texts their
# trainings see together: a step of pre-training with a context has two for each of its batch.
step_kinds() # reads commands
{
    sort -u | awk '
    {
        kind = $1 == "pretrain" ? $1 "-" $2 : $1
        steps = batch = 0
        sides = 1
        for (i = 3; i < NF; i++) {
            if ($i == "--steps") steps = $(i + 1)
            if ($i == "--batch") batch = $(i + 1)
            if ($i == "--context" && $(i + 1) != "none") sides = 2
        }
        count[kind]++
        texts[kind] += steps * batch * sides
    }
    END { for (kind in count) print count[kind], kind, texts[kind] }'
}

count_steps() # TABLES
{
    for table in "$@"; do
        run_script count
    done | step_kinds >"$jobs_dir/kinds"
    : >"$jobs_dir/done"
}

step_done() # FOLDER COMMAND [OBJECTIVE]...
{
    done_folder=$1
    shift
    kind=$1
    [ "$1" != pretrain ] || kind=$1-$2
    printf '%s %s %s %s\n' "$kind" "$(step_number wall_s "$done_folder")" "$(printf '%s' "$*" | checksum)" \
        "${done_folder##*/}" >>"$jobs_dir/done"
}

# "37 of 861 steps, about 110 minutes left". Kinds of training that were not made yet count by their texts, as those
# that were, other kinds as the mean of all.
how_far()
{
    awk -v jobs="$jobs" '
    NR == FNR { total[$2] = $1; steps += $1; texts[$2] = $3 / $1; next }
    {
        if ($3 in seen) next
        seen[$3] = 1
        count++
        done[$1]++
        seconds[$1] += $2
        all_seconds += $2
    }
    END {
        for (kind in done)
            if (texts[kind]) {
                of_texts += seconds[kind]
                seen_texts += done[kind] * texts[kind]
            }
        for (kind in total) {
            left = total[kind] - done[kind]
            if (left <= 0 || !count) continue
            if (done[kind]) each = seconds[kind] / done[kind]
            else if (texts[kind] && seen_texts) each = texts[kind] * of_texts / seen_texts
            else each = all_seconds / count
            rest += left * each
        }
        printf "%d of %d steps", count, steps
        if (count) printf ", about %d minutes left", rest / jobs / 60 + .5
    }' "$jobs_dir/kinds" "$jobs_dir/done"
}

# ---- working ahead ---------------------------------------------------------------------------------

# Runs a step: its $folder, $code and $seconds. Nobody works for a process that stops or is gone.
run_step() # COMMAND ARGUMENTS...
{
    kill -0 $$ 2>/dev/null && [ ! -e "$jobs_dir/stop" ] || exit 75
    started=$(date +%s) code=0 all_cores=no
    # Where nobody else has a step. Asked before this one is noted below.
    [ "$jobs" = 1 ] || ls "$jobs_dir"/process.* >/dev/null 2>&1 || all_cores=yes
    no_wait=''
    [ "$dry_run" != ahead ] || no_wait=--no-wait # what another makes can be had later
    # shellcheck disable=SC2086 # flags are words
    (
        [ $all_cores = no ] || LP_NUM_THREADS=$lone_threads
        exec "$gabbro" "$@" $no_wait $step_flags
    ) >"$jobs_dir/folder.$worker" &
    echo $! >"$jobs_dir/process.$worker"
    wait $! || code=$?
    rm -f "$jobs_dir/process.$worker"
    seconds=$(($(date +%s) - started)) folder=$(cat "$jobs_dir/folder.$worker")
    ! grep -q " ${folder##*/}\$" "$jobs_dir/done" || seconds=0 # seen before
    [ $code != 0 ] || step_done "$folder" "$@"
}

# In the place of step.
step_ahead() # WHAT COMMAND ARGUMENTS...
{
    what=$1
    shift
    case $* in
    *'<later>'*)
        printf '<later>\n'
        return
        ;;
    esac
    run_step "$@" 2>"$jobs_dir/said.$worker"
    case $code in
    0)
        # Progress of several steps would mix.
        sed '/^gabbro: device: /d; /^gabbro: .* [0-9]*\/[0-9]* .*%/d' "$jobs_dir/said.$worker" >&4
        [ $seconds = 0 ] || say "$what: $seconds s ($(how_far))" 2>&4
        printf '%s\n' "$folder"
        ;;
    76)
        : >"$jobs_dir/later.$worker"
        printf '<later>\n'
        ;;
    *) exit $code ;;
    esac
}

# Works ahead on $table: $ahead is whole, later (what others make is missing) or failed. A failed step
# says nothing here: it fails again for whoever prints the table.
run_ahead()
{
    rm -f "$jobs_dir/later.$worker"
    run_script ahead 2>/dev/null # what the shell says of killed steps; what steps say goes to 4
    [ $code != 75 ] || exit 75
    ahead=whole
    [ $code = 0 ] || ahead=failed
    [ ! -e "$jobs_dir/later.$worker" ] || ahead=later
}

# All of $table that can be made without waiting for a helper's steps one by one.
work_ahead()
{
    worked_ahead=no
    [ "$jobs" -gt 1 ] && ! measures_time "$table" || return 0
    worked_ahead=yes
    run_ahead
    while [ $ahead = later ]; do
        sleep 1
        run_ahead
    done
}

helper() # WORKER TABLES
{
    worker=$1
    shift
    trap 'rm -f "$jobs_dir/worker.$worker"' EXIT
    while [ $# -gt 0 ]; do
        for table; do
            shift
            run_ahead
            [ $ahead != later ] || set -- "$@" "$table"
        done
        sleep 1
    done
}

begin_jobs() # TABLES
{
    exec 4>&2
    jobs_dir=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-jobs.XXXXXX") || fail 3 "no folder for temporary files"
    trap end_jobs EXIT
    trap 'exit 75' INT TERM
    count_steps "$@"
}

begin_helpers() # TABLES
{
    [ "$jobs" -gt 1 ] || return 0
    worker=1
    while [ $worker -lt "$jobs" ]; do
        : >"$jobs_dir/worker.$worker"
        helper $worker "$@" >/dev/null &
        worker=$((worker + 1))
    done
}

# Helpers stop where they are; their steps can be resumed.
end_jobs()
{
    : >"$jobs_dir/stop"
    patience=60
    while ls "$jobs_dir"/worker.* >/dev/null 2>&1 && [ $patience -gt 0 ]; do
        patience=$((patience - 1))
        for process in "$jobs_dir"/process.*; do
            number=$(cat "$process" 2>/dev/null) || continue # it ended just now
            kill "$number" 2>/dev/null || true
        done
        sleep 1
    done
    rm -rf "$jobs_dir"
}
