#!/bin/sh
# Every relative link of a page leads to a file of the source tree.
#   links.sh ROOT    checks the pages of ROOT, then that a dead link would be seen
set -u
LC_ALL=C
export LC_ALL

# Prints "PAGE: LINK" for every link of the pages under a root that leads nowhere.
dead_links()
{
    (cd "$1" && find . -name '*.md' ! -path './build*' ! -path './.git/*' ! -path '*/results/*' | sort |
        while read -r page; do
            grep -oE '\]\([^) ]+\)' "$page" | sed 's/^](//; s/)$//; s/#.*//' | while read -r link; do
                case $link in
                '' | http://* | https://* | mailto:*) ;;
                *) [ -e "$(dirname "$page")/$link" ] || echo "$page: $link" ;;
                esac
            done
        done)
}

found=$(dead_links "$1")
[ -z "$found" ] || { echo "$found"; exit 1; }

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
mkdir "$made/docs"
echo 'See [one](docs/a.md#part), [two](docs/b.md) and [three](https://example.org/c.md).' > "$made/README.md"
echo '[Back](../README.md)' > "$made/docs/a.md"
found=$(dead_links "$made")
[ "$found" = './README.md: docs/b.md' ] || { echo "links.sh: found '$found' in pages with one dead link"; exit 1; }
