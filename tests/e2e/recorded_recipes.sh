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
done
checks_end
