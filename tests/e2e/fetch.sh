#!/bin/sh
# gabbro data fetch against a server of our own that breaks off, lies, redirects and changes its file.
#   fetch.sh GABBRO
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
. "$here/../checks.sh"
gabbro=$1
if ! command -v python3 >/dev/null 2>&1; then
    skipped "fetching: there is no python3 to run the server"
    checks_end
    exit
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-fetch.XXXXXX") || exit 1
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY GABBRO_MANIFEST

seq 1 60000 >"$work/content"
bytes=$(wc -c <"$work/content" | tr -d ' ')
sum=$(sha256sum "$work/content" | cut -d' ' -f1)
md5=$(md5sum "$work/content" | cut -d' ' -f1)
# await FILE: until something is in it, ten seconds at most
await()
{
    tries=0
    until [ -s "$1" ] || [ $tries -ge 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
}

python3 "$here/bad_server.py" "$work/content" "$work/port" >"$work/server.log" 2>&1 &
server=$!
await "$work/port"
base=http://127.0.0.1:$(cat "$work/port")

# entry NAME [VERSION|-] URL...: one file "data.tsv" of that version ("-": nothing is known).
entry()
{
    printf '[%s]\nabout = a test\nterms = none at all\nfile = data.tsv\n' "$1"
    [ "$2" = - ] || printf 'version = 2020-01-02 %s\n' "$2"
    shift 2
    for url; do
        printf 'url = %s\n' "$url"
    done
}
known="$bytes sha256:$sum"
{
    for way in ok breaks noranges longer shorter redirect loop changes blind patched busy wrong unsaid stalls \
        slow missing; do
        entry "$way" "$known" "$base/$way/data.tsv"
    done
    entry md5 "- md5:$md5" "$base/breaks/md5"
    entry unknown - "$base/ok/unknown"
    entry unknown-breaks - "$base/breaks/unknown"
    entry unknown-changes - "$base/changes/unknown"
    entry unknown-blind - "$base/blind/unknown"
    entry unknown-longer - "$base/longer/unknown"
    entry versions "1 md5:$md5" "$base/ok/versions"
    entry mirrors "$known" "$base/missing/m" "$base/wrong/m" "$base/breaks/m"
    entry nowhere "$known" http://127.0.0.1:1/x
    entry nothing "$known"
    entry unknown-place -
} >"$work/manifest"
printf 'version = 2021-01-02 %s\n' "$known" >"$work/second"
sed -i "/ok\/versions/r $work/second" "$work/manifest"

fetch() # NAME OPTIONS...: into $work/NAME; status in $status, what it said in $work/said
{
    name=$1
    shift
    timeout -k 5 60 "$gabbro" data fetch "$name" --manifest "$work/manifest" --to "$work/$name" --accept --wait 0.05 \
        --tries 3 --stall 1 "$@" >"$work/said" 2>&1 </dev/null
    status=$?
}

whole() # NAME: the file is right and nothing else is left
{
    # shellcheck disable=SC2012 # names of our own
    cmp -s "$work/content" "$work/$1/data.tsv" && [ "$(ls -A "$work/$1" | tr '\n' ' ')" = "data.tsv fetched.tsv " ]
}

comes() # NAME WHAT
{
    fetch "$1"
    if [ "$status" = 0 ] && whole "$1"; then
        good "$2"
    else
        bad "$2 (status $status)" "$work/said"
    fi
}

fails() # NAME STATUS PATTERN WHAT: and no file is there
{
    if [ "$status" = "$2" ] && [ ! -e "$work/$1/data.tsv" ] && grep -q -- "$3" "$work/said"; then
        good "$4"
    else
        bad "$4 (status $status)" "$work/said"
    fi
}

comes ok "a file comes whole"
expect "its sum and origin are noted" grep -q "^data.tsv.$bytes.$sum.*/ok/data.tsv.sha256 of 2020-01-02" \
    "$work/ok/fetched.tsv"
comes ok "a second time it is found there"
expect "and nothing is asked for" grep -q 'there already' "$work/said"
comes breaks "a server that breaks off every time is asked for the rest"
expect "and it goes on where it broke off" grep -q 'broke off after' "$work/said"
comes md5 "the same with an MD5 sum and no size"
comes noranges "a server that ignores ranges is read from the beginning"
comes redirect "a redirection is followed"
comes changes "a file that changes between two ranges is begun anew"
comes blind "also where the server ignores If-Range"
comes busy "503 is tried again"
comes unsaid "a reply without a length"
comes stalls "a silent server is given up and asked again"
comes mirrors "addresses are tried in turn: 404, a wrong file, then the right one"
comes versions "one of several accepted versions is enough"
fetch longer
fails longer 3 'no accepted version' "a length that no accepted version has is refused before it comes"
fetch shorter
fails shorter 3 'no accepted version' "a file of another size is refused before it comes"
fetch loop
fails loop 3 'redirect' "endless redirections end with 3"
fetch patched
fails patched 3 'no accepted version' "a change that nothing told of is seen by the sum"
expect "and what came is thrown away" [ ! -e "$work/patched/data.tsv.part" ]
fetch wrong
fails wrong 3 "sha256" "a wrong file is refused, with its sum"
fetch wrong --any-version
expect "--any-version keeps it and says so" grep -q 'no accepted version' "$work/wrong/fetched.tsv"
fetch missing
fails missing 3 'answers 404' "404 ends with 3"
fetch nowhere
fails nowhere 3 'no address gave it' "a dead host ends with 3"
fetch nothing
fails nothing 3 'no address is known' "an entry without an address ends with 3"

comes unknown "a file of which nothing is known comes"
expect "it is noted that nothing was there to compare with" grep -q 'nothing$' "$work/unknown/fetched.tsv"
comes unknown "and is compared with what was noted the next time"
echo more >>"$work/unknown/data.tsv"
fetch unknown
expect "when it has changed since, it is said and left alone ($status)" [ "$status" = 3 ]
comes unknown-breaks "of which nothing is known: resumed by the ETag"
comes unknown-changes "of which nothing is known: changed, begun anew"
comes unknown-blind "of which nothing is known: changed, If-Range ignored, begun anew"
fetch unknown-longer
fails unknown-longer 3 'broke off' "of which nothing is known: a lie about the length"

# While it comes, a second process is told so and leaves it alone. Stopped in the middle, the same command
# goes on. (The search for leaks of a sanitized build waits for ever where the signal to stop has been given.)
ASAN_OPTIONS=detect_leaks=0 timeout -k 20 -s TERM 60 "$gabbro" data fetch slow --manifest "$work/manifest" \
    --to "$work/slow" --accept >"$work/said1" 2>&1 </dev/null &
first=$!
await "$work/slow/data.tsv.part"
fetch slow
fails slow 76 'another process fetches it' "a second process does not fetch the same file"
expect "and leaves the notes of the first" [ -s "$work/slow/data.tsv.part.state" ]
kill -TERM "$first"
wait "$first"
cp -r "$work/slow" "$work/rotten"
"$gabbro" data fetch slow --manifest "$work/manifest" --to "$work/slow" --accept --mirror "$base/ok" \
    >"$work/said2" 2>&1
status=$?
expect "stopped, it says that it can go on" grep -q 'goes on from there' "$work/said1"
if [ "$status" = 0 ] && whole slow && grep -q 'are there from before' "$work/said2"; then
    good "and the same command resumes, from a mirror too"
else
    bad "and the same command resumes, from a mirror too (status $status)" "$work/said2"
fi
head -c "$(wc -c <"$work/rotten/data.tsv.part")" /dev/zero >"$work/rotten/data.tsv.part"
"$gabbro" data fetch ok --manifest "$work/manifest" --to "$work/rotten" --accept >"$work/said2" 2>&1
status=$?
if [ "$status" = 0 ] && whole rotten && grep -q 'is no beginning of it' "$work/said2"; then
    good "a part that is no beginning of the file costs no more than itself"
else
    bad "a part that is no beginning of the file costs no more than itself (status $status)" "$work/said2"
fi

# A place at hand instead of the network.
mkdir "$work/place"
cp "$work/content" "$work/place/another-name"
echo nothing >"$work/place/a"
fetch nowhere --from "$work/place"
expect "a local file is recognised by its sum ($status)" whole nowhere
fetch nowhere --from "$work/place" --progress json
expect "it shows how far its sums are" grep -q '"label": "sums"' "$work/said"
fetch nothing --from "$work/place/a"
fails nothing 3 'holds no file' "another local file is not taken"
fetch nothing --from "$work/absent"
fails nothing 3 'cannot read' "nor one that is not there"
mkdir "$work/other"
echo other >"$work/other/data.tsv"
fetch missing --from "$work/other"
fails missing 3 'data.tsv: still missing; the file of this name there is no accepted version' "another version is named"
fetch missing --from "$work/other" --any-version
expect "--any-version takes it" grep -q 'no accepted version' "$work/missing/fetched.tsv"
cp "$work/content" "$work/place/data.tsv"
fetch unknown-place --from "$work/place" --progress json
expect "where nothing is known the name decides ($status)" whole unknown-place
expect "a copy shows how far it is" grep -q '"label": "copy"' "$work/said"

# Several that write into one folder at once: fetched.tsv has all of them.
for one in 1 2 3 4 5 6; do
    echo $one >"$work/place/$one"
    printf '[at-once-%s]\nabout = a test\nterms = none at all\nfile = %s\n' $one $one
done >"$work/many"
for one in 1 2 3 4 5 6; do
    "$gabbro" data fetch at-once-$one --manifest "$work/many" --to "$work/at-once" --accept --from "$work/place/$one" \
        >"$work/said$one" 2>&1 &
    writing="${writing:-} $!"
done
# shellcheck disable=SC2086 # numbers of processes
wait $writing
expect "six at once are all noted" [ "$(grep -c '^[1-6]' "$work/at-once/fetched.tsv")" = 6 ]
expect "and no lock stays" [ ! -e "$work/at-once/fetched.tsv.lock" ]

# What is said, and what is refused.
"$gabbro" data fetch ok --manifest "$work/manifest" --to "$work/terms" >"$work/said" 2>&1 </dev/null
status=$?
fails terms 2 'none at all' "terms that are not accepted end with 2"
fetch ok --quiet
expect "--quiet says nothing" [ ! -s "$work/said" ]
"$gabbro" data fetch ok --manifest "$work/manifest" --to "$work/dry" --dry-run >"$work/said" 2>&1
expect "--dry-run says size and terms" grep -q "$bytes bytes" "$work/said"
expect "and fetches nothing" [ ! -e "$work/dry" ]
fetch oka
expect "an unknown name ends with 2" [ "$status" = 2 ]
fetch ok --tries none
expect "a wrong number ends with 2" [ "$status" = 2 ]
"$gabbro" data fetch beir-quora --manifest "$here/../../datasets/manifest" --dry-run >"$work/said" 2>&1
expect "a set's rule of measuring is said before it is fetched" grep -q '^measured: .*--drop-identical' "$work/said"
printf '[a]\nabout = x\ndrop_identical = no\n' >"$work/bad"
"$gabbro" data list --manifest "$work/bad" >"$work/said" 2>&1
expect "where there is none it is left out" grep -q 'bad:3: .*"no" (write yes, or leave the line out)' "$work/said"
printf '[a]\nabout = x\nterms = y\nfile = ../a\n' >"$work/bad"
"$gabbro" data list --manifest "$work/bad" >"$work/said" 2>&1
status=$?
expect "a name that leaves the folder is refused with file and line ($status)" grep -q "bad:4" "$work/said"
"$gabbro" data list --manifest "$here/../../datasets/manifest" >"$work/said" 2>&1
status=$?
expect "the project's own manifest is sound ($status)" grep -q '^msmarco-passage ' "$work/said"
checks_end
