#!/bin/sh
# Late interaction as a user meets it: models that finetune makes are evaluated, mined and encoded by the
# commands that any retriever goes through, in shards too, and go on being trained.
#   late.sh GABBRO
set -u
# shellcheck disable=SC2086 # lists of words
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
enter_work late "$1"

# Passages of three words with punctuation; the first nine belong to the queries.
mkdir -p beir/qrels
awk 'BEGIN {
    split("stone river ice rain sand peak wind moss", word)
    printf "query-id\tcorpus-id\tscore\n" >"beir/qrels/train.tsv"
    printf "query-id\tcorpus-id\tscore\n" >"beir/qrels/test.tsv"
    for (i = 0; i < 120; i++)
        printf "{\"_id\": \"d%d\", \"text\": \"%s, %s %s.\"}\n", i, word[1 + i % 8], word[1 + int(i / 3) % 8], \
            word[1 + int(i / 24) % 8]
    for (i = 0; i < 12; i++) {
        printf "{\"_id\": \"q%d\", \"text\": \"%s %s\"}\n", i, word[1 + i % 8], word[1 + int(i / 3) % 8] >"beir/queries.jsonl"
        printf "q%d\td%d\t1\n", i, i >("beir/qrels/" (i < 9 ? "train" : "test") ".tsv")
    }
}' >beir/corpus.jsonl
collection=$(made collection --from beir)
vocabulary=$(made vocabulary --collection "$collection" --size 100)
tokens=$(made tokenize --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 12 --query-tokens 8)
encoder=$(made pretrain none --collection "$collection" --tokens "$tokens" --vocabulary "$vocabulary" \
    --steps 0 --layers 2 --hidden 16 --heads 2 --ffn 16)
bm25=$(made bm25-run --collection "$collection" --depth 20)
of="--collection $collection --tokens $tokens"
training="finetune $of --negatives $bm25 --batch 4 --negatives-per-query 2 --learning-rate 1e-3"
colbert="--scoring tokens --token-width 8 --query-length 10"

# Of shards $1 of passages and the queries: the run of search.
searched() # SHARDS MODEL OPTION...
{
    shards=$1 of_model="--model $2 $of"
    shift 2
    queries=$(made encode $of_model --split train "$@")
    passages='' shard=0
    while [ $shard -lt "$shards" ]; do
        passages="--passages $(made encode $of_model --shard-index $shard --shard-count "$shards" "$@") $passages"
        shard=$((shard + 1))
    done
    made search --queries "$queries" $passages --depth 20
}

# A model as teacher: the student of its vectors is that of a run in which it scores every passage.
number() # NAME FOLDER: of a fact in run.json
{
    sed -n "s/^ *\"$1\": \([-0-9.e]*\),*$/\1/p" "$2/run.json" | head -n 1
}
teaches() # WHAT MODEL LOSS...
{
    what=$1 teacher=$2
    shift 2
    student="$training --init $encoder --epochs 3 --loss $*"
    scored=$(made $student --teacher "$(made mine --model "$teacher" $of --depth 120)")
    vectors=$(made $student --teacher-queries "$(made encode --model "$teacher" $of --split train)" \
        --teacher-passages "$(made encode --model "$teacher" $of)")
    for value in first_loss final_loss; do
        trust "$what teaches by its vectors: $value" "a run of all its scores" \
            "$(awk "BEGIN { d = $(number $value "$scored") - $(number $value "$vectors"); print d < 0 ? -d : d }")" 2e-5
    done
}

for kind in colbert coil; do
    scoring=$colbert
    [ $kind = colbert ] || scoring="--scoring coil --coil-width 8"
    model=$(made $training --init "$encoder" $scoring --epochs 2)
    parts=$(made $training --init "$encoder" $scoring --epochs 2 --micro-batch 5)
    expect "$kind: trained in parts" [ -d "$parts/model" ]
    measured=$(made evaluate --model "$model" $of)
    expect "$kind: evaluated" grep -q '"test:MRR@10"' "$measured/metrics.json"
    mined=$(made mine --model "$model" $of --depth 20)
    expect "$kind: one shard gives the run of mine" cmp "$mined/run.trec" "$(searched 1 "$model")/run.trec"
    expect "$kind: three shards do" cmp "$mined/run.trec" "$(searched 3 "$model")/run.trec"
    halves=$(searched 1 "$model" --numbers float16)
    sort -k 1,1 -k 3,3 "$mined/run.trec" >floats
    sort -k 1,1 -k 3,3 "$halves/run.trec" >halves
    trust "$kind: scores of vectors in float16" "float32" "$(awk 'NR == FNR { score[$1 $3] = $5; next }
        ($1 $3) in score { d = $5 - score[$1 $3]; if (d < 0) d = -d; if (d > worst) worst = d; n++ }
        END { print (n > 100 ? worst + 0 : "too few") }' floats halves)" 1e-2
    awk '$4 <= 5' "$mined/run.trec" >first.trec
    reranked=$(made search --queries "$(made encode --model "$model" $of --split train)" \
        --passages "$(made encode --model "$model" $of)" --candidates first.trec)
    expect "$kind: re-ranking the first five keeps them" cmp first.trec "$reranked/run.trec"
    reranked=$(made search --queries "$(made encode --model "$model" $of --split train)" \
        --passages "$(made encode --model "$model" $of)" --candidates "$mined")
    expect "$kind: and of an artifact all" cmp "$mined/run.trec" "$reranked/run.trec"
    further=$(made $training --init "$model" $scoring --epochs 1)
    expect "$kind: goes on" [ -f "$further/model/model.safetensors" ]
    teaches "$kind" "$model" kl --all-passages --teacher-temperature .25
    refused 3 "$kind to a dense retriever" 'vectors are of tokens' $training --init "$model" --epochs 1
    refused 3 "$kind by embed" 'vectors are of tokens' embed "$model" beir/corpus.jsonl
    refused 2 "$kind as int8" 'vectors of tokens are not written as int8' encode --model "$model" $of --numbers int8
    refused 2 "$kind in fewer numbers" 'vectors of tokens are not cut' search --dims 4 --queries \
        "$(made encode --model "$model" $of --split train)" --passages "$(made encode --model "$model" $of)"
    refused 2 "$kind, pooled" 'which are not pooled' encode --model "$model" $of --pooling mean
done
refused 3 "COIL from ColBERT" 'a ColBERT model cannot become a COIL model' $training --scoring coil --epochs 1 \
    --init "$(made $training --init "$encoder" $colbert --epochs 2)"
refused 2 "a projector beside" 'has a projection of its own' $training --init "$encoder" $colbert --projector linear
refused 2 "queries beyond the positions" 'positions' $training --init "$encoder" --scoring tokens --query-length 500
dense=$(made encode --model "$encoder" $of)
teaches "a dense model" "$encoder" margin-mse --in-batch-weight .5
asked=$(made encode --model "$encoder" $of --split test)
refused 3 "a teacher of other queries" 'query q[0-8] has no vector of the teacher' $training --init "$encoder" --loss kl \
    --teacher-queries "$asked" --teacher-passages "$dense"
refused 3 "a teacher of two models" 'are of different models' $training --init "$encoder" --loss kl --teacher-passages \
    "$dense" --teacher-queries "$(made encode --model "$(made $training --init "$encoder" --epochs 1)" $of --split train)"
refused 2 "half a teacher" 'give both' $training --init "$encoder" --loss kl --teacher-queries "$asked"
refused 2 "vectors of tokens and of texts" "only the passages have vectors of tokens" search --queries "$dense" \
    --passages "$(made encode --model "$(made $training --init "$encoder" $colbert --epochs 2)" $of)"
checks_end
