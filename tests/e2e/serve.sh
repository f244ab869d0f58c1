#!/bin/sh
# gabbro serve on loopback: the vectors of gabbro embed, the passages of gabbro ask, errors in the form of each API, and
# a server that no request ends.
#   serve.sh GABBRO
set -u
. "$(dirname -- "$0")/../checks.sh"
tests=$(readlink -f "$(dirname -- "$0")")
enter_work serve "$1"
trap '[ -z "${server:-}" ] || kill -9 $server; rm -rf "$work"' EXIT
for needed in curl od; do
    if ! command -v $needed >/dev/null; then
        skipped "gabbro serve: needs $needed"
        checks_end
        exit
    fi
done
if ! has_server "$gabbro"; then
    checks_end
    exit
fi

small_beir 60 beir
collection=$(made collection --from beir)
random_model "$collection"
asked=$("$gabbro" ask "$model" "$collection" 'rain stone' --json --quiet -n 3)
index=$(find "$GABBRO_STORE" -maxdepth 1 -name 'index-*')
echo secret >token

# serve MODEL OPTION...: starts it, sets $url and $server.
serve()
{
    rm -f address
    served=$1
    shift
    "$gabbro" serve "$served" --name org/stones --port 0 --token-file token --seconds 2 --max-texts 4 \
        --max-kilobytes 8 "$@" >address 2>said &
    server=$!
    tries=0
    while [ ! -s address ] && [ $tries -lt 300 ] && kill -0 $server 2>/dev/null; do
        sleep .1
        tries=$((tries + 1))
    done
    url=$(cat address)
}

ask() # PATH [CURL-OPTION...]: sets $code; the body is in the file got
{
    path=$1
    shift
    code=$(curl -s -m 30 -o got -w '%{http_code}' -H 'Authorization: Bearer secret' "$@" "$url$path")
}

answers() # WHAT CODE PATTERN PATH [CURL-OPTION...]
{
    what=$1 wanted=$2 pattern=$3
    shift 3
    ask "$@"
    if [ "$code" != "$wanted" ]; then
        bad "$what: $wanted, not $code" got
    elif ! grep -q -e "$pattern" got; then
        bad "$what: has $pattern" got
    else
        good "$what: $code"
    fi
}

serve "$model" --index "$index"
expect "it says where it is" [ "${url#http://127.0.0.1:}" != "$url" ]

# ---- what it is for ----
ask /v1/embeddings -d '{"model": "org/stones", "input": ["rain stone", "moss"]}'
printf 'rain stone\nmoss\n' | "$gabbro" embed "$model" --quiet >lines
# The model does not scale its vectors, OpenAI's API does.
sed 's/.*"vector":\[\(.*\)\]}/\1/' lines | awk -F , '{
    for (i = s = 0; i++ < NF;) s += $i * $i
    for (i = 0; i++ < NF;) printf "%.5f%s", $i / sqrt(s), i < NF ? "," : "\n"
}' >scaled
grep -o '"embedding":\[[^]]*\]' got | sed 's/.*\[\(.*\)\]/\1/' |
    awk -F , '{ for (i = 0; i++ < NF;) printf "%.5f%s", $i, i < NF ? "," : "\n" }' >given
expect "vectors are those of gabbro embed" cmp given scaled
expect "tokens are counted" grep -q '"usage":{"prompt_tokens":[1-9][0-9]*,"total_tokens":[1-9][0-9]*}' got
ask /v1/embeddings -d '{"model": "stones", "input": "moss", "encoding_format": "base64", "input_type": "query"}'
first=$(sed 's/.*"embedding":"\([^"]*\)".*/\1/' got | base64 -d 2>/dev/null | od -An -f -N 4 | tr -d ' ')
expect "they come as base64, too" awk -v a="$first" -v b="$(sed -n '2s/,.*//p' scaled)" \
    'BEGIN { exit !(a != "" && (a - b) ^ 2 < 1e-9) }'
ask /v1/embeddings -d '{"model": "stones", "input": "moss", "dimensions": 5}'
expect "or as many numbers as are wanted, of length 1" [ "$(grep -o '\[[-0-9.e,]*\]' got | tr -d '[]' |
    awk -F , '{ for (i = 1; i <= NF; i++) s += $i * $i; printf "%d %.4f", NF, s }')" = "5 1.0000" ]
ask /embed -d '{"inputs": "moss", "normalize": false}'
expect "text-embeddings-inference's API gives the same" [ "$(cat got)" = "[$(sed -n '2s/.*"vector":\(.*\)}/\1/p' lines)]" ]
answers "an answer on the model" 200 '"model_id":"org/stones"' /info
expect "with its pooling in a word that clients of that API know" grep -q '"embedding":{"pooling":"cls"}' got
answers "the models" 200 '"id":"org/stones"' /v1/models
ask /search -d '{"query": "rain stone", "k": 3}'
expect "passages are those of gabbro ask" [ "$(cat got)" = "{$(echo "$asked" | sed 's/.*\("passages".*\)/\1/')" ]
answers "passages without their texts" 200 '^{"results":\[{"passages":\[{"_id":"d[0-9]*","score":[-0-9.e]*}\]},{' \
    /search -d '{"query": ["rain stone", "moss"], "k": 1, "texts": false}'

# ---- what goes wrong ----
invalid='"type":"invalid_request_error"'
answers "no JSON" 400 "$invalid" /v1/embeddings -d 'rain'
answers "JSON twice" 400 "$invalid" /v1/embeddings -d '{}{}'
answers "no model" 400 'you must provide a model' /v1/embeddings -d '{"input": "rain"}'
answers "another model" 404 '"code":"model_not_found"' /v1/embeddings -d '{"model": "gpt", "input": "rain"}'
answers "no input" 400 'is missing' /v1/embeddings -d '{"model": "stones"}'
answers "an empty list" 400 'cannot be empty' /v1/embeddings -d '{"model": "stones", "input": []}'
answers "token ids" 400 'token ids' /v1/embeddings -d '{"model": "stones", "input": [1, 2]}'
answers "too many dimensions" 400 'from 1 to 16' /v1/embeddings -d '{"model": "stones", "input": "x", "dimensions": 17}'
answers "a text with a NUL" 400 "$invalid" /v1/embeddings -d '{"model": "stones", "input": "a\u0000b"}'
answers "text that is no UTF-8" 400 "$invalid" /v1/embeddings -d "$(printf '{"model": "stones", "input": "\377"}')"
long=$(awk 'BEGIN { for (i = 0; i < 700; i++) printf "rain " }')
answers "a text that is too long, OpenAI" 400 '"code":"context_length_exceeded"' /v1/embeddings \
    -d "{\"model\": \"stones\", \"input\": \"$long\"}"
answers "a text that is too long" 413 'must have less than 144 tokens. Given: 702","error_type":"Validation"' /embed \
    -d "{\"inputs\": \"$long\"}"
answers "unless it is to be cut" 200 '^\[\[' /embed -d "{\"inputs\": \"$long\", \"truncate\": true}"
answers "too many texts" 413 'batch size 5 > maximum allowed batch size 4' /embed -d '{"inputs": ["a", "b", "c", "d", "e"]}'
answers "an empty text" 400 '"error_type":"Empty"' /embed -d '{"inputs": ["a", ""]}'
answers "a number for a text" 422 '"error_type":"Validation"' /embed -d '{"inputs": 1}'
answers "a model that does not rank" 424 'model is not a re-ranker model","error_type":"Backend"' /rerank \
    -d '{"query": "rain", "texts": ["moss"]}'
head -c 9000 /dev/zero | tr '\0' 'a' >large
answers "a body that is too large" 413 '"error_type":"Validation"' /embed -d @large
answers "the same in chunks" 413 '"error_type":"Validation"' /embed -d @large -H 'Transfer-Encoding: chunked' -H 'Expect:'
answers "no such path" 404 'there is no /nothing' /nothing
answers "a path that is no UTF-8" 404 '"message":"there is no /?"' /%ff
for path in /health%00x /info%00 /embed%0a; do
    answers "$path: a control character" 400 "$invalid" $path
done
answers "another method" 405 '/embed needs POST' /embed
curl -s -o got -D head -H 'Authorization: Bearer secret' "$url/embed"
expect "it says which" grep -qi '^allow: POST.$' head
for path in /health /info /v1/models; do
    answers "$path takes no body" 405 "$path needs GET, HEAD" $path -d '{}' -D head
    expect "it says what it takes" grep -qi '^allow: GET, HEAD.$' head
    code=$(curl -s -I -o got -w '%{http_code}' -H 'Authorization: Bearer secret' "$url$path")
    expect "it may be asked for its headers alone" [ "$code" = 200 ]
done
code=$(curl -s -o got -w '%{http_code}' -d '{"model": "stones", "input": "x"}' "$url/v1/embeddings")
expect "no token: 401" [ "$code $(grep -c '"code":"invalid_api_key"' got)" = "401 1" ]
code=$(curl -s -o got -w '%{http_code}' -H 'Authorization: Bearer secrets' "$url/info")
expect "a wrong token: 401" [ "$code" = 401 ]
code=$(curl -s -o got -w '%{http_code}' "$url/health")
expect "health needs none" [ "$code" = 200 ]

# Requests that do not end, and bytes that are no HTTP. A request takes at most two seconds.
begun=$(date +%s)
curl -s -m 20 -o /dev/null --limit-rate 100 -H 'Authorization: Bearer secret' -H 'Expect:' -d "$(head -c 4000 large)" "$url/embed" || true
took=$(($(date +%s) - begun))
expect "a slow request is cut off ($took s)" [ $took -lt 15 ]
printf 'GARBAGE\r\n\r\n' | curl -s -m 5 -o /dev/null "telnet://${url#http://}" 2>/dev/null || true
answers "the server goes on" 200 '^\[\[' /embed -d '{"inputs": "moss"}'
if command -v python3 >/dev/null; then
    python3 "$tests/serve.py" "$url" >out 2>log
    status=$?
    take_checks out
    expect "the script of clients ends well ($status)" [ $status = 0 ] || tail log
else
    skipped "clients that pause: needs python3"
fi

# ---- many at once, and the end ----
request='next
url = "URL/v1/embeddings"
header = "Authorization: Bearer secret"
data = "{\"model\": \"stones\", \"input\": \"rain NUMBER\"}"
write-out = "%{http_code}\n"
output = "/dev/null"
silent'
count=0
while [ $count -lt 60 ]; do
    count=$((count + 1))
    echo "$request" | sed "s|URL|$url|; s/NUMBER/$count/"
done | sed 1d >many
expect "sixty at once are answered" [ "$(curl -Z --parallel-max 60 -K many 2>/dev/null | grep -c '^200$')" = 60 ]
kill $server
wait $server
expect "a signal ends it well" [ $? = 0 ]
expect "it said nothing" [ ! -s said ]
serve "$model" --queue 1 --host 0.0.0.0 --name org/stones/
expect "with a token it may listen to strangers" [ -z "$(cat said)" ]
answers "a name with a slash at its end" 200 '"object":"list"' /v1/embeddings -d '{"model": "stones", "input": "x"}'
answers "search without an index" 400 'there is no index' /search -d '{"query": "x"}'
sed -i "s|http://[0-9.:]*|$url|" many
curl -Z --parallel-max 60 -K many 2>/dev/null | sort -u | tr '\n' ' ' >codes
expect "where the queue is full it says so, and nothing else ($(cat codes))" \
    awk '{ for (i = 1; i <= NF; i++) if ($i != 200 && $i != 429) exit 1; exit !NF }' codes
kill -9 $server
wait $server 2>/dev/null

# ---- a signal while requests wait ----
# While a long request is computed, four others and eight short ones fill the queue; the rest are refused.
serve "$model" --queue 12 --max-kilobytes 2000 --seconds 30
awk 'BEGIN {
    for (i = 0; i < 140; i++) text = text " rain"
    printf "{\"model\": \"stones\", \"input\": [\"%s\"", text
    for (i = 0; i < 2047; i++) printf ",\"%s\"", text
    print "]}"
}' >long
: >ends
clients=
for _ in 1 2 3 4 5; do
    curl -s -m 60 -o /dev/null -w '%{http_code}\n' -H 'Authorization: Bearer secret' -H 'Expect:' -d @long \
        "$url/v1/embeddings" >>ends &
    clients="$clients $!"
done
sleep .1
sed -i "s|http://[0-9.:]*|$url|; s|%{http_code}|%{stderr}&|" many
curl -Z --no-progress-meter --parallel-immediate --parallel-max 60 -K many 2>>ends &
clients="$clients $!"
tries=0
while [ "$(grep -c 429 ends)" -lt 52 ] && [ $tries -lt 300 ]; do
    sleep .01
    tries=$((tries + 1))
done
kill $server
wait $server
wait $clients
grep -x '[0-9]*' ends | sort | uniq -c | tr -s ' \n' ' ' >codes
expect "what waits at a signal is answered ($(cat codes))" \
    [ "$(grep -c -x -e 200 -e 429 -e 503 ends)" = 65 ]

# ---- a cross-encoder ----
bm25=$(made bm25-run --collection "$collection" --depth 3)
cross=$(made finetune-cross --init "$model" --collection "$collection" --tokens "$tokens" --negatives "$bm25" --batch 4 \
    --epochs 1 --train-queries 4)
ranked=$(made rerank --model "$cross" --run "$bm25" --collection "$collection" --tokens "$tokens")/run.trec
text_of() # FILE ID
{
    sed -n "s/{\"_id\": \"$2\", \"text\": \(\".*\"\)}/\1/p" "beir/$1.jsonl"
}
qid=$(sed -n '1s/ .*//p' "$ranked")
texts=$(awk -v qid="$qid" '$1 == qid { print $3 }' "$ranked" | while read -r id; do text_of corpus "$id"; done | paste -sd ,)
serve "$cross"
ask /rerank -d "{\"query\": $(text_of queries "$qid"), \"texts\": [$texts], \"raw_scores\": true}"
grep -o '"index":[0-9]*,"score":[-0-9.e]*' got | sed 's/[^0-9]*\([0-9]*\),"score":/\1 /' >ranks
awk -v qid="$qid" '$1 == qid { print n++, $5 }' "$ranked" | paste -d ' ' ranks - >both
expect "pairs are ranked as by gabbro rerank" \
    awk '{ n++; if ($1 != $3 || ($2 - $4) ^ 2 > 1e-10) exit 1 } END { exit n < 2 }' both
answers "a probability, and the text" 200 '"score":0\.[0-9]*,"text":"moss moss"' /rerank \
    -d '{"query": "rain", "texts": ["moss moss", "ice"], "return_text": true}'
answers "a pair that is too long" 413 '"error_type":"Validation"' /rerank -d "{\"query\": \"x\", \"texts\": [\"$long\"]}"
answers "no texts to rank" 400 '"error_type":"Empty"' /rerank -d '{"query": "rain", "texts": []}'
answers "no query" 422 'query' /rerank -d '{"texts": ["ice"]}'
answers "vectors of a cross-encoder" 424 'model is not an embedding model' /embed -d '{"inputs": "rain"}'
answers "the same by OpenAI's API" 400 'it makes no vectors' /v1/embeddings -d '{"model": "stones", "input": "rain"}'
kill -9 $server
wait $server 2>/dev/null
server=
checks_end
