#!/bin/sh
# libgabbro as somebody else meets it: installed, found by pkg-config alone, nothing but gabbro_* to be seen.
#   library.sh GABBRO BUILD
set -u
. "$(dirname -- "$0")/../checks.sh"
build=$(readlink -f "$2")
source=$(readlink -f "$(dirname -- "$0")")
enter_work library "$1"

# What is installed: the library, one header, the pkg-config file.
meson install -C "$build" --no-rebuild --destdir "$work/installed" --tags runtime,devel >log 2>&1
expect "it is installed" [ $? = 0 ]
pc=$(find installed -name gabbro.pc)
library=$(find "$PWD/installed" -name libgabbro.so.0)
expect "one header" [ "$(find installed -name '*.h' -exec basename {} \;)" = gabbro.h ]
symbols=$(nm -D --defined-only --with-symbol-versions "$library" 2>/dev/null | awk '$2 != "A" { print $3 }')
declared=$(sed -n 's/.*GABBRO_API.*[ *]\(gabbro_[a-z_]*\)(.*/\1@@GABBRO_0/p' "$source/../../include/gabbro.h" | sort)
expect "its symbols are those of the header, with a version" [ "$(printf '%s\n' "$symbols" | sort)" = "$declared" ]
PKG_CONFIG_SYSROOT_DIR=$PWD/installed PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_PATH
# shellcheck disable=SC2046 # lists of words
${CC:-cc} -std=c11 -Wall -Wextra -Werror -o library "$source/library.c" $(pkg-config --cflags --libs gabbro) -pthread -lm 2>log
expect "a program is built by pkg-config" [ -x library ] || tail log
echo '#include <gabbro.h>' >header.cpp
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2046
    expect "the header is C++, too" c++ -std=c++11 -pedantic -Wall -Werror -fsyntax-only $(pkg-config --cflags gabbro) header.cpp
fi

small_beir 60 beir
collection=$(made collection --from beir --keep-splits)
random_model "$collection"
run=$(made bm25-run --collection "$collection" --split test)/run.trec
# A locale with a decimal comma, where the C library's sources of locales are there.
mkdir locales
if localedef -i de_DE -f UTF-8 locales/de_DE.UTF-8 >log 2>&1; then
    LOCPATH=$work/locales
    export LOCPATH
fi
# Memory that was given back is overwritten (glibc), so that it is not taken for what it was.
MALLOC_PERTURB_=165 LD_LIBRARY_PATH=$(dirname "$library")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ./library "$model" "$collection" "$run" \
    beir/qrels/test.tsv >out 2>said
expect "the program ends well" [ $? = 0 ] || tail out said
says() # WHAT LINE
{
    expect "$1" grep -qxF -e "$2" out
}
says "its version" "version: $("$gabbro" --version | sed 's/.* //')"
expect "all bad arguments are refused" [ "$(grep -c ': code [234]' out)" = 13 ]
expect "with the right codes" [ "$(grep -c WRONG out)" = 0 ]
says "vectors have the model's width" "width: 16"
says "a pair's score is the inner product" "score: inner product"
says "threads get the same bits" "threads: same"
asked=$("$gabbro" ask "$model" "$collection" 'rain stone' --json --quiet | grep -o '"_id":"d[0-9]*"' | sed 's/.*:"\(.*\)"/ \1/' |
    tr -d '\n')
says "an index finds what gabbro ask finds" "index of 60:$asked"
expect "in the same artifact" [ "$(find "$GABBRO_STORE" -maxdepth 1 -name 'index-*' | wc -l)" = 1 ]
says "so does an index whose model is closed" "alone:$(echo "$asked" | sed 's/\( d[0-9]*\).*/\1/')"
says "opened without a model it finds the same" "opened: same"
expect "it knows the texts" grep -q '^text: [a-z]* [a-z]*$' out
says "vectors of one's own are searched" "vectors: c a d b none none"
measured=$("$gabbro" eval -c -m ndcg_cut_10 beir/qrels/test.tsv "$run" 2>/dev/null | awk '{ print $3 }')
expect "a measure is that of gabbro eval" [ "$(sed -n 's/^measure: \(.*\), mean right/\1/p' out | awk '{ printf "%.4f", $1 }')" = "$measured" ]
says "ids stay when a run grows" "kept: query passage"
expect "a run is written" [ "$(awk '{ print $1, $3, $4 }' two.trec)" = "$(awk '$4 <= 2 { print $1, $3, $4 }' "$run")" ]
if grep -q '^commas: no such locale' out; then
    skipped "decimal commas of the caller's: needs the locale de_DE.UTF-8"
else
    says "a caller's locale has no part in files, and is kept" "commas: read 0.5, measured 1, locale kept"
    expect "scores are written with points" [ "$(cut -d ' ' -f 5 commas.trec | tr '\n' ' ')" = '0.75 0.5 ' ]
fi
expect "the library prints nothing" [ ! -s said ]
checks_end
