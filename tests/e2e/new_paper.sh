#!/bin/sh
# Another paper from its skeleton to a table with verdicts, as docs/reference/new-paper.md leads: three
# rows of coCondenser's Table 1; then the same table from run files, and from finished models.
#   new_paper.sh GABBRO [whole]   whole: with training
set -u
. "$(dirname -- "$0")/../checks.sh"
enter_work new-paper "$1"
reproduce() { "$gabbro" reproduce "$@"; }

# ---- the skeleton ----
expect "a skeleton is written" reproduce new cocondenser >said
expect "it is a paper with a table" [ "$(reproduce list --paper cocondenser | grep -c '^cocondenser/table1')" = 1 ]
reproduce cocondenser/table1 --paper cocondenser --dry-run >plan
expect "whose recipe runs as it is" [ "$(grep -c '^gabbro evaluate' plan) $(grep -c '^# recipe ' plan)" = '2 1' ]
echo 'paper_cocondenser_mlm_steps = 7' >own
reproduce cocondenser/table1 --paper cocondenser --settings own --dry-run >plan
expect "a setting can be this paper's" grep -q '^gabbro pretrain mlm .*--steps 7 ' plan
reproduce new cocondenser >said 2>&1
expect "it is not written over" [ "$? $(grep -c 'something already' said)" = '2 1' ]
for at in 25 30 35 40; do
    GABBRO_FAIL_AT=$at reproduce new half >said 2>&1
    expect "a skeleton that fails leaves nothing (call $at)" [ -z "$(find . -name '*half*')" ]
done
reproduce new Co/Condenser >said 2>&1
expect "a name with other letters is refused" [ "$? $(grep -c 'small letters' said)" = '2 1' ]

# ---- mistakes, before anything is made ----
refused() # STATUS WHAT MESSAGE OPTION...: with the recipe's last line from the input
{
    code=$1 what=$2 message=$3
    shift 3
    { echo 'use "main"'; echo 'bm25_negatives()'; cat; } >cocondenser/reproduce/cocondenser/table1.lua
    reproduce table1 --paper cocondenser --out refused "$@" >said 2>&1
    got=$?
    expect "$what is refused" [ "$got $(grep -c "$message" said) $(ls refused 2>/dev/null)" = "$code 1 " ] || cat said
}
cp cocondenser/reproduce/cocondenser/table1.lua kept.lua
loop='for seed in seeds() do local mlm = begin_seed()'
refused 2 "no value of an option" 'table1.lua:3: gabbro finetune: --scoring "densee" is none of' <<END
$loop row("mlm", finetune_as({options = {"--scoring", "densee"}}, mlm, here.set.bm25)) end
END
refused 2 "no measure" 'table1.lua:3: gabbro finetune: unknown measure "mrr"' <<END
$loop row("mlm", finetune_as({options = {"--dev", "dev", "--dev-measure", "mrr"}}, mlm, here.set.bm25)) end
END
refused 2 "a command that makes nothing" 'table1.lua:3: gabbro eval: it makes no artifact' <<END
artifact("values", "eval", "QRELS", "RUN")
END
sed '/^use/d' kept.lua >cocondenser/reproduce/cocondenser/table1.lua
reproduce table1 --paper cocondenser --dry-run >said 2>&1
expect "a set must be in use" [ "$? $(grep -c 'table1.lua:4: no set is in use yet: begin with use "main"' said)" = '3 1' ] || cat said
printf 'paper_cocondenser_mlm_steps = 7\nbm25_depth = 1.5\n' >own
refused 2 "a setting that its command would refuse" '^gabbro: own:2: bm25_depth = 1.5: gabbro bm25-run: --depth' \
    --settings own </dev/null
refused 3 "a row that the table does not have" 'table1.lua:3: .*no row with the key mml (did you mean mlm?)' <<END
$loop row("mml", finetune(mlm, here.set.bm25)) end
END
refused 4 "no device" "'no such'" --device 'no such' <kept.lua
mv kept.lua cocondenser/reproduce/cocondenser/table1.lua
rows=cocondenser/tables/rows/cocondenser-table1.tsv
cp $rows kept
sed '2s/extra/extry/' kept >$rows
for words in 'table1 --dry-run' 'all --dry-run' 'judge table1 --runs nowhere'; do
    # shellcheck disable=SC2086
    reproduce $words --paper cocondenser >said 2>&1
    expect "a mistake in the table's files is told by reproduce $words" \
        [ "$? $(grep -c 'cocondenser-table1.tsv:2: unknown role "extry"' said)" = '3 1' ] || cat said
done
reproduce list --paper cocondenser >said 2>&1
expect "and listed" grep -q '^cocondenser/table1 .*(a mistake in its files)' said
cp kept $rows

# ---- filled in ----
cd cocondenser || exit 1
title='coCondenser: MS MARCO passages'
printf 'table\ttitle\talias\ncocondenser/table1\t%s\ttable1\n' "$title" >tables/tables.tsv
cells() { printf '%s\tRetrievers\tmsmarco-dev:%s\t%s\tpercent\t\tarXiv 2108.05540 Table 1\tok\t\n' "$@"; }
cells BM25 MRR@10 18.7 BM25 R@1k 85.7 Condenser MRR@10 36.6 Condenser R@1k 97.4 \
    coCondenser MRR@10 38.2 coCondenser R@1k 98.4 >>tables/published/cocondenser-table1.tsv
{
    head -n 1 tables/rows/cocondenser-table1.tsv
    printf '%s\t%s @ Retrievers\t%s\tRetrievers\t%s\n' bm25 BM25 baseline BM25 \
        condenser Condenser baseline Condenser cocondenser coCondenser trained coCondenser
} >rows && mv rows tables/rows/cocondenser-table1.tsv
printf '%s\tcocondenser/table1\tgt\tmsmarco-dev:MRR@10\t%s @ Retrievers\t%s @ Retrievers\tyes\t\tTable 1\t%s\n' \
    co-01 coCondenser Condenser 'contrasting spans of the corpus raises the MRR@10 of Condenser' \
    co-02 Condenser BM25 'Condenser is above BM25' >>tables/claims.tsv
cat >reproduce/cocondenser/table1.lua <<'END'
-- coCondenser, Table 1: a Condenser with and without contrast of spans.
-- cost: two pre-trainings and two fine-tunings a seed

use "main"
bm25_negatives()

for seed in seeds() do
  row("bm25", "bm25")
  local mlm = begin_seed()
  local condenser = pretrain("condenser", "none", mlm)
  row("condenser", finetune(condenser, here.set.bm25))
  row("cocondenser", finetune(pretrain("cocondenser", "span", condenser), here.set.bm25))
end
END
cd .. || exit 1

# ---- mistakes in what is published ----
mistaken() # FILE SED MESSAGE
{
    cp "$1" right && sed "$2" right >"$1"
    reproduce table1 --dry-run --paper cocondenser >said 2>&1
    expect "it is told: $3" [ "$? $(grep -c -F "$3" said)" = '3 1' ] || cat said
    cp right "$1"
}
mistaken cocondenser/tables/claims.tsv '2s/\tyes\t/\tyse\t/' 'claims.tsv:2: "holds" is "yse", and not one of "yes", "no", "text"'
mistaken cocondenser/tables/claims.tsv '3s/co-02/co-01/' 'claims.tsv:3: the id "co-01" was given before'
mistaken cocondenser/tables/tables.tsv 's|/|-|' 'tables.tsv:2: the table "cocondenser-table1" has no paper'
published=cocondenser/tables/published/cocondenser-table1.tsv
mistaken $published '2s/percent/procent/' 'cocondenser-table1.tsv:2: the unit is "procent"'
mistaken $published '2s/\tok\t/\tokay\t/' 'cocondenser-table1.tsv:2: the status is "okay"'

whole=${2:-no}
if [ "$whole" = whole ]; then
    set -- vocabulary_tokens=600 passage_tokens=16 query_tokens=12 encoder_layers=2 encoder_hidden=16 \
        encoder_heads=2 encoder_ffn=32 mlm_steps=6 mlm_batch_passages=8 context_steps=6 \
        context_batch_pairs=4 finetune_epochs=1 finetune_train_queries=32 bm25_depth=20 search_depth=50
    for change; do
        shift
        set -- "$@" --set "$change"
    done
    if reproduce table1 --paper cocondenser "$@" --out made --submit sent.json --submit-name 'A. Reader' >table 2>log; then
        good "the table is made"
    else
        bad "the table is made" log
    fi
    reproduce table1 --paper cocondenser "$@" --out made --submit again.json --submit-name 'A. Reader' >/dev/null 2>log
    seconds=$(sed -n 's/^ "seconds": \([0-9.]*\),$/\1/p' sent.json)
    expect "what was in the store already took its time, too: $seconds s" \
        [ "$seconds" = "$(sed -n 's/^ "seconds": \([0-9.]*\),$/\1/p' again.json)" ]
    expect "under its title" grep -q "^$title (cocondenser/table1, arXiv 2108.05540 Table 1)" table
    expect "with the published values" [ "$(grep -c '^  .* published  *\(18.7  *85.7\|36.6  *97.4\|38.2  *98.4\)' table)" = 3 ]
    expect "and those of three rows" [ "$(grep -c '^ .* here  *[0-9.]*  *[0-9.]*$' table)" = 3 ]
    for name in device driver kernels source status recipe sha256 name; do
        expect "what is sent of it has: $name" grep -q "^ *\"$name\": [^n]" sent.json
    done
    expect "its values" [ "$(grep -c '"42": [0-9]' sent.json)" = 6 ]
    expect "and neither folders nor a device's UUID" [ "$(grep -c -e "$work" -e '"uuid"' sent.json)" = 0 ]
    expect "both claims have a verdict" [ "$(grep -c '"verdict": "\(undecided\|not judged\)"' made/table.json)" = 2 ]
    reproduce explain table1 cocondenser --paper cocondenser --out made >said 2>&1
    expect "a row is explained down to its objective" grep -q '"objective":"cocondenser"' said
fi

# ---- judged from run files ----
mkdir -p runs/qrels
for query in 1 2 3 4; do echo "q$query 0 p$query 1"; done >runs/qrels/dev.tsv
sed 's/p/x/' runs/qrels/dev.tsv >runs/qrels/dev.v2.tsv # another split, whose name begins the same
ranks() # ROW SEED RANK...: of the relevant passages of q1, q2 ...
{
    mkdir -p "runs/$1/$2"
    file=runs/$1/$2/dev.trec query=0
    : >"$file"
    shift 2
    for rank; do
        query=$((query + 1))
        for at in 1 2 3 4 5; do
            echo "q$query Q0 $([ $at = "$rank" ] && echo p$query || echo "x$at") $at $((10 - at)) t"
        done >>"$file"
    done
}
for seed in 42 43 44; do
    ranks bm25 $seed 5 5 4 5
    ranks condenser $seed 2 2 $((seed - 40)) 2
    ranks cocondenser $seed 1 1 1 $((seed - 41))
done
cp runs/cocondenser/42/dev.trec runs/cocondenser/42/dev.v2.trec
reproduce judge table1 --paper cocondenser --runs runs --out judged >table 2>log
expect "run files are judged ($?)" grep -q '3 seeds (42 43 44)' table
expect "of a collection that nobody named" grep -q 'collection of the runs, this run' table
expect "both claims are supported" [ "$(grep -c '"verdict": "supported"' judged/table.json)" = 2 ]
expect "by the mean of the seeds" grep -q '^ .* here  *90.3 (8.7)' table
ranks cocondenser 42 5 5 5 5
ranks cocondenser 43 5 5 5 5
ranks cocondenser 44 5 5 5 5
reproduce judge table1 --paper cocondenser --runs runs --out judged >table 2>log
expect "a split with a point in its name has its own run" \
    [ "$(grep -l '"dev.v2:MRR@10"' judged/judged/*/metrics.json)" = judged/judged/cocondenser.42/metrics.json ]
expect "worse runs contradict a claim" grep -q '"verdict": "contradicted"' judged/table.json

if [ "$whole" = whole ]; then
# ---- and from a finished model ----
    small_beir 40 beir
    model=$(sed -n 's/^{"row": "condenser".*"model": "\([^"]*\)".*/\1/p' made/results.jsonl | head -n 1)
    mkdir -p models
    cp -r "$model/model" models/condenser
    sed -i 's/\tdev:/\ttest:/' cocondenser/tables/columns/cocondenser-table1.tsv
    reproduce judge table1 --paper cocondenser --runs models --collection beir --out model >table 2>log
    expect "a model is judged on a collection ($?)" grep -q '"42": 0\.[0-9]*' model/table.json
    sed -i 's/\ttest:/\tdev:/' cocondenser/tables/columns/cocondenser-table1.tsv
fi
mkdir -p models/bm25
echo "{}" >models/bm25/config.json

# ---- bundles, checked without a driver ----
verify() { VK_DRIVER_FILES=/nonexistent VK_ICD_FILENAMES=/nonexistent "$gabbro" verify "$@"; }
bundled() # FOLDER TO
{
    "$gabbro" bundle "$1" --to "$2" --tables cocondenser/tables 2>log && mv store away
    verify "$2" >said 2>&1
    status=$?
    mv away store 2>/dev/null
    expect "a bundle of $1 holds, without store and device" [ "$status" = 0 ]
    expect "all its parts" [ "$(grep -c -e '^files ' -e '^artifacts ' -e '^measures ' -e '^verdicts ' said)" = 4 ]
}
reproduce judge table1 --paper cocondenser --runs runs --out holes --judged >table 2>log
expect "of five passages one is judged" [ "$(table_value holes/table.csv cocondenser dev:Judged@10)" = 20 ]
expect "which changes no verdict" grep -q '"verdict": "contradicted"' holes/table.json
printf '{"table": "cocondenser/table1"}\n{"row": "bm25", "seed": 1, "column": "dev:MRR@10", "value": 0.5}\n' >few.jsonl
"$gabbro" report --table cocondenser/table1 --results few.jsonl --tables cocondenser/tables --judged >table 2>log
expect "results without it make a table without it, and it is said ($?)" \
    [ "$? $(grep -c 'Judged' table) $(grep -c 'no Judged@10 of a split' log)" = '0 0 1' ]
mkdir -p store
bundled holes h
bundled judged b
expect "values of queries are averaged again" grep -q '^measures .* [1-9][0-9]* from values of queries' said
if [ "$whole" = whole ]; then
    bundled made c
    "$gabbro" site --out site c >said 2>&1
    expect "and is as it was, when a page is made of it ($?)" verify c >said 2>&1
    expect "measures are computed anew from runs" grep -q '^measures   [1-9][0-9]* computed anew from runs' said
    run=$(echo c/evaluations/evaluate-*/runs/dev.trec | tr ' ' '\n' | head -n 1)
    sed -i 's/ Q0 \([^ ]*\) 1 / Q0 other 1 /' "$run"
    verify c >said 2>&1
    expect "a changed run is found ($?)" grep -q 'runs/dev.trec: is not as it was written' said
    expect "in its evaluation" grep -q '^WRONG  evaluate-[0-9a-f]*: ' said
    expect "in its measures" grep -q 'MRR@10: is not what its run gives' said
fi
sed -i 's/"verdict": "contradicted"/"verdict": "supported"/' b/table.json
verify b >said 2>&1
expect "a verdict that does not follow is found" \
    [ "$? $(grep -c 'verdicts do not follow' said) $(grep -c 'table.json: is not as' said)" = '1 1 1' ]
"$gabbro" bundle judged --to b --tables cocondenser/tables >said 2>&1
expect "a bundle is not written over" [ "$? $(grep -c 'something already' said)" = '2 1' ]
mv judged/table.json aside
"$gabbro" bundle judged --to half/b --tables cocondenser/tables >said 2>&1
expect "a bundle whose table is missing leaves nothing" [ "$? $(grep -c 'table.json' said) $(ls -A half)" = '3 1 ' ]
mv aside judged/table.json
"$gabbro" bundle empty --to d >said 2>&1
expect "a folder without results is refused" [ "$? $(grep -c 'results.jsonl' said)" = '3 1' ]

refused() # WHAT TEXT ARGUMENTS...
{
    what=$1 text=$2
    shift 2
    reproduce "$@" >said 2>&1
    expect "$what" [ "$? $(grep -c -e "$text" said)" = '2 1' ]
}
mkdir -p empty/qrels
refused "no rows" 'no row of cocondenser/table1 is there' judge table1 --paper cocondenser --runs empty --out x
refused "all tables at once" 'judge needs one table' judge all --paper cocondenser --runs runs
refused "a seed" '--seed: ' judge table1 --paper cocondenser --runs runs --seed 7
mkdir -p runs/bm25/042 runs/bm52
refused "a seed that two folders have" '"042" is no seed' judge table1 --paper cocondenser --runs runs --out x
expect "a folder of no row is told" grep -q 'runs/bm52: cocondenser/table1 has no row of that name' said
refused "no folder of rows" 'judge needs --runs' judge table1 --paper cocondenser
refused "a model without a collection" 'give --collection' judge table1 --paper cocondenser --runs models --out x
refused "results of all tables are not sent" 'goes with one table' all --submit x.json
refused "no paper there" 'no table data here' table1 --paper nowhere
checks_end
