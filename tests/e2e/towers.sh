#!/bin/sh
# Two towers from training to a ranking: queries and passages are encoded by models of their own, and
# the ranking of the folder of both is that of its two folders apart.
#   towers.sh GABBRO
set -u
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
enter_work towers "$1"

training_beir 60 beir
collection=$(made collection --from beir)
vocabulary=$(made vocabulary --collection "$collection" --size 100)
tokens=$(made tokenize --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 8 --query-tokens 8)
data="--collection $collection --tokens $tokens"
# shellcheck disable=SC2086 # lists of words
encoder=$(made pretrain mlm $data --vocabulary "$vocabulary" --steps 2 --batch 4 --layers 1 --hidden 16 --heads 2 --ffn 16)
negatives=$(made bm25-run --collection "$collection" --depth 10)
training="$data --negatives $negatives --two-towers --batch 4 --negatives-per-query 1 --learning-rate 1e-3"

names() # FILE: every query and passage of a run, in order
{
    awk '{ print $1, $3 }' "$1"
}

# The model $1 ranks, and $2 is its name.
ranks_alike()
{
    # shellcheck disable=SC2086 # a list of words
    set -- "$1" "$2" "$(made encode --model "$1/model/document" $data)" \
        "$(made encode --model "$1/model/query" $data --split test)" \
        "$(made mine --model "$1" $data --split test --depth 20)" "$(made evaluate --model "$1" $data --depth 20)"
    rm -rf passages queries # copies that do not say whose vectors they are
    mkdir passages queries
    cp "$3"/vectors.npy "$3"/ids.txt passages
    cp "$4"/vectors.npy "$4"/ids.txt queries
    found=$(made search --passages passages --queries queries --depth 20)
    names "$found/run.trec" >found
    names "$5/run.trec" >mined
    names "$6/runs/test.trec" >evaluated
    expect "$2: mine ranks as the towers apart" cmp found mined
    expect "$2: evaluate ranks as the towers apart" cmp found evaluated
}

# shellcheck disable=SC2086 # lists of words
first=$(made finetune --init "$encoder" $training --epochs 3)
expect "a Router is written" grep -q '"sentence_transformers.models.Router"' "$first/model/modules.json"
expect "its towers have become different" \
    sh -c '! cmp -s "$1/query/model.safetensors" "$1/document/model.safetensors"' sh "$first/model"
ranks_alike "$first" "two towers"
# shellcheck disable=SC2086
second=$(made finetune --init "$first" $training --epochs 1 --micro-batch 5 --loss pairwise)
ranks_alike "$second" "two towers that go on, in micro-batches"
# Texts of one's own go to the tower that they ask for.
# shellcheck disable=SC2086
{
    made encode --model "$first" $data >passages.at
    made encode --model "$first" $data --split test >queries.at
}
cut -f 1 beir/qrels/test.tsv | sed 1d | sort -u >asked
grep -F -f asked beir/queries.jsonl >asked.jsonl
while read -r id; do grep "\"_id\": \"$id\"," beir/queries.jsonl; done <"$(cat queries.at)/ids.txt" >asked.jsonl
"$gabbro" embed "$first/model" --quiet --out own.npy beir/corpus.jsonl
expect "embed makes vectors of passages with their tower" cmp own.npy "$(cat passages.at)/vectors.npy"
"$gabbro" embed "$first/model" --quiet --query --out own.npy asked.jsonl
expect "and of queries with theirs" cmp own.npy "$(cat queries.at)/vectors.npy"
question=$(head -n 1 asked.jsonl | sed 's/.*"text": "\(.*\)".*/\1/')
id=$(head -n 1 "$(cat queries.at)/ids.txt")
# shellcheck disable=SC2086
wanted=$(awk -v id="$id" '$1 == id { print $3; exit }' "$(made mine --model "$first" $data --split test --depth 20)/run.trec")
"$gabbro" ask "$first/model" beir "$question" --quiet --json >answer 2>said
expect "ask answers as the towers rank: $wanted" sh -c 'head -n 1 answer | grep -q "$1"' sh "\"$wanted\""

# The towers apart, put together again, are the model.
"$gabbro" join-towers "$first/model/query" "$first/model/document" --to joined 2>said
for tower in query document; do
    expect "join-towers keeps the weights: $tower" cmp "joined/$tower/model.safetensors" "$first/model/$tower/model.safetensors"
done
expect "and writes a Router" grep -q '"sentence_transformers.models.Router"' joined/modules.json
# shellcheck disable=SC2086
expect "which ranks as the model" cmp "$(made mine --model joined $data --split test --depth 20)/run.trec" \
    "$(made mine --model "$first" $data --split test --depth 20)/run.trec"
"$gabbro" join-towers "$first/model" "$first/model" --to again 2>said
expect "of two towers the one is taken that is asked for" cmp again/query/model.safetensors joined/query/model.safetensors
refused 2 "a folder that is there" "already" join-towers "$first/model" "$first/model" --to joined
if strace -o traced true 2>/dev/null; then
    strace -f -o traced -e trace=fsync -e inject=fsync:signal=KILL:when=8 "$gabbro" join-towers "$first/model" "$first/model" --to killed \
        2>said
    expect "killed on the way" grep -q 'killed by SIGKILL' traced
    expect "it leaves no part of a model" [ ! -e killed ]
    "$gabbro" join-towers "$first/model" "$first/model" --to killed 2>said
    expect "and the same command makes it" cmp killed/query/model.safetensors joined/query/model.safetensors
else
    skipped "join-towers killed on the way: there is no strace"
fi
cp -r "$first/model/query" silent && rm silent/modules.json
refused 3 "towers of which one says no pooling" "silent: .*--pooling" join-towers silent "$first/model" --to x
"$gabbro" join-towers silent "$first/model" --to pooled --pooling cls 2>said
expect "--pooling says it" cmp pooled/query/1_Pooling/config.json joined/query/1_Pooling/config.json
# shellcheck disable=SC2086
deep=$(made pretrain none $data --vocabulary "$vocabulary" --steps 0 --layers 2 --hidden 16 --heads 2 --ffn 16)
"$gabbro" join-towers "$deep" "$first/model" --pooling cls --to uneven 2>said
# shellcheck disable=SC2086
refused 3 "towers of different shapes are not trained" "another shape (2 layers) than that of passages (1" \
    finetune --init uneven $training
# shellcheck disable=SC2086
"$gabbro" finetune --init uneven ${training%% --two-towers*} --epochs 0 >/dev/null 2>said
expect "that of passages alone is, and it is said" grep -q 'that of passages alone is trained' said
# shellcheck disable=SC2086
narrow=$(made pretrain none $data --vocabulary "$vocabulary" --steps 0 --layers 1 --hidden 8 --heads 2 --ffn 8)
refused 3 "towers of two widths" "16 numbers" join-towers "$first/model" "$narrow" --to x --pooling cls
expect "nothing is left of what was refused" [ ! -e x ]

# ADORE: passages stay, and the encoder of queries learns from what it finds among them in every step.
# shellcheck disable=SC2086 # lists of words
{
    passages=$(made encode --model "$second" $data)
    fixed="--init $second $data --passage-vectors $passages --depth 5 --batch 4 --learning-rate 1e-3 --loss lambdarank"
    adore=$(made finetune $fixed --epochs 3)
    ranks_alike "$adore" "a tower of queries against fixed passages"
    cut=$(made finetune $fixed --epochs 3 --micro-batch 3)
}
same_file() # NAME FOLDER FOLDER
{
    cmp -s "$2/$1" "$3/$1"
}
expect "fixed passages keep their encoder" same_file document/model.safetensors "$second/model" "$adore/model"
differ() { ! same_file "$@"; }
expect "the encoder of queries has learned" differ query/model.safetensors "$second/model" "$adore/model"
number()
{
    sed -n 's/.*"final_loss": \([0-9.e-]*\).*/\1/p' "$1/run.json"
}
expect "in micro-batches it learns nearly the same: $(number "$adore"), $(number "$cut")" \
    awk "BEGIN { d = $(number "$adore") - $(number "$cut"); exit !(d < 1e-4 && d > -1e-4) }"
# shellcheck disable=SC2086
adore_refuses()
{
    "$gabbro" finetune --init "$1" $data --epochs 1 --passage-vectors "$2" >/dev/null 2>said
    grep -q "$3" said
}
expect "vectors of another model are refused" adore_refuses "$first" "$passages" "by another model"
other=$(made encode --model "$second" $data --split test)
expect "vectors of something else are refused" adore_refuses "$second" "$other" "vectors, but the collection has"
checks_end
