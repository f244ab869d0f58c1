#!/bin/sh
# The whole way from nothing to the main table, on the mini world with a model and training too small
# to learn anything: every step, the store and the report are the real ones.
#   tiny_table.sh REPRODUCE GABBRO [kills]   kills: a second run, killed on the way, gives the same table
set -u
. "$(dirname -- "$0")/../checks.sh"
reproduce=$1
GABBRO=$2 kills=${3:-no}
export GABBRO
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-table.XXXXXX") || exit 1
TMPDIR=$work
export TMPDIR
child=''
# shellcheck disable=SC2329 # by the trap
tidy()
{
    [ -z "$child" ] || kill -9 "-$child" 2>/dev/null
    rm -rf "$work"
}
trap tidy EXIT
trap 'exit 1' INT TERM

set --
for change in $tiny_settings; do
    set -- "$@" --set "$change"
done

table() # STORE OUT ARGUMENTS...: status in $status, output in OUT.stdout and OUT.stderr
{
    store=$work/$1 out=$work/$2
    shift 2
    "$reproduce" table1 --store "$store" --out "$out" "$@" \
        >"$out.stdout" 2>"$out.stderr" </dev/null
    status=$?
}

same_numbers() # WHAT OUT OUT
{
    table_numbers "$work/$2/table.json" >"$work/left" || echo "no table" >"$work/left"
    table_numbers "$work/$3/table.json" >"$work/right"
    trust "$1: lines of table.json that differ, but for times" "a quiet run ($(wc -l <"$work/right") lines)" \
        "$(diff "$work/left" "$work/right" | grep -c '^[<>]')" 0
}

whole() # STORE: every file of its steps is as it was written
{
    "$GABBRO" store --store "$work/$1" verify >"$work/verify"
}

# ---- a quiet run, two steps at once ---------------------------------------------------------------
table store quiet --jobs 2 "$@"
if [ "$status" = 0 ]; then
    good "a run from an empty store ends with 0"
else
    bad "a run from an empty store ends with 0, not $status" "$work/quiet.stderr"
    checks_end
    exit 1
fi
for file in table.md table.json table.html table.csv table.tex results.jsonl; do
    expect "it writes $file" [ -s "$work/quiet/$file" ]
done
expect "and the page of the run, which says that it ended and leads to the table" \
    sh -c 'grep -q "data-written=\"[0-9]*\">finished</span>" "$1" && grep -q "<a href=\"table.html\">" "$1" &&
        grep -q "<figure><svg class=\"spark\"" "$1" && ! grep -q "http-equiv" "$1"' sh "$work/quiet/progress.html"
expect "nothing else is in its folder" [ "$(find "$work/quiet" -type f | wc -l)" = 7 ]
published=$(grep -c '"published_row": "[^"]' "$work/quiet/table.json")
expect "all 26 published rows are in the table ($published)" [ "$published" = 26 ]
obtained=$(grep -c '"42": [0-9]' "$work/quiet/table.json")
expect "13 rows of 5 columns are obtained, 12 of a sixth, before fine-tuning ($obtained)" [ "$obtained" = 77 ]
decided=$(grep -c '"verdict": "\(supported\|contradicted\)"' "$work/quiet/table.json")
expect "one seed decides no claim ($decided)" [ "$decided" = 0 ]
chance=$(grep -c '"reason": "at chance: ' "$work/quiet/table.json")
expect "and rows that have learned nothing are not compared ($chance)" [ "$chance" -gt 8 ]
expect "the terminal shows the paper beside this run" \
    [ "$(grep -c '^ .*here   *[0-9][0-9.]* ' "$work/quiet.stdout")" = 13 ]
expect "training of nothing is marked" grep -q 'did not converge here' "$work/quiet.stdout"
expect "the times stand apart" grep -q '^ "times": {$' "$work/quiet/table.json"
expect "the store is whole" whole store
"$GABBRO" store --store "$work/store" list >"$work/list"
expect "the store's list says what a retriever is, and which table needs it" \
    grep -q '  42  .* finetune-.* retriever (BM25.s negatives) of .*encoder.* \[qac/table1\]$' "$work/list"
evaluation=$(sed -n 's/.*  \(evaluate-[0-9a-f]*\) .*: [a-z-]*-r1\]$/\1/p' "$work/list" | head -n 1)
"$GABBRO" store --store "$work/store" show "$evaluation" >"$work/show"
expect "an artifact of the store says of which row it is, and from what it was made" \
    sh -c 'grep -q "^  row  *[a-z-]*-r1 of qac/table1, scale mini, seed 42$" "$1" && grep -q "^  finetune-.* retriever" "$1"' sh "$work/show"

# ---- again, from the store ------------------------------------------------------------------------
touch "$work/marker"
table store again "$@"
expect "the second run ends with 0" [ "$status" = 0 ]
expect "it makes no step" \
    [ -z "$(find "$work/store" -name run.json -newer "$work/marker" -print)" ]
expect "it opens no device" [ "$(grep -c 'device:' "$work/again.stderr")" = 0 ]
same_numbers "table1 with few steps, printed from its store" again quiet

# ---- the site ---------------------------------------------------------------------------------------
# From the front page to the commands behind a value in two clicks, and the commands are the ones.
links_resolve() # every link of every page leads to a file
{
    find "$work/site" -name '*.html' | while IFS= read -r page; do
        grep -o '\(href\|src\)="[^"#]*' "$page" | sed 's/^[^"]*"//' | while IFS= read -r link; do
            [ -z "$link" ] || [ -e "$(dirname "$page")/$link" ] || echo "$page: $link"
        done
    done >"$work/broken"
    [ ! -s "$work/broken" ]
}
commands_of() # PAGE: what stands in its first <pre>, as a shell script
{
    sed -n '/<pre>/,/<\/pre>/p' "$1" | sed 's/<[^>]*>//g; s/&quot;/"/g; s/&gt;/>/g; s/&amp;/\&/g'
}
commands_give_the_steps() # PAGE: each prints the step that the page says, found in the store
{
    commands_of "$1" >"$work/commands"
    sed -n 's/^# -> //p' "$work/commands" >"$work/wanted"
    GABBRO_STORE=$work/store
    export GABBRO_STORE
    (
        gabbro() { "$GABBRO" "$@"; }
        . "$work/commands"
    ) 2>"$work/commands.stderr" | sed 's|.*/||' >"$work/given"
    unset GABBRO_STORE
    [ -s "$work/wanted" ] && cmp "$work/wanted" "$work/given"
}
"$GABBRO" site --out "$work/site" "$work/quiet" >"$work/site.stdout" 2>&1
expect "a site is written" [ -s "$work/site/index.html" ]
expect "its front page leads to the table" grep -q 'href="qac-table1.mini.html"' "$work/site/index.html"
expect "the table leads from a value to how it was made" \
    grep -q 'href="qac-table1.mini/cotmae-query-r2.html#column-0"' "$work/site/qac-table1.mini.html"
expect "all links resolve" links_resolve
expect "every row has its page" [ "$(find "$work/site/qac-table1.mini" -name '*.html' | wc -l)" = 13 ]
expect "the commands behind a value are those of its steps" \
    commands_give_the_steps "$work/site/qac-table1.mini/cotmae-query-r2.html"

[ "$kills" = kills ] || {
    checks_end
    exit
}

# ---- from an empty store, killed on the way -------------------------------------------------------
# As soon as a training has found its device, all processes of the run are killed: they are a group
# of their own.
begin_killed() # STORE ARGUMENTS...
{
    killed_store=$work/$1
    shift
    setsid "$reproduce" table1 --store "$killed_store" --out "$work/killed" "$@" \
        >"$work/killed.stdout" 2>>"$work/killed.stderr" </dev/null &
    child=$!
}
kill_in() # WHAT ARGUMENTS...
{
    what=$1
    shift
    : >"$work/killed.stderr"
    begin_killed store2 --jobs 1 "$@"
    waited=0
    while kill -0 "$child" 2>/dev/null && [ $waited -lt 2400 ] &&
        ! sed -n "/^$what/,\$p" "$work/killed.stderr" | grep -q 'device:'; do
        sleep 0.05
        waited=$((waited + 1))
    done
    kill -9 "-$child"
    killed=$?
    wait "$child" 2>/dev/null
    child=''
    expect "$what: was killed" [ "$killed" = 0 ]
    expect "$what: no table yet" [ ! -e "$work/killed/table.json" ]
    expect "$what: the store is whole" whole store2
}
if command -v setsid >/dev/null 2>&1; then
    for what in 'pretrain mlm' 'pretrain cocondenser, context query' 'finetune, negatives mined'; do
        kill_in "$what" "$@"
    done
    # Asked to stop while two steps are made: both stop, and their processes are gone.
    begin_killed store3 --jobs 2 "$@"
    waited=0
    while [ $waited -lt 1200 ] && ! ls -d "$work/store3"/mine-* >/dev/null 2>&1; do
        sleep 0.05
        waited=$((waited + 1))
    done
    kill -TERM "$child"
    wait "$child"
    expect "asked to stop it ends with 75" [ $? = 75 ]
    kill -0 "-$child" 2>/dev/null # its group
    expect "no process of it is left" [ $? != 0 ]
    child=''
    expect "no table yet" [ ! -e "$work/killed/table.json" ]
else
    skipped "killed runs: there is no setsid"
fi
table store2 killed "$@"
expect "after the kills the run ends with 0" [ "$status" = 0 ]
same_numbers "table1 with few steps, killed three times" killed quiet
rows=$(wc -l <"$work/killed/results.jsonl")
expect "and leaves nothing but its results" \
    [ "$rows $(find "$work/killed" -type f | wc -l)" = "26 7" ]
checks_end
