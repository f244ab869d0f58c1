#!/bin/sh
# gabbro encode, search and vectors: any number of shards gives the same run, to the byte, and that
# run is the one of gabbro mine; negatives from a file go into fine-tuning; embed and ask find the same.
#   vectors.sh GABBRO
set -u
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
enter_work vectors "$1"

refused_as() # STATUS WHAT TEXT COMMAND...: ends with that status and says so
{
    wanted=$1 what=$2 text=$3
    shift 3
    "$gabbro" "$@" --quiet >out 2>log
    status=$?
    expect "$what: refused ($status)" [ $status = "$wanted" ]
    expect "$what: says why" grep -q "$text" log
}
refused() # WHAT TEXT COMMAND...: the same, for damaged data
{
    refused_as 3 "$@"
}

# Equal texts give equal vectors: their order is that of the passages, whatever the shards.
mkdir -p beir/qrels
awk 'BEGIN {
    split("stone river ice rain sand peak wind moss", word)
    printf "query-id\tcorpus-id\tscore\n" >"beir/qrels/train.tsv"
    for (i = 0; i < 200; i++)
        printf "{\"_id\": \"d%d\", \"text\": \"%s %s\"}\n", i, word[1 + i % 8], word[1 + int(i / 3) % 8]
    for (i = 0; i < 9; i++) {
        printf "{\"_id\": \"q%d\", \"text\": \"%s %s\"}\n", i, word[1 + i % 8], word[1 + i % 3] >"beir/queries.jsonl"
        printf "q%d\td%d\t1\n", i, i >"beir/qrels/train.tsv"
    }
}' >beir/corpus.jsonl
collection=$(made collection --from beir)
vocabulary=$(made vocabulary --collection "$collection" --size 100)
tokens=$(made tokenize --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 8 \
    --query-tokens 8)
model=$(made pretrain none --collection "$collection" --tokens "$tokens" --vocabulary "$vocabulary" \
    --steps 0 --layers 1 --hidden 16 --heads 2 --ffn 16)
set -- --model "$model" --collection "$collection" --tokens "$tokens"
queries=$(made encode "$@" --split train)
mined=$(made mine "$@" --split train --depth 50)
asked() # COMMAND...: queries that its --cost speaks of
{
    "$gabbro" "$@" --cost | sed 's/.* queries=\([0-9]*\) .*/\1/'
}
expect "mining costs the queries of its split" [ "$(asked mine "$@")" = 9 ]
expect "evaluating costs those of the others" [ "$(asked evaluate "$@")" = 0 ]
for count in 1 3 7; do
    passages=
    shard=0
    while [ $shard -lt $count ]; do
        passages="--passages $(made encode "$@" --shard-index $shard --shard-count $count) $passages"
        shard=$((shard + 1))
    done
    # shellcheck disable=SC2086 # a list of words
    found=$(made search --queries "$queries" $passages --depth 50 --piece 64)
    expect "$count shards give the run of mine" cmp "$mined/run.trec" "$found/run.trec"
done
# Rows of tokens: 200 passages of two words, [CLS] and [SEP], and what fills the batches up.
expect "the rows of texts are counted" grep -q '"rows_used": 800' "$(made encode "$@")/run.json"
shard=$(made encode "$@" --shard-index 1 --shard-count 3)
refused "one shard of three" "texts 0 to 65 are missing" search --queries "$queries" --passages "$shard"
refused "a shard twice" "texts 66 to 132 are there twice" search --queries "$queries" --passages "$shard" \
    --passages "$shard" --passages "$(made encode "$@" --shard-index 0 --shard-count 3)"

# One model, two poolings. A folder is known by its hash, which is longer than an artifact's name.
cp -r "$model/model" folder
pooled() # POOLING ARGUMENTS...
{
    pooling=$1
    shift
    made encode --model folder --pooling "$pooling" --collection "$collection" --tokens "$tokens" "$@"
}
refused "a folder without vectors" "it has no vectors.npy (give the folder that gabbro encode printed)" search \
    --queries "$queries" --passages "$tokens"
refused "a folder without a run" "it has no run.trec (give the folder that" finetune --init "$model" --collection "$collection" \
    --tokens "$tokens" --negatives "$vocabulary"
refused "a folder without a model" "it has no config.json (give the folder of a model)" embed "$tokens" beir/corpus.jsonl
refused "a folder without tokens" "it has no tokens (give the folder that gabbro tokenize printed)" mine --model "$model" \
    --collection "$collection" --tokens "$collection" --split train
refused "queries beyond the positions" "tokenize --query-tokens 8 cuts them shorter" mine --model "$model" \
    --collection "$collection" --split train --tokens \
    "$(made tokenize --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 8 --query-tokens 9)"
refused "vectors of two poolings" "encode both with one retriever" search --queries "$(pooled mean --split train)" \
    --passages "$(pooled cls)"
refused "shards of two poolings" "encode all shards in the same way" search --queries "$queries" \
    --passages "$(pooled mean --shard-index 0 --shard-count 2)" --passages "$(pooled cls --shard-index 1 --shard-count 2)"
for member in path type; do
    sed "s/\"$member\": *\"1_Pooling\"/\"$member\": 1/; s/\"$member\": *\"[a-z_.]*Pooling\"/\"$member\": 1/" \
        "$model/model/modules.json" >folder/modules.json
    refused "a module whose $member is a number" "$member" embed folder beir/corpus.jsonl
done

# Vectors of somebody else: a folder of two files.
whole=$(made encode "$@")
mkdir own
cp "$whole/vectors.npy" "$whole/ids.txt" own/
found=$(made search --queries "$queries" --passages own --depth 50)
expect "vectors.npy and ids.txt alone do" cmp "$mined/run.trec" "$found/run.trec"
sed -i '$d' own/ids.txt
refused "an id too few" "199 ids of 200 vectors" search --queries "$queries" --passages own
sed '3s/.*/d0/' "$whole/ids.txt" >own/ids.txt
refused "an id twice" 'texts 1 and 3 have one id, "d0"' search --queries "$queries" --passages own
refused "in what is put together, too" 'texts 1 and 3 have one id, "d0"' vectors --from own
printf 'stone\n\nriver\n' >gap.txt
"$gabbro" embed "$model" gap.txt --out gap.npy 2>log
expect "an empty line is said to have no vector" grep -q '1 empty lines have no vector' log

# Negatives of a file in the place of a mined run.
awk '{ printf "%s\t%s\t%s\n", $1, "d" substr($1, 2), $3 }' "$mined/run.trec" >triples.tsv
negatives=$(made negatives --collection "$collection" --from triples.tsv)
expect "as many lines of negatives as triples" [ "$(wc -l <"$negatives/run.trec")" = 450 ]
tuned=$(made finetune --init "$model" --collection "$collection" --tokens "$tokens" \
    --negatives "$negatives" --epochs 1 --batch 4 --negatives-per-query 1)
expect "a retriever is trained with them" [ -f "$tuned/model/model.safetensors" ]
expect "and those of a training" grep -q '"rows_computed": [1-9]' "$tuned/run.json"

# ---- texts of one's own --------------------------------------------------------------------------

# 200 texts in one call are the vectors of encode, to the bit: the same program makes them.
"$gabbro" embed "$model" beir/corpus.jsonl --out own.npy --quiet
whole=$(made encode "$@")
expect "embed gives the vectors of encode" cmp own.npy "$whole/vectors.npy"
echo 'moss on rain' | "$gabbro" embed "$model" --quiet >line.jsonl
printf 'moss on rain\nwind\n' | "$gabbro" embed "$model" --quiet >lines.jsonl
expect "a line of JSON for each line of text" [ "$(grep -c '^{"text":".*","vector":\[.*\]}$' lines.jsonl)" = 2 ]
expect "other texts change no vector" [ "$(head -n 1 lines.jsonl)" = "$(cat line.jsonl)" ]
expect "ids are kept" [ "$("$gabbro" embed "$model" beir/corpus.jsonl --quiet | sed -n '2s/",.*//p')" = '{"_id":"d1' ]
hub=$PWD/hub/models--somebody--stones
mkdir -p "$hub/refs" "$hub/snapshots" && cp -R "$model/model" "$hub/snapshots/0123abc" && printf 0123abc >"$hub/refs/main"
expect "a model is found in Hugging Face's cache by its name" \
    [ "$(echo 'moss on rain' | HF_HUB_CACHE=$PWD/hub "$gabbro" embed somebody/stones --quiet)" = "$(cat line.jsonl)" ]
named=$(HF_HUB_CACHE=$PWD/hub made encode --model somebody/stones --collection "$collection" --tokens "$tokens")
expect "and by every command" cmp "$named/vectors.npy" "$whole/vectors.npy"
refused_as 2 "a beginning of several names" "encode: .* finished artifacts start like this" embed encode beir/corpus.jsonl
refused_as 3 "a model that is nowhere" "no such model in" encode --model somebody/else --collection "$collection" --tokens "$tokens"
printf '{"text": "a"}\n{"text": 1}\n' >strange.jsonl
refused "JSON without a text" "strange.jsonl:2: it has no \"text\"" embed "$model" strange.jsonl

# The bytes that are still to be written when the disk is full decide what is met later; the rows, that.
wide=$(made pretrain none --collection "$collection" --tokens "$tokens" --vocabulary "$vocabulary" \
    --steps 0 --layers 1 --hidden 256 --heads 2 --ffn 16)
embed_in_little_room() # ROWS
{
    head -n "$1" beir/corpus.jsonl >few.jsonl
    (
        trap '' XFSZ
        ulimit -f 100 # blocks of 512 or of 1024 bytes: fewer than there are vectors
        exec "$gabbro" embed "$wide" few.jsonl --out full.npy --quiet 2>log
    )
}
rooms='195 196 197 198 199'
if ! embed_in_little_room 1; then
    skipped "no room for vectors: the driver keeps its memory in files, too (as lavapipe of Mesa 26)"
    rooms=
fi
rm -f full.npy
for rows in $rooms; do
    embed_in_little_room "$rows"
    status=$?
    expect "no room for $rows vectors ($status)" [ "$status $(grep -c 'limit on the size' log) $(ls full.npy 2>/dev/null)" = '3 1 ' ]
done

# ---- questions -----------------------------------------------------------------------------------

# Forms of vectors: what is exact gives the same run, what is rounded nearly the same scores.
one=$(made vectors --from "$(made encode "$@")")
runs_like() # FOLDER: its passages, as the run of mine
{
    cmp -s "$mined/run.trec" "$(made search --queries "$queries" --passages "$1" --depth 50)/run.trec"
}
near() # FOLDER BOUND: scores of q3's first passage
{
    awk -v bound="$2" '$1 == "q3" && $4 == 1 { n++; s[n] = $5 } END { exit !(n == 2 && (s[1] - s[2]) ^ 2 <= (bound * s[1]) ^ 2) }' \
        "$mined/run.trec" "$(made search --queries "$queries" --passages "$1" --depth 50)/run.trec"
}
expect "float32" runs_like "$one"
faiss=$(made vectors --from "$one" --form faiss)
expect "a faiss index is searched as it is" runs_like "$faiss"
expect "it has the header of IndexFlatIP: width 16, 200 rows" \
    [ "$(head -c 16 "$faiss/index" | od -An -tx1 | tr -d ' \n')" = 4978464910000000c800000000000000 ]
anserini=$(made vectors --from "$faiss" --form anserini)
expect "lines of JSON" [ "$(grep -c '^{"docid": "d[0-9]*", "vector": \[.*\]}$' "$anserini/vectors.jsonl")" = 200 ]
gzip -c "$anserini/vectors.jsonl" >lines.jsonl.gz
back=$(made vectors --from lines.jsonl.gz)
expect "read again they are the same bytes" cmp "$one/vectors.npy" "$back/vectors.npy"
expect "and ids" cmp "$one/ids.txt" "$back/ids.txt"
half=$(made vectors --from "$one" --form float16)
int8=$(made vectors --from "$one" --form int8)
expect "float16 and int8 take half and a quarter" \
    [ "$(($(wc -c <"$half/vectors.npy") - 128)) $(($(wc -c <"$int8/vectors.npy") - 128))" = "6400 3200" ]
for numbers in float16 int8; do
    direct=$(made encode "$@" --numbers $numbers)
    kept=$half files=vectors.npy
    [ $numbers = float16 ] || { kept=$int8 && files="vectors.npy scales.npy"; }
    for file in $files ids.txt; do
        expect "encode --numbers $numbers gives the bytes of vectors --form: $file" cmp "$direct/$file" "$kept/$file"
    done
    mkdir embedded-$numbers && "$gabbro" embed "$model" beir/corpus.jsonl --out embedded-$numbers/vectors.npy --numbers $numbers --quiet
    for file in $files; do
        expect "so does embed: $file" cmp embedded-$numbers/$file "$kept/$file"
    done
done
two=$(made vectors --from "$(made encode "$@" --numbers int8 --shard-index 1 --shard-count 2)" \
    --from "$(made encode "$@" --numbers int8 --shard-index 0 --shard-count 2)" --form int8)
expect "two shards of int8 are the vectors of one, rounded once more" near "$two" .02
refused_as 2 "vectors with the name of their factors" "give the vectors another name" embed "$model" beir/corpus.jsonl \
    --out embedded-int8/scales.npy --numbers int8
refused_as 2 "factors of other vectors" "give another folder" embed "$model" beir/corpus.jsonl \
    --out embedded-int8/others.npy --numbers int8
"$gabbro" embed "$model" beir/corpus.jsonl --out embedded-int8/others.npy --quiet
refused_as 2 "nor where their file had vectors of floats before" "give another folder" embed "$model" beir/corpus.jsonl \
    --out embedded-int8/others.npy --numbers int8
expect "the same vectors again" "$gabbro" embed "$model" beir/corpus.jsonl --out embedded-int8/vectors.npy --numbers int8 --quiet
refused_as 2 "int8 in lines of JSON" "for .npy" embed "$model" beir/corpus.jsonl --out lines.jsonl --numbers int8
# int8 is off by half a step at most, 1/254 of a row's largest number, which is no longer than the row.
share() # FOLDER: largest difference of a vector as a share of its length, as noted
{
    sed -n 's/.*"largest_share_of_a_vector": \([0-9.e-]*\).*/\1/p' "$1/run.json"
}
expect "what rounding changes is noted: $(share "$half"), $(share "$int8")" \
    awk "BEGIN { h = $(share "$half"); i = $(share "$int8"); exit !(h > 0 && h < 4.9e-4 && i > h && i < 4 / 254) }"
expect "what is not rounded has no such note" [ -z "$(share "$one")$(share "$faiss")" ]
expect "float16 is near" near "$half" .002
printf '{"docid": "d1", "vector": [1, 2]}\n{"docid": "d2", "vector": [1, 70000]}\n' >large.jsonl
refused "a number that is too large for it" 'large.jsonl: the vector of "d2": the value 70000 is beyond the largest float16' \
    vectors --from large.jsonl --form float16
expect "int8 is near" near "$int8" .02
mkdir spoiled && cp "$int8/vectors.npy" "$int8/ids.txt" spoiled
refused "int8 without factors" "scales.npy" search --queries "$queries" --passages spoiled
head -c 100 "$int8/scales.npy" >spoiled/scales.npy
refused "int8 with a part of them" "a factor for each" search --queries "$queries" --passages spoiled
mkdir cut && cp "$faiss/docid" cut && head -c 1000 "$faiss/index" >cut/index
refused "a faiss index that is cut off" "another size" search --queries "$queries" --passages cut
{ printf IxPQ && tail -c +5 "$faiss/index"; } >cut/index
refused "a faiss index of another kind" "flat index" search --queries "$queries" --passages cut
for line in '{"docid": "a", "vector": [1, 2]}
{"docid": "b", "vector": [1]}' '{"docid": "a"}' '{"vector": [1]}' '{"docid": "a", "vector": [1, "x"]}' ''; do
    echo "$line" >bad.jsonl
    refused "lines of JSON: $line" "bad.jsonl" vectors --from bad.jsonl
done

# The first numbers of vectors: cut when they are searched or when they are made is the same.
few=$(made search --queries "$queries" --passages "$one" --depth 50 --dims 8)
expect "search --dims is the search of vectors of encode --dims" cmp "$few/run.trec" \
    "$(made search --queries "$(made encode "$@" --split train --dims 8)" --passages "$(made encode "$@" --dims 8)" --depth 50)/run.trec"
expect "a side that is cut already is taken as it is" cmp "$few/run.trec" \
    "$(made search --queries "$queries" --passages "$(made encode "$@" --dims 8)" --depth 50 --dims 8)/run.trec"
expect "all numbers is another word for none cut" cmp "$mined/run.trec" \
    "$(made search --queries "$queries" --passages "$one" --depth 50 --dims 16)/run.trec"
refused_as 3 "sides of different widths" "queries have 16 dimensions and passages 8; they must be equal" search --queries "$queries" \
    --passages "$(made encode "$@" --dims 8)"
printf '{"id": "a", "vector": [0.6, 0.8]}\n{"id": "b", "vector": [-0.8, 0.6]}\n' >unit.jsonl
printf '{"id": "a", "vector": [3, 4]}\n{"id": "b", "vector": [-4, 3]}\n' >long.jsonl
for kind in unit long; do
    there=$(made vectors --from $kind.jsonl)
    expect "--dims 1 of $kind vectors" [ "$(cut -d ' ' -f 1,3,5 "$(made search --queries "$there" --passages "$there" --dims 1)/run.trec" | tr '\n' ' ')" = \
        "$([ $kind = unit ] && echo 'a a 1 a b -1 b b 1 b a -1 ' || echo 'a a 9 a b -12 b b 16 b a -12 ')" ]
done

# Ten passages for a question are the first ten that search finds for it.
asked=$("$gabbro" ask "$model" "$collection" 'rain stone' --json --quiet)
expect "ask gives the passages of search" [ "$(awk '$1 == "q3" { printf "%s ", $3 }' "$found/run.trec" | cut -d ' ' -f 1-10)" = \
    "$(echo "$asked" | grep -o '"_id":"d[0-9]*"' | sed 's/.*:"\(.*\)"/\1/' | tr '\n' ' ' | sed 's/ $//')" ]
indexes()
{
    find "$GABBRO_STORE" -maxdepth 1 -name 'index-*' | wc -l
}
expect "the index is kept, and found by the collection's name" [ "$(indexes)" = 1 ]
name=${collection##*/}
expect "and used again" [ "$("$gabbro" ask "$model" "$name" 'rain stone' --json --quiet)$(indexes)" = "${asked}1" ]
printf 'rain stone\nmoss\n' | "$gabbro" ask "$model" "$name" --passages 2 --quiet >answers
expect "every line of standard input is answered" [ "$(grep -c '^  [12]  [0-9.]*  d[0-9]*  ' answers)" = 4 ]
expect "with the texts of the passages" [ "$(sed -n 3p answers)" = "     $(sed -n "s/{\"_id\": \"$(awk 'NR == 2 { print $3 }' answers)\", \"text\": \"\(.*\)\"}/\1/p" beir/corpus.jsonl)" ]
asked=$("$gabbro" ask "$model" "$collection" 'rain stone' --json --quiet --dims 8)
expect "ask --dims gives the passages of search --dims" [ "$(awk '$1 == "q3" { printf "%s ", $3 }' "$few/run.trec" | cut -d ' ' -f 1-10)" = \
    "$(echo "$asked" | grep -o '"_id":"d[0-9]*"' | sed 's/.*:"\(.*\)"/\1/' | tr '\n' ' ' | sed 's/ $//')" ]
expect "from an index of its own" [ "$(indexes)" = 2 ]
cut=$(grep -l '"width": 8' "$GABBRO_STORE"/index-*/vectors.json)
refused_as 2 "more dimensions than there are" "17 of the 16 dimensions" ask "$model" "$collection" 'rain' --dims 17
refused_as 2 "more dimensions than vectors have" "17 of vectors that have 16" search --queries "$queries" --passages "$one" --dims 17
mkdir plain && head -n 50 beir/corpus.jsonl >plain/corpus.jsonl
expect "a folder is imported into its index" \
    [ "$("$gabbro" ask "$model" plain 'rain stone' --json --quiet 2>log | grep -o '"text"' | wc -l)" = 10 ]
for letter in d e; do
    sed "s/\"d/\"$letter/" beir/corpus.jsonl >plain/corpus.jsonl
    cp -r "$(made collection --from plain)/collection" $letter
done
mv d place
"$gabbro" ask "$model" place 'rain stone' --quiet >answers
index=$(dirname "$(grep -l "$PWD/place" "$GABBRO_STORE"/index-*/index.json)")
rm -r place && mv e place
if has_server "$gabbro"; then
    refused "other dimensions than those of the index" "have 8 numbers, those of the model 16" \
        serve "$model" --index "${cut%/*}" --port 0
    refused "an index whose collection was replaced" \
        'place: passage 1 is "e0", and vector 1 of .*index-.* is of "d0" (the collection was replaced: make the index again)' \
        serve "$model" --index "$index" --port 0
fi
"$gabbro" ask "$model" place 'rain stone' --json --quiet >answers
expect "asked again, it has another index" grep -q '"_id":"e[0-9]*"' answers
expect "a store list says what an index is" [ "$("$gabbro" store list | grep -c '  index of random encoder')" = 5 ]
checks_end
