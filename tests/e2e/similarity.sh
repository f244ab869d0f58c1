#!/bin/sh
# How a model's folder says that vectors are compared ("similarity_fn_name" of config_sentence_transformers.json): one that
# says "cosine" without a Normalize module ranks and trains as the same one with it, while gabbro embed gives the vectors of
# its own encode(). The model is random.
#   similarity.sh GABBRO
set -u
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
enter_work similarity "$1"

training_beir 60 beir
collection=$(made collection --from beir)
random_model "$collection"

# ---- one model in folders that say different things --------------------------------------------------
# Means of states differ in length, those of [CLS] do not.
variant() # NAME SETTINGS [normalize]
{
    cp -r "$model/model" "$1"
    printf '{"pooling_mode_mean_tokens": true}' >"$1/1_Pooling/config.json"
    printf '%s' "$2" >"$1/config_sentence_transformers.json"
    [ $# -lt 3 ] || sed 's/^\]$/, {"idx": 2, "name": "2", "path": "2_Normalize", "type": "x.Normalize"}]/' \
        "$model/model/modules.json" >"$1/modules.json"
}
variant dot '{"similarity_fn_name": "dot"}'
variant cosine '{"similarity_fn_name": "cosine"}'
variant scaled '{"similarity_fn_name": "cosine"}' normalize
variant silent '{"similarity_fn_name": null}'
variant silent_scaled '{}' normalize
variant nothing '' && rm nothing/config_sentence_transformers.json
variant manhattan '{"similarity_fn_name": "manhattan"}'
variant euclidean '{"similarity_fn_name": "euclidean"}'
variant euclidean_scaled '{"similarity_fn_name": "euclidean"}' normalize
variant unknown '{"similarity_fn_name": "MaxSim"}'
expect "a Normalize module was added" grep -q Normalize scaled/modules.json

# ---- rankings ----------------------------------------------------------------------------------------
data="--collection $collection --tokens $tokens"
for name in dot cosine scaled silent silent_scaled nothing euclidean_scaled; do
    # shellcheck disable=SC2086 # a list of words
    "$gabbro" evaluate --model $name $data >"$name.at" 2>"$name.said"
    cp "$(cat $name.at)/runs/test.trec" "$name.trec"
done
expect "cosine without Normalize ranks as with it" cmp cosine.trec scaled.trec
expect "and otherwise than the dot product" sh -c '! cmp -s cosine.trec dot.trec'
expect "a distance of vectors of length 1 ranks as their dot product" cmp euclidean_scaled.trec scaled.trec
warning='warning: .*silent.*; the dot product is taken'
expect "null: the dot product" cmp silent.trec dot.trec
expect "null: it is said" grep -q "$warning" silent.said
expect "no such file: the dot product" cmp nothing.trec dot.trec
expect "no such file: it is said" grep -q 'warning: nothing.*; the dot product is taken' nothing.said
for name in dot cosine scaled silent_scaled; do
    expect "$name: there is nothing to say" [ "$(grep -c 'dot product' $name.said)" = 0 ]
done
"$gabbro" evaluate --model "$model" --collection "$collection" --tokens "$tokens" >/dev/null 2>own.said
expect "nor of a model that gabbro made" [ "$(grep -c 'dot product' own.said)" = 0 ]

says_similarity() # EVALUATION: as a part of its key
{
    grep -q '"similarity": "cosine"' "$(cat "$1.at")/run.json"
}
expect "what is scaled here has a key of its own" says_similarity cosine
for name in dot scaled silent silent_scaled; do
    expect "the key of others has no word of it: $name" sh -c '! grep -q similarity "$1/run.json"' sh "$(cat $name.at)"
done

# shellcheck disable=SC2086 # lists of words
{
    expect "gabbro mine" cmp "$(made mine --model cosine $data --split test --depth 20)/run.trec" \
        "$(made mine --model scaled $data --split test --depth 20)/run.trec"
    expect "gabbro encode" cmp "$(made encode --model cosine $data)/vectors.npy" "$(made encode --model scaled $data)/vectors.npy"
}
for name in cosine scaled; do
    "$gabbro" ask $name beir 'stone river' --quiet --json >$name.answer 2>said
done
expect "gabbro ask gives cosines" cmp cosine.answer scaled.answer

# ---- vectors of texts --------------------------------------------------------------------------------
for name in dot cosine scaled manhattan; do
    "$gabbro" embed $name beir/corpus.jsonl --quiet --out $name.npy 2>$name.said
done
expect "gabbro embed does not scale, as encode() does not" cmp cosine.npy dot.npy
expect "unless a module does" sh -c '! cmp -s scaled.npy dot.npy'
expect "it makes vectors for any similarity" cmp manhattan.npy dot.npy

# ---- training ----------------------------------------------------------------------------------------
negatives=$(made bm25-run --collection "$collection" --depth 10)
training="$data --negatives $negatives --batch 4 --negatives-per-query 1 --epochs 2 --learning-rate 1e-3"
# shellcheck disable=SC2086 # a list of words
for name in dot cosine scaled; do
    made finetune --init $name $training >$name.tuned
done
weights() # NAME
{
    printf '%s/model/model.safetensors' "$(cat "$1.tuned")"
}
expect "fine-tuning trains cosines" cmp "$(weights cosine)" "$(weights scaled)"
expect "not dot products" sh -c '! cmp -s "$1" "$2"' sh "$(weights cosine)" "$(weights dot)"
expect "its folder has the module" grep -q Normalize "$(cat cosine.tuned)/model/modules.json"
expect "and says cosine" grep -q '"similarity_fn_name": "cosine"' "$(cat cosine.tuned)/model/config_sentence_transformers.json"
"$gabbro" join-towers cosine scaled --to joined 2>said
expect "joined towers have the module" grep -q Normalize joined/query/modules.json

# ---- pre-training ------------------------------------------------------------------------------------
# What trains no vectors leaves them as they were; what does, says so where they were others.
shape="--collection $collection --tokens $tokens --vocabulary $vocabulary --steps 1 --batch 4"
# shellcheck disable=SC2086 # a list of words
"$gabbro" pretrain mlm $shape --init scaled >mlm.at 2>mlm.said
expect "masked LM keeps the pooling of the model it starts from" \
    grep -q '"pooling_mode_mean_tokens": *true' "$(cat mlm.at)/model/1_Pooling/config.json"
expect "and its scaling" grep -q Normalize "$(cat mlm.at)/model/modules.json"
expect "and says nothing" [ "$(grep -c 'another way' mlm.said)" = 0 ]
# shellcheck disable=SC2086 # a list of words
"$gabbro" pretrain simcse $shape --init scaled >simcse.at 2>simcse.said
expect "vectors of [CLS] are trained" grep -q '"pooling_mode_cls_token": *true' "$(cat simcse.at)/model/1_Pooling/config.json"
expect "which is said" grep -q 'scaled makes vectors in another way than simcse' simcse.said
# shellcheck disable=SC2086 # a list of words
"$gabbro" pretrain contriever $shape --queue 8 --mean-pooling --init dot >contriever.at 2>contriever.said
expect "means that are trained are those of the new model" \
    grep -q '"pooling_mode_mean_tokens": *true' "$(cat contriever.at)/model/1_Pooling/config.json"
expect "and the model had them before" [ "$(grep -c 'another way' contriever.said)" = 0 ]

# ---- what is not computed ----------------------------------------------------------------------------
hint='"cosine" and "dot" are computed'
# shellcheck disable=SC2086 # lists of words
for name in manhattan euclidean; do
    refused 3 "$name in gabbro evaluate" "is \"$name\"" evaluate --model $name $data
    expect "$name: the message says what there is" grep -q "$hint" refusal
    refused 3 "$name in gabbro ask" "is \"$name\"" ask $name beir 'stone river'
    refused 3 "$name in gabbro finetune" "is \"$name\"" finetune --init $name $training
done
refused 3 "a word that is not known" 'the similarity "MaxSim" is not known here' embed unknown beir/corpus.jsonl
checks_end
