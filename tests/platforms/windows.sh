#!/bin/sh
# Windows: the compiler of mingw-w64 takes every file of src that is for it. Nothing is linked or run.
#   windows.sh BUILD     BUILD: a build folder, for generated headers
set -u
. "$(dirname -- "$0")/../checks.sh"
here=$(readlink -f "$(dirname -- "$0")")
build=$(readlink -f "$1")
compiler=x86_64-w64-mingw32-gcc-posix
if ! command -v $compiler >/dev/null; then
    skipped "Windows: needs $compiler (apt install gcc-mingw-w64-x86-64)"
    checks_end
    exit
fi
enter_work windows "$build/src/cli/gabbro"

# Headers of the libraries, which are the same for every system; never those of this one's C library.
headers=$work/include
mkdir "$headers"
for library in jansson utf8proc libzstd zlib vulkan icu-uc libcrypto libarchive cairo lua5.4 libcurl; do
    folder=$(pkg-config --variable=includedir "$library")
    folder=${folder:-/usr/include}
    for place in "$folder" /usr/include/"$(cc -dumpmachine)"; do
        for name in jansson utf8proc zstd zlib zconf vulkan vk_video unicode openssl archive cairo lua curl cglm; do
            find "$place" -maxdepth 1 -name "$name*" -exec cp -rL {} "$headers/" \;
        done
    done
done
generated=$(find "$build/src" "$build/shaders" -name '*.h' -exec dirname {} + | sort -u | sed 's/^/-I/')
cd "$here/../.." || exit 1
# What only other systems have: POSIX, MPI, the server.
find src -name '*.c' ! -path src/os/posix.c ! -path src/ranks/mpi.c ! -path 'src/serve/*' -o -name server_none.c | LC_ALL=C sort >"$work/files"
# shellcheck disable=SC2086 # a list of words
xargs -P "$(nproc)" -I{} $compiler -std=gnu11 -fsyntax-only -w -D_GNU_SOURCE -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 \
    -DGABBRO_VERSION='"0"' -DGABBRO_ZSTD=1 -DGABBRO_GLSLC_DEFINES='""' -Werror=implicit-function-declaration -I include -I src \
    -I shaders $generated -I "$headers" -I "$headers/cairo" -I "$headers/lua5.4" {} <"$work/files" 2>"$work/said"
cd "$work" || exit 1
grep -c 'error: ' said >errors
expect "mingw-w64 takes $(wc -l <files) files" [ "$(cat errors)" = 0 ] || tail said
checks_end
