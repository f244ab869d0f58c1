#!/bin/sh
# Results recorded for a table are those of its script as it is now: the same steps with the same options,
# else they would be refused. Usage: recorded_recipes.sh REPRODUCE
set -u
. "$(dirname -- "$0")/../checks.sh"
reproduce=$1
GABBRO=true # a dry run asks it nothing
export GABBRO

for recorded in "$(dirname -- "$0")"/../../tables/recorded/*.json; do
    name=$(basename "$recorded" .json)
    scale=${name##*.} table=$(echo "${name%.*}" | tr - /)
    recipe=$(sed -n 's/^ "recipe": "\([^"]*\)".*/\1/p' "$recorded")
    expect "$table is recorded at scale $scale with this recipe: $recipe" \
        [ "$("$reproduce" "$table" --scale "$scale" --dry-run </dev/null | tail -n 1)" = "# recipe ${recipe:-of none}" ]
    # Rows on request have sums of their own, of the commands that are printed for them.
    for pair in $(sed -n 's/^    "\([^"]*\)": {$/\1/p; s/^     "recipe": "\(.*\)",$/\1/p' "$recorded" |
        awk '/^[0-9]+-[0-9]+$/ { print row "=" $0 } { row = $0 }' | sort -u); do
        row=${pair%=*} recipe=${pair#*=}
        sum=$("$reproduce" "$table" --scale "$scale" --rows "$row" --dry-run </dev/null | grep -v '^#' | cksum | tr ' ' -)
        expect "its row $row with this one: $recipe" [ "$sum" = "$recipe" ]
    done
done
checks_end
