#!/bin/sh
# What goes wrong outside the program: damaged input, wrong models, no device, a full disk, signals.
# Each fault must give one clear line, the exit code of its kind, and a store that is whole.
#   faults.sh REPRODUCE GABBRO
# shellcheck disable=SC2086 # $model and friends are lists of words
set -u
. "$(dirname -- "$0")/../checks.sh"
reproduce=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
GABBRO=$(readlink -f "$2")
export GABBRO
LC_ALL=C
export LC_ALL
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-faults.XXXXXX") || exit 1
child='' mounted=''
# shellcheck disable=SC2329 # by the trap
tidy()
{
    [ -z "$child" ] || kill -9 "$child" 2>/dev/null
    [ -z "$mounted" ] || umount "$mounted"
    rm -rf "$work"
}
trap tidy EXIT
trap 'exit 1' INT TERM
cd "$work" || exit 1
GABBRO_STORE=$work/store
export GABBRO_STORE

gabbro()
{
    "$GABBRO" "$@" --quiet
}

whole() # the finished artifacts are as they were written
{
    "$GABBRO" store verify >"$work/verify" 2>&1
}

# fault CODE WHAT PATTERN COMMAND...: the command fails with CODE and one line that has PATTERN.
fault()
{
    code=$1 what=$2 pattern=$3
    shift 3
    "$@" >"$work/stdout" 2>"$work/stderr" </dev/null
    status=$?
    if [ "$status" != "$code" ]; then
        bad "$what: ends with $code, not $status" "$work/stderr"
    elif [ "$(wc -l <"$work/stderr")" != 1 ] ||
        ! grep -q "^gabbro: .*$pattern" "$work/stderr"; then
        bad "$what: one line with $pattern" "$work/stderr"
    elif [ -s "$work/stdout" ]; then
        bad "$what: prints no folder" "$work/stdout"
    elif ! whole; then
        bad "$what: the store is whole" "$work/verify"
    else
        good "$what: $code, $(cut -c 1-100 "$work/stderr")"
    fi
}

# ---- a small collection, and the steps that stand on it -------------------------------------------
mkdir -p beir/qrels
row=0
while [ $row -lt 40 ]; do
    split=$([ $row -lt 30 ] && echo train || echo test)
    echo "{\"_id\": \"d$row\", \"title\": \"Stone $row\", \"text\": \"Stone number $row lies in" \
        "the river bed. It weighs $((row * 7)) grams. Ice and rain have made it round.\"}" >&3
    echo "{\"_id\": \"q$row\", \"text\": \"how heavy is stone number $row\"}" >&4
    printf 'q%d\td%d\t1\n' $row $row >>beir/qrels/$split.tsv
    row=$((row + 1))
done 3>beir/corpus.jsonl 4>beir/queries.jsonl
for split in train test; do
    printf 'query-id\tcorpus-id\tscore\n' | cat - beir/qrels/$split.tsv >rows
    mv rows beir/qrels/$split.tsv
done
if ! { collection=$(gabbro collection --from beir) &&
    vocabulary=$(gabbro vocabulary --collection "$collection" --size 300) &&
    tokens=$(gabbro tokenize --collection "$collection" --vocabulary "$vocabulary" \
        --passage-tokens 24 --query-tokens 12) &&
    bm25=$(gabbro bm25-run --collection "$collection" --depth 10); }; then
    bad "the steps to begin with"
    checks_end
    exit 1
fi
data="--collection $collection --tokens $tokens"
encoder=$(gabbro pretrain none $data --vocabulary "$vocabulary" --steps 0 --layers 1 --hidden 16 \
    --heads 2 --ffn 32) || exit 1
mlm="pretrain mlm $data --vocabulary $vocabulary --batch 4 --steps 3"

# ---- rankings by BM25 ------------------------------------------------------------------------------
fault 2 "generated queries that nothing appends" 'give --queries-per-passage' \
    gabbro bm25-run --collection "$collection" --generated "$collection"
fault 2 "settings of RM3 without it" 'give --rm3' \
    gabbro bm25-run --collection "$collection" --feedback-terms 5
fault 2 "RM3 over tokens" 'leave one of them out' \
    "$GABBRO" bm25 --collection beir --rm3 --vocabulary bert
fault 2 "generated queries of a folder that is no collection" 'only a stored collection has' \
    "$GABBRO" bm25 --collection beir --queries-per-passage 3
fault 2 "settings of BM25 of a retriever" 'options of BM25 without --bm25' \
    gabbro evaluate --model "$encoder" $data --rm3
fault 2 "BM25 and a fusion at once" 'give --bm25, or --model with --tokens, or --fuse' \
    gabbro evaluate --bm25 --fuse "$bm25" --collection "$collection"
fault 3 "what is no evaluation fused" 'runs/test.trec: ' \
    gabbro evaluate --fuse "$bm25" --collection "$collection"
fault 2 "a single run fused" 'needs two or more runs' \
    "$GABBRO" fuse "$bm25/run.trec" --out fused.trec
printf '{"id": "q1", "vector": {"cat": 1}}\n' >sparse.jsonl
printf '{"id": "p1", "vector": {"cat": -2}}\n' >negative.jsonl
fault 3 "a sparse vector with a negative weight" 'negative.jsonl:1: the weight of "cat" is -2' \
    "$GABBRO" search-sparse --passages negative.jsonl --queries sparse.jsonl --run sparse.trec
printf 'q1 Q0 d1 1 high x\n' >badly.trec
fault 2 "a tag of two words" '--tag needs one word' \
    "$GABBRO" convert-run "$bm25/run.trec" --tag 'my run' --to tagged.trec
fault 2 "a tag of two words of a fused run" '--tag needs one word' \
    "$GABBRO" fuse "$bm25/run.trec" "$bm25/run.trec" --tag 'my run' --out tagged.trec
fault 2 "a tag of two words of a sparse search" '--tag needs one word' \
    "$GABBRO" search-sparse --passages nothing --queries nothing --run tagged.trec --tag ''
fault 3 "a run without numbers fused" 'badly.trec:1: score "high" is not a number' \
    "$GABBRO" fuse badly.trec badly.trec --out fused.trec
late="finetune --init $encoder $data --negatives $bm25 --scoring tokens --batch 2"
fault 2 "late interaction with a projector" 'has a projection of its own' gabbro $late --projector linear
fault 2 "late interaction with queries beyond the positions" 'the encoder has [0-9]* positions' \
    gabbro $late --query-length 512
cp -r "$encoder/model" strange
printf '{"kind": "mvr"}\n' >strange/late_interaction.json
fault 3 "late interaction of a kind that is not known" 'without its projection' \
    gabbro evaluate --model strange $data
printf '{"query_maxlen": 32}\n' >strange/artifact.metadata
rm strange/late_interaction.json
fault 3 "ColBERT without its projection" 'a ColBERT model without its projection' \
    gabbro encode --model strange $data

# ---- language models as encoders ------------------------------------------------------------------
mkdir language
printf '{"model_type": "llama", "vocab_size": 9, "hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 4, ' >language/config.json
printf '"num_hidden_layers": 1}\n' >>language/config.json
fault 3 "a LLaMA without its tokenizer" 'no tokenizer that can be read' "$GABBRO" embed language
fault 3 "the same for a collection" 'no tokenizer that can be read' gabbro encode --model language $data
fault 3 "a LLaMA's vocabulary without its tokenizer" 'no tokenizer that can be read' gabbro vocabulary --from language
fault 3 "a LLaMA to be trained" 'mine, embed, ask and serve make vectors with a LLaMA' \
    gabbro finetune --init language $data --negatives $bm25

# ---- damaged collections --------------------------------------------------------------------------
broken() # a fresh copy of the collection, to be damaged
{
    rm -rf broken
    cp -r beir broken
}

head -c 700 beir/corpus.jsonl >cut.jsonl
line=$(($(wc -l <cut.jsonl) + 1))
fault 3 "truncated JSONL" "cut.jsonl:$line: " gabbro collection --from cut.jsonl
broken
sed '5s/river/r\xffver/' beir/corpus.jsonl >broken/corpus.jsonl
fault 3 "invalid UTF-8 in a passage" "broken/corpus.jsonl:5: invalid UTF-8" \
    gabbro collection --from broken
broken
sed '7s/heavy/\xc3\x28/' beir/queries.jsonl >broken/queries.jsonl
fault 3 "invalid UTF-8 in a query" "broken/queries.jsonl:7: invalid UTF-8" \
    gabbro collection --from broken
broken
sed '4s/d2/d999/' beir/qrels/train.tsv >broken/qrels/train.tsv
fault 3 "qrels naming an unknown passage" 'broken/qrels/train.tsv:4: .*unknown passage "d999"' \
    gabbro collection --from broken
partly=$("$GABBRO" collection --from broken --skip-unknown-qrels 2>said)
expect "unknown ids are skipped when asked for" test -d "$partly"
expect "and it is said how many" \
    grep -q 'split train: 1 judgements left out, 1 of passages and 0 of queries' said
broken
sed '3s/d31/d999/; 4s/q32/q999/' beir/qrels/test.tsv >broken/qrels/test.tsv
partly=$(gabbro collection --from broken --skip-unknown-qrels 2>/dev/null)
gabbro evaluate --bm25 --collection "$partly" >/dev/null 2>said
expect "an evaluation says so, too" grep -q 'split test: 2 judgements of passages or queries' said
broken
rm broken/qrels/*
unjudged=$("$GABBRO" collection --from broken 2>said)
expect "queries without judgements are said" grep -q 'there is no qrels/SPLIT.tsv' said
fault 3 "an evaluation without judgements" 'no split to measure on' \
    gabbro evaluate --bm25 --collection "$unjudged"
broken
: >broken/corpus.jsonl
fault 3 "a corpus without passages" 'corpus.jsonl: the collection has no passages' \
    gabbro collection --from broken
fault 3 "a corpus without passages, BM25" 'broken: the collection has no passages' \
    "$GABBRO" bm25 --collection broken
broken
for file in corpus.jsonl queries.jsonl qrels/train.tsv qrels/test.tsv; do
    printf '\357\273\277' | cat - beir/$file >broken/$file
done
expect "byte order marks are no part of ids" test -d "$(gabbro collection --from broken)"
broken
sed '2s/q0/q999/' beir/qrels/train.tsv >broken/qrels/train.tsv
fault 3 "qrels naming an unknown query" 'broken/qrels/train.tsv:2: .*unknown query "q999"' \
    gabbro collection --from broken
broken
mv broken/queries.jsonl broken/query.jsonl
fault 3 "judgements without the file of queries" 'broken: qrels/test.tsv judges queries, and there is no queries.jsonl' \
    gabbro collection --from broken
fault 3 "and in a check" 'there is no queries.jsonl' "$GABBRO" data check broken
broken
sed '3s/.*/q1 d1/' beir/qrels/test.tsv >broken/qrels/test.tsv
fault 3 "qrels of too few columns" 'broken/qrels/test.tsv:3: ' gabbro collection --from broken
broken
sed '9s/"_id": "d8"/"_id": "d7"/' beir/corpus.jsonl >broken/corpus.jsonl
fault 3 "an id given twice" 'broken/corpus.jsonl:9: .*"d7"' gabbro collection --from broken
broken
iconv -f UTF-8 -t UTF-16 beir/qrels/test.tsv >broken/qrels/test.tsv
fault 3 "UTF-16, as Excel's Unicode text" 'broken/qrels/test.tsv: the file is UTF-16' gabbro collection --from broken
broken
sed '7s/"text": "[^"]*"/"text": ""/' beir/queries.jsonl >broken/queries.jsonl
"$GABBRO" collection --from broken >/dev/null 2>said
expect "queries without text are said" grep -q ': 1 of [0-9]* queries have no text' said
mkdir tsv
printf 'id\ttext\n1\ta stone\n' >tsv/collection.tsv
fault 3 "a heading in collection.tsv" 'collection.tsv:1: "id" heads a column' gabbro collection --from tsv
printf '1\ta stone\n' >tsv/collection.tsv
printf 'qid\tquery\n1\twhich stone\n' >tsv/queries.dev.tsv
fault 3 "a heading in queries.dev.tsv" 'queries.dev.tsv:1: "qid" heads a column' gabbro collection --from tsv
printf 'id,text\n1,a stone\n' >table.csv
fault 3 "a table with commas" 'table.csv: a table with commas is not read' gabbro collection --from table.csv
broken
gzip -c beir/corpus.jsonl | head -c 300 >broken/corpus.jsonl
fault 3 "gzip data cut off" "broken/corpus.jsonl:[0-9]*: .*cut off" gabbro collection --from broken
printf '%s\n' '{"id": "d0", "queries": ["weight"]}' '{"id": "d999", "queries": ["x"]}' >queries.jsonl
fault 3 "generated queries of an unknown passage" 'queries.jsonl:2: .*"d999"' \
    gabbro collection --from beir --queries queries.jsonl
fault 3 "no collection there" "nowhere" gabbro collection --from nowhere
fault 2 "an unknown set of the mini world" '"beir-x"' gabbro collection --world 1 --set beir-x
fault 2 "a set of an import" '--set' gabbro collection --from beir --set nq
expect "naming the set main changes no key" test "$(gabbro collection --world 1)" = \
    "$(gabbro collection --world 1 --set main)"
fault 2 "an unknown generator" '"world-70b"' \
    gabbro queries --collection "$collection" --generator world-70b
fault 2 "a generator of another world" 'mini world' \
    gabbro queries --collection "$collection" --generator world-3b
others=$(gabbro queries --collection "$(gabbro collection --world 1)" --generator world-t5)
fault 3 "generated queries of another collection" 'another collection' gabbro tokenize \
    --collection "$collection" --vocabulary "$vocabulary" --generated "$others"
fault 3 "the same through reproduce" "cut.jsonl:$line: " \
    "$reproduce" table1 --collection cut.jsonl --out results --quiet
fault 3 "a collection that is not there" 'no collection at .*/squad (or do you mean --scale squad)' \
    "$reproduce" table1 --collection squad --out results --quiet

# ---- models and steps that do not fit -------------------------------------------------------------
model() # NAME SED-COMMAND: a model folder with its config.json changed
{
    cp -r "$encoder/model" "$1"
    sed "$2" "$encoder/model/config.json" >"$1/config.json"
}

model wide 's/"hidden_size": 16/"hidden_size": 24/'
model deep 's/"num_hidden_layers": 1/"num_hidden_layers": 2/'
model text 's/"vocab_size": [0-9]*/"vocab_size": many/'
model cut 's/x/x/'
head -c 3000 "$encoder/model/model.safetensors" >cut/model.safetensors
weight=bert.embeddings.word_embeddings.weight
fault 3 "another width, pre-training" "wide/model.safetensors: .*$weight.*, 16\].*, 24\]" \
    gabbro $mlm --init wide
fault 3 "another width, evaluation" "wide/model.safetensors: .*$weight" \
    gabbro evaluate --model wide $data
fault 3 "a layer that is not there" "deep/model.safetensors: .*layer.1.*missing" \
    gabbro finetune --init deep $data --negatives "$bm25"
fault 3 "a cut model" "cut/model.safetensors: .*cut" gabbro mine --model cut $data
fault 2 "a split that is not there, before the model is read" "nothing" gabbro mine --model cut $data --split nothing
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:53aa\nsize 9\n' >cut/model.safetensors
fault 3 "a pointer of Git LFS" "cut/model.safetensors: only Git LFS's pointer" gabbro mine --model cut $data
fault 3 "a damaged config.json" "text/config.json" gabbro $mlm --init text
other_vocabulary=$(gabbro vocabulary --collection "$collection" --size 100) &&
    other_tokens=$(gabbro tokenize --collection "$collection" --vocabulary "$other_vocabulary")
other="--collection $collection --tokens $other_tokens"
fault 3 "tokens of another vocabulary, pre-training" "another vocabulary" \
    gabbro pretrain mlm $other --vocabulary "$other_vocabulary" --init "$encoder"
fault 3 "tokens of another vocabulary, fine-tuning" "another vocabulary" \
    gabbro finetune --init "$encoder" $other --negatives "$bm25"
fault 3 "tokens of another vocabulary, evaluation" "another vocabulary" \
    gabbro evaluate --model "$encoder" $other
mkdir -p few/qrels
head -n 5 beir/corpus.jsonl >few/corpus.jsonl
sed -n '1p;31,33p' beir/queries.jsonl >few/queries.jsonl
printf 'query-id\tcorpus-id\tscore\nq0\td0\t1\n' >few/qrels/test.tsv
few=$(gabbro tokenize --collection "$(gabbro collection --from few)" --vocabulary "$vocabulary" --passage-tokens 24 \
    --query-tokens 12)
of_few="--collection $collection --tokens $few"
# As many, but in another order.
cp -r beir turned
sort -r beir/corpus.jsonl >turned/corpus.jsonl
turned=$(gabbro collection --from turned)
fault 3 "tokens of as many other passages" "of another collection" \
    gabbro mine --model "$encoder" --collection "$turned" --tokens "$tokens"
for command in mine evaluate 'encode --split test' weigh-words coverage; do
    fault 3 "tokens of another collection, ${command%% *}" "of another collection" gabbro $command --model "$encoder" $of_few
done
for command in finetune finetune-cross; do
    fault 3 "tokens of another collection, $command" "of another collection" \
        gabbro $command --init "$encoder" $of_few --negatives "$bm25"
done
fault 3 "tokens of another collection, pre-training" "of another collection" \
    gabbro pretrain mlm $of_few --vocabulary "$vocabulary" --init "$encoder"
cp -r "$encoder/model" cased
sed 's/"do_lower_case": true/"do_lower_case": false/' "$encoder/model/tokenizer_config.json" \
    >cased/tokenizer_config.json
fault 3 "tokenizer files that disagree" 'cased/tokenizer.json: "lowercase" is true, but "do_lower_case" of tokenizer_config.json.* is false' \
    gabbro evaluate --model cased $data
sed 's/"lowercase": *true/"lowercase": false/' "$encoder/model/tokenizer.json" >cased/tokenizer.json
fault 3 "a cased model, uncased tokens" "cased: .*another vocabulary or casing" gabbro evaluate --model cased $data
printf '{"max_seq_length": 144, "do_lower_case": true}' >cased/sentence_bert_config.json
fault 3 "a cased model of lowered texts" 'cased/sentence_bert_config.json: "do_lower_case" is true, but the tokenizer keeps' \
    "$GABBRO" embed cased
long_tokens=$(gabbro tokenize --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 999)
fault 3 "texts longer than the model, evaluation" "999 tokens" \
    gabbro evaluate --model "$encoder" --collection "$collection" --tokens "$long_tokens"
fault 3 "texts longer than the model, fine-tuning" "999 tokens" gabbro finetune --init "$encoder" \
    --collection "$collection" --tokens "$long_tokens" --negatives "$bm25"
fault 3 "a step of another kind" "collection" \
    gabbro tokenize --collection "$bm25" --vocabulary "$vocabulary"
# The largest floats in the place of the last ones: the loss of a few tokens is beyond them.
cp -r "$encoder/model" huge
size=$(wc -c <huge/model.safetensors)
for at in $(seq 4 4 1200); do printf '\377\377\177\177'; done |
    dd of=huge/model.safetensors bs=4 seek=$((size / 4 - 300)) conv=notrunc 2>/dev/null
fault 3 "a loss that is not finite" "not finite" \
    gabbro mlm-loss --model huge $data --vocabulary "$vocabulary"
cp -r "$encoder/model" asks
echo '{"prompts": {"query": "query: ", "passage": "passage: "}, "default_prompt_name": null, "similarity_fn_name": "dot"}' \
    >asks/config_sentence_transformers.json
for command in "evaluate --model asks" "encode --model asks" "mine --model asks" \
    "finetune --init asks --negatives $bm25"; do
    fault 3 "a model with prompts, ${command%% *}" "asks: the model wants .query: . .*--query-prompt 'query: '" \
        gabbro $command $data
done
asked=$(gabbro tokenize --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 24 \
    --query-tokens 12 --query-prompt 'query: ' --passage-prompt 'passage: ')
unasked=$(gabbro tokenize --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 24 \
    --query-tokens 12 --query-prompt '' --passage-prompt '')
with=$(gabbro encode --model asks --collection "$collection" --tokens "$asked" 2>with.said)
without=$(gabbro encode --model asks --collection "$collection" --tokens "$unasked" 2>without.said)
plain=$(gabbro encode --model "$encoder" $data)
expect "with its prompts a model encodes" [ -s "$with/vectors.npy" ]
expect "and says nothing" [ ! -s with.said ]
expect "prompts change the vectors" [ "$(cmp -s "$with/vectors.npy" "$plain/vectors.npy" || echo other)" = other ]
expect "without them on purpose nothing is put before a text" cmp "$without/vectors.npy" "$plain/vectors.npy"
expect "and it is said" [ "$(grep -c 'the model wants "passage: " before a passage; the tokens have ""' without.said)" = 1 ]
tuned=$(gabbro finetune --init asks --collection "$collection" --tokens "$asked" --negatives "$bm25" --epochs 1)
expect "a fine-tuned model keeps the prompts" \
    grep -q '"query": "query: "' "$tuned/model/config_sentence_transformers.json"
cp -r "$encoder/model" silent
rm silent/modules.json
said=$(gabbro encode --model silent $data 2>&1 >stdout | grep -c '^gabbro: warning: silent: no modules.json .*--pooling decides')
expect "a folder that says nothing of pooling is named" [ "$said" = 1 ]
expect "and taken for one of [CLS]" cmp "$(cat stdout)/vectors.npy" "$plain/vectors.npy"
mean=$(gabbro encode --model silent --pooling mean $data 2>said)
expect "--pooling decides" [ "$(cmp -s "$mean/vectors.npy" "$plain/vectors.npy" || echo other)" = other ]
expect "and then nothing is said" [ ! -s said ]
for command in mine evaluate encode; do
    fault 2 "terms of dense vectors, $command" 'options of sparse vectors' gabbro $command --model "$encoder" --passage-terms 3 $data
done
fault 2 "whole numbers of dense vectors" 'options of sparse vectors' gabbro encode --model "$encoder" --quantize 100 $data
fault 2 "an unknown pooling" '"max" is none of: cls, mean' gabbro encode --model silent --pooling max $data
fault 3 "no run to take negatives from" "run.trec" \
    gabbro finetune --init "$encoder" $data --negatives "$encoder"

# ---- cross-encoders --------------------------------------------------------------------------------
cross=$(gabbro finetune-cross --init "$encoder" $data --negatives "$bm25" --batch 4 --epochs 1 --train-queries 4)
for command in "evaluate --model" "encode --model" "mine --model" "finetune --negatives $bm25 --init"; do
    fault 3 "a cross-encoder, ${command%% *}" 'is a cross-encoder.*gabbro rerank reads it' gabbro $command "$cross" $data
done
echo PKno >damaged.zip
fault 3 "a damaged archive" 'not such an archive' gabbro collection --from damaged.zip
fault 2 "no such precision" 'no precision "half" .fp32, fp16 or bf16' gabbro doctor --precision half
fault 2 "the same behind an equals sign" 'no precision "half"' gabbro doctor --precision=half
fault 2 "a word behind two dashes" '"--progress" belongs to no option' "$GABBRO" doctor --quick -- --progress
fault 2 "no such form of progress" 'no form "xml"' gabbro store list --progress xml
fault 2 "a training on no collection" 'the setting collection must be given' gabbro train
fault 2 "no such development split" 'no split "nowhere"' gabbro finetune --init "$encoder" $data --negatives "$bm25" \
    --dev nowhere
fault 3 "an encoder that scores pairs" 'encoder of single texts.*finetune-cross' \
    gabbro rerank --model "$encoder" --run "$bm25" $data
fault 3 "tokens of another collection, rerank" "of another collection" \
    gabbro rerank --model "$cross" --run "$bm25" $of_few
fault 2 "a cross-encoder, embed" 'makes no vectors.*gabbro rerank reads it' "$GABBRO" embed "$cross" beir/corpus.jsonl
fault 3 "no run to rank anew" 'it has no run.trec' gabbro rerank --model "$cross" --run "$encoder" $data
printf 'q1 Q0 d999 1 2.5 x\n' >unknown.trec
fault 3 "a run of another collection" 'unknown.trec:1: .*"d999"' \
    gabbro rerank --model "$cross" --run unknown.trec $data
evaluated=$(gabbro evaluate --bm25 --collection "$collection")
fault 2 "an evaluation among other runs" 'rerank it alone' \
    gabbro rerank --model "$cross" --run "$bm25" --run "$evaluated" $data
fault 3 "runs that are no evaluation's" 'runs/test.trec: ' gabbro evaluate --runs "$bm25" --collection "$collection"
fault 2 "pairs longer than the model" 'must lie in .3, 24.' gabbro finetune-cross --init "$encoder" $data \
    --negatives "$bm25" --max-length 99
cp -r "$encoder/model" roberta
sed -i 's/"model_type": "bert"/"model_type": "roberta"/' roberta/config.json
shorter=$(gabbro tokenize --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 20 --query-tokens 12)
fault 3 "pairs for another encoder than a BERT" 'roberta: the model is a RobertaModel, and cross-encoders are made of BERTs' \
    gabbro finetune-cross --init roberta --collection "$collection" --tokens "$shorter" --negatives "$bm25"
fault 3 "labels where all queries have some" 'every query of the collection is in a split' \
    gabbro pseudo-labels --run "$bm25" --collection "$collection"
fault 3 "unlabelled queries where there are none" 'every query of the collection is in a split' \
    gabbro bm25-run --collection "$collection" --split unlabelled
fault 2 "labels that contradict each other" 'negative is below --positive' \
    gabbro pseudo-labels --run "$bm25" --collection "$collection" --positive .1 --negative .9
fault 3 "labels of no artifact" 'qrels.tsv: ' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --pseudo-labels "$bm25"
echo '{"_id": "q40", "text": "stone in the river"}' | cat beir/queries.jsonl - >queries.jsonl
broken
mv queries.jsonl broken/queries.jsonl
partly=$(gabbro collection --from broken)
mkdir logits
echo 'q40 Q0 d3 1 7.5 logit' >logits/run.trec
fault 3 "labels of scores that are no probabilities" 'labels are made of probabilities' \
    gabbro pseudo-labels --run logits --collection "$partly"
cp -r "$cross/model" labels
sed 's/"BertForSequenceClassification"/"BertForMaskedLM"/' "$cross/model/config.json" >labels/config.json
fault 3 "a classifier of another kind of model" 'tensor classifier.bias has no place' \
    gabbro evaluate --model labels $data

# ---- questions ------------------------------------------------------------------------------------
fault 3 "a question to no model" 'nothing: no folder and no artifact' gabbro ask nothing beir question
fault 3 "a question to no collection" 'nowhere: no such collection' gabbro ask "$encoder" nowhere question
fault 2 "an empty question" 'the question is empty' gabbro ask "$encoder" beir ''
fault 2 "a question that is no UTF-8" 'the question is no UTF-8' gabbro ask "$encoder" beir "$(printf '\377')"
if has_server "$GABBRO"; then
    fault 2 "an address that is none" '--host is no address' "$GABBRO" serve "$encoder" --host nowhere
    fault 3 "a run that is not there" 'nowhere: no such folder' "$GABBRO" serve --run nowhere
    fault 3 "a token file that is not there" 'nowhere: ' "$GABBRO" serve "$encoder" --token-file nowhere
fi
fault 3 "an index that is not there" 'nowhere: no folder and no artifact' "$GABBRO" serve "$encoder" --index nowhere
fault 2 "neither a model nor a run" 'give a model, or --run' "$GABBRO" serve
fault 2 "both of them" 'give a model, or --run' "$GABBRO" serve "$encoder" --run .
echo '[{"question": "a", "ctxs": [{"id": "1", "score": "1"}]}' >cut-run.json
fault 3 "a run of DPR that is cut off" 'cut-run.json:1: the array is not closed' "$GABBRO" convert-run cut-run.json --to x.trec
echo '[{"question": "a", "answers": ["19[0-9"], "ctxs": [{"id": "1", "score": 1, "text": "b"}]}]' >wrong-answer.json
fault 3 "an answer that is no regular expression" 'wrong-answer.json:1: the regular expression "19\[0-9" is wrong at character 6: ' \
    "$GABBRO" eval wrong-answer.json wrong-answer.json --answers regex
fault 2 "regular expressions of a collection that is cut" '--answers is of what --from imports' \
    gabbro collection --cut "$collection" --answers regex
echo '{"spans": [[1, 2], [3]]}' >ids.jsonl
fault 2 "ids of tokens without their vocabulary" 'name the vocabulary' gabbro collection --from ids.jsonl
fault 3 "no model to convert" 'nothing: no folder and no artifact' "$GABBRO" convert-model nothing --to x.gguf
fault 2 "DPR's JSON without a collection" 'the texts of passages are in a collection' \
    "$GABBRO" convert-run cut-run.json --form dpr --to x.json
fault 2 "a question in more dimensions than there are" '99999 of the [0-9]* dimensions of a vector' \
    gabbro ask "$encoder" beir question --dims 99999
fault 3 "a question to a damaged collection" "cut.jsonl:$line: " gabbro ask "$encoder" cut.jsonl question

# ---- the command line -----------------------------------------------------------------------------
fault 2 "an unknown command" '"frobnicate"' "$GABBRO" frobnicate
fault 2 "an unknown option" '--frob' gabbro $mlm --frob
fault 2 "an option without its value" '--steps' "$GABBRO" pretrain mlm --steps
fault 2 "a value that is no number" '"many"' gabbro $mlm --steps many
fault 2 "a world whose seed is none" '"abc"' gabbro collection --world abc
fault 2 "no passages a query, mine" '"0" is no whole number from 1' gabbro mine --model "$encoder" $data --depth 0
fault 2 "no passages a query, bm25-run" '"0" is no whole number from 1' gabbro bm25-run --collection "$collection" --depth 0
fault 2 "no passages a query, evaluate" '"0" is no whole number from 1' gabbro evaluate --bm25 --collection "$collection" --depth 0
fault 2 "steps that are no number" '"5x"' "$GABBRO" compare-devices 0 1 --steps 5x
fault 2 "an unknown objective" '"elm"' gabbro pretrain elm $data --vocabulary "$vocabulary"
fault 2 "a needed option left out" '--collection' gabbro pretrain mlm
fault 2 "an unknown schedule" 'none of: linear, cosine, constant' gabbro $mlm --schedule steep
fault 2 "an unknown context" 'mixed-step' gabbro $mlm --context mixed
fault 2 "no context to decode" 'needs a --context' \
    gabbro pretrain bottleneck $data --vocabulary "$vocabulary"
fault 2 "nobody to fill masks" 'needs a --generator' gabbro pretrain simlm $data --vocabulary "$vocabulary"
fault 2 "a decoder without layers" '"0" is no whole number from 1' \
    gabbro pretrain simlm $data --vocabulary "$vocabulary" --generator "$encoder" --decoder-layers 0
expect "SimLM's cost is counted" sh -c '"$1" pretrain simlm --generator "$2" $3 --cost 2>/dev/null | grep -q "^steps="' \
    sh "$GABBRO" "$encoder" "$data --vocabulary $vocabulary --layers 2"
cp -r "$encoder/model" splade
mkdir splade/1_SpladePooling
echo '{"pooling_strategy": "max", "activation_function": "relu"}' >splade/1_SpladePooling/config.json
echo '[{"type": "x.MLMTransformer", "path": ""}, {"type": "x.SpladePooling", "path": "1_SpladePooling"}]' \
    >splade/modules.json
fault 2 "a model of sparse vectors, dense fine-tuning" 'splade: .*SparseEncoder.*--scoring sparse, or --pooling cls' \
    gabbro finetune --init splade $data --negatives "$bm25"
fault 3 "a model of sparse vectors for texts" 'splade: .*SparseEncoder.*gabbro encode' \
    gabbro embed splade beir/corpus.jsonl
sed -i 's/"max"/"sum"/' splade/1_SpladePooling/config.json
fault 3 "term weights that are not computed" 'splade/1_SpladePooling/config.json: .*"sum"' gabbro encode --model splade $data
cp -r "$tuned/model" headless
cp splade/modules.json headless
mkdir headless/1_SpladePooling
echo '{"pooling_strategy": "max"}' >headless/1_SpladePooling/config.json
fault 3 "term weights without the head" 'headless: .*masked-LM head' gabbro encode --model headless $data
fault 3 "training of term weights without the head" 'masked-LM head' \
    gabbro finetune --init "$tuned" --collection "$collection" --tokens "$asked" --negatives "$bm25" --scoring sparse
echo '[{"type": "x.Router", "path": ""}]' >splade/modules.json
fault 3 "a router that is missing" 'splade: .*modules ask for router_config.json' gabbro encode --model splade $data
echo '{"structure": {"query": ["a"], "document": ["b"]}, "types": {"a": "x.Transformer", "b": "x.Transformer"}}' \
    >splade/router_config.json
fault 3 "a router of two encoders" 'splade: no .*model.safetensors\|splade.*not known here together\|splade/b' \
    gabbro encode --model splade $data
fault 3 "a model that weighs no words" 'makes no weights of words .*gabbro pretrain deepct' \
    gabbro weigh-words --model "$encoder" $data
fault 3 "weights that are missing" 'vectors.jsonl: ' \
    gabbro evaluate --bm25 --collection "$collection" --term-weights "$tokens"
fault 2 "weights of words and appended queries" '\--queries-per-passage' \
    gabbro evaluate --bm25 --collection "$collection" --term-weights "$tokens" --queries-per-passage 2
mkdir words
echo '{"id": "nobody", "vector": {"stone": 3}}' >words/vectors.jsonl
fault 3 "weights of other passages" 'words/vectors.jsonl:1: passage "nobody", not "d0"' \
    gabbro evaluate --bm25 --collection "$collection" --term-weights words
echo '{"id": "d0", "vector": {"stone": 1.5}}' >words/vectors.jsonl
fault 3 "weights that are no frequencies" 'words/vectors.jsonl:1: the frequency of "stone"' \
    gabbro evaluate --bm25 --collection "$collection" --term-weights words
echo '{"_id": "nobody", "text": "stone"}' >words/expansions.jsonl
fault 3 "an expansion of no query" 'words/expansions.jsonl:1: there is no query "nobody"' \
    gabbro evaluate --bm25 --collection "$collection" --expansions words/expansions.jsonl
echo '{"_id": "nobody", "text": 1}' >words/expansions.jsonl
fault 3 "an expansion without a text" 'words/expansions.jsonl:1: no "_id", or no "text"' \
    gabbro evaluate --bm25 --collection "$collection" --expansions words/expansions.jsonl
fault 2 "passages where documents are visited" 'documents are visited' gabbro pretrain cocondenser \
    $data --vocabulary "$vocabulary" --layers 1 --hidden 16 --heads 2 --ffn 16 --context span --passages 2
small="$data --vocabulary $vocabulary --layers 1 --hidden 16 --heads 2 --ffn 16"
fault 2 "an unknown granularity" 'list of word' gabbro pretrain costa $small --granularities word,page
fault 2 "an unknown projector" 'none, linear' gabbro pretrain costa $small --projector curved
fault 2 "an unknown projector, fine-tuning" 'none, linear' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --projector curved
fault 2 "an unknown head of bags of words" 'full, projection' gabbro pretrain bow $small --bow-head bare
fault 2 "an unknown level of recomputation" 'none of: auto, none, layers' gabbro pretrain bow $small --recompute all
fault 2 "parts of a batch that cannot be cut" 'cannot be cut' \
    gabbro pretrain contriever $small --queue 8 --batch 4 --micro-batch 2
fault 2 "parts of gradients of such a batch" 'cannot be cut' \
    gabbro pretrain contriever $small --queue 8 --batch 4 --gradient-shards 2
fault 3 "heads that no kernel computes" 'heads of 3 numbers; only multiples of 4' \
    gabbro pretrain mlm $small --hidden 6 --heads 2
fault 2 "SimCSE without dropout" 'needs dropout' gabbro pretrain simcse $small --dropout 0
fault 2 "no queries as contexts" 'from 1 to' gabbro pretrain cocondenser $small --context query --queries 0
fault 2 "masks of a causal decoder" 'masks no tokens' gabbro pretrain cotmae $small --context query --decoder-mask-ratio .3
fault 2 "a window of a masked decoder" 'sees all tokens' \
    gabbro pretrain cotmae $small --context query --decoder masked --window 2
fault 2 "a layer that the encoder has not" 'layer 6 of an encoder that has 1' \
    gabbro pretrain condenser $small --skip-from 6
fault 2 "passages of DeepCT" 'leave it out; --train-queries chooses' gabbro pretrain deepct $small --passages 3
fault 2 "a search for no passages" 'give 1 or more' \
    gabbro finetune --init "$encoder" $data --passage-vectors "$bm25" --depth 0
fault 2 "a measure of more passages than are ranked" 'have the first 1000 passages' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --dev dev --dev-measure R@2000
fault 5 "trained parameters that no buffer holds" 'what is trained takes .* have to lie in one buffer' \
    env GABBRO_LIMITS=memory=1G,buffer=64K "$GABBRO" pretrain mlm $data --vocabulary "$vocabulary" --layers 24 --hidden 16 \
    --heads 2 --ffn 16 --batch 4 --steps 3 --quiet
fault 2 "an unknown loss" 'none of: infonce, margin-mse' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --loss triplet
fault 2 "an unknown scoring" 'none of: dense' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --scoring sum
fault 2 "lengths of vectors that are none" 'is no list of positive numbers' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --matryoshka 8,x
fault 2 "lengths of vectors that are longer" 'cannot be cut after 999' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --matryoshka 999
fault 2 "lengths of vectors that a scoring has not" 'scoring sparse makes no vectors that can be cut' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --scoring sparse --matryoshka 4
fault 2 "a loss without its teacher" 'give --teacher' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --loss kl
fault 2 "margins without a teacher" 'are of a teacher' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --margin-bins 10
fault 2 "a teacher without a loss" 'asks for no teacher' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --teacher "$bm25"
fault 2 "no negatives" 'give --negatives' gabbro finetune --init "$encoder" $data
fault 2 "negatives beside a search for them" 'a search finds the negatives' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --passage-vectors "$bm25"
fault 2 "late interaction with fixed passages" 'use --scoring dense' gabbro finetune --init "$encoder" $data \
    --passage-vectors "$(gabbro encode --model "$encoder" $data)" --scoring coil
fault 3 "a run as vectors of passages" 'vectors.npy' \
    gabbro finetune --init "$encoder" $data --passage-vectors "$bm25"
fault 2 "more random negatives than negatives" 'raise --negatives-per-query' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --negatives-per-query 2 --random-negatives 3
fault 2 "clusters of no vectors" 'need --query-vectors' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --clusters 3
fault 2 "no duplicates in clusters" 'leave it out, or --clusters' gabbro finetune --init "$encoder" $data \
    --negatives "$bm25" --clusters 3 --no-duplicates
fault 3 "batches that cannot be without duplicates" 'give a smaller --batch' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --batch 1000 --no-duplicates
fault 2 "two towers with a projector" 'use --scoring dense, and no projector' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --two-towers --projector linear
printf 'q0\td0\td1\t5.5\t1.5\n' >few.tsv
few=$(gabbro teacher --collection "$collection" --from few.tsv)
fault 3 "a teacher that misses pairs" 'did not score .* of .* pairs.*the first of them q0 d[0-9]' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --loss kl --teacher "$few"
printf 'q0\td0\td1\t5.5\n' >four.tsv
fault 3 "scores in a line of four fields" 'four.tsv:1: neither' \
    gabbro teacher --collection "$collection" --from four.tsv
fault 2 "a margin without scores" 'give --scores, too' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --margin 3
fault 2 "a least score without scores" 'give --scores, too' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --min-score -3
fault 2 "bounds of scores that let nothing through" 'no score is at least 2 and at most -1' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --scores "$bm25" --min-score 2 --max-score -1
fault 2 "a share above 1" 'no number from 0 to 1' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --scores "$bm25" --relative-margin 95
fault 3 "scores of no run" 'it has no run.trec' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --scores "$tokens" --margin 3
while read -r option value command; do # options that have no effect without another one
    fault 2 "$option alone, ${command%% *}" "${command%% *}: $option has no effect without --" "$GABBRO" $command $option $value
done <<END
--passage-terms 3 evaluate --bm25 --collection $collection
--query-terms 3 evaluate --bm25 --collection $collection
--least-weight .5 evaluate --runs $bm25 --collection $collection
--tokens $tokens evaluate --bm25 --collection $collection
--fusion turns evaluate --bm25 --collection $collection
--jsonl-skip 3 bm25-run --collection $collection
--jsonl-skip 3 mine --model $encoder $data
--jsonl-skip 3 negatives --collection $collection --from nothing
--format scores bm25 --collection beir
--tag mine bm25 --collection beir
--diff-queries 4 eval beir/qrels/test.tsv $bm25/run.trec
--diff-passages 4 eval beir/qrels/test.tsv $bm25/run.trec
--seed 3 eval beir/qrels/test.tsv $bm25/run.trec --diff $bm25/run.trec
--original-base x agreement table.json
--depth 3 agreement table.json
--vocabulary $vocabulary collection --cut $collection
--queries queries.jsonl collection --world 1
--queries-per-passage 3 collection --world 1
--span-words 3 collection --world 1
--split-seed 3 collection --world 1
--size 300 vocabulary --from nothing
--queries $collection relatedness --collection $collection
--passages 3 coverage --model a=$encoder --texts beir/corpus.jsonl
--show 3 coverage --model a=$encoder --text stone
--final-rate .1 $mlm
--final-rate .1 finetune --init $encoder $data --negatives $bm25
--final-rate .1 finetune-cross --init $encoder $data --negatives $bm25
--queries 3 $mlm
--skip 3 finetune --init $encoder $data --passage-vectors $bm25
--scores $bm25 finetune --init $encoder $data --passage-vectors $bm25
END
for training in "$mlm" "finetune --init $encoder $data --negatives $bm25" \
    "finetune-cross --init $encoder $data --negatives $bm25"; do
    # shellcheck disable=SC2086 # a list of words
    fault 2 "a rate at the end of a line: ${training%% *}" 'a linear schedule does not end at a share' \
        gabbro $training --schedule linear --final-rate .1
done
for option in skip-unknown-qrels keep-splits drop-titles repair-encoding; do
    fault 2 "--$option of a mini world" "--$option has no effect without --from" gabbro collection --world 1 --$option
done
fault 2 "nearness of no other collection" '--similarity has no effect without --against' \
    "$GABBRO" data check beir --similarity .5
fault 2 "other projections of one text" '--variants has no effect' gabbro coverage --model a="$encoder" --text stone --variants
for option in drop-unscored unique-texts; do
    fault 2 "--$option of nothing" "--$option has no effect without --" \
        gabbro finetune --init "$encoder" $data --passage-vectors "$bm25" --$option
done
fault 2 "settings of sparse vectors, dense fine-tuning" '\--flops-queries has no effect: it is an option of sparse' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --flops-queries .1
fault 2 "settings of losses that are not taken" 'has no effect: it is an option of margin-mse or kl or ordered' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --contrast-weight .5
fault 2 "settings of another objective" '\--bow-weight has no effect: it is an option of bow' gabbro $mlm --bow-weight 3
expect "none of what an objective has not is no fault" [ -d "$(gabbro $mlm --decoder-mask-ratio 0 --layers 1 --hidden 16 --heads 2 --ffn 16)" ]
fault 2 "a text beside passages that are read alone" '\--context: mlm pairs passages with no' gabbro $mlm --context query
fault 2 "a generator of no masks" '\--generator: mlm has no masks that a model fills' gabbro $mlm --generator "$encoder"
for objective in mlm none; do
    fault 2 "sizes of a model to start from, $objective" 'are of a fresh encoder' \
        gabbro pretrain $objective $data --vocabulary "$vocabulary" --init "$encoder" --layers 3
done
fault 2 "pooling without a model, evaluate" '\--pooling has no effect' gabbro evaluate --bm25 --collection "$collection" --pooling mean
fault 2 "pooling without a model, filter-queries" '\--pooling has no effect' \
    gabbro filter-queries --collection "$collection" --queries "$collection" --unique --pooling mean
for command in finetune finetune-cross; do
    fault 2 "a measure on the way of no split, $command" 'give --dev SPLIT, too' \
        gabbro $command --init "$encoder" $data --negatives "$bm25" --dev-measure nDCG@10
done
fault 2 "a projector of sparse vectors" 'sparse makes no vector that is projected' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --scoring sparse --projector linear
fault 2 "numbers of sparse vectors" '\--numbers: sparse vectors are written as text' gabbro encode --numbers float16 $data \
    --model "$(gabbro finetune --init "$encoder" $data --negatives "$bm25" --scoring sparse --batch 4 --epochs 1 --train-queries 4)"
fault 2 "two kinds of judgements" '\--split names judgements of the collection, and --qrels others' \
    "$GABBRO" bm25 --collection beir --split test --qrels beir/qrels/test.tsv
fault 2 "a tag of lines that have none" 'the form msmarco has no tag' \
    "$GABBRO" convert-run "$bm25/run.trec" --form msmarco --tag mine --to tagged.txt
fault 2 "ranks of a fusion without any" '\--k: it is of --fusion ranks' \
    "$GABBRO" fuse "$bm25/run.trec" "$bm25/run.trec" --fusion sum --k 3 --out fused.trec
fault 2 "weights of runs that take turns" '\--weight: runs that take turns have no weights' \
    "$GABBRO" fuse "$bm25/run.trec" "$bm25/run.trec" --fusion turns --weight 1 --weight 2 --out fused.trec
for options in '--list --type' '--type --quick' '--list --device cpu'; do
    fault 2 "doctor $options" 'print different things' "$GABBRO" doctor $options
done
fault 2 "nothing that would be removed" '\--dry-run: gc alone removes anything' "$GABBRO" store verify --dry-run
fault 2 "two things to compare with" '\--against compares texts, and --as counts' \
    "$GABBRO" data check beir --against beir --as beir-nfcorpus
for option in --pooling=mean --dims=4 --device=cpu; do
    fault 2 "a run has no model, $option" 'go with a model' "$GABBRO" serve --run . $option
done
for option in -q -n --interval; do
    fault 2 "$option of two runs" 'are for the measures of one run' \
        "$GABBRO" eval beir/qrels/test.tsv "$bm25/run.trec" --compare "$bm25/run.trec" $option
done
mkdir bundle && echo '{}' >bundle/bundle.json
for option in --golden=x --device=cpu --trust; do
    fault 2 "a bundle is no model, $option" 'are of models, not of bundles' "$GABBRO" verify bundle $option
done
fault 2 "runs of a table that is made" '\--runs: judge alone measures' "$reproduce" table1 --runs .
fault 2 "what was sent of a table that is made" '\--seen: log alone lists' "$reproduce" table1 --seen .
for option in --record --report=. --submit=x; do
    fault 2 "a plan, $option" 'are of tables that are made' "$reproduce" plan table1 $option
done
mkdir -p judged/qrels judged/bm25 && echo 'q1 0 d1 1' >judged/qrels/dev.tsv && echo 'q1 Q0 d1 1 2 t' >judged/bm25/dev.trec
for option in --dry-run --rows=bm25 --compare-devices=0,1; do
    for action in 'judge table1 --runs judged' 'new other'; do
        fault 2 "$action, $option" "${option%%=*}: it is of tables that are made" "$reproduce" $action $option --out other
    done
done
expect "and none of them writes" [ ! -e other ]
fault 2 "lengths of no vectors" 'matryoshka is of vectors' gabbro train --set collection="$work/beir" --set model="$encoder" \
    --set scoring=cross --set matryoshka=8,4 --dry-run
fault 2 "a regulariser of queries as they are" '\--flops-queries: queries that are made without the model' \
    gabbro finetune --init "$encoder" $data --negatives "$bm25" --scoring sparse --query-tokens --flops-queries .1
for command in bm25 eval agreement export bundle report store; do
    fault 2 "an unknown option of $command" '--frob' "$GABBRO" $command --frob
done
fault 2 "an option that is no UTF-8" '--split is no valid UTF-8' \
    gabbro bm25-run --collection "$collection" --split "$(printf '\377')"
cp -r "$tokens" unsaid
rm unsaid/run.json
sed -i '/"max_passage"/d' unsaid/tokens/tokens.json
fault 3 "tokens that do not say how long texts are" 'tokens.json: it does not say the lengths' \
    gabbro finetune --init "$encoder" --collection "$collection" --tokens unsaid --negatives "$bm25"
rm -r unsaid/tokens
fault 3 "no tokens" 'unsaid: .*gabbro tokenize' \
    gabbro finetune --init "$encoder" --collection "$collection" --tokens unsaid --negatives "$bm25"
fault 2 "an unknown table" 'table99' "$reproduce" table99
fault 2 "a mistyped table" 'did you mean qac/table1?' "$reproduce" tabel1
fault 2 "a seed and a number of seeds" 'the seeds begin with 42' "$reproduce" table1 --seed 7 --seeds 2 --dry-run
fault 2 "no name" 'submit-name needs a name' "$reproduce" table1 --submit sent.json --submit-name ''
fault 3 "no folder of what was sent" '/nowhere: ' "$reproduce" log --seen /nowhere
mkdir seen && echo '{"sha256": "0", "device": "x"}' >seen/sent.json
fault 3 "a changed file of what was sent" 'sent.json: it was changed' "$reproduce" log --seen seen
echo '{"device": "x"}' >seen/sent.json
fault 3 "one without a sum" 'sent.json: it has no sha256' "$reproduce" log --seen seen

# ---- the device -----------------------------------------------------------------------------------
fault 4 "no Vulkan driver" 'Vulkan' \
    env VK_ICD_FILENAMES=/nonexistent VK_DRIVER_FILES=/nonexistent "$GABBRO" $mlm --quiet
fault 4 "no such device" "'no such'" gabbro $mlm --device 'no such'
fault 4 "the same through reproduce" "'no such'" \
    "$reproduce" table1 --collection beir --device 'no such' --out results --quiet
fault 3 "a folder for results that cannot be made" 'cut.jsonl/results' \
    "$reproduce" table1 --collection beir --out cut.jsonl/results --quiet
expect "a failed run leaves no results, but a page that says so" \
    [ "$(find results -type f) $(grep -c '>failed</span>' results/progress.html)" = 'results/progress.html 1' ]

# ---- any call fails -------------------------------------------------------------------------------
# One call of the program fails (GABBRO_FAIL_AT): one message and a code, no half-written file, and what
# was finished stays. tests/nn/faults.c does it call by call inside one process.
failing() # WHAT COMMAND...: fails at calls ever farther apart, the last one behind its end
{
    what=$1 at=1 failed=0 wrong=0
    shift
    while [ $at -lt 40000 ]; do
        GABBRO_FAIL_AT=$at "$GABBRO" "$@" --quiet --store other >stdout 2>stderr </dev/null
        status=$?
        case $status:$(tail -n 1 stderr) in
        0:*) rm -rf "$(cat stdout)" ;; # done without what failed, or behind its end
        [35]:"gabbro: "*) failed=$((failed + 1)) ;;
        *) wrong=$at ;;
        esac
        if [ $wrong != 0 ] || { [ $status != 0 ] && [ -s stdout ]; } ||
            [ -n "$(find other -name '*.draft')" ]; then
            bad "$what, call $at: 3 or 5 with a message and no draft, not $status" stderr
            return
        fi
        at=$((at + 1 + at / 6))
    done
    "$GABBRO" store verify --store other >stdout 2>&1 || bad "$what: the store is whole" stdout
    if [ $failed -gt 12 ] && [ $status = 0 ]; then
        good "$what: $failed failures, then it is done"
    else
        bad "$what: $failed failures, then it ends with $status"
    fi
}

cp -r store other
trained="$mlm --layers 1 --hidden 16 --heads 2 --ffn 32"
failing "pretrain" $trained
failing "evaluate" evaluate --model "$encoder" $data
expect "after failures the model is that of a quiet run" \
    cmp "$(gabbro $trained)/model/model.safetensors" "$(gabbro $trained --store other)/model/model.safetensors"
rm -rf other

# ---- signals --------------------------------------------------------------------------------------
# Training is stopped as soon as it has found its device: it saves after the step it is in. It runs at
# low priority, so that it is not done before the signal comes on a busy machine.
stopped() # SIGNAL LOG COMMAND...: status in $status
{
    signal=$1 log=$2
    shift 2
    : >"$log"
    nice -n 10 "$GABBRO" "$@" >"$work/stdout" 2>>"$log" </dev/null &
    child=$!
    waited=0
    while kill -0 "$child" 2>/dev/null && [ $waited -lt 6000 ] && ! grep -q 'device: ' "$log"; do
        sleep 0.02
        waited=$((waited + 1))
    done
    [ "$signal" != KILL ] || sleep 0.1
    kill -"$signal" "$child"
    wait "$child" 2>/dev/null
    status=$?
    child=''
}

same_outputs() # ARTIFACT: the same files with the same contents in both stores, but for the record's times
{
    for place in store other; do
        (
            cd "$work/$place/${1##*/}" && find . -type f ! -name run.json -exec sha256sum {} + | sort -k 2
            table_numbers run.json
        ) >"$work/sums.$place"
    done
    [ -s "$work/sums.store" ] && cmp "$work/sums.store" "$work/sums.other"
}

cp -r store other
dropout="--layers 1 --hidden 16 --heads 2 --ffn 32 --dropout .1"
pretraining="pretrain cocondenser $data --vocabulary $vocabulary $dropout --context query --batch 4
    --steps 300 --head-layers 1"
finetuning="finetune --init $encoder $data --negatives $bm25 --dropout .1 --batch 4 --epochs 40"
parts="pretrain cocondenser $data --vocabulary $vocabulary $dropout --context query --batch 4
    --steps 100 --head-layers 1 --micro-batch 3 --recompute layers"
hangup=HUP # of a terminal that is closed, unless these tests run behind nohup
# shellcheck disable=SC2016 # for the shell in it
[ -z "$(sh -c 'kill -HUP $$; echo ignored' 2>/dev/null)" ] || hangup=TERM
for training in "$pretraining" "$finetuning" "$parts"; do
    name=${training%% *}
    [ "$training" != "$parts" ] || name="$name in parts"
    for signal in TERM $hangup; do
        stopped $signal "$work/log" $training
        expect "$name, SIG$signal: 75 ($status)" [ "$status" = 75 ]
        expect "$name, SIG$signal: says how to go on" \
            grep -q '^gabbro: .*stopped after step.*run the same command to resume' "$work/log"
        expect "$name, SIG$signal: the store is whole" whole
    done
    stopped KILL "$work/log" $training
    expect "$name, SIGKILL: $status" [ "$status" = 137 ]
    expect "$name, SIGKILL: the store is whole" whole
    step=$("$GABBRO" $training 2>"$work/log")
    expect "$name, resumed: done" [ -d "$step" ]
    expect "$name, resumed: did not begin anew" \
        grep -q '"resumed": true' "$step/run.json"
    quiet=$("$GABBRO" $training --store other 2>"$work/log")
    expect "$name: not the same folder" [ "$step" != "$quiet" ]
    expect "$name, resumed: bit for bit as without interruption" same_outputs "$step"
done

# One long passage takes the most memory, in one of the first steps of five: what a process took depends on where it began.
small_beir 40 long
{
    cat long/corpus.jsonl
    printf '{"_id": "long", "text": "%s"}\n' "$(printf 'stone river %.0s' $(seq 30))"
} >long/more && mv long/more long/corpus.jsonl
of_long="--collection $(gabbro collection --from long)"
of_long="$of_long --vocabulary $(gabbro vocabulary $of_long --size 100)"
of_long="$of_long --tokens $(gabbro tokenize $of_long)"
in_parts="pretrain mlm $of_long --batch 8 --micro-batch 3 --steps 5 --seed 1 --layers 1 --hidden 16 --heads 2 --ffn 32"
stops=0 status=75
while [ $status = 75 ] && [ $stops -lt 6 ]; do
    stops=$((stops + 1))
    stopped TERM "$work/log" $in_parts
done
step=$(gabbro $in_parts)
quiet=$(gabbro $in_parts --store other)
expect "in parts, stopped $stops times: the record is the same but for its times" same_outputs "$step"

# Killed when a file without a name still has one.
if strace -o traced true 2>/dev/null; then
    tokenizing="tokenize --collection $collection --vocabulary $vocabulary --passage-tokens 24"
    strace -f -o traced -e trace=unlink -e inject=unlink:signal=KILL:when=1 "$GABBRO" $tokenizing --quiet \
        >"$work/stdout" 2>"$work/stderr"
    expect "tokenize is killed on the way" grep -q 'killed by SIGKILL' traced
    step=$(gabbro $tokenizing)
    quiet=$(gabbro $tokenizing --store other)
    expect "tokenize, resumed: bit for bit as without interruption" same_outputs "$step"
else
    skipped "a kill at a call of the system: there is no strace"
fi

# shellcheck disable=SC2016 # for the shell in it
fault 3 "standard output on a full disk" 'standard output: cannot write' \
    sh -c '"$GABBRO" tokenize "$@" >/dev/full' sh --collection "$collection" --vocabulary "$vocabulary" --quiet

# shellcheck disable=SC2016 # for the shell in it
fault 3 "JSON lines on a full disk" 'mined.jsonl: cannot write' \
    sh -c 'trap "" XFSZ; ulimit -f 8; "$GABBRO" bm25-run --collection "$1" --depth 10 --jsonl mined.jsonl --quiet >/dev/null' sh "$collection"

# ---- a full disk ----------------------------------------------------------------------------------
# The store moves to a small file system of its own.
large="$mlm --layers 1 --hidden 64 --heads 2 --ffn 256"
mkdir small
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=16m tmpfs small 2>/dev/null; then
    mounted=$work/small
    cp -r store small/store
    GABBRO_STORE=$work/small/store
    head -c 16m /dev/zero >small/filler 2>/dev/null
    fault 3 "a full disk, training" "two training states take .*(free space" gabbro $large
    fault 3 "a full disk, a collection" "cannot write.*(.*free" gabbro collection --world 2
    rm small/filler
    step=$(gabbro $large)
    expect "with room again the same command finishes" [ -d "$step" ]
    expect "with room again: the store is whole" whole
    other_step=$(gabbro $large --store "$work/other")
    expect "with room again: the result is that of a quiet run" \
        cmp "$step/model/model.safetensors" "$other_step/model/model.safetensors"
else
    skipped "a full disk: needs root and mount for a small file system"
fi
checks_end
