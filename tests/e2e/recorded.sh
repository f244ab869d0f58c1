#!/bin/sh
# The recorded results of a seed are had again: every cell with the same bits on the device and driver
# that made them, within the recorded spread on another. Full trainings: minutes a table.
#   recorded.sh REPRODUCE GABBRO [TABLE[:ROWS]...]   (default: all that are recorded; ROWS as of --rows)
set -u
. "$(dirname -- "$0")/../checks.sh"
reproduce=$1
GABBRO=$2
unset GABBRO_VALIDATION # tiny_table.sh runs the same commands under it
export GABBRO
shift 2
tables=$(CDPATH='' cd -- "$(dirname -- "$0")/../../tables" && pwd) || exit 1
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-recorded.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

device_of() # TABLE.JSON or recorded file: its first device line
{
    sed -n 's/^ *"device": "\(.*\)",$/\1/p' "$1" | head -n 1
}

# shellcheck disable=SC2046,SC2012 # names without blanks
[ $# -gt 0 ] || set -- $(cd "$tables/recorded" && ls ./*.mini.json | sed 's:^\./::; s:\.mini\.json$::; s:-:/:')
for table; do
    rows=${table#"${table%%:*}"} rows=${rows#:} table=${table%%:*}
    name=$(echo "$table" | tr / -)
    recorded=$tables/recorded/$name.mini.json out=$work/$name
    if grep -q '^efficiency:' "$tables/columns/$name.tsv"; then
        skipped "$table: times are not had again"
        continue
    fi
    seed=$(sed -n 's/^  "\([0-9]*\)": {$/\1/p' "$recorded" | head -n 1)
    "$reproduce" "$table" --seed "$seed" --store "$work/store" --out "$out" --quiet ${rows:+--rows "$rows"} \
        >"$work/stdout" 2>"$work/stderr" </dev/null
    status=$?
    if [ "$status" != 0 ]; then
        bad "$table: ends with 0, not $status" "$work/stderr"
        continue
    fi
    tr '\n' ' ' <"$work/stdout" | sed 's/  */ /g' >"$work/line"
    counts=$(sed -n 's/.*Against the records: \([0-9]*\) values of seed [0-9]* equal[^,]*, \([0-9]*\) lie[^,]*, \([0-9]*\) outside.*/\1 \2 \3/p' "$work/line")
    # shellcheck disable=SC2086 # three numbers
    set -- $counts
    expect "$table: cells are compared (${counts:-none})" [ "$#" = 3 ]
    [ "$#" = 3 ] || continue
    trust "$table, seed $seed: cells outside the spread of the seeds" "recorded results ($(($1 + $2 + $3)) cells)" "$3" 0
    if [ "$(device_of "$out/table.json")" = "$(device_of "$recorded")" ]; then
        trust "$table, seed $seed: cells with other bits" "recorded results ($(($1 + $2 + $3)) cells)" $(($2 + $3)) 0
    else
        skipped "$table: recorded on another device: $(device_of "$recorded")"
    fi
done
checks_end
