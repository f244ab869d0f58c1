#!/bin/sh
# The page that follows a run: what it says while commands run, when they are done, fail, are stopped or killed; and
# gabbro serve --run, which shows it and changes nothing. A stand-in is run in the place of the commands.
#   run_page.sh REPRODUCE GABBRO
set -u
. "$(dirname -- "$0")/../checks.sh"
reproduce=$(CDPATH="" cd -- "$(dirname -- "$1")" && pwd)/$(basename -- "$1")
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
enter_work run_page "$2"
program=$gabbro run='' server=''
# shellcheck disable=SC2329 # by the trap
tidy()
{
    [ -z "$run" ] || kill -9 "$run" 2>/dev/null
    [ -z "$server" ] || kill -9 "$server" 2>/dev/null
    rm -rf "$work"
}
trap tidy EXIT
cp "$here/stand_in.sh" "$work/gabbro" && chmod +x "$work/gabbro" || exit 1
WORK=$work GABBRO=$work/gabbro
export WORK GABBRO
: >log

state() # PAGE: what it says of itself
{
    sed -n 's/.*id="state"[^>]*>\([^<:]*\).*/\1/p' "$1"
}
table() # OUT ARGUMENTS...: in the background, as $run
{
    out=$1
    shift
    "$reproduce" table1 --out "$out" --jobs 2 --rows bm25,mlm-r1 "$@" >"$out.stdout" 2>"$out.stderr" </dev/null &
    run=$!
}
until_said() # PATTERN FILE
{
    tries=0
    until grep -q -e "$1" "$2" 2>/dev/null || [ $tries -ge 300 ]; do
        sleep .1
        tries=$((tries + 1))
    done
}

# ---- how a run may end ----
table done --quiet
wait "$run"
expect "a run that ended says so" [ "$(state done/progress.html)" = finished ]
expect "its page does not ask for itself again" [ "$(grep -c http-equiv done/progress.html)" = 0 ]
expect "and needs no other file" [ "$(grep -c 'src=\|<link' done/progress.html)" = 0 ]
FAIL_AT=finetune FAIL_WITH=3 table failed
wait "$run"
expect "one that failed says that" [ "$(state failed/progress.html)" = failed ]
SLEEP_AT=finetune table stopped
until_said '<li>finetune' stopped/progress.html
expect "one that runs says so" [ "$(state stopped/progress.html)" = running ]
expect "and what it does" grep -q '<li>finetune, negatives from BM25, seed 42, for [0-9]* s' stopped/progress.html
expect "and how far it is, in the words of the terminal" grep -q '<p>[0-9]* of [0-9]* artifacts' stopped/progress.html
expect "its losses so far are drawn" grep -q 'points="0.0,3.0 240.0,57.0 ".*loss: 4 to 2 so far' stopped/progress.html
expect "its page asks for itself again" grep -q '<meta http-equiv="refresh" content="5">' stopped/progress.html
kill "$run"
wait "$run"
expect "a signal ends it as before" [ $? = 75 ]
expect "its page says that it was stopped" [ "$(state stopped/progress.html)" = stopped ]

# ---- what harms a page harms no run ----
mkdir -p kept/progress.html
table kept --quiet
wait "$run"
expect "a page that cannot be written" [ "$? $(grep -c '"row"' kept/results.jsonl)" = "0 $(grep -c '"row"' done/results.jsonl)" ]
expect "leaves nothing behind" [ "$(ls -A kept | tr '\n' ' ')" = 'progress.html results.jsonl ' ]
expect "and nothing is said" [ -z "$(cat done.stderr kept.stderr)" ]

# ---- served ----
if ! command -v curl >/dev/null; then
    skipped "gabbro serve --run: needs curl"
    checks_end
    exit
fi
if ! has_server "$program"; then
    checks_end
    exit
fi
SLEEP_AT=finetune table live
mkdir -p live
ln -s /etc live/etc
ln -s ../done/results.jsonl live/link.jsonl
echo secret >live/.hidden.json
echo secret >live/key.pem
"$program" serve --run live --port 0 >address 2>said &
server=$!
until_said http address
url=$(cat address)
get() # PATH [CURL-OPTION...]: sets $code; the body is in got
{
    path=$1
    shift
    code=$(curl -s -m 30 --path-as-is -o got -w '%{http_code}' "$@" "$url$path")
}
until_said '<li>finetune' live/progress.html
get / -D head
expect "the server shows the page" [ "$code $(state got)" = '200 running' ]
for host in localhost "127.0.0.1:80" evil.example localhost.evil.example; do
    curl -s -o /dev/null -w '%{http_code} ' -H "Host: $host" "$url/"
done >codes
expect "under names of this computer alone" [ "$(cat codes)" = "200 200 403 403 " ]
expect "as HTML that is not kept" sh -c 'grep -qi "^content-type: text/html" head && grep -qi "^cache-control: no-store" head'
expect "it listens to this machine alone" [ "${url#http://127.0.0.1:}" != "$url" ]
kill -9 "$run"
wait "$run" 2>/dev/null
run=''
expect "the page of a run that was killed still says that it runs" [ "$(state live/progress.html)" = running ]
# As if half a minute had passed.
sed -i 's/data-written="[0-9]*"/data-written="1700000000"/' live/progress.html
get /
expect "the server says that it was stopped" [ "$code $(state got)" = '200 stopped' ]
expect "and that nothing is done now" grep -q '<section id="now" hidden>' got
expect "the file is as it was" [ "$(state live/progress.html)" = running ]
for path in /../done/results.jsonl /%2e%2e/done/results.jsonl /etc/hosts.json /etc/passwd /link.jsonl /.hidden.json /key.pem \
    /live /progress.html/x /none.html; do
    get "$path"
    expect "$path is not shown" [ "$code" = 404 ]
done
get / -X POST -d x -D head
expect "nothing is taken" [ "$code" = 405 ]
expect "it says what is" grep -qi '^allow: GET, HEAD.$' head
get /embed -d '{"inputs": "x"}'
expect "there is no model" [ "$code" = 405 ]
rm live/progress.html
get /
expect "no page yet: the server waits for one" [ "$code $(grep -c 'yet; this page looks again' got)" = '200 1' ]
kill "$server"
wait "$server"
expect "a signal ends it well" [ $? = 0 ]
server=''
expect "it said nothing" [ ! -s said ]
checks_end
