#!/bin/sh
# A LLaMA as a retriever: gabbro vocabulary, tokenize, encode, evaluate and mine with its tokenizer, its prompts and the
# state of its last token; the vectors are those of gabbro embed. The models are random.
#   language.sh GABBRO GOLDEN
set -u
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
golden=$(readlink -f "$2")
enter_work language "$1"

# ---- a LLaMA of one layer with a sentencepiece tokenizer ---------------------------------------------
# The header of a safetensors file of bfloat16 weights, and on the last line how many bytes these have.
header()
{
    printf '%s\n' 'embed_tokens 608,32 19456' 'layers.0.input_layernorm 32 32' 'layers.0.mlp.down_proj 32,48 1536' \
        'layers.0.mlp.gate_proj 48,32 1536' 'layers.0.mlp.up_proj 48,32 1536' 'layers.0.post_attention_layernorm 32 32' \
        'layers.0.self_attn.k_proj 16,32 512' 'layers.0.self_attn.o_proj 32,32 1024' \
        'layers.0.self_attn.q_proj 32,32 1024' 'layers.0.self_attn.v_proj 16,32 512' 'norm 32 32' |
        awk '{
            printf "%s\"model.%s.weight\":{\"dtype\":\"BF16\",\"shape\":[%s],\"data_offsets\":[%d,%d]}", NR == 1 ? "{" : ",", $1, $2, at, at + 2 * $3
            at += 2 * $3
        } END { print "}"; print at }'
}

# Bytes 3e and be, as those of other weights are below 80 or not: numbers of .19 to .37 of either sign.
weights() # BYTES
{
    cat "$golden"/llama/model-*.safetensors | LC_ALL=C tr '\000-\177\200-\377' '[\076*128][\276*128]' | head -c "$1"
}

mkdir -p river/1_Pooling river/2_Normalize
header >header
size=$(sed -n 1p header | tr -d '\n' | wc -c)
{
    # shellcheck disable=SC2059 # the bytes of a number
    printf "\\$(printf %o $((size % 256)))\\$(printf %o $((size / 256)))\\0\\0\\0\\0\\0\\0"
    sed -n 1p header | tr -d '\n'
    weights "$(sed -n 2p header)"
} >river/model.safetensors
cp "$golden/pieces/llama.model" river/tokenizer.model
printf '%s' '{"model_type": "llama", "vocab_size": 608, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": 2}' \
    >river/config.json
printf '{"add_bos_token": true, "add_eos_token": true, "legacy": false}' >river/tokenizer_config.json
printf '[{"type": "sentence_transformers.models.%s", "path": "%s"}, {"type": "sentence_transformers.models.%s", "path": "%s"},
    {"type": "sentence_transformers.models.Normalize", "path": "2_Normalize"}]' Transformer '' Pooling 1_Pooling \
    >river/modules.json
printf '{"pooling_mode_lasttoken": true}' >river/1_Pooling/config.json
if "$gabbro" vocabulary --from river 2>&1 | grep -q 'without sentencepiece'; then
    skipped 'a LLaMA as a retriever: the program was built without sentencepiece'
    checks_end
    exit
fi
printf '{"max_seq_length": 16, "do_lower_case": true}' >river/sentence_bert_config.json
refused 3 "a LLaMA of lowered texts" '"do_lower_case" is true, but the tokenizer keeps' embed river </dev/null
printf '{"max_seq_length": 16}' >river/sentence_bert_config.json
printf '{"prompts": {"query": "Which river: ", "document": "passage: "}}' >river/config_sentence_transformers.json

# ---- its collection ----------------------------------------------------------------------------------
mkdir -p beir/qrels
awk 'BEGIN {
    words = split("river castle island bridge forest tower lake village harbour railway", word)
    printf "query-id\tcorpus-id\tscore\n" >"beir/qrels/train.tsv"
    printf "query-id\tcorpus-id\tscore\n" >"beir/qrels/test.tsv"
    for (i = 0; i < 150; i++) {
        text = "The"
        for (k = 0; k < 1 + i * 7 % 12; k++)
            text = text " " word[1 + (i * 3 + k * k) % words]
        printf "{\"_id\": \"d%d\", \"text\": \"%s.\"}\n", i, text >"beir/corpus.jsonl"
    }
    for (i = 0; i < 12; i++) {
        printf "{\"_id\": \"q%d\", \"text\": \"Where is the %s of the %s?\"}\n", i, word[1 + i % words], word[1 + i * 3 % words] >"beir/queries.jsonl"
        printf "q%d\td%d\t1\n", i, i * 7 >("beir/qrels/" (i < 5 ? "train" : "test") ".tsv")
    }
}'
collection=$(made collection --from beir)
vocabulary=$(made vocabulary --from river)
set -- --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 16 --query-tokens 16
bare=$(made tokenize "$@")
refused 3 "tokens without the model's prompts" 'wants "Which river: " before a query' \
    encode --model river --collection "$collection" --tokens "$bare"
refused 2 "a title joined by a token that a LLaMA has not" 'a language model has no separator token' \
    tokenize "$@" --title-join sep
tokens=$(made tokenize "$@" --query-prompt 'Which river: ' --passage-prompt 'passage: ')
expect "the tokenizer of the model's own folder is the same" \
    [ "$(made tokenize --collection "$collection" --vocabulary river --passage-tokens 16 --query-tokens 16 >folder &&
        cat "$(cat folder)"/tokens/*.gbt | cksum)" = "$(cat "$bare"/tokens/*.gbt | cksum)" ]
expect "passages and queries are cut, which keep their end token" \
    [ "$(grep -c '"truncated": [1-9]' "$tokens/tokens/tokens.json")" -ge 2 ]

# ---- vectors -----------------------------------------------------------------------------------------
numbers() # FILE.npy: one a line
{
    tail -c +129 "$1" | od -An -v -t f4 -w4
}
same() # WHAT OURS EMBEDDED
{
    numbers "$2" >ours
    numbers "$3" >embedded
    trust "LLaMA: vectors of $1 by encode" "gabbro embed" "$(paste ours embedded | awk -v lines="$(wc -l <embedded)" '
        { d = $1 - $2; worst = d > worst ? d : -d > worst ? -d : worst }
        END { if (NR == lines && NF == 2) print worst + 0 }')" 1e-6
}

set -- --model river --collection "$collection" --tokens "$tokens"
passages=$(made encode "$@")
queries=$(made encode "$@" --split test)
"$gabbro" embed --quiet --out passages.npy river beir/corpus.jsonl
sed -n '6,$p' beir/queries.jsonl >asked.jsonl
"$gabbro" embed --quiet --query --out queries.npy river asked.jsonl
expect "the queries are in the order of the file" \
    [ "$(cat "$queries/ids.txt")" = "$(sed 's/.*"_id": "\([^"]*\)".*/\1/' asked.jsonl)" ]
same passages "$passages/vectors.npy" passages.npy
same queries "$queries/vectors.npy" queries.npy
"$gabbro" embed --quiet --out other.npy river asked.jsonl
expect "the prompt of queries is not that of passages" [ "$(numbers other.npy | cksum)" != "$(numbers queries.npy | cksum)" ]

parts=
for shard in 0 1 2; do
    part=$(made encode "$@" --shard-index $shard --shard-count 3)
    numbers "$part/vectors.npy" >>shards
    parts="--passages $part $parts"
done
numbers "$passages/vectors.npy" >whole
expect "three shards have the bits of the whole" cmp shards whole
short=$(made encode "$@" --dims 8)
"$gabbro" embed --quiet --dims 8 --out short.npy river beir/corpus.jsonl
same "8 numbers" "$short/vectors.npy" short.npy
refused 2 "more numbers than a vector has" '33 of the 32 dimensions' encode "$@" --dims 33

# ---- rankings ----------------------------------------------------------------------------------------
evaluation=$(made evaluate "$@")
expect "an evaluation has measures of its split" grep -q '"test:MRR@10": {' "$evaluation/metrics.json"
# shellcheck disable=SC2086 # a list of words
found=$(made search --queries "$queries" $parts --depth 100)
expect "it ranks as the search among encoded vectors" \
    [ "$(cut -d ' ' -f 1-5 "$evaluation/runs/test.trec")" = "$(cut -d ' ' -f 1-5 "$found/run.trec")" ]
mined=$(made mine "$@" --split test --depth 100)
expect "and so does gabbro mine" cmp "$mined/run.trec" "$found/run.trec"
expect "the cost counts tokens and numbers" \
    [ "$("$gabbro" evaluate "$@" --cost | sed 's/.*passages=\([0-9]*\) queries=\([0-9]*\) .* width=\([0-9]*\)$/\1 \2 \3/')" = '150 7 32' ]

# ---- one that says nothing of pooling, with WordPiece --------------------------------------------------
cp -r "$golden/llama" plain
rm plain/golden.safetensors plain/sampling.safetensors
{
    printf '[PAD]\n[SEP]\n[CLS]\n[UNK]\n[MASK]\n.\nthe\n'
    sed 's/.*"text": "\(.*\)".*/\1/' beir/corpus.jsonl | tr 'T .' 't\n\n' | sed '/^the$/d; /^$/d' | sort -u
} >plain/vocab.txt
plain_vocabulary=$(made vocabulary --from plain)
plain_tokens=$(made tokenize --collection "$collection" --vocabulary "$plain_vocabulary" --passage-tokens 16 --query-tokens 16)
set -- --model plain --collection "$collection" --tokens "$plain_tokens"
for pooling in '' last mean; do
    made encode "$@" ${pooling:+--pooling $pooling} >"plain.$pooling"
    "$gabbro" embed --quiet ${pooling:+--pooling $pooling} --out plain.npy plain beir/corpus.jsonl 2>log
    same "texts, pooling ${pooling:-unstated}" "$(cat "plain.$pooling")/vectors.npy" plain.npy
done
expect "the last token is taken where the folder says nothing" \
    cmp "$(cat plain.)/vectors.npy" "$(cat plain.last)/vectors.npy"

# ---- what does not go --------------------------------------------------------------------------------
refused 3 "tokens of another tokenizer" 'made with another vocabulary' \
    encode --model river --collection "$collection" --tokens "$plain_tokens"
refused 3 "texts beyond the positions" 'the model has 64 positions, a passage up to 65 tokens' evaluate --model river \
    --collection "$collection" --tokens "$(made tokenize --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 65)"
refused 3 "a LLaMA to be trained" 'gabbro encode, evaluate, mine, embed, ask and serve make vectors with a LLaMA' \
    finetune --init river --collection "$collection" --tokens "$tokens" --negatives "$mined"
refused 3 "an encoder with a LLaMA's tokenizer" 'the tokenizer of a LLaMA is not one of encoders' pretrain none --collection "$collection" \
    --tokens "$tokens" --vocabulary "$vocabulary" --steps 0
cp -r river mean
printf '{"pooling_mode_mean_tokens": true, "include_prompt": false}' >mean/1_Pooling/config.json
refused 3 "a mean without the prompt" '"include_prompt": false' embed mean beir/corpus.jsonl
GABBRO_LIMITS=memory=64K
export GABBRO_LIMITS
refused 5 "a LLaMA larger than the device" 'fp32 take 0.000 GiB.*(take a device with more memory)' embed river beir/corpus.jsonl
unset GABBRO_LIMITS

# ---- several ranks -----------------------------------------------------------------------------------
need_ranks "$gabbro"
divided=$(made encode --model river --collection "$collection" --tokens "$tokens" --ranks 2 --store two)
expect "two ranks make the bits of one" cmp "$divided/vectors.npy" "$passages/vectors.npy"
checks_end
