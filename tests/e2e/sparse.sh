#!/bin/sh
# Learned sparse retrieval from training to a ranking: SPLADE and SPLADE-doc are trained, their vectors
# written and searched, and the same ranking comes from encode and search-sparse as from mine.
#   sparse.sh GABBRO
set -u
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
enter_work sparse "$1"

training_beir 120 beir
collection=$(made collection --from beir)
vocabulary=$(made vocabulary --collection "$collection" --size 100)
tokens=$(made tokenize --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 8 --query-tokens 8)
data="--collection $collection --tokens $tokens"
# shellcheck disable=SC2086 # lists of words
encoder=$(made pretrain mlm $data --vocabulary "$vocabulary" --steps 2 --batch 4 --layers 1 --hidden 16 --heads 2 --ffn 16)
negatives=$(made bm25-run --collection "$collection" --depth 10)
training="finetune --init $encoder $data --negatives $negatives --scoring sparse --batch 4 --negatives-per-query 1"

names() # FILE: every query, passage and score of a run, in order
{
    awk '{ print $1, $3, $5 }' "$1"
}

# The model $1 ranks, and $2 is its name.
ranks_alike()
{
    # shellcheck disable=SC2086 # a list of words
    set -- "$1" "$2" "$(made encode --model "$1" $data)" "$(made encode --model "$1" $data --split test)" \
        "$(made mine --model "$1" $data --split test --depth 20)" "$(made evaluate --model "$1" $data --depth 20)"
    "$gabbro" search-sparse --passages "$3/vectors.jsonl" --queries "$4/vectors.jsonl" --run found.trec \
        --depth 20 >said
    names found.trec >found
    names "$5/run.trec" >mined
    expect "$2: the search of written vectors is that of mine" cmp found mined
    names "$6/runs/test.trec" >evaluated
    expect "$2: and that of evaluate" cmp found evaluated
    expect "$2: every split is measured" grep -q '"test:MRR@10"' "$6/metrics.json"
}

# shellcheck disable=SC2086 # lists of words
splade=$(made $training --epochs 3 --flops-queries .01 --flops-passages .01)
expect "a SparseEncoder is written" grep -q '"model_type": "SparseEncoder"' \
    "$splade/model/config_sentence_transformers.json"
ranks_alike "$splade" SPLADE
# shellcheck disable=SC2086
doc=$(made $training --epochs 3 --query-tokens)
expect "a Router is written, with one model" [ "$(find "$doc/model" -name config.json | wc -l)" = 3 ]
ranks_alike "$doc" SPLADE-doc
# shellcheck disable=SC2086
queries=$(made encode --model "$doc" $data --split test)/vectors.jsonl
expect "its queries are their tokens" [ "$(grep -c '"vector": {[^}]*: 1}}$' "$queries")" = 6 ]
# shellcheck disable=SC2086
again=$(made finetune --init "$doc" $data --negatives "$negatives" --scoring sparse --batch 4 --negatives-per-query 1 --epochs 1)
expect "training goes on from it" [ -f "$again/model/model.safetensors" ]

# shellcheck disable=SC2086
dense=$(made finetune --init "$encoder" $data --negatives "$negatives" --batch 4 --negatives-per-query 1 --epochs 1)
sparse_from_dense="finetune --init $dense $data --negatives $negatives --scoring sparse --batch 4 --negatives-per-query 1"
# shellcheck disable=SC2086
"$gabbro" $sparse_from_dense >/dev/null 2>said
expect "an encoder without the masked-LM head is refused" grep -q 'needs the masked-LM head' said
# shellcheck disable=SC2086
expect "but counted, as what gets the head later" sh -c '"$1" $2 --cost | grep -q " flops="' _ "$gabbro" "$sparse_from_dense"

# ---- fewer terms -----------------------------------------------------------------------------------

most() # FILE: terms of the longest vector
{
    sed 's/.*"vector": //' "$1" | tr -cd ':\n' | awk '{ if (length($0) > most) most = length($0) } END { print most + 0 }'
}
# shellcheck disable=SC2086
all=$(made encode --model "$splade" $data)/vectors.jsonl
# shellcheck disable=SC2086
few=$(made encode --model "$splade" $data --passage-terms 5 --quantize 100)/vectors.jsonl
expect "all weights above zero are kept" [ "$(most "$all")" -gt 5 ]
expect "or the largest five" [ "$(most "$few")" = 5 ]
expect "as whole numbers" [ "$(grep -c '"vector": {.*[0-9]\.[0-9]' "$few")" = 0 ]
# shellcheck disable=SC2086
cut=$(made evaluate --model "$splade" $data --depth 20 --passage-terms 5)
names "$cut/runs/test.trec" >evaluated
expect "which rank otherwise" [ "$(cmp -s evaluated found || echo other)" = other ]

# ---- stopped, and by other numbers of ranks --------------------------------------------------------
# A folder in the place of vectors.jsonl stops the command when the ranks have encoded. Two ranks then leave files of other
# passages than three did.
if has_ranks "$gabbro"; then
    mv "$(dirname "$all")" one
    unfinished=$GABBRO_STORE/work/$(basename "$(dirname "$all")")
    mkdir -p "$unfinished/vectors.jsonl"
    for count in 3 2; do
        # shellcheck disable=SC2086
        "$gabbro" encode --model "$splade" $data --ranks $count --quiet >/dev/null 2>log
    done
    rmdir "$unfinished/vectors.jsonl" || bad "stopped behind the encoding" log
    # shellcheck disable=SC2086
    "$gabbro" encode --model "$splade" $data --ranks 3 --quiet >/dev/null 2>log || bad "three ranks go on" log
    expect "three ranks go on with what three of them wrote, not two" cmp "$all" one/vectors.jsonl
fi

# ---- weights of words ------------------------------------------------------------------------------

# shellcheck disable=SC2086
deepct=$(made pretrain deepct --init "$encoder" $data --vocabulary "$vocabulary" --steps 60 --batch 8 --learning-rate .01)
expect "weights of words learn" [ "$(awk 'NR == 2 { first = $2 } END { print ($2 < first / 2) }' "$deepct/losses.tsv")" = 1 ]
# shellcheck disable=SC2086
fewer=$(made pretrain deepct --init "$encoder" $data --vocabulary "$vocabulary" --steps 60 --batch 8 --learning-rate .01 \
    --train-queries 5)
expect "others are learned from fewer queries" [ "$(cmp -s "$deepct/losses.tsv" "$fewer/losses.tsv" || echo other)" = other ]
# shellcheck disable=SC2086
words=$(made weigh-words --model "$deepct" $data)
expect "every passage is weighed" [ "$(grep -c '^{"id":"d[0-9]*","contents":"","vector":{' "$words/vectors.jsonl")" = 120 ]
# What a killed command wrote is gone on with, behind its last whole line: the first one says so.
cp "$words/vectors.jsonl" whole.jsonl
rm -rf "$words"
mkdir -p "$GABBRO_STORE/work/${words##*/}/resume"
{
    echo '{"id":"d0","contents":"","vector":{"kept":1}}'
    sed -n '2,40p' whole.jsonl
    sed -n 41p whole.jsonl | head -c 20
} >"$GABBRO_STORE/work/${words##*/}/resume/words.jsonl.0-of-1"
# shellcheck disable=SC2086
words=$(made weigh-words --model "$deepct" $data)
expect "a killed command keeps what it wrote" grep -q '"kept":1' "$words/vectors.jsonl"
sed 1d "$words/vectors.jsonl" >rest
sed 1d whole.jsonl >whole.rest
expect "and goes on with the same bits" cmp rest whole.rest
rm -rf "$words"
# shellcheck disable=SC2086
words=$(made weigh-words --model "$deepct" $data)
expect "from its beginning, too" cmp "$words/vectors.jsonl" whole.jsonl
by_words=$(made bm25-run --collection "$collection" --split test --term-weights "$words" --k1 10 --b .9)
expect "BM25 ranks by them" [ "$(wc -l <"$by_words/run.trec")" -gt 0 ]
# Frequencies that are those of the texts: the ranking of BM25, to the bit.
mkdir counted
awk -F '"' '{ split($8, w, " "); printf "{\"id\": \"%s\", \"vector\": {\"%s\": %d", $4, w[1], w[1] == w[2] ? 2 : 1
    if (w[1] != w[2]) printf ", \"%s\": 1", w[2]
    print "}}" }' beir/corpus.jsonl >counted/vectors.jsonl
plain=$(made bm25-run --collection "$collection" --split test)
same=$(made bm25-run --collection "$collection" --split test --term-weights counted)
expect "counted words give BM25's own ranking" cmp "$plain/run.trec" "$same/run.trec"

# ---- longer queries --------------------------------------------------------------------------------

# q0 asks for stone; with "moss" and "wind" behind it, it finds what the whole text finds.
printf '{"_id": "q0", "text": "moss"}\n{"_id": "q0", "text": "wind"}\n' >expansions.jsonl
printf 'q0\tstone or stone moss wind\n' >whole.tsv
expanded=$(made bm25-run --collection "$collection" --split test --expansions expansions.jsonl)
"$gabbro" bm25 --collection "$collection" --queries whole.tsv --run whole.trec --depth 200 >said 2>log
names whole.trec >whole
awk '$1 == "q0" { print $1, $3, $5 }' "$expanded/run.trec" >found
expect "a query is searched with what is appended to it" cmp found whole
awk '$1 != "q0"' "$plain/run.trec" >found
awk '$1 != "q0"' "$expanded/run.trec" >others
expect "and the others as they are" cmp found others
printf 'q 0 a 1 9 x\nq 0 b 2 8 x\nq 0 c 3 7 x\n' >1.trec
printf 'q 0 d 1 3 x\nq 0 a 2 2 x\nq 0 e 3 1 x\n' >2.trec
"$gabbro" fuse 1.trec 2.trec --fusion turns --out turns.trec >said
expect "two runs in turn" [ "$(awk '{ printf "%s %s ", $3, $5 }' turns.trec)" = "a 1 d 0.5 b 0.3333333333333333 c 0.25 e 0.2 " ]

# shellcheck disable=SC2086
parts=$(made $training --epochs 3 --flops-queries .01 --flops-passages .01 --micro-batch 3)
expect "a batch in parts is trained" [ -f "$parts/model/model.safetensors" ]
checks_end
