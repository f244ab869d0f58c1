#!/bin/sh
# Writes manual pages and the completion for bash, as the program gives them, into a prefix:
#   docs/reference/man.sh build/src/cli/gabbro PREFIX
# They go to PREFIX/share/man/man1 and PREFIX/share/bash-completion/completions.
set -eu
gabbro=$1
pages=$2/share/man/man1 completions=$2/share/bash-completion/completions
mkdir -p "$pages" "$completions"
"$gabbro" --help --completion >"$completions/gabbro"
"$gabbro" --help --man >"$pages/gabbro.1"
# That page names the others: gabbro\-data\-list is of `gabbro data list`, gabbro\-bm25\-run of `gabbro bm25-run`.
sed -n 's/^\\fBgabbro\\-\([a-z0-9\\-]*\)\\fR(1)$/\1/p' "$pages/gabbro.1" | tr -d '\\' | while read -r name; do
    words=$name
    case $name in
    data-*) words="data ${name#data-}" ;;
    esac
    # shellcheck disable=SC2086 # a command of two words
    "$gabbro" $words --help --man >"$pages/gabbro-$name.1"
done
