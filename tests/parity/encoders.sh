#!/bin/sh
# Encoders of other kinds than BERT, each against transformers (tests/peers/golden_encoders.py made them), trained and
# read again: encoders.sh GABBRO GOLDEN/KIND/config.json [OUT]
# OUT: keep the trained models there, by kind, for the suite of peers.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
gabbro=$(readlink -f "$1") golden=$(readlink -f "$(dirname -- "$2")/..") keep=${3:-}
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-encoders.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
cd "$work" || exit 1
export GABBRO_STORE="$work/store"

# Passages and queries of few words.
mkdir -p beir/qrels
awk 'BEGIN {
    split("river lake castle bridge forest tower island railway", word)
    printf "query-id\tcorpus-id\tscore\n" >"beir/qrels/train.tsv"
    for (i = 0; i < 40; i++)
        printf "{\"_id\": \"d%d\", \"text\": \"The %s lies near the %s, older than the %s.\"}\n", i, word[1 + i % 8],
            word[1 + int(i / 3) % 8], word[1 + int(i / 5) % 8] >"beir/corpus.jsonl"
    for (i = 0; i < 12; i++) {
        printf "{\"_id\": \"q%d\", \"text\": \"Is the %s near the %s?\"}\n", i, word[1 + i % 8], word[1 + int(i / 3) % 8] >"beir/queries.jsonl"
        printf "q%d\td%d\t1\n", i, i >"beir/qrels/train.tsv"
    }
}'
collection=$("$gabbro" collection --quiet --from beir) || exit 1
bm25=$("$gabbro" bm25-run --quiet --collection "$collection" --depth 10) || exit 1

# A model against its golden numbers.
verified() # KIND FOLDER WHAT
{
    if "$gabbro" verify --trust --bound 1e-5 --golden "$golden/$1/golden.safetensors" "$2" >log 2>&1; then
        good "$1: $3"
    else
        bad "$1: $3" log
    fi
    sed -n "s/^\(trust:.\)\(.*\)golden numbers/\1$1: \2transformers, torch (float64)/p" log
}

# One that was trained from it, and read again.
trained() # KIND OPTION...
{
    kind=$1
    shift
    model=$(set -e
        vocabulary=$("$gabbro" vocabulary --quiet --from "$golden/$kind")
        tokens=$("$gabbro" tokenize --quiet --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 30 --query-tokens 24)
        data="--quiet --collection $collection --tokens $tokens"
        "$gabbro" finetune --init "$golden/$kind" $data --negatives "$bm25" --batch 4 --negatives-per-query 1 --epochs 2 "$@"
    ) 2>log || {
        bad "$kind: fine-tuning" log
        return
    }
    type=$(sed -n 's/^ *"model_type": "\(.*\)",*$/\1/p' "$model/model/config.json")
    same "$kind: the kind of the trained model" "$type" "$(sed -n 's/^ *"model_type": "\(.*\)",*$/\1/p' "$golden/$kind/config.json")"
    "$gabbro" verify "$model/model" >log 2>&1 || bad "$kind: the trained model is read" log
    same "$kind: a vector of a text" "$(printf 'The river.\n' | "$gabbro" embed "$model/model" 2>log | grep -c '"vector"')" 1
    [ -z "$keep" ] || { mkdir -p "$keep" && cp -r "$model/model" "$keep/$kind"; }
}

same() # WHAT GOT WANTED
{
    if [ "$2" = "$3" ]; then good "$1"; else
        printf '%s, not %s\n' "$2" "$3" >found
        bad "$1" found
    fi
}

for kind in distilbert roberta xlm-roberta mpnet modernbert modernbert-head modernbert-means; do
    verified $kind "$golden/$kind" "vectors of transformers"
    [ $kind = modernbert-means ] || trained $kind
done
expect "coverage shows the tokens of a ModernBERT" \
    sh -c '"$1" coverage --model "a=$2" --text "a river" --quiet >/dev/null' sh "$gabbro" "$golden/modernbert-head"

# config.json of transformers 5, which lists the layers and has angles by their kinds.
cp -r "$golden/modernbert-head" five && chmod -R u+w five
sed '/"global_attn_every_n_layers"/d; /"local_rope_theta"/d
    s/"global_rope_theta": 1000.0/"layer_types": ["full_attention", "sliding_attention", "full_attention"], "rope_parameters": {\
        "full_attention": {"rope_theta": 1000.0, "rope_type": "default"},\
        "sliding_attention": {"rope_theta": 100.0, "rope_type": "default"}}/' "$golden/modernbert-head/config.json" >five/config.json
verified modernbert-head five "the same with the config.json of transformers 5"

# The first numbers of vectors, of length 1 again where all of them were.
numbers() # [OPTION...]
{
    printf 'The river.\n' | "$gabbro" embed --quiet "$golden/mpnet" "$@" | sed 's/.*"vector":\[\(.*\)\].*/\1/'
}
numbers | awk -F, '{
    for (i = 1; i <= 4; i++) square += $i * $i
    for (i = 1; i <= 4; i++) printf "%.6f ", $i / sqrt(square)
}' >whole
numbers --dims 4 | awk -F, '{ for (i = 1; i <= NF; i++) printf "%.6f ", $i }' >cut
same "four numbers of a vector" "$(cat cut)" "$(cat whole)"
vocabulary=$("$gabbro" vocabulary --quiet --from "$golden/mpnet")
tokens=$("$gabbro" tokenize --quiet --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 30 --query-tokens 24)
data="--quiet --model $golden/mpnet --collection $collection --tokens $tokens"
# shellcheck disable=SC2086 # lists of words
part=$("$gabbro" encode $data --dims 4) || bad "encode --dims"
same "four numbers of the vectors of a collection" "$(head -c 128 "$part/vectors.npy" | tr -d '\0' | grep -ac '(40, 4)')" 1
# shellcheck disable=SC2086
"$gabbro" encode $data --dims 999 >log 2>&1
same "more numbers than there are: status" $? 2

cp -r "$golden/roberta" other && chmod -R u+w other
sed 's/"model_type": "roberta"/"model_type": "deberta"/' "$golden/roberta/config.json" >other/config.json
"$gabbro" embed other beir/queries.jsonl >log 2>&1
same "an encoder that is not there: status" $? 3
same "an encoder that is not there: its name, and those that are" \
    "$(grep -c '"deberta"; encoders that are read are bert, distilbert, roberta, xlm-roberta, mpnet, modernbert' log)" 1

# A ModernBERT whose tokenizer pre-training would take, WordPiece.
cp -r "$golden/modernbert" words && chmod -R u+w words && rm words/tokenizer*.json words/special_tokens_map.json
cp "$golden/distilbert/vocab.txt" "$golden/distilbert/tokenizer_config.json" "$golden/distilbert/special_tokens_map.json" words/
vocabulary=$("$gabbro" vocabulary --quiet --from words)
tokens=$("$gabbro" tokenize --quiet --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 30 --query-tokens 24)
"$gabbro" pretrain mlm --init words --collection "$collection" --tokens "$tokens" --vocabulary "$vocabulary" --steps 1 --batch 2 >log 2>&1
same "pre-training of ModernBERT: status" $? 3
same "pre-training of ModernBERT: gabbro finetune trains it" "$(grep -c 'ModernBertModel, whose layers no objective decodes with' log)" 1
checks_end
