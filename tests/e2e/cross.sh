#!/bin/sh
# Cross-encoders: trained by both losses, ranking runs and evaluations, killed and resumed, over ranks;
# their scores go into the filter of fine-tuning.
#   cross.sh GABBRO
# shellcheck disable=SC2086 # $data is a list of words
set -u
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
enter_work cross "$1"
LP_NUM_THREADS=1
export LP_NUM_THREADS

mkdir -p beir/qrels
awk 'BEGIN {
    split("stone river ice rain sand peak wind moss", word)
    for (s = 0; s < 2; s++)
        printf "query-id\tcorpus-id\tscore\n" >("beir/qrels/" (s ? "test" : "train") ".tsv")
    for (i = 0; i < 64; i++) {
        a = word[1 + i % 8]; b = word[1 + int(i / 8)]
        printf "{\"_id\": \"d%d\", \"text\": \"the %s is near the %s and the %s\"}\n", i, a, b, a
        printf "{\"_id\": \"q%d\", \"text\": \"is the %s near the %s\"}\n", i, a, b >"beir/queries.jsonl"
        if (i % 2 == 0) { # the others are unlabelled
            printf "q%d\td%d\t1\n", i, i >("beir/qrels/" (i % 8 == 0 ? "test" : "train") ".tsv")
        }
    }
}' >beir/corpus.jsonl
collection=$(made collection --from beir)
vocabulary=$(made vocabulary --collection "$collection" --size 100)
tokens=$(made tokenize --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 24 --query-tokens 16)
bm25=$(made bm25-run --collection "$collection" --depth 8)
first=$(made evaluate --bm25 --collection "$collection" --keep 8)
data="--collection $collection --tokens $tokens"
encoder=$(made pretrain none $data --vocabulary "$vocabulary" --steps 0 --layers 1 --hidden 32 --heads 2 --ffn 64 --init-std .2)
training="finetune-cross $data --init $encoder --negatives $bm25 --batch 4 --negatives-per-query 3 --learning-rate .003 --dropout 0"

# ---- training --------------------------------------------------------------------------------------
number() # NAME FOLDER: of a fact in run.json
{
    sed -n "s/^ *\"$1\": \([-0-9.e]*\),*$/\1/p" "$2/run.json" | head -n 1
}

for loss in softmax binary; do
    model=$(made $training --loss $loss --epochs 20)
    expect "$loss learns: $(number first_loss "$model") to $(number final_loss "$model")" \
        awk "BEGIN { exit !($(number final_loss "$model") < .9 * $(number first_loss "$model")) }"
    expect "$loss: the folder has a classifier and no modules.json" \
        grep -q BertForSequenceClassification "$model/model/config.json" && [ ! -e "$model/model/modules.json" ]
done
again=$(made $training --init "$model" --loss binary --epochs 1)
expect "a cross-encoder is trained further" \
    awk "BEGIN { exit !($(number first_loss "$again") < $(number first_loss "$model")) }"
model=$(made $training --epochs 20)
longer=$(made $training --epochs 1 --extend-positions)
expect "a model gets the positions that its pairs need" \
    grep -q '"max_position_embeddings": 39' "$longer/model/config.json"
expect "and starts from the same weights" \
    [ "$(number first_loss "$longer")" = "$(number first_loss "$(made $training --epochs 1)")" ]

# ---- ranking ---------------------------------------------------------------------------------------
cost=$("$gabbro" rerank --model "$model" --run "$bm25" $data --depth 5 --judged train --cost 2>log)
ranked=$(made rerank --model "$model" --run "$bm25" $data --depth 5 --judged train)
expect "the cost says how many pairs there are" \
    [ "${cost%% *}" = "pairs=$(wc -l <"$ranked/run.trec")" ]
awk '$4 <= 5 { print $1, $3 }' "$bm25/run.trec" >wanted
awk 'FNR > 1 { print $1, $2 }' beir/qrels/train.tsv >>wanted
awk '{ print $1, $3 }' "$ranked/run.trec" | sort >got
expect "the first passages and the positives are scored, once" [ "$(sort -u wanted)" = "$(cat got)" ]
expect "in the order of their scores" \
    awk '$1 == query && $5 > score { exit 1 } { query = $1; score = $5 }' "$ranked/run.trec"
from_file=$(made rerank --model "$model/model" --run "$bm25/run.trec" $data --depth 5 --judged train)
expect "a file and a folder give the same run" cmp "$ranked/run.trec" "$from_file/run.trec"
of_all=$(made rerank --model "$model" --run "$first" $data --depth 8 --scores probability)
expect "probabilities lie between 0 and 1" awk '$5 < 0 || $5 > 1 { exit 1 }' "$of_all/runs/test.trec"
measured=$(made evaluate --runs "$of_all" --collection "$collection")
mrr() # EVALUATION
{
    sed -n '/"test:MRR@10"/,/}/s/.*"value": \([0-9.]*\).*/\1/p' "$1/metrics.json"
}
"$gabbro" eval --measure MRR@10 beir/qrels/test.tsv "$of_all/runs/test.trec" >printed 2>log
expect "an evaluation of runs measures them: $(mrr "$measured")" \
    awk -v a="$(mrr "$measured")" '{ d = $NF - a; exit !(d < .0001 && d > -.0001) }' printed
kept=$(made evaluate --runs "$first" --collection "$collection")
expect "measured again, the runs of an evaluation have its values" [ "$(mrr "$kept")" = "$(mrr "$first")" ]

# ---- killed, and over ranks ------------------------------------------------------------------------
deep=$(made bm25-run --collection "$collection" --depth 64)
set -- rerank --model "$model" --run "$deep" $data --depth 64
quiet=$(made "$@")
"$gabbro" "$@" --store other >stdout 2>log &
child=$!
waited=0
while kill -0 $child 2>/dev/null && [ $waited -lt 3000 ] && ! grep -q 'device: ' log; do
    sleep 0.02
    waited=$((waited + 1))
done
kill -TERM $child 2>/dev/null
wait $child
status=$?
expect "stopped, it ends with 75, unless it was done before ($status)" awk "BEGIN { exit !($status == 75 || $status == 0) }"
resumed=$("$gabbro" "$@" --store other 2>log)
expect "and the same command makes the same run" cmp "$quiet/run.trec" "$resumed/run.trec"
if has_ranks "$gabbro"; then
    together=$("$gabbro" rerank --model "$model" --run "$bm25" $data --depth 5 --judged train --ranks 2 \
        --store two --quiet 2>log) || bad "rerank by two ranks" log
    expect "two ranks give the run of one" cmp "$ranked/run.trec" "$together/run.trec"
fi

# ---- as scores of a filter -------------------------------------------------------------------------
all=$(made rerank --model "$model" --run "$bm25" $data --depth 8 --judged train)
tuned=$(made finetune $data --init "$encoder" --negatives "$bm25" --scores "$all" --margin 0 --batch 4 --epochs 1)
expect "the filter finds scores of all positives and negatives" \
    [ "$(number unscored "$tuned"):$(number unscored_queries "$tuned")" = 0:0 ]
expect "and drops some" [ "$(number by_score "$tuned")" -gt 0 ]
share=$(made finetune $data --init "$encoder" --negatives "$bm25" --scores "$all" --relative-margin 0 --min-score -1000 \
    --batch 4 --epochs 1)
expect "a margin of no share drops the same" [ "$(number by_score "$share")" = "$(number by_score "$tuned")" ]
expect "and so gives the same model" cmp -s "$tuned/losses.tsv" "$share/losses.tsv"

# ---- pseudo-labels ---------------------------------------------------------------------------------
binary=$(made $training --loss binary --epochs 20)
found=$(made bm25-run --collection "$collection" --split unlabelled --depth 8)
judged=$(made rerank --model "$binary" --run "$found" $data --depth 8 --scores probability)
labels=$(made pseudo-labels --run "$judged" --collection "$collection" --positive .6 --negative .2)
expect "queries of no split are ranked" awk 'substr($1, 2) % 2 == 0 { exit 1 }' "$found/run.trec"
awk '$5 >= .6 { print $1, $3 }' "$judged/run.trec" | sort >wanted
awk 'FNR > 1 { print $1, $2 }' "$labels/qrels.tsv" | sort >got
expect "passages score enough: $(wc -l <got)" [ -s got ]
expect "what does is a positive" cmp wanted got
cut -d' ' -f1 got | sort -u >labelled
awk '$5 <= .2 { print $1, $3 }' "$judged/run.trec" | sort | join labelled - >wanted
awk '{ print $1, $3 }' "$labels/run.trec" | sort >got
expect "and what scores little a negative: $(wc -l <got)" cmp -s wanted got
tuned=$(made finetune $data --init "$encoder" --negatives "$labels" --negatives "$bm25" --pseudo-labels "$labels" \
    --batch 4 --epochs 1)
expect "training takes their queries, too" \
    [ "$(number train_queries "$tuned")" = $((24 + $(wc -l <labelled))) ]
checks_end
