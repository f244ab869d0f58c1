#!/bin/sh
# docs/reference/settings.md lists every setting of the scales, and no other.
#   settings_page.sh ROOT    checks the page of ROOT, then that a gap would be seen
set -u
LC_ALL=C
export LC_ALL

# Prints settings without a line in the tables of the page, and names there that no scale has. In names of the page
# capitals stand for a word of the setting, and "..." for its rest.
gaps()
{
    # shellcheck disable=SC2016 # the page's own marks
    grep '^| `' "$1/docs/reference/settings.md" | cut -d '|' -f 2 | grep -o '`[^`]*`' | tr -d '`' |
        sed 's/[A-Z][A-Z]*/[a-z0-9]+/g; s/\.\.\.$/.*/' | sort -u >"$work/listed"
    cat "$1"/reproduce/scales/* | sed -n 's/^\([a-z0-9_]*\) *=.*/\1/p' | sort -u >"$work/settings"
    grep -vxE -f "$work/listed" "$work/settings" | sed 's/^/not on the page: /'
    while read -r name; do
        grep -qxE -e "$name" "$work/settings" || echo "in no scale: $name"
    done <"$work/listed"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
found=$(gaps "$1")
[ -z "$found" ] || { echo "$found"; exit 1; }

mkdir -p "$work/docs/reference" "$work/reproduce/scales"
# shellcheck disable=SC2016 # the page's own marks
printf '| `a_WORD`, `own_...`, `c` | 1 | meaning of `d` |\n' >"$work/docs/reference/settings.md"
printf 'a_small = 1\nown_a_b = 2\nd = 3 # c = 4\n' >"$work/reproduce/scales/mini"
found=$(gaps "$work" | tr '\n' ';')
[ "$found" = 'not on the page: d;in no scale: c;' ] || { echo "gaps are not seen: $found"; exit 1; }
