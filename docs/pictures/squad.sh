#!/bin/sh
# Takes docs/pictures/coverage.png and tsne.png: what encoders of scale squad know of sentences, and where they put a question
# and the passages around it. Run it from the root of the source tree: docs/pictures/squad.sh GABBRO RESULTS
# RESULTS is a folder that `reproduce table1 --scale squad` wrote, whose store is still there. Needs Chromium.
set -eu
gabbro=$1 results=$2/results.jsonl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

model_of() # the retriever of a row, of the first seed
{
    sed -n 's/.*"row": "'"$1"'", "seed": [0-9]*, .*"model": "\([^"]*\)".*/\1/p' "$results" | head -n 1
}

input_of() # input OPTION of an artifact, by its path
{
    echo "${1%/*}/$(sed -n 's/.*"'"$2"'": "\([^"]*\)".*/\1/p' "$1/run.json" | head -n 1)"
}

cat >"$work/sentences" <<'END'
The river rises in the mountains, flows past the old town and reaches the sea through a wide delta.
The church was built in the twelfth century by a bishop, and fire destroyed it during the war.
The force on a body is its mass times its acceleration, as Newton wrote in his laws of motion.
The team won the game in the last minute, and the quarterback was named its best player.
END
masked=$(model_of mlm-r1) spans=$(model_of cocondenser-span-r1) queries=$(model_of cocondenser-query-r1)
coverage=$("$gabbro" coverage --texts "$work/sentences" --quiet --model "masked LM=$(input_of "$masked" init)" \
    --model "spans as context=$(input_of "$spans" init)" --model "queries as context=$(input_of "$queries" init)")
python3 tests/e2e/pages.py shot "$(command -v chromium)" docs/pictures/coverage.png "$coverage/coverage.html" 1280 1740 light
tsne=$("$gabbro" tsne --quiet --collection "$(input_of "$queries" collection)" --tokens "$(input_of "$queries" tokens)" \
    --model "masked LM, fine-tuned=$masked" --model "queries as context, fine-tuned=$queries")
cp "$tsne/tsne.png" docs/pictures/tsne.png
for picture in docs/pictures/coverage.png docs/pictures/tsne.png; do
    ! command -v pngquant >/dev/null || pngquant --force --output "$picture" 64 "$picture"
    ! command -v optipng >/dev/null || optipng -quiet -o5 "$picture"
done
