#!/bin/sh
# Makes a site of what tables/recorded holds, with nothing run here: docs/pictures/recorded.sh GABBRO FOLDER
# FOLDER/site/index.html is its front page. Run it from the root of the source tree.
set -eu
LC_ALL=C
export LC_ALL
gabbro=$1 out=$2
set --
for file in tables/recorded/*.json; do
    name=$(basename "$file" .json)
    scale=${name##*.} table=${name%.*}
    mkdir -p "$out/$name"
    # A run without rows of the same collection, recipe and settings: the report shows the recorded results beside it.
    awk -v table="$(echo "$table" | sed 's|-|/|')" -v scale="$scale" '
        BEGIN { printf "{\"table\": \"%s\", \"scale\": \"%s\", \"collection_kind\": \"%s\"", table, scale,
                scale == "mini" ? "world" : "public" }
        /^ "(collection|recipe)": / { sub(/,$/, ""); printf ", %s", substr($0, 2) }
        /^ "settings": \{/ { inside = 1 }
        inside { printf "%s", (seen++ ? "" : ",") $0 }
        inside && /^ \}/ { exit }
        END { print inside ? "" : "", "}" }' "$file" | sed 's/},* *}$/}}/' >"$out/$name/results.jsonl"
    "$gabbro" report --table "$(echo "$table" | sed 's|-|/|')" --scale "$scale" --tables tables --quiet \
        --results "$out/$name/results.jsonl" --out "$out/$name" >/dev/null
    set -- "$@" "$out/$name"
done
"$gabbro" site --out "$out/site" "$@"
