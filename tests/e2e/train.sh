#!/bin/sh
# gabbro train: a retriever for a collection of one's own, from one file of settings to the test.
#   train.sh GABBRO
set -u
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
roberta=$(readlink -f "$(dirname -- "$0")/../golden/encoders/roberta")
enter_work train "$1"

mkdir -p beir/qrels
awk 'BEGIN {
    split("stone river ice rain sand peak wind moss", word)
    for (s = 0; s < 2; s++)
        printf "query-id\tcorpus-id\tscore\n" >("beir/qrels/" (s ? "test" : "train") ".tsv")
    for (i = 0; i < 64; i++) {
        a = word[1 + i % 8]; b = word[1 + int(i / 8)]
        printf "{\"_id\": \"d%d\", \"text\": \"the %s is near the %s and the %s\"}\n", i, a, b, a
        printf "{\"_id\": \"q%d\", \"text\": \"is the %s near the %s\"}\n", i, a, b >"beir/queries.jsonl"
        printf "q%d\td%d\t1\n", i, i >("beir/qrels/" (i % 4 == 0 ? "test" : "train") ".tsv")
    }
}' >beir/corpus.jsonl
cat >own.settings <<'END'
collection = beir
mlm_steps = 20                # of a fresh encoder
encoder_layers = 1
encoder_hidden = 32
encoder_heads = 2
encoder_ffn = 64
encoder_init_std = 0.2
vocabulary_tokens = 100
passage_tokens = 24
query_tokens = 16
finetune_epochs = 4
finetune_negatives_per_query = 1
finetune_negative_depth = 8
finetune_learning_rate = 0.003
dropout = 0
END
LC_ALL=C

"$gabbro" train --help >by_option
"$gabbro" help train >by_word
expect "help of a command is asked for in two ways" sh -c 'grep -q "^usage: gabbro train" by_word && cmp by_option by_word'

# ---- the settings ----------------------------------------------------------------------------------
"$gabbro" train --example >example 2>err
expect "an example of all settings" [ "$(grep -c '^[a-z0-9_]* = ' example)" -gt 30 ]
expect "it is taken as it is, but for what must be given" \
    sh -c "\"$gabbro\" train --settings example 2>&1 | grep -q 'the setting collection must be given'"
"$gabbro" train --settings own.settings --dry-run >plan 2>err
expect "what would run: $(wc -l <plan) lines" [ "$(grep -c '^gabbro ' plan)" = "$(awk '/^# recipe/ { print NR - 1 }' plan)" ]

for change in scoring=densee finetune_learning_rate=-1 dev_measure=mrr; do
    "$gabbro" train --settings own.settings --set "$change" --dry-run >/dev/null 2>err
    expect "$change is refused before anything is made" \
        [ "$? $(grep -c "^gabbro: --set: ${change%=*} = ${change#*=}: gabbro finetune: " err)" = '2 1' ] || cat err
done
"$gabbro" train --settings own.settings --set dev=tset --out no-split >out 2>err
expect "a split that is not there is refused, before anything is trained" \
    [ "$? $(grep -c '^gabbro: gabbro finetune --dev: the collection has no split "tset" (there are: ' err)" = '2 1' ] || cat err
expect "with nothing in the store but the collection" [ "$(ls "$GABBRO_STORE" | grep -c '^\(finetune\|pretrain\)-')" = 0 ]
expect "no passage is left out" [ "$(grep -c -e --drop-identical plan)" = 0 ]
"$gabbro" train --settings own.settings --set drop_identical=yes --dry-run 2>err | grep '^gabbro evaluate' >plan
expect "unless those that are queries are to be" [ "$(grep -c -e --drop-identical plan)" = "$(grep -c . plan)" ]
"$gabbro" train --settings own.settings --set drop_identical=yes --dry-run 2>err >plan
expect "nor are they negatives, nor do they choose a model" \
    [ "$(grep -c '^gabbro \(bm25-run\|mine\) .* --drop-identical\|^gabbro finetune .* --dev-drop-identical' plan)" = \
    "$(grep -c '^gabbro \(bm25-run\|mine\|finetune\)' plan)" ]

# ---- all of it -------------------------------------------------------------------------------------
"$gabbro" train --settings own.settings --out first >out 2>err || bad "train" err
expect "four columns of the test for BM25 and two rounds" [ "$(cut -f 1 first/results.tsv | tr '\n' ' ')" = "row bm25 round 1 round 2 " ]
expect "the table is printed: $(grep '^round 2' out)" grep -q '^round 2  *[0-9.]* ' out
expect "the model is the last round's" [ -s first/model/model.safetensors ]
expect "and says how it pools" [ -s first/model/modules.json ]
for round in 1 2; do
    expect "round $round: losses of every step, a look at every second, a drawing" \
        [ "$(wc -l <first/losses.$round.tsv)-$(grep -c . first/development.$round.tsv)-$(grep -c '<svg' first/curves.$round.svg)" \
        = "12-7-1" ]
done
expect "queries are held out of training" grep -q "5 queries of train, which are not trained on" err
echo 'is the stone near the river' >text
for made in store/finetune-*; do :; done # the last one will do
"$gabbro" store why "${made##*/}" >made_of
expect "what a retriever is made of has its collection once in full: $(grep -c 'collection: ' made_of) times in all" \
    [ "$(grep -c 'collection: .*{' made_of)-$(grep -c 'collection: .*  (above)$' made_of)" = "1-$(($(grep -c 'collection: ' made_of) - 1))" ]
expect "the model embeds" sh -c "\"$gabbro\" embed first/model <text 2>/dev/null | grep -q ."

# ---- again, from a model, and bad input --------------------------------------------------------------
"$gabbro" train --settings own.settings --out again --quiet >again.out 2>err
expect "a second time nothing is trained, and the results are the same" cmp -s first/results.tsv again/results.tsv
"$gabbro" train --settings own.settings --set encoder_hidden=64 --set rounds=1 --set finetune_epochs=3 --out json --jobs 1 --progress json >json.out 2>err
expect "as JSON every line is an object" [ "$(grep -c '^{"event": .*}$' err)" = "$(wc -l <err)" ]
expect "with the steps of the training" grep -q '^{"event": "end", "label": "finetune", "unit": "steps", "done": 9, ' err
expect "and what was made" [ "$(grep -c '^{"event": "artifact"' err)" -gt 6 ]
sums() { (cd first/model && find . -type f -exec sha256sum {} + | sort); }
sums >before
(
    trap '' XFSZ
    ulimit -f 90 # blocks of 512 or of 1024 bytes: only that model takes more
    "$gabbro" train --settings own.settings --set encoder_hidden=64 --set rounds=1 --set finetune_epochs=3 --out first \
        --quiet >out 2>limited
)
expect "a model that cannot be copied: $(cut -c 1-80 limited)" grep -q 'model.*cannot write' limited
sums >after
expect "leaves the earlier one" cmp -s before after
expect "and nothing else" [ -z "$(find first -name '*.draft')" ]
printf '{"prompts": {"query": "ask: ", "document": "text: "}}' >first/model/config_sentence_transformers.json
"$gabbro" train --settings own.settings --set mlm_steps=0 --set model=first/model --set rounds=1 --set dev=none --out prompted \
    >out 2>err || bad "from a model" err
expect "from a model: $(grep '^before' out)" [ "$(cut -f 1 prompted/results.tsv | tr '\n' ' ')" = "row bm25 before round 1 " ]
expect "its prompts go with it" grep -q '"ask: "' prompted/model/config_sentence_transformers.json
expect "without a split nothing is measured on the way" [ ! -e prompted/development.1.tsv ]

# From a model that has a tokenizer.json and no vocab.txt.
"$gabbro" train --settings own.settings --set mlm_steps=0 --set "model=$roberta" --set rounds=1 --set dev=none --set finetune_epochs=1 \
    --set matryoshka=16,8 --out bytes >out 2>err || bad "from a RoBERTa" err
expect "from a RoBERTa: $(grep '^round 1' out)" grep -q '"model_type": "roberta"' bytes/model/config.json

# A cross-encoder.
"$gabbro" train --settings own.settings --set scoring=cross --set bm25_depth=8 --dry-run >plan 2>err
expect "a later round learns from the better half of what the first one ranks" \
    [ "$(grep -c '^gabbro rerank .*--depth 8$' plan) $(grep -c '^gabbro finetune-cross .*<rerank.* --depth 4 ' plan)" = '3 1' ] || cat plan
"$gabbro" train --settings own.settings --set scoring=cross --set finetune_epochs=1 --set bm25_depth=8 --out cross >out 2>err ||
    bad "a cross-encoder" err
expect "a cross-encoder: $(grep '^round 2' out)" [ "$(cut -f 1 cross/results.tsv | tr '\n' ' ')" = "row bm25 round 1 round 2 " ]
expect "it is one" grep -q BertForSequenceClassification cross/model/config.json

refused() # CODE TEXT ARGUMENTS...
{
    code=$1 text=$2
    shift 2
    "$gabbro" train "$@" --quiet >out 2>err
    got=$?
    expect "refused with $code: $text" [ "$got:$(grep -c -- "$text" err)" = "$code:1" ]
}
refused 2 "collection must be given"
refused 2 "did you mean finetune_epochs" --settings own.settings --set finetune_epoch=2
refused 2 "give a model" --settings own.settings --set mlm_steps=0
refused 3 "nowhere" --settings own.settings --set collection=nowhere
refused 3 "nowhere" --settings own.settings --set model=nowhere
refused 3 "encoders that are read are bert, " --settings own.settings --set "model=$roberta/../../llama"
echo 'epochs 3' >bad.settings
refused 3 "bad.settings:1" --settings bad.settings
echo "epoch = 3" >bad.settings
refused 2 "bad.settings:1" --settings bad.settings
echo "finetune_epochs = 3 epochs" >bad.settings
refused 2 'bad.settings:1: finetune_epochs is "3 epochs", which is no number' --settings own.settings --settings bad.settings
refused 2 '^gabbro: --set: rounds is "two", which is no number' --settings own.settings --set rounds=two
refused 2 "did you mean finetune_learning_rate" --settings own.settings --set learning_rate=0.00002
refused 2 'no split "what"' --settings own.settings --set dev=what
checks_end
