#!/bin/sh
# The recipes with a stand-in for the commands of gabbro: which they run, what they hand to the report, and
# what becomes of a table when a command fails. Usage: reproduce.sh REPRODUCE
set -u
. "$(dirname -- "$0")/../checks.sh"
reproduce=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro reproduce.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

cp "$(dirname -- "$0")/stand_in.sh" "$work/gabbro" && chmod +x "$work/gabbro" || exit 1
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd) || exit 1
WORK=$work GABBRO=$work/gabbro
export WORK GABBRO

run() # ARGUMENTS...: status in $status, output in $work/stdout and stderr
{
    : >"$work/log"
    "$reproduce" "$@" >"$work/stdout" 2>"$work/stderr" </dev/null
    status=$?
}
count() # PATTERN FILE
{
    grep -c -- "$1" "$2"
}

run table1 --out "$work/out" --quiet
results=$work/out/results.jsonl
expect "a run succeeds" [ "$status" = 0 ]
expect "quiet" [ ! -s "$work/stderr" ]
expect "13 rows behind the first line, 12 of them also before fine-tuning" [ "$(wc -l <"$results")" = 26 ]
expect "each encoder is evaluated once before it" \
    [ "$(grep '"set": "before"' "$results" | grep -o '"evaluation": "[^"]*' | sort -u | wc -l)" = 6 ]
expect "first line" grep -q '^{"table": "qac/table1", "scale": "mini", .*"mlm_steps": "1000"' "$results"
expect "a row" grep -q '^{"row": "cotmae-query-r2", "seed": 42, "evaluation": "/.*evaluate-.*"}$' "$results"
expect "BM25 has no model" grep -q '^{"row": "bm25", .*"model": ""}$' "$results"
expect "12 fine-tunings" [ "$(count '^finetune' "$work/log")" = 12 ]
expect "6 encoders" [ "$(count '^pretrain' "$work/log")" = 6 ]
expect "contextual pre-training starts from the MLM encoder" \
    [ "$(grep -c '^pretrain co.*--init .*/pretrain-' "$work/log")" = 4 ]
expect "retriever 2 learns from two runs" \
    [ "$(grep -c '^finetune.*--negatives .*/mine-.*--negatives .*/bm25-run-' "$work/log")" = 6 ]
expect "quiet reaches the steps" [ "$(grep -vc -e '--quiet$' "$work/log")" = 1 ]
expect "the report is asked for" grep -q "^report --table qac/table1 --scale mini --results $results" "$work/log"
expect "no draft is left, and the page of the run" [ "$(ls -A "$work/out" | tr '\n' ' ')" = 'progress.html results.jsonl ' ]

expect "without what nobody asked for" [ "$(count '^report.* --judged' "$work/log")" = 0 ]
run table1 --out "$work/judged" --quiet --rows bm25 --judged
expect "which passages are judged is asked of the report alone" \
    [ "$status $(count ' --judged' "$work/log") $(count '^report.* --judged$' "$work/log")" = '0 1 1' ]

# ---- passages that are queries ---------------------------------------------------------------------

expect "a plain run leaves no passage out" [ "$(cat "$work/log" "$results" | count 'drop.identical": true\|--drop-identical' -)" = 0 ]
run table1 --out "$work/dropped" --quiet --rows 'bm25,bm25-rm3,fused,deepct,mlm-r1' --set drop_identical=yes
expect "one that is the query is left out where that is asked for" [ "$status $(count '^evaluate' "$work/log")" = \
    "0 $(grep '^evaluate' "$work/log" | count ' --drop-identical' -)" ]
expect "and it is no negative" [ "$(grep -c '^bm25-run' "$work/log")" = "$(grep '^bm25-run' "$work/log" | count ' --drop-identical' -)" ]
expect "as each result says" [ "$(sed 1d "$work/dropped/results.jsonl" | count '"drop_identical": true' -)" = \
    "$(sed 1d "$work/dropped/results.jsonl" | wc -l)" ]

# ---- some rows, and an encoder of one's own --------------------------------------------------------

run table1 --out "$work/some" --quiet --rows 'bm25,cocondenser-*-r1,mlm-r2'
expect "only the rows asked for" [ "$(
    grep -v '"set": "before"' "$work/some/results.jsonl" | grep -o '"row": "[^"]*' | tr '\n' ' ')" = \
    '"row": "bm25 "row": "mlm-r2 "row": "cocondenser-span-r1 "row": "cocondenser-query-r1 ' ]
expect "and what they need" [ "$(count '^pretrain' "$work/log") $(count '^finetune' "$work/log")" = '4 4' ]
run costa/table4 --out "$work/some" --quiet --rows 'without-*'
expect "of any table" [ "$(count '^pretrain costa' "$work/log")" = 4 ]
mkdir "$work/bert" && : >"$work/bert/vocab.txt"
run table1 --out "$work/some" --quiet --init "$work/bert" --rows 'init,mlm-r1'
expect "an encoder of one's own is not trained by masked LM" [ "$(count '^pretrain mlm' "$work/log")" = 0 ]
expect "fine-tuning starts from it" grep -q "^finetune --init $work/bert " "$work/log"
expect "its vocabulary is taken" grep -q "^vocabulary --from $work/bert/vocab.txt" "$work/log"
expect "it has a row of its own" grep -q "^{\"row\": \"init\", .*\"model\": \"$work/bert\"}" "$work/some/results.jsonl"
run table1 --out "$work/some" --quiet --init "$work/bert" --scale small --collection "$work/bert"
expect "scale small is for a collection of one's own" [ "$status" = 0 ]

# ----------------------------------------------------------------------------------------------------

run qac/table1 --out "$work/out" --seeds 2 --record
expect "two seeds" [ "$(grep -v '"set": "before"' "$results" | count '"seed": 43' -)" = 13 ]
expect "recorded" grep -q '^report .*--record' "$work/log"
expect "the collection does not depend on the seed" [ "$(grep -c '^collection' "$work/log")" = 1 ]

run table1 --out "$work/out" --quiet --report "$work/site"
expect "a site without results" grep -q "^site --out $work/site$" "$work/log"
echo '{}' >"$work/out/table.json"
run table1 --out "$work/out" --quiet --report "$work/site"
expect "a site of it" grep -q "^site --out $work/site $work/out$" "$work/log"
rm "$work/out/table.json"

rows() { sed 's/"times": .*//' "$1"; }
DEVICE_TYPE=cpu run table1 --out "$work/out" --seeds 2
rows "$results" >"$work/rows.one"
run table1 --out "$work/out" --seeds 2 --jobs 3
expect "several steps at once give the same rows" [ "$(rows "$results")" = "$(cat "$work/rows.one")" ]
expect "helpers do not wait for each other" grep -q '^finetune.*--no-wait$' "$work/log"
run table1 --out "$work/out" --jobs 0
expect "no jobs is a usage error" [ "$status" = 2 ]
FAIL_AT=finetune FAIL_WITH=3 run table1 --out "$work/out" --jobs 3
expect "a failure of a helper's step is the table's" [ "$status" = 3 ]
FAIL_AT=pretrain KILL_BY=KILL run table1 --out "$work/out" --jobs 3
expect "a step that was killed is said: $(tail -n 1 "$work/stderr")" \
    [ "$status $(count '^gabbro: random encoder, .*: its process was killed (signal 9)' "$work/stderr")" = '5 1' ]
FAIL_AT=report KILL_BY=SEGV run table1 --out "$work/out" --quiet
expect "a report that crashed is said: $(cat "$work/stderr")" \
    [ "$status $(count '^gabbro: report: its process was ended by signal 11' "$work/stderr")" = '70 1' ]

mkdir "$work/my docs"
run table1 --out "$work/out" --collection "$work/my docs" --queries "$work/q.jsonl" --set mlm_steps=7
expect "own collection" grep -q "^collection --from $work/my docs --queries $work/q.jsonl" "$work/log"
expect "its own settings" [ "$(grep -c '^pretrain co.* --steps 300 ' "$work/log")" = 4 ]
expect "which --set overrules" grep -q '^pretrain mlm .* --steps 7 ' "$work/log"
expect "and its kind" grep -q '"collection_kind": "own"' "$results"
expect "a changed setting counts" grep -q '"mlm_steps": "7"' "$results"
expect "and is used" grep -q '^pretrain mlm .*--steps 7 ' "$work/log"

# ---- settings of one's own ---------------------------------------------------------------------------

mkdir -p "$work/config/gabbro"
printf 'mlm_steps = 8 # of all tables\ncontext_steps = 9\n' >"$work/config/gabbro/settings"
printf 'context_steps = 10\n' >"$work/settings"
XDG_CONFIG_HOME=$work/config run table1 --out "$work/out"
expect "a file in the user's folder counts" grep -q '^pretrain mlm .* --steps 8 ' "$work/log"
expect "and is named" grep -q "settings of $work/config/gabbro/settings" "$work/stderr"
XDG_CONFIG_HOME=$work/config run table1 --out "$work/out" --settings "$work/settings" --set mlm_steps=11
expect "a file that is given comes over it" [ "$(grep -c '^pretrain co.* --steps 10 ' "$work/log")" = 4 ]
expect "--set over both" grep -q '^pretrain mlm .* --steps 11 ' "$work/log"
expect "results know them" grep -q '"mlm_steps": "11".*"context_steps": "10"' "$results"
echo 'contxt_steps = 3' >>"$work/settings"
run table1 --out "$work/out" --settings "$work/settings"
expect "a name that there is not is refused" [ "$status $(wc -l <"$work/stderr")" = '2 1' ]
expect "with its line and the nearest" grep -q 'settings:2: .*"contxt_steps" (did you mean context_steps?)' "$work/stderr"

# ----------------------------------------------------------------------------------------------------

before=$(cksum <"$results")
for at in collection pretrain mine evaluate; do
    FAIL_AT=$at
    export FAIL_AT
    run table1 --out "$work/out"
    expect "status of a stopped $at" [ "$status" = 75 ]
    expect "$at was the last step" [ "$(tail -n 1 "$work/log" | cut -d ' ' -f 1)" = $at ]
    expect "a stopped run leaves the old results" [ "$(cksum <"$results")" = "$before" ]
done
unset FAIL_AT

for alias in main costa-granularity token-coverage; do
    run "$alias" --dry-run --out "$work/none"
    expect "the name $alias is taken" [ "$status" = 0 ]
done
sh "$root/reproduce/run" --help --no-install >"$work/stdout" 2>"$work/stderr" </dev/null
expect "help does not build" [ ! -s "$work/stderr" ]
expect "and tells of --no-install" grep -q -e --no-install "$work/stdout"

run table1 --dry-run --out "$work/none"
expect "a dry run succeeds" [ "$status" = 0 ]
expect "runs nothing" [ ! -s "$work/log" ]
expect "writes nothing" [ ! -e "$work/none" ]
expect "prints the commands" [ "$(count '^gabbro finetune' "$work/stdout")" = 12 ]

# All tables that are ready: of those in tables.tsv, here a few, and of other figures.
cp -R "$root/tables" "$work/tables" || exit 1
grep -E '^(table|qac/table[13]|llm/fig3|bow/fig2)	' "$root/tables/tables.tsv" >"$work/tables/tables.tsv"
printf 'qac/table9\tNine\t\n' >>"$work/tables/tables.tsv"
GABBRO_TABLES=$work/tables
export GABBRO_TABLES
run all --out "$work/all" --quiet
expect "all tables run, figures with claims among them" [ "$status $(count '^report --table' "$work/log")" = '0 6' ]
expect "and all other figures" [ "$(count '^curves --results' "$work/log") $(ls "$work"/all/*/page.html | wc -l)" = '3 2' ]
expect "with rows that a plain run leaves out" grep -q '^{"row": "retromae", ' "$work/all/qac-table1/results.jsonl"
expect "each in its folder" [ "$(cat "$work"/all/qac-table[13]/results.jsonl | grep -c "^.\"table\"")" = 2 ]
expect "a line for the paper" [ "$(grep '^qac ' "$work/stdout")" = 'qac    0 supported, 0 contradicted, 0 undecided, 0 not judged' ]
echo '{"claims": [{"verdict": "supported"}]}' >"$work/all/qac-table1/table.json"
cp "$work/all/qac-table1/table.json" "$work/earlier"
run all --out "$work/all" --quiet
expect "what a table leaves is counted" [ "$(grep '^qac ' "$work/stdout")" = 'qac    1 supported, 0 contradicted, 0 undecided, 0 not judged' ]
cp "$work/earlier" "$work/all/qac-table1/table.json"
FAIL_AT=mine FAIL_WITH=4
export FAIL_AT FAIL_WITH
run all --out "$work/all"
expect "but not what an earlier run left of one that failed" \
    [ "$(grep '^qac ' "$work/stdout")" = 'qac    0 supported, 0 contradicted, 0 undecided, 0 not judged' ]
expect "a failed table does not stop the others" \
    [ "$status $(count '^coverage' "$work/log") $(count '^tsne' "$work/log")" = '1 7 1' ]
expect "failures are named" grep -q 'failed: qac/table1 qac/table3 llm/fig3$' "$work/stderr"
FAIL_WITH=75
run all --out "$work/all"
expect "an interruption stops" [ "$status $(count '^mine' "$work/log")" = '75 1' ]
run table1 --out "$work/out" --jobs 2
expect "of several commands at once is said" \
    [ "$status $(count '^gabbro: stopped (the same command goes on' "$work/stderr")" = '75 1' ]
expect "and where to look, before" \
    grep -q "^[0-9]* artifacts are needed; progress: $work/out/progress.html$" "$work/stderr"
cp "$work/tables/tables.tsv" "$work/tables.before"
grep -E '^(table|qac/(speed|table1))	' "$root/tables/tables.tsv" >"$work/tables/tables.tsv"
FAIL_AT=tokenize FAIL_WITH=4
run all --out "$work/failing"
expect "what fails while times are measured fails the tables behind, too" \
    [ "$status $(grep -c 'nothing is left' "$work/stderr") $(grep -c 'failed: .*qac/speed.*qac/table1\|failed: .*qac/table1.*qac/speed' "$work/stderr")" = '1 0 1' ]
unset FAIL_AT FAIL_WITH
cp "$work/tables.before" "$work/tables/tables.tsv"
run list
expect "a table without a recipe is listed" grep -q '^qac/table9 *Nine (not yet)$' "$work/stdout"
expect "studies are listed" grep -q '^study/queries ' "$work/stdout"
expect "tables with their other names" grep -q '^qac/table1 .*(also: table1, main)$' "$work/stdout"
expect "figures too" grep -q '^bow/fig2 .*(also: token-coverage)$' "$work/stdout"
unset GABBRO_TABLES

study=$work/study/results.jsonl
run study/queries --out "$work/study"
expect "a point for each generator and number of queries, and a line to compare with" \
    [ "$status $(count '"x": [0-9]' "$study") $(count '"series"' "$study")" = '0 12 13' ]
expect "drawn" grep -q '^curves --results' "$work/log"
run study/queries --out "$work/study" --generator "$work"
expect "one's own generator has a curve of its own" \
    [ "$status $(count '"x": 10' "$study") $(count '^pretrain cocondenser' "$work/log")" = '0 1 5' ]
run study/queries --out "$work/study" --collection "$work/my docs"
expect "a collection of one's own, the extractive one" \
    [ "$status $(count '"series": "generator extractive"' "$study")" = '0 4' ]
run llm/table1 --dry-run --collection "$work/my docs"
expect "generators of the mini world are refused for it at once: $(cat "$work/stderr")" \
    [ "$status $(grep -c 'llm/table1 compares generators of the mini world' "$work/stderr")" = '2 1' ]

# A step does 1e9 and 3,907 of them take 1.2 s, and 4.8 s to start: 1000 of masked LM, 4 x 1800, and 12
# fine-tunings of 563 take 86.2 s. 18 evaluations, 6 of them before fine-tuning, and 6 minings encode in .3 s,
# beside 5.7 s. 6 others take 6 s.
run plan table1
expect "a plan succeeds" [ "$status" = 0 ]
expect "it multiplies: $(head -n 1 "$work/stdout")" grep -q '^qac/table1 *4\.4 minutes' "$work/stdout"
expect "it says what it needs" grep -q '^qac/table1 .* device 8\.0 GB, memory 0\.20 GB, disk 17\.0 GB' "$work/stdout"
expect "it trains nothing but a sample" [ "$(grep -v -- --cost "$work/log" | count '^finetune' -) $(
    grep -v -- --cost "$work/log" | grep -v 'pretrain none' | count '^pretrain' -)" = '0 7' ]
planned=$(head -n 1 "$work/stdout")
rm -rf "$work"/pretrain-*
COMPILES=$work/compiled run plan table1
expect "kernels that are compiled first do not count: $(head -n 1 "$work/stdout")" \
    [ "$(head -n 1 "$work/stdout")$(cat "$work/compiled")" = "$planned" ]
run plan table1 --init "$work/bert" --rows bm25,init,mlm-r1
expect "rows that pre-train nothing are planned: $(head -n 1 "$work/stdout")" \
    grep -q '^qac/table1 *[0-9.]* minutes' "$work/stdout"
expect "by a fine-tuning" grep -q '^finetune .*--train-queries 8 --epochs' "$work/log"
run plan qac/table5
expect "and so is a table that trains nothing" [ "$status" = 0 ]
run plan qac/table1 --scale paper --data "$work/nothing"
expect "public collections need not be there" [ "$status" = 0 ]
expect "but count in full, runs over the training queries take most: $(head -n 1 "$work/stdout")" \
    grep -q '^qac/table1 .* memory 10\.6 GB' "$work/stdout"
expect "and have to be fetched" grep -q '^qac/table1 .* download at least' "$work/stdout"
run plan qac/table1 --scale paper --data "$work/nothing" --rows colbert
expect "vectors of tokens take most of the disk: $(head -n 1 "$work/stdout")" \
    grep -q '^qac/table1 .* disk 29[0-9]\.[0-9] GB' "$work/stdout"
run qac/table1 --scale paper --data "$work/nothing" --out "$work/paper"
expect "to be run they must be" [ "$status" = 3 ]
expect "it says how" grep -q 'gabbro data fetch msmarco-passage-titles --to' "$work/stderr"
FAIL_AT=data FAIL_WITH=2 run qac/table1 --scale paper --data "$work/nothing" --out "$work/paper"
expect "where the manifest has it" grep -q 'cannot be fetched' "$work/stderr"
for place in here there; do
    for set in msmarco-passage-titles bert-base-uncased condenser msmarco-document; do
        mkdir -p "$work/$place/$set"
    done
    run qac/table1 --scale paper --data "$work/$place" --out "$work/paper.$place" --quiet
    expect "a public collection $place" [ "$status" = 0 ]
done
run plan qac/table1 --scale paper --data "$work/here"
expect "what is there is not fetched: $(head -n 1 "$work/stdout")" [ "$status $(count 'download' "$work/stdout")" = '0 0' ]
recipe_of() { sed -n 's/.*"recipe": "\([^"]*\)".*/\1/p' "$1/results.jsonl"; }
expect "its place is no part of the recipe" [ "$(recipe_of "$work/paper.here")" = "$(recipe_of "$work/paper.there")" ]
run new own --out "$work/own"
cat >"$work/own/reproduce/own/table1.lua" <<'END'
use "main"
bm25_negatives()
for seed in seeds() do
  local mlm = artifact("mlm", "pretrain", "mlm", "--collection", here.set.collection, "--tokens", here.tokens,
    "--vocabulary", here.vocabulary, "--steps", 9)
  row("mlm", finetune(mlm, artifact("mined", "mine", "--model", mlm, "--collection", "stored", "--tokens", here.tokens)))
end
END
run plan own/table1 --paper "$work/own"
expect "of a fresh encoder its first state stands for it" \
    [ "$status $(count '^pretrain mlm .*--steps 9 --steps 0' "$work/log")" = '0 1' ]
expect "and negatives of a collection by its path are stood for" \
    [ "$(count '^bm25-run --collection stored ' "$work/log")" = 1 ]
run plan
expect "all tables are planned" [ "$(count ' minutes' "$work/stdout")" -gt 1 ]

# shellcheck disable=SC2016 # the dollar must arrive as it is
for wrong in 'table9' 'bow/table9' 'table1 --scale huge' 'table1 --seeds x' 'table1 --frob' \
    'table1 --seed' 'table1 --queries q' 'table1 --set no_such=1' 'table1 --set mlm_steps=$(id)' 'table1 --set drop_identical=maybe' \
    'table1 --collection c --record' 'table1 --rows bm25 --record' 'table1 --init nowhere' 'table1 --rows a;b' \
    'fig3 --rows a' 'table1 --rows bm25,no-such*' 'table1 --scale small' 'explain' 'explain table1 --out /nowhere' \
    'explain table1 bm25 --out /nowhere' '--show table1 bm25 --out /nowhere' 'table1 --list' '--list --show table1' '--quiet' \
    'table1 --submit-name me' 'log log'; do
    # shellcheck disable=SC2086 # words
    run $wrong
    code=2
    [ "$wrong" != 'table1 --init nowhere' ] || code=3 # what is missing, not what is asked for
    expect "wrong: $wrong" [ "$status" = $code ]
    expect "one line says why: $wrong" [ "$(wc -l <"$work/stderr")" = 1 ]
    expect "nothing ran: $wrong" [ ! -s "$work/log" ]
done

run explain table1 cotmae-query-r2 --out "$work/out"
expect "explain asks the store" grep -q "^store --store $work why evaluate-" "$work/log"
run explain table1 --out "$work/out"
expect "of all rows" [ "$(count '^==== ' "$work/stdout") $(count '^store .* why evaluate-' "$work/log")" = '25 25' ]

mkdir "$work/damaged" && sed '3s/.$//' "$results" >"$work/damaged/results.jsonl"
run explain table1 --out "$work/damaged"
expect "a damaged line is told: $(cat "$work/stderr")" [ "$status $(count 'results.jsonl:3: ' "$work/stderr")" = '3 1' ]

# ---- options for list and explain --------------------------------------------------------------------

# same WHAT WORDS OPTIONS: both ask for the same.
same()
{
    what=$1
    # shellcheck disable=SC2086 # words
    run $2 --out "$work/out"
    cat "$work/stdout" "$work/log" >"$work/by-words"
    # shellcheck disable=SC2086 # words
    run $3 --out "$work/out"
    expect "$what" [ "$status $(cat "$work/stdout" "$work/log")" = "0 $(cat "$work/by-words")" ]
}
same "--list is list" list --list
same "--show is explain" "explain table1 bm25" "--show table1 bm25"
same "of a table" "explain table1" --show=table1

# ---- what others send ---------------------------------------------------------------------------------

run log
expect "the log has what was sent so far, as it was written" [ "$status $(count 'qac/table1, mini' "$work/stdout")" = '0 2' ]
mkdir "$work/seen"
run log --seen "$work/seen"
expect "or nothing" [ "$status $(wc -c <"$work/stdout") $(wc -l <"$work/stderr")" = '0 0 1' ]
echo '{"table": "qac/table1", "scale": "mini"}' >"$work/out/table.json"
sent=$work/seen/sent.json
run table1 --out "$work/out" --quiet --submit "$sent" --submit-name 'Ada <L.>'
expect "a table is sent with a name" grep -q '^ "name": "Ada <L.>",$' "$sent"
expect "and the sum of its other lines" \
    grep -q "^ \"sha256\": \"$(grep -v '^ "sha256"' "$sent" | sha256sum | cut -c 1-64)\",\$" "$sent"
run log --seen "$work/seen"
expect "it is listed" [ "$status $(count '^device .* sent by$' "$work/stdout") $(count '  Ada <L.>$' "$work/stdout")" = '0 1 1' ]
sed -i 's/Ada/Eve/' "$sent"
run log --seen "$work/seen"
expect "not after a change" [ "$status $(wc -c <"$work/stdout") $(count "$sent: it was changed" "$work/stderr")" = '3 0 1' ]

# What the device is, as keys have it, is in the record of what was made on it.
made='"device":"card | 1.2 | version 0x7 | quirks none | limits min","inputs":{},"kernels":"","kind":"evaluate","settings":{},"version":1'
key=$(printf '{%s}' "$made" | sha256sum | cut -c 1-24)
for folder in $(sed -n 's/.*"evaluation": "\([^"]*\)".*/\1/p' "$results" | tr ' ' '?' | sort -u); do
    printf '{%s,"defaults":[],"step":"evaluate-%s","outputs":{},"facts":{"device":"card","driver":"1.2",%s}}\n' \
        "$made" "$key" '"machine":{"release":"6.1-ada","device":{"uuid":"0ada","vulkan":"1.3.0"}}' >"$folder/run.json"
done
program=$(CDPATH='' cd -- "$(dirname -- "$reproduce")" && pwd)/$(basename -- "$reproduce")
submit() # GPU-CHECK'S DEVICE DOCTOR'S STATUS OPTIONS...: by a doctor that says more than its last line
{
    check=$1 answer=$2
    shift 2
    mkdir -p "$work/from/gpu-check-results"
    printf '{"machine": "Linux 6.1-ada", "kernels": {"device": "%s"}, "checks": [{"check": "x", "status": 0}]}\n' "$check" \
        >"$work/from/gpu-check-results/gpu-check.json"
    rm -f "$sent"
    (cd "$work/from" && DOCTOR_STATUS=$answer "$program" table1 --out "$work/out" --quiet --submit "$sent" "$@") \
        >"$work/stdout" 2>"$work/stderr" </dev/null
    status=$?
}
submit 'card, 1.2' 1
expect "what doctor found wrong is sent" grep -qF '"says": "WRONG        a: b; REFUSED      c; Something is wrong: see above.",' "$sent"
expect "and the device, as keys have it" grep -q '^ "identity": "card | 1.2 | version 0x7 | quirks none | limits min",$' "$sent"
expect "and its gpu-check" [ "$status $(count '"gpu_check": {' "$sent")" = '0 1' ]
expect "and the machine, without what tells whose it is" \
    [ "$(count '"vulkan": "1.3.0"' "$sent") $(count '6.1-ada\|0ada' "$sent")" = '1 0' ]
submit 'another card, 1.2' 0
expect "not that of another device, which is said" \
    [ "$status $(count '"gpu_check"' "$sent") $(count 'it is of another card, 1.2, and the table of card, 1.2' "$work/stderr")" = '0 0 1' ]
submit 'card, 1.2' 4 --ranks 2 --devices 7,8
expect "each device of the ranks is asked after, and that of other commands" \
    [ "$status $(grep -o 'WRONG        a: b; [^;]*; Something is wrong: see above.' "$sent" | wc -l)" = '0 3' ]
sed -i '/^ "sha256"/d; /^ "doctor": {$/,/^ },$/d' "$sent"
sed -i "s/^ \"submission\"/ \"sha256\": \"$(sha256sum <"$sent" | cut -c 1-64)\",\n&/" "$sent"
run log --seen "$work/seen"
expect "kernels that nobody tested are not right" [ "$status $(count 'all right' "$work/stdout") $(count ' wrong ' "$work/stdout")" = '0 0 1' ]
rm "$work/out/table.json" "$work"/evaluate-*/run.json

# ---- two devices ------------------------------------------------------------------------------------
run table1 --out "$work/both" --quiet --compare-devices 0,1,X=2,Y=3 --set mlm_steps=7 --judged
expect "a table on two devices succeeds" [ "$status" = 0 ]
expect "both run" [ "$(count '^report .*--out .*/both/[AB] --judged' "$work/log")" = 2 ]
expect "with the settings" [ "$(count '^pretrain mlm .*--steps 7' "$work/log")" = 2 ]
expect "their cells are compared" grep -q "^compared compare-devices --tables $work/both/A $work/both/B\$" "$work/stdout"
expect "and the first training" grep -q '^compared .* 0 1,X=2,Y=3 --steps 10 -- pretrain mlm ' "$work/stdout"
run table1 --out "$work/both" --quiet --compare-devices 0,1 --seeds 1 --generator "$work" --data "$work/here"
expect "both with the same generator, and the first training" \
    [ "$status $(count "^generate --model $work " "$work/log")" = '0 3' ]
run own/table1 --paper "$work/own" --out "$work/both" --quiet --compare-devices 0,1
expect "both of another paper: $(cat "$work/stderr")" \
    [ "$status $(count '^report --table own/table1 .*/both/[AB]$' "$work/log")" = '0 2' ]
run table1 --out "$work/both" --compare-devices 0,1 --submit "$work/both.json"
expect "nothing of it is sent" [ "$status" = 2 ]
run table1 --out "$work/both" --compare-devices 0,1 --ranks 2
expect "ranks are not compared" [ "$status" = 2 ]
run table1 --out "$work/both" --compare-devices 0,1 --device 2
expect "and a third device has no part in it" [ "$status" = 2 ]
run table1 --out "$work/both" --compare-devices 0
expect "one device is not enough" [ "$status" = 2 ]
run table1 --out "$work/both" --compare-devices 0,1 --record
expect "nothing of it is recorded" [ "$status" = 2 ]
FAIL_AT=finetune FAIL_WITH=3
export FAIL_AT FAIL_WITH
run table1 --out "$work/failed" --quiet --compare-devices 0,1
expect "a failed step of a device ends it" [ "$status" = 3 ]
expect "before the other is asked" [ ! -e "$work/failed/B" ]
checks_end
