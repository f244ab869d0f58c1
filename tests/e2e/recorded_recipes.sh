#!/bin/sh
# Results recorded for a table are those of its script as it is now: the same steps with the same options,
# else they would be refused. Usage: recorded_recipes.sh REPRODUCE
set -u
. "$(dirname -- "$0")/../checks.sh"
reproduce=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro recipes.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cp "$(dirname -- "$0")/stand_in.sh" "$work/gabbro" && chmod +x "$work/gabbro" || exit 1
WORK=$work GABBRO=$work/gabbro
export WORK GABBRO

for recorded in "$(dirname -- "$reproduce")"/../tables/recorded/*.mini.json; do
    table=$(basename "$recorded" .mini.json | tr - /)
    recipe=$(sed -n 's/^ "recipe": "\([^"]*\)".*/\1/p' "$recorded")
    sh "$reproduce" "$table" --dry-run >"$work/stdout" 2>"$work/stderr" </dev/null ||
        bad "a dry run of $table" "$work/stderr"
    expect "$table is recorded with this recipe: $recipe" [ "$(tail -n 1 "$work/stdout")" = "# recipe ${recipe:-of none}" ]
done
checks_end
