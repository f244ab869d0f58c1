#!/bin/sh
# What stands between the sources and Windows: gives every file of src to mingw-w64's compiler, without making anything,
# and prints those that it does not take, each with what it asks for first, and their number last.
#   tests/platforms/windows.sh BUILD     BUILD: a build folder, for generated headers
set -u
here=$(readlink -f "$(dirname -- "$0")")
build=$(readlink -f "${1:-/nonexistent}") && [ -d "$build/shaders" ] || {
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0" >&2
    exit 2
}
compiler=x86_64-w64-mingw32-gcc
command -v $compiler >/dev/null || {
    echo "windows.sh: needs $compiler (apt install gcc-mingw-w64-x86-64)" >&2
    exit 2
}
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-windows.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
cd "$here/../.." || exit 1

# Headers of the libraries, which are the same for every system; never those of this one's C library.
mkdir "$work/include"
for library in jansson utf8proc libzstd zlib vulkan icu-uc libcrypto libarchive cairo lua5.4 libcurl libmicrohttpd; do
    folder=$(pkg-config --variable=includedir "$library")
    folder=${folder:-/usr/include}
    ls "$folder" /usr/include/"$(cc -dumpmachine)" | while read -r name; do
        case $name in
        jansson* | utf8proc* | zstd* | zlib* | zconf* | vulkan | vk_video | unicode | openssl | archive* | cairo | lua* | curl | \
            microhttpd* | cglm)
            for place in /usr/include/"$(cc -dumpmachine)" "$folder"; do
                [ ! -e "$place/$name" ] || cp -rL "$place/$name" "$work/include/"
            done
            ;;
        esac
    done
done
generated=$(find "$build/src" "$build/shaders" -name '*.h' -exec dirname {} + | sort -u | sed 's/^/-I/')

find src -name '*.c' ! -name mpi.c ! -path src/serve/server.c | LC_ALL=C sort >"$work/files"
while read -r file; do
    # shellcheck disable=SC2086 # a list of words
    $compiler -std=gnu11 -fsyntax-only -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Duint=uint32_t -DGABBRO_VERSION='"0"' \
        -DGABBRO_ZSTD=1 -DGABBRO_GLSLC_DEFINES='""' -Werror=implicit-function-declaration -I include -I src -I shaders \
        $generated -I "$work/include" -I "$work/include/cairo" -I "$work/include/lua5.4" "$file" 2>"$work/said" && continue
    printf '%s\t%s\n' "$file" "$(sed -n "s/.*fatal error: \([^:]*\): No such.*/\1/p; s/.*error: implicit declaration of function .\([a-z0-9_]*\).*/\1/p
        s/.*error: .\([A-Z0-9_]*\). undeclared.*/\1/p; s/.*error: too many arguments to function .\([a-z]*\).*/\1/p" \
        "$work/said" | LC_ALL=C sort -u | tr '\n' ' ' | sed 's/ $//')"
done <"$work/files" >"$work/found.tsv"
cat "$work/found.tsv"
echo "$(wc -l <"$work/files") files, $(wc -l <"$work/found.tsv") of which mingw-w64 does not compile"
