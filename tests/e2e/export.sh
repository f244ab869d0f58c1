#!/bin/sh
# gabbro export: runs with ir_metadata, MTEB's results, a model card; and what run.json says of the build.
#   export.sh GABBRO
set -u
. "$(dirname -- "$0")/../checks.sh"
enter_work export "$1"
training_beir 40 beir
collection=$(made collection --from beir) || exit 1
vocabulary=$(made vocabulary --collection "$collection" --size 200) || exit 1
tokens=$(made tokenize --collection "$collection" --vocabulary "$vocabulary") || exit 1
model=$(made pretrain none --collection "$collection" --tokens "$tokens" --vocabulary "$vocabulary" \
    --layers 1 --hidden 32 --heads 2 --ffn 64) || exit 1
step=$(made evaluate --model "$model" --collection "$collection" --tokens "$tokens") || exit 1
bm25=$(made evaluate --bm25 --collection "$collection") || exit 1

# ---- the record ----
record=$step/run.json
for name in source compiler libraries icu libc vulkan_loader processor uuid memory_bytes; do
    expect "run.json says: $name" grep -q "^ *\"$name\": [^n]" "$record"
done
expect "a command without a device names none" [ "$(grep -c '"uuid"' "$bm25/run.json")" = 0 ]

# ---- the export ----
mkdir store/rows # as gabbro reproduce notes it
printf '{"table": "qac/table1", "scale": "mini", "rows": {"bm25": {"42": "evaluate-none"}, "random": {"43": "%s"}}}' \
    "$(basename "$step")" >store/rows/qac-table1.mini.json
"$gabbro" export "$(basename "$step")" --to out --model --team testers --tag "t5" --task 'my/task' 2>log
expect "an evaluation is exported ($?)" [ -s out/runs/test.trec ]
expect "ir_metadata begins the run" [ "$(head -n 1 out/runs/test.trec)" = '# ir_metadata.start' ]
expect "and has all its parts" [ "$(grep -c -E '^# (tag|actor|research goal|platform|implementation|method|data): ' out/runs/test.trec)" = 7 ]
grep -v '^#' out/runs/test.trec | sed 's/ t5$/ gabbro/' >lines
expect "the lines are those of the evaluation" cmp -s lines "$step/runs/test.trec"
"$gabbro" eval -m all beir/qrels/test.tsv out/runs/test.trec 2>log | grep -v runid >with
"$gabbro" eval -m all beir/qrels/test.tsv "$step/runs/test.trec" 2>log | grep -v runid >without
expect "comments change no measure" cmp -s with without
value=$(sed -n 's/^ *"ndcg_at_10": \([.0-9]*\),*$/\1/p' out/mteb/my-task.json)
expect "MTEB's file has the values, the main one too ($value)" \
    grep -q "\"main_score\": $value" out/mteb/my-task.json
expect "as metrics.json has them" grep -q "\"value\": $value" "$step/metrics.json"
expect "the model is there" cmp -s out/model/model.safetensors "$model/model/model.safetensors"
card=out/model/README.md
expect "its card has one front matter" [ "$(grep -c '^---$' $card)" = 2 ]
expect "with results" grep -q 'metrics: \[{type: ndcg_at_10, value: 0' $card
expect "the row of a table that it is" grep -q '^- qac/table1, scale mini: row random, seed 43$' $card
expect "and no other one" [ "$(grep -c '^- qac/' $card)" = 1 ]
expect "the data" grep -q "^| .$(basename "$collection"). | beir | BEIR folder | 40 | 18 |" $card
expect "the commands, with what is not at its default alone" \
    [ "$(grep -c -e '^gabbro pretrain none' -e '--hidden 32' -e '--dropout' $card)" = 2 ]
expect "the folder is a model" "$gabbro" verify out/model >said 2>&1

"$gabbro" export "$bm25" --to plain 2>log
expect "BM25 has no model, but a card ($?)" grep -q '^# gabbro$' plain/README.md
"$gabbro" export "$bm25" --to words --tag 'my run' >said 2>&1
expect "a tag of two words is refused, and nothing written ($?)" \
    sh -c 'grep -q "tag needs one word" said && [ ! -e words ]'
"$gabbro" export "$bm25" --to quoted --tag 'b"m' --task 'a "b" \ <c>|d' 2>log
expect "names are strings of YAML ($?)" \
    grep -q '^    dataset: {name: "a \\"b\\" \\\\ <c>|d", type: "a \\"b\\" \\\\ <c>|d", split: "test"}$' quoted/README.md
expect "the tag, too" grep -q '^- name: "b\\"m"$' quoted/README.md
expect "and stand in Markdown as they are" grep -q '^## Results on a "b" \\\\ \\<c>\\|d$' quoted/README.md
"$gabbro" export "$model" --to none >said 2>&1
expect "what is no evaluation is refused ($?)" grep -q 'not an evaluation' said
mkdir mine && echo mine >mine/README.md
"$gabbro" export "${step##*/}" --to mine >said 2>&1
expect "somebody else's folder is refused ($?)" [ "$(cat mine/README.md) $(grep -c 'holds other files' said)" = 'mine 1' ]
"$gabbro" export evaluate-none --to none >said 2>&1
expect "what is not there is named ($?)" grep -q 'evaluate-none' said
checks_end
