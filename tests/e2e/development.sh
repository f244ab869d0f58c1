#!/bin/sh
# Fine-tuning that is measured on a development split on the way: the curve, the best model, an early
# end, killed and resumed, over ranks.
#   development.sh GABBRO
# shellcheck disable=SC2086 # $data is a list of words
set -u
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
enter_work development "$1"
LP_NUM_THREADS=1
export LP_NUM_THREADS

mkdir -p beir/qrels
awk 'BEGIN {
    split("stone river ice rain sand peak wind moss", word)
    for (s = 0; s < 2; s++)
        printf "query-id\tcorpus-id\tscore\n" >("beir/qrels/" (s ? "dev" : "train") ".tsv")
    for (i = 0; i < 64; i++) {
        a = word[1 + i % 8]; b = word[1 + int(i / 8)]
        printf "{\"_id\": \"d%d\", \"text\": \"the %s is near the %s and the %s\"}\n", i, a, b, a
        printf "{\"_id\": \"q%d\", \"text\": \"is the %s near the %s\"}\n", i, a, b >"beir/queries.jsonl"
        printf "q%d\td%d\t1\n", i, i >("beir/qrels/" (i % 4 == 0 ? "dev" : "train") ".tsv")
    }
}' >beir/corpus.jsonl
collection=$(made collection --from beir)
vocabulary=$(made vocabulary --collection "$collection" --size 100)
tokens=$(made tokenize --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 24 --query-tokens 16)
bm25=$(made bm25-run --collection "$collection" --depth 8)
data="--collection $collection --tokens $tokens"
encoder=$(made pretrain none $data --vocabulary "$vocabulary" --steps 0 --layers 1 --hidden 32 --heads 2 --ffn 64 --init-std .2)
training="finetune $data --init $encoder --negatives $bm25 --batch 8 --negatives-per-query 1 --depth 8 --learning-rate .001
    --dropout 0 --epochs 10"

fact() # NAME FOLDER: of run.json, a number or word
{
    sed -n "s/^ *\"$1\": \"*\([^\",]*\)\"*,*$/\1/p" "$2/run.json" | head -n 1
}
best_of() # CURVE: step of the first best point
{
    awk 'NR > 1 && (NR == 2 || $2 > best) { best = $2; step = $1 } END { print step }' "$1/development.tsv"
}
value() # EVALUATION MEASURE
{
    grep -A 4 "\"$2\"" "$1/metrics.json" | sed -n 's/.*"value": \([-0-9.e]*\).*/\1/p'
}

# ---- the curve and the best model ------------------------------------------------------------------
plain=$(made $training)
expect "losses of every step" [ "$(wc -l <"$plain/losses.tsv")" = 61 ]
dev=$(made $training --dev dev)
expect "another key" [ "$plain" != "$dev" ]
expect "ten points and a header" [ "$(wc -l <"$dev/development.tsv")" = 11 ]
expect "training is not changed by it" cmp -s "$plain/losses.tsv" "$dev/losses.tsv"
expect "the best step is noted" [ "$(fact best_step "$dev")" = "$(best_of "$dev")" ]
measured=$(made evaluate --model "$dev" $data)
expect "the model is the best one: $(value "$measured" dev:MRR@10), $(fact best "$dev")" \
    awk "BEGIN { exit !(($(value "$measured" dev:MRR@10) - $(fact best "$dev")) ^ 2 < 1e-12) }"

# The same queries as passages of the collection, each with another passage for an answer.
mkdir -p own/qrels
sed 's/"q/"d/' beir/queries.jsonl >own/queries.jsonl
cp beir/corpus.jsonl own
for split in train dev; do
    sed 's/^q\([0-9]\)/d\1/' beir/qrels/$split.tsv | awk -F '\t' 'NR > 1 { $2 = "d" (substr($2, 2) + 8) % 64 } { print $1 "\t" $2 "\t" $3 }' >own/qrels/$split.tsv
done
of_own="--collection $(made collection --from own)"
own="$of_own --tokens $(made tokenize $of_own --vocabulary "$vocabulary" --passage-tokens 24 --query-tokens 16)"
negatives=$(made bm25-run $of_own --drop-identical)
for option in --dev-drop-identical ''; do
    best=$(made finetune $own --init "$encoder" --negatives "$negatives" --batch 8 --learning-rate .001 --dropout 0 --epochs 2 --dev dev $option)
    measured=$(made evaluate $own --model "$best" ${option:+--drop-identical})
    expect "a query's own passage ${option:+does not }count: $(value "$measured" dev:MRR@10), $(fact best "$best")" \
        awk "BEGIN { exit !(($(value "$measured" dev:MRR@10) - $(fact best "$best")) ^ 2 < 1e-12) }"
    values="${values:-} $(fact best "$best")"
done
expect "which makes a difference:$values" sh -c "set -- $values; [ \$1 != \$2 ]"

last=$(made $training --dev dev --keep-last)
expect "the last one is that of a plain training" cmp -s "$plain/model/model.safetensors" "$last/model/model.safetensors"
some=$(made $training --dev dev --dev-every 25 --dev-queries 5 --dev-passages 12 --dev-measure ndcg_cut_5)
expect "every 25 steps and at the end" [ "$(awk '{ printf "%s ", $1 }' "$some/development.tsv")" = "step 25 50 60 " ]
expect "of 5 queries" [ "$(fact queries "$some")" = 5 ]
expect "among their passages and 12 others" [ "$(fact passages "$some")" = 17 ]
held=$(made $training --dev train --dev-queries 16)
expect "queries are held out: $(fact train_queries "$held")" [ "$(fact train_queries "$held")" = 32 ]
held=$(made $training --dev train)
expect "a tenth of them if nobody says how many: $(fact queries "$held")" [ "$(fact queries "$held")" = 5 ]
ended=$(made $training --dev dev --dev-every 2 --patience 2 --learning-rate 0)
expect "it ends after two that are no better" [ "$(fact steps "$ended")" = 6 ]
expect "and keeps the first" [ "$(fact best_step "$ended")" = 2 ]
sparse=$(made $training --dev dev --scoring tokens --query-length 16 --dev-passages 20)
expect "late interaction is measured, too" [ "$(wc -l <"$sparse/development.tsv")" = 11 ]
towers=$(made $training --dev dev --two-towers)
expect "so are two towers" [ -e "$towers/model/query/model.safetensors" ]

# A collection with the split test alone: half of its queries are dev, but the rest of test are those that train.
mkdir -p alone/qrels
cp beir/corpus.jsonl beir/queries.jsonl alone
cat beir/qrels/train.tsv >alone/qrels/test.tsv
of_alone="--collection $(made collection --from alone)"
alone="$of_alone --tokens $(made tokenize $of_alone --vocabulary "$vocabulary" --passage-tokens 24 --query-tokens 16)"
chosen=$(made finetune $alone --init "$encoder" --negatives "$(made bm25-run $of_alone --depth 8)" --batch 4 --negatives-per-query 1 \
    --learning-rate .001 --dropout 0 --epochs 1 --dev auto)
expect "without a test to report on dev does not choose: $(fact split "$chosen")" [ "$(fact split "$chosen")" = train ]
chosen=$(made finetune $own --init "$encoder" --negatives "$negatives" --batch 8 --learning-rate .001 --dropout 0 --epochs 1 --dev auto)
expect "nor with dev alone: $(fact split "$chosen")" [ "$(fact split "$chosen")" = train ]

# ---- stopped and resumed ---------------------------------------------------------------------------
stopped()
{
    for _ in 1 2 3; do
        timeout -s KILL "$1" "$gabbro" $training --dev dev --quiet >out 2>err
    done
}
resumed() # WHAT: as if nothing had happened
{
    again=$(made $training --dev dev)
    expect "$1, the same curve" cmp -s kept/development.tsv "$again/development.tsv"
    expect "$1, the same model" cmp -s kept/model/model.safetensors "$again/model/model.safetensors"
    expect "$1, nothing is left over" [ ! -e "$again/resume" ]
}
mv "$dev" kept
stopped .6
resumed "killed on the way"
# It ends behind its last step, where all but the record is written.
rm -r "$dev"
work_folder=$GABBRO_STORE/work/${dev##*/}
mkdir -p "$work_folder/run.json"
"$gabbro" $training --dev dev --quiet >out 2>err
expect "without a record it is no artifact" [ ! -e "$dev" ]
expect "though its model is written" [ -e "$work_folder/model/model.safetensors" ]
rmdir "$work_folder/run.json"
resumed "stopped at its end"

# ---- cross-encoders --------------------------------------------------------------------------------
run=$(made bm25-run --collection "$collection" --split dev --depth 8)
cross=$(made finetune-cross $data --init "$encoder" --negatives "$bm25" --batch 4 --negatives-per-query 3 --learning-rate .003 \
    --dropout 0 --epochs 5 --depth 8 --dev dev --dev-run "$run")
expect "a cross-encoder is measured" [ "$(fact best_step "$cross")" = "$(best_of "$cross")" ]
reranked=$(made rerank --model "$cross" --run "$run" $data --depth 8)
"$gabbro" eval -m MRR@10 beir/qrels/dev.tsv "$reranked/run.trec" >score
expect "and the best one is kept: $(cat score)" \
    awk -v best="$(fact best "$cross")" '{ exit !(($3 - best) ^ 2 < 1e-6) }' score

# ---- bad input -------------------------------------------------------------------------------------
refused() # CODE TEXT COMMAND...
{
    code=$1 text=$2
    shift 2
    "$gabbro" "$@" --quiet >out 2>err
    got=$?
    expect "refused with $code: $text" [ "$got:$(grep -c -- "$text" err)" = "$code:1" ]
}
refused 2 "no split \"nowhere\"" $training --dev nowhere
refused 2 "belong to a --dev" $training --patience 3
refused 2 "unknown measure" $training --dev dev --dev-measure what
refused 2 "num_q is no mean" $training --dev dev --dev-measure num_q
refused 3 "are of none of the training queries" finetune $data --init "$encoder" --negatives "$run" --dropout 0
refused 2 "dev-run" finetune-cross $data --init "$encoder" --negatives "$bm25" --dev dev
refused 3 "no training query is left" $training --dev train --dev-queries 1000
checks_end
