#!/bin/sh
# gabbro generate and filter-queries: random models (tests/golden) write queries for a small collection, whole,
# in shards, in batches of another size, and killed on the way; and what is left of them.
#   generate.sh GABBRO GOLDEN
set -u
. "$(dirname -- "$0")/../checks.sh"
gabbro=$(readlink -f "$1")
golden=$(readlink -f "$2")
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-generate.XXXXXX") || exit 1
child=''
# shellcheck disable=SC2329 # by the trap
tidy()
{
    [ -z "$child" ] || kill -9 "$child" 2>/dev/null
    rm -rf "$work"
}
trap tidy EXIT
trap 'exit 1' INT TERM
cd "$work" || exit 1
GABBRO_STORE=$work/store
export GABBRO_STORE

# ---- a collection of 60 passages of 2 to 10 words, and models that know 61 words --------------------
words='river bed ice rain round heavy light old dark stone lies in the weighs made it grams what is how of a near
    lake hill sand clay basalt granite slate chalk flint quartz layer deep cold warm wet dry north south east west
    red blue green grey black white small large thin thick long flat steep'
{
    printf '[PAD]\n[SEP]\n[CLS]\n[UNK]\n[MASK]\n'
    # shellcheck disable=SC2086 # a list of words
    printf '%s\n' $words
} >vocab.txt
expect "the models' vocabulary has a word for every row" [ "$(wc -l <vocab.txt)" = 61 ]
mkdir -p stones/qrels
awk 'NR > 5 { word[NR - 6] = $0 }
    END {
        for (p = 0; p < 60; p++) {
            text = ""
            for (k = 1; k <= 2 + p * 7 % 9; k++)
                text = text " " word[(p * 13 + k * k) % 56]
            printf "{\"_id\": \"d%d\", \"title\": \"\", \"text\": \"%s\"}\n", p, substr(text, 2)
        }
    }' vocab.txt >stones/corpus.jsonl
printf '{"_id": "q", "text": "what is dark"}\n' >stones/queries.jsonl
printf 'query-id\tcorpus-id\tscore\nq\td1\t1\n' >stones/qrels/test.tsv
for model in t5 llama; do
    cp -r "$golden/$model" $model
    rm -f $model/golden.safetensors $model/sampling.safetensors
    cp vocab.txt $model/
done
collection=$("$gabbro" collection --quiet --from stones) || exit 1

generate() # OUT ARGUMENTS...: status in $status, the step in $step
{
    out=$1
    shift
    step=$("$gabbro" generate --collection "$collection" --out "$out" --prompt-tokens 24 --max-tokens 12 \
        "$@" 2>"$out.stderr")
    status=$?
    [ $status = 0 ] || bad "$out: ends with 0, not $status" "$out.stderr"
}

# ---- one file -----------------------------------------------------------------------------------------
generate whole --model t5 --queries 4
whole=$step
expect "all passages have queries" [ "$(sed 's/.*"id":"\([^"]*\)".*/\1/' whole | uniq | wc -l)" = 60 ]
expect "and most have four" [ "$(wc -l <whole)" -gt 220 ]
form='^{"id":"d0","query":"[^"]*","number":0,"generator":"t5","weights":"[0-9a-f]\{64\}","prompt":"doc2query"'
form="$form"',"seed":42,"settings":{"temperature":1.0,"top_k":25,"top_p":0.95,"max_tokens":12,"prompt_tokens":24}}$'
expect "a line says all that made it" grep -q "$form" whole
expect "the step has the same file" cmp -s whole "$whole/queries.jsonl"
expect "progress was told" grep -q 'generate: 60/60 passages' whole.stderr
touch marker
generate again --model t5 --queries 4
expect "a finished artifact is found again" [ "$step" = "$whole" ]
generate slash --model t5/ --queries 4
expect "a slash behind the model changes nothing" [ "$step" = "$whole" ]
expect "and not made again" [ ! "$whole/run.json" -nt marker ]
from=$("$gabbro" queries --quiet --collection "$collection" --from whole)
expect "gabbro queries reads the file" cmp -s "$from/generated.gbt" "$whole/generated.gbt"
from=$("$gabbro" queries --quiet --collection "$collection" --from "$whole")
expect "and the folder of the step" cmp -s "$from/generated.gbt" "$whole/generated.gbt"
from=$("$gabbro" collection --quiet --from stones --queries "$whole")
expect "so does an import" cmp -s "$from/collection/generated.gbt" "$whole/generated.gbt"
"$gabbro" generate --dry-run --collection "$collection" --model t5 --queries 4 >cost 2>/dev/null
expect "a dry run says what it takes" grep -q '^passages=60 texts=240 prompt_tokens=[0-9]* .*flops=' cost

# ---- the same texts in other ways ---------------------------------------------------------------------
for batch in 1 7; do
    generate other --model t5 --queries 4 --batch $batch
    expect "the same queries, $batch texts at a time" cmp -s other whole
done
: >shards
for index in 0 1 2; do
    generate shard --model t5 --queries 4 --shard-index $index --shard-count 3
    cat shard >>shards
done
expect "three shards, one behind the other, are the whole" cmp -s shards whole
generate fewer --model t5 --queries 2
grep -v '"number":[23],' whole >wanted
expect "fewer queries are the first ones" cmp -s fewer wanted
generate seeds --model t5 --queries 4 --seed 43
sed 's/"seed":43/"seed":42/' seeds >same
cmp -s same whole
expect "another seed gives other queries" [ $? = 1 ]
generate greedy --model t5 --queries 2 --temperature 0
repeats=$step
expect "without temperature a passage's queries are equal" \
    [ -z "$(sed 's/"number":[01]//' greedy | uniq -c | awk '$1 != 2')" ]

# ---- killed ---------------------------------------------------------------------------------------------
# As soon as some passages are on the disk, until one run gets to its end.
kills=0
while [ $kills -lt 20 ]; do
    "$gabbro" generate --collection "$collection" --quiet --out killed --prompt-tokens 24 --max-tokens 12 \
        --model t5 --queries 4 --batch 2 --name slow >killed.step 2>killed.stderr &
    child=$!
    before=$(cat store/work/generate-*/resume/made 2>/dev/null | wc -l)
    while kill -0 $child 2>/dev/null &&
        [ "$(cat store/work/generate-*/resume/made 2>/dev/null | wc -l)" -lt $((before + 8)) ]; do
        sleep 0.01
    done
    kill -9 $child 2>/dev/null
    wait $child 2>/dev/null
    status=$?
    child=''
    [ $status = 137 ] || break
    kills=$((kills + 1))
    after=$(cat store/work/generate-*/resume/made | wc -l)
    [ "$after" -ge "$before" ] || bad "passages were lost: $before, then $after"
    [ -z "$(cut -f 1 store/work/generate-*/resume/made | sort | uniq -d)" ] || bad "a passage was repeated"
done
expect "killed $kills times it ends with 0" [ $status = 0 ]
expect "it was killed on the way" [ $kills -gt 0 ]
sed 's/"generator":"slow"/"generator":"t5"/' killed >renamed
expect "and gives the same queries" cmp -s renamed whole

# ---- other models and prompts ---------------------------------------------------------------------------
generate plain --model llama --queries 3
expect "a model without an encoder writes too" [ "$(sed 's/.*"id":"\([^"]*\)".*/\1/' plain | uniq | wc -l)" -gt 55 ]
printf '# Lists.\nqueries: 3\nanswer: list 10\n---\nmade {passage} it:\n\n{title}stone {nothing}' >lists
generate list --model t5 --prompt lists
expect "an own prompt" grep -q '"number":0,.*"prompt":"lists"' list
expect "the passage is cut, not what is behind it" [ "$status" = 0 ]
"$gabbro" generate --collection "$collection" --model t5 --prompt alpaca --prompt-tokens 24 >/dev/null 2>refused
expect "a prompt that does not fit is refused" grep -q 'the prompt alone has more than 24 tokens' refused
printf 'temperatur: 1\n---\n{passage}' >wrong
"$gabbro" generate --collection "$collection" --model t5 --prompt wrong >/dev/null 2>refused
expect "a setting that is none: status 3" [ $? = 3 ]
expect "and its place" grep -q 'wrong:1: no setting is called "temperatur"' refused
"$gabbro" generate --collection "$collection" --model t5 --prompt nobody >/dev/null 2>refused
expect "no such prompt: status 2" [ $? = 2 ]

# ---- texts that are none ----------------------------------------------------------------------------------
# A LLaMA whose state is the same everywhere, and the rows of its head zero but for 21 tokens: 20 of letters and the byte 0.
bytes() # COUNT CHARACTER: two of them are a number
{
    head -c "$1" /dev/zero | tr '\000' "$2"
}
mkdir nul
cp "$golden/pieces/llama.model" nul/tokenizer.model
printf '%s' '{"model_type": "llama", "vocab_size": 608, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1,
    "num_attention_heads": 1, "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": 2}' >nul/config.json
printf '%s\n' 'model.embed_tokens 608,8 4864' 'model.layers.0.input_layernorm 8 8' \
    'model.layers.0.post_attention_layernorm 8 8' 'model.norm 8 8' 'model.layers.0.mlp.down_proj 8,8 64' \
    'model.layers.0.mlp.gate_proj 8,8 64' 'model.layers.0.mlp.up_proj 8,8 64' 'model.layers.0.self_attn.k_proj 8,8 64' \
    'model.layers.0.self_attn.o_proj 8,8 64' 'model.layers.0.self_attn.q_proj 8,8 64' \
    'model.layers.0.self_attn.v_proj 8,8 64' 'lm_head 608,8 4864' |
    awk '{
        printf "%s\"%s.weight\":{\"dtype\":\"BF16\",\"shape\":[%s],\"data_offsets\":[%d,%d]}", NR == 1 ? "{" : ",", $1, $2, at, at + 2 * $3
        at += 2 * $3
    } END { printf "}" }' >header
{
    printf '\0\10\0\0\0\0\0\0' # the header's 2048 bytes
    cat header
    bytes $((2048 - $(wc -c <header))) ' '
    bytes $((2 * (4864 + 3 * 8))) '?'      # .75: embeddings and norms
    bytes $((2 * (7 * 64 + 3 * 8))) '\000' # the layer's matrices; the head up to the byte 0, token 3
    bytes 16 A                             # 12
    bytes $((16 * (560 - 4))) '\000'
    bytes $((16 * 20)) A
    bytes $((16 * (608 - 580))) '\000'
} >nul/model.safetensors
if "$gabbro" generate --collection "$collection" --model nul --dry-run 2>&1 | grep -q 'without sentencepiece'; then
    skipped "texts with a NUL: the program was built without sentencepiece"
else
    generate sound --model nul --queries 4 --top-p 1
    lines=$(wc -l <sound)
    expect "a text with a NUL is no query, others are ($lines of 240)" [ "$lines" -gt 60 -a "$lines" -lt 200 ]
fi

# ---- what is worth keeping --------------------------------------------------------------------------------
ids_of() # FILE: passage and number of each query
{
    sed 's/.*"id":"\([^"]*\)".*"number":\([0-9]*\).*/\1 \2/' "$1" | sort
}
unique=$("$gabbro" filter-queries --quiet --collection "$collection" --queries "$repeats" --unique)
grep '"number":0,' greedy >wanted
expect "repeated queries are dropped" cmp -s "$unique/queries.jsonl" wanted
size=$(wc -c <"$unique/queries.jsonl")
gzip -c "$unique/queries.jsonl" | head -c 200 | cat - /dev/zero | head -c "$size" >damaged.gz
mv damaged.gz "$unique/queries.jsonl"
"$gabbro" filter-queries --collection "$collection" --queries "$unique" --unique >/dev/null 2>refused
expect "queries that cannot be read: status 3" [ $? = 3 ]
expect "and that is said" grep -q 'queries.jsonl: .*gzip data' refused
vocabulary=$("$gabbro" vocabulary --quiet --from vocab.txt) &&
    tokens=$("$gabbro" tokenize --quiet --collection "$collection" --vocabulary "$vocabulary" --generated "$whole" \
        --passage-tokens 16 --query-tokens 16) &&
    retriever=$("$gabbro" pretrain none --quiet --collection "$collection" --tokens "$tokens" \
        --vocabulary "$vocabulary" --layers 1 --hidden 16 --heads 2 --ffn 16) || exit 1
kept() # K: what is left, in kept.K
{
    step=$("$gabbro" filter-queries --quiet --collection "$collection" --queries "$whole" --keep-if-ranked "$1" \
        --retriever "$retriever" --tokens "$tokens") && cp "$step/queries.jsonl" "kept.$1"
}
kept 60
expect "among all passages every query finds its own" cmp -s kept.60 whole
kept 30
kept 6
ids_of kept.30 >ids.30
ids_of kept.6 >ids.6
expect "a smaller depth keeps fewer ($(wc -l <ids.30), $(wc -l <ids.6))" [ "$(wc -l <ids.6)" -lt "$(wc -l <ids.30)" ]
expect "and none that a larger one drops" [ -z "$(comm -23 ids.6 ids.30)" ]
expect "a random retriever keeps some" [ -s ids.6 ]
"$gabbro" tokenize --quiet --collection "$collection" --vocabulary "$vocabulary" --generated "$step" \
    --passage-tokens 16 --query-tokens 16 >/dev/null
expect "what is left can be tokenized" [ $? = 0 ]

# A cross-encoder's scores: the best share of all queries, whatever was scored before a kill.
cp -r stones judged && cp judged/qrels/test.tsv judged/qrels/train.tsv &&
    judged=$("$gabbro" collection --quiet --from judged) &&
    asked=$("$gabbro" tokenize --quiet --collection "$judged" --vocabulary "$vocabulary" --passage-tokens 16 --query-tokens 16) &&
    bm25=$("$gabbro" bm25-run --quiet --collection "$judged" --depth 5) &&
    cross=$("$gabbro" finetune-cross --quiet --init "$retriever" --collection "$judged" --tokens "$asked" --negatives "$bm25" \
        --batch 1 --epochs 1 --negatives-per-query 1 --extend-positions) || exit 1
scored() # OPTION...: what is left
{
    step=$("$gabbro" filter-queries --quiet --collection "$collection" --queries "$whole" --cross-encoder "$cross" "$@") &&
        cat "$step/queries.jsonl"
}
scored --keep-share .5 >half
scored --keep-share .2 >fifth
all=$(wc -l <whole)
expect "half of the queries are kept ($(wc -l <half) of $all)" [ "$(wc -l <half)" = $(((all + 1) / 2)) ]
ids_of half >ids.half
ids_of fifth >ids.fifth
expect "a smaller share keeps none that a larger one drops" [ -z "$(comm -23 ids.fifth ids.half)" ]
expect "no query scores below 0" cmp -s whole "$(scored --min-score 0 >all && echo all)"
expect "none is certain" [ "$(scored --min-score 1 2>said | wc -l)" = 0 ]
"$gabbro" filter-queries --collection "$collection" --queries "$whole" --cross-encoder "$cross" >/dev/null 2>refused
expect "scores that nothing asks for: status 2" [ $? = 2 ]
checks_end
