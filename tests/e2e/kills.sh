#!/bin/sh
# A whole table, killed with SIGKILL at random moments, again and again (tests/run --kills): in the end it is
# the table of a quiet run, and so is every file of its steps.
#   kills.sh REPRODUCE GABBRO [KILLS [SEED]]    100 kills, seed 1
# The moments are drawn from the seed; where they fall in the work depends on the machine. Every second run
# works on two steps at once. A run that ends before its moment is compared, and begins anew from an empty
# store.
# shellcheck disable=SC2154 # of own.sh and mini.sh
set -u
here=$(dirname -- "$0")
. "$here/../checks.sh"
. "$here/own.sh"
. "$here/mini.sh"
kills=${3:-100} drawn=${4:-1}
case $kills in
'' | *[!0-9]*)
    echo "kills.sh: \"$kills\" is no number of kills" >&2
    exit 2
    ;;
esac
if ! command -v setsid >/dev/null 2>&1; then
    skipped "kills: there is no setsid"
    checks_end
    exit
fi

now_ms()
{
    echo $(($(date +%s%N) / 1000000))
}

draw() # BELOW: a number in $drew
{
    drawn=$(((drawn * 1103515245 + 12345) % 2147483648))
    drew=$((drawn / 1024 % 100000 * $1 / 100000))
}

# ---- the quiet run, and how long all of it takes and how long a look at what is there ---------------
begun=$(now_ms)
finish "$work/quiet" "$work/quiet.out" --jobs 2
if [ "$status" != 0 ]; then
    bad "the quiet run ends with 0, not $status" "$work/quiet.out.stderr"
    checks_end
    exit 1
fi
whole_ms=$(($(now_ms) - begun))
results "$work/quiet" "$work/quiet.out" >"$work/quiet.results"
begun=$(now_ms)
finish "$work/quiet" "$work/again.out" --jobs 1
look_ms=$(($(now_ms) - begun))
expect "a second run ends with 0" [ "$status" = 0 ]
same_results "a table printed again from its store" "$work/quiet" "$work/again.out"
latest_ms=$((look_ms + whole_ms / 8)) # so that there is progress, and kills fall into all of the work
echo "a quiet run: $whole_ms ms, from its store: $look_ms ms; kills after up to $latest_ms ms"

# ---- the kills --------------------------------------------------------------------------------------
killed=0 interrupted=0 runs=0 wrong=0 worst=0 store=$work/store
steps_of() # STORE: finished ones
{
    find "$1" -mindepth 2 -maxdepth 2 -name run.json ! -path '*/work/*' 2>/dev/null | wc -l
}

ended() # the run got to its end
{
    runs=$((runs + 1))
    compare_results "$store" "$work/killed.out"
    [ "$differ" -le "$worst" ] || worst=$differ
    [ "$differ" = 0 ] || diff "$work/quiet.results" "$work/killed.out.results" | head -n 20
    expect "run $runs, after $killed kills: $differ lines differ from $against" [ "$differ" = 0 ]
    rm -rf "$store" "$work/killed.out"
}

while [ $killed -lt "$kills" ] && [ $wrong = 0 ]; do
    draw $latest_ms
    run setsid "$store" "$work/killed.out" --jobs $((1 + killed % 2)) \
        >"$work/killed.stdout" 2>"$work/killed.stderr" </dev/null &
    child=$!
    sleep "$(printf '%d.%03d' $((drew / 1000)) $((drew % 1000)))"
    if kill -9 "-$child" 2>/dev/null; then
        wait "$child" 2>/dev/null
        status=$?
    else
        wait "$child"
        status=$?
    fi
    child=''
    if [ $status = 137 ]; then
        killed=$((killed + 1))
        left=$(find "$store/work" -mindepth 1 -maxdepth 1 -type d 2>/dev/null | wc -l)
        interrupted=$((interrupted + left))
        if [ $((killed % 10)) = 0 ]; then
            [ ! -d "$store" ] || whole "$store" || bad "kill $killed: the store is whole" "$work/verify"
            echo "$killed of $kills kills, $interrupted steps interrupted, $(steps_of "$store") steps done," \
                "$runs runs at their end"
        fi
    elif [ $status = 0 ]; then
        ended
    else
        wrong=1
        bad "after $killed kills a run ends with $status" "$work/killed.stderr"
    fi
done

# ---- what came of it ---------------------------------------------------------------------------------
if [ $wrong = 0 ]; then
    begun_with=$(steps_of "$store")
    finish "$store" "$work/killed.out" --jobs 2
    expect "after $killed kills the run ends with 0 ($begun_with steps were done)" [ "$status" = 0 ]
    expect "the store is whole" whole "$store"
    resumed=$(grep -l '"resumed": true' "$store"/*/run.json | wc -l)
    ended
    echo "$killed kills, $interrupted steps interrupted and repeated or resumed ($resumed of the last run's)," \
        "$runs runs to their end"
    trust "table1 killed $killed times: files of steps and results that differ, but for times" \
        "$against" "$worst" 0
fi
checks_end
