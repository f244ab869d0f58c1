#!/bin/sh
# The pages that Gabbro writes, in headless Chromium, as wide as a laptop's window (1,280 px) and as a phone (390 px),
# light and dark: nothing reaches beyond the viewport but in containers that scroll, texts stand out, and keys reach what a
# pointer does. Needs Chromium and Python 3. Pictures of all pages are left in PICTURES where it is given.
#   pages.sh GABBRO [PICTURES]
set -u
. "$(dirname -- "$0")/../checks.sh"
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
pictures=${2:+$(readlink -f "$2")}
enter_work pages "$1"
: "${pictures:=$work/pictures}"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ] || ! command -v python3 >/dev/null; then
    skipped "pages in a browser: there is no Chromium, or no Python 3"
    checks_end
    exit
fi

# ---- pages of each kind ----
expect "a site of the recorded results" sh -c 'cd "$1/../.." && docs/pictures/recorded.sh "$2" "$3" >/dev/null' \
    sh "$here" "$gabbro" "$work/recorded"
small_beir 60 beir
collection=$(made collection --from beir)
random_model "$collection"
covered=$(made coverage --model "one=$model" --model "the same=$model" --collection "$collection" --tokens "$tokens" --k 30)
mapped=$(made tsne --model "one=$model" --collection "$collection" --tokens "$tokens" --split test --depth 20 --iterations 50)
site=$work/recorded/site
"$gabbro" reproduce table1 --rows bm25 --out run --quiet --set bm25_depth=20 >made 2>&1
expect "a run leaves its page" [ -s run/progress.html ]
set -- "$site/index.html" "$site/claims.html" "$site/qac-table1.mini.html" "$site/qac-table2.mini.html" \
    "$site/qac-table1.mini/cocondenser-query-r2.html" "$work/recorded/qac-table3.mini/table.html" \
    "$covered/coverage.html" "$mapped/tsne.html" "$work/run/progress.html"
[ ! -s "$site/devices.html" ] || set -- "$@" "$site/devices.html"

# ---- how they look ----
HOME=$work XDG_CONFIG_HOME=$work timeout 600 python3 "$here/pages.py" check "$browser" "$pictures" "$@" >looked 2>said
status=$?
take_checks looked
expect "the browser ends well" [ $status = 0 ] || tail said
expect "pictures of all pages ($#)" [ "$(find "$pictures" -name '*.png' -size +1k | wc -l)" -ge $(($# * 4)) ]
checks_end
