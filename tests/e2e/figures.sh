#!/bin/sh
# The commands of figures on tiny untrained encoders: files, the same bytes again, messages; and their
# pages in a browser where there is one (Chromium, headless).
#   figures.sh GABBRO
set -u
. "$(dirname -- "$0")/../checks.sh"
GABBRO=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-figures.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

gabbro() # ARGUMENTS...: in the store $store
{
    "$GABBRO" "$@" --quiet --store "$work/$store" 2>"$work/stderr" </dev/null
}

encoder() # SEED
{
    gabbro pretrain none --collection "$collection" --tokens "$tokens" --vocabulary "$vocabulary" \
        --layers 1 --hidden 16 --heads 2 --ffn 32 --steps 0 --seed "$1"
}

prepare()
{
    collection=$(gabbro collection --world 1) && vocabulary=$(gabbro vocabulary \
        --collection "$collection" --size 600) && tokens=$(gabbro tokenize --passage-tokens 16 \
        --query-tokens 12 --collection "$collection" --vocabulary "$vocabulary") &&
        first=$(encoder 1) && second=$(encoder 2)
}

coverage() # ARGUMENTS...
{
    gabbro coverage --model "First & only=$first" --model "two=$second" "$@"
}

store=store
if prepare; then
    good "encoders are made"
else
    bad "encoders are made" "$work/stderr"
    checks_end
    exit 1
fi

# ---- coverage -------------------------------------------------------------------------------------
sampled="--collection $collection --tokens $tokens --passages 40 --k 30 --show 3"
# shellcheck disable=SC2086 # words
covered=$(coverage $sampled)
for file in coverage.html coverage.tsv coverage.json curve.svg curve.png tokens.svg tokens.png; do
    expect "coverage writes $file" [ -s "$covered/$file" ]
done
expect "a line a model and k, and of the most frequent tokens" [ "$(wc -l <"$covered/coverage.tsv")" = 91 ]
expect "one list of them holds no rare token here" \
    [ "$(awk -F '\t' '$1 == "most frequent tokens" && $2 == 30 { print $6 }' "$covered/coverage.tsv")" = 0 ]
expect "three texts are shown" [ "$(grep -c '<article' "$covered/coverage.html")" = 3 ]
# shellcheck disable=SC2086
expect "a finished artifact is found again" [ "$(coverage $sampled)" = "$covered" ]
# With all tokens of the vocabulary in the list, every text is covered.
all=$(coverage --collection "$collection" --tokens "$tokens" --passages 5 \
    --k "$(wc -l <"$vocabulary/vocab.txt")")
expect "all tokens cover a text" [ "$(tail -n 1 "$all/coverage.tsv" | cut -f 3,4)" = "1	1" ]
full=$(coverage --collection "$collection" --tokens "$tokens" --passages 40 --k 30 --projection full \
    --reference "$first")
expect "another projection gives another curve" \
    [ "$(cmp "$full/coverage.tsv" "$covered/coverage.tsv" 2>&1 | wc -l)" = 1 ]
both=$(coverage --collection "$collection" --tokens "$tokens" --passages 40 --k 30 --reference "$first" \
    --projection full --variants)
expect "four projections a model are given" [ "$(wc -l <"$both/variants.tsv")" = 241 ]
expect "the one of the curve among them" [ "$(sed -e 1d -e '/^most frequent/d' "$both/coverage.tsv" | cut -f 1-5 >"$work/curve"
    grep 'full, reference' "$both/variants.tsv" | cut -f 1,3- | cmp - "$work/curve" && echo same)" = same ]
expect "a model's own head is its reference" [ "$(grep '^First' "$both/variants.tsv" |
    sed -n 's/full, own/X/p; s/full, reference/X/p' | sort | uniq -d | wc -l)" = 30 ]
printf 'the south of the river\n\nand the north\n' >"$work/texts"
own=$(coverage --texts "$work/texts" --k 20)
expect "texts of one's own are shown" [ "$(grep -c '<article' "$own/coverage.html")" = 2 ]
coverage --text 'the south of the river' >"$work/terminal"
expect "one text is printed, a block a model" [ "$(grep -c '^  top ' "$work/terminal")" = 2 ]

refused() # CODE WORDS ARGUMENTS...
{
    code=$1 words=$2
    shift 2
    "$@" >"$work/stdout"
    given=$?
    expect "refused: $words" [ "$given $(grep -c "$words" "$work/stderr") $(wc -l <"$work/stderr")" = "$code 1 1" ]
}
refused 2 'two models have the name' gabbro coverage --model "a=$first" --model "a=$second" --text x
refused 2 'give --collection with --tokens' coverage
refused 2 'none of: plain, full' coverage --text x --projection half
refused 2 'none of: set, multiset, top, rare' coverage --text x --reading some
refused 2 'best tokens of a vocabulary' coverage --text x --k 100000
refused 3 'no text has a token' coverage --text ''
refused 3 'none' coverage --texts "$work/none"

# ---- a query and its candidates -------------------------------------------------------------------
map()
{
    gabbro tsne --model "First & only=$first" --model "two=$second" --collection "$collection" \
        --tokens "$tokens" --depth 20 --iterations 100 "$@"
}
mapped=$(map)
for file in tsne.html tsne.tsv tsne.svg pca.svg turning.svg tsne.png pca.png turning.png; do
    expect "tsne writes $file" [ -s "$mapped/$file" ]
done
expect "a line a model and point" [ "$(wc -l <"$mapped/tsne.tsv")" = 43 ]
expect "--missed adds the relevant ones" [ "$(wc -l <"$(map --missed)/tsne.tsv")" -gt 43 ]
refused 2 'judges no query' map --query none

# ---- the same bytes again -------------------------------------------------------------------------
kept=$covered kept_map=$mapped
store=store2
prepare
# shellcheck disable=SC2086
sampled="--collection $collection --tokens $tokens --passages 40 --k 30 --show 3"
# shellcheck disable=SC2086
again=$(coverage $sampled) again_map=$(map)
for file in coverage.html coverage.tsv coverage.json curve.svg curve.png tokens.svg tokens.png; do
    expect "$file has the same bytes in another store" cmp "$kept/$file" "$again/$file"
done
for file in tsne.html tsne.tsv turning.svg turning.png; do
    expect "$file has the same bytes in another store" cmp "$kept_map/$file" "$again_map/$file"
done

# ---- in a browser ---------------------------------------------------------------------------------
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)

browse() # PAGE SCRIPT: the page with SCRIPT behind it; prints what SCRIPT gives to say()
{
    cp "$1" "$work/page.html"
    {
        printf '<pre id="said"></pre><script>function say(t){'
        printf 'document.getElementById("said").textContent+="SA"+"ID "+t+"\\n";}\n%s</script>\n' "$2"
    } >>"$work/page.html"
    HOME=$work XDG_CONFIG_HOME=$work timeout 60 "$browser" --headless --no-sandbox --disable-gpu --dump-dom \
        "file://$work/page.html" 2>/dev/null | sed -n 's/^.*SAID //p'
}
said() # WHAT WANTED GIVEN
{
    expect "$1 ($3)" [ "$3" = "$2" ]
}
if [ -z "$browser" ]; then
    skipped "pages in a browser: there is no Chromium"
    checks_end
    exit
fi
use='var d=document,k=d.getElementById("k"),s=d.getElementById("search");
function hits(){return d.querySelectorAll("section p .hit").length;}
function set(n){k.value=n;k.dispatchEvent(new Event("input"));}
function key(n){d.dispatchEvent(new KeyboardEvent("keydown",{key:n}));}'
said "the slider marks more tokens" "true" "$(browse "$kept/coverage.html" "$use
set(1);var few=hits();set(30);say(hits()>few);")"
said "at the top 20 the script marks what the page had" "true" "$(browse "$kept/coverage.html" "$use
var marked=hits();set(30);set(20);say(hits()===marked);")"
said "the count follows" "of N tokens in the top 7" "$(browse "$kept/coverage.html" "$use
set(7);say(d.querySelector('.ratio').textContent.replace(/^[0-9]+ of [0-9]+/,'of N'));")"
said "the search leaves the texts that have the words" "1 of 3 texts" \
    "$(browse "$kept/coverage.html" "$use
s.value=d.querySelectorAll('article h3')[1].textContent;s.dispatchEvent(new Event('input'));
say(d.getElementById('found').textContent);")"
said "keys go from text to text" "text-2" "$(browse "$kept/coverage.html" "$use
key('j');key('j');key('j');key('k');say(d.activeElement.id);")"
said "keys change the number of tokens" "21" "$(browse "$kept/coverage.html" "$use
key('+');key('+');key('-');say(k.value);")"
said "points of the curve tell their values" "90" \
    "$(browse "$kept/coverage.html" "say(document.querySelectorAll('figure circle title').length);")"
said "each view puts every point in its place" "0 0" \
    "$(browse "$kept_map/tsne.html" "var turn=document.getElementById('turn');
function misplaced(n){turn.value=n;turn.dispatchEvent(new Event('input'));var wrong=0;
[].forEach.call(document.querySelectorAll('svg[data-frames]'),function(v){
var at=JSON.parse(v.dataset.frames)[n];
[].forEach.call(v.querySelectorAll('[data-p]'),function(x){var i=+x.dataset.p;
wrong+=x.getAttribute('transform')!=='translate('+at[2*i]+' '+at[2*i+1]+')';});});return wrong;}
say(misplaced(0)+' '+misplaced(18));")"
said "the query is the star above all" "query" \
    "$(browse "$kept_map/tsne.html" "var last=document.querySelector('svg[data-frames]').lastElementChild;
say(last.dataset.p==='0'?last.textContent.replace(/ .*/,''):'none');")"
checks_end
