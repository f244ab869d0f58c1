#!/bin/sh
# Windows: built by mingw-w64, run by Wine with lavapipe, and compared with this machine's build.
#   windows.sh BUILD     BUILD: a build folder of this system
# GABBRO_WINDOWS_LIBRARIES is the folder of windows-libraries.sh; the build folder, build-windows, is kept. Without
# libraries nothing is linked: the compiler takes every file of src that is for Windows.
set -u
. "$(dirname -- "$0")/../checks.sh"
. "$(dirname -- "$0")/cross.sh"
here=$(readlink -f "$(dirname -- "$0")")
build=$(readlink -f "$1")
compiler=x86_64-w64-mingw32-gcc-posix
if ! command -v $compiler >/dev/null; then
    skipped "Windows: needs $compiler (apt install gcc-mingw-w64-x86-64)"
    checks_end
    exit
fi
libraries=${GABBRO_WINDOWS_LIBRARIES:-}
[ -z "$libraries" ] || libraries=$(readlink -f "$libraries")
windows=$(readlink -f "$here/../..")/build-windows # below the sources, where the program finds its tables
runs=yes
[ -n "$libraries" ] && command -v wine >/dev/null && command -v xvfb-run >/dev/null || runs=no
# Wine's Vulkan needs a screen.
[ $runs = no ] || [ -n "${DISPLAY:-}" ] || exec xvfb-run -a "$0" "$@"
enter_work windows "$build/src/cli/gabbro"
unset GABBRO_VALIDATION

# ---- compiled alone ----

compile_all()
{
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
    find src -name '*.c' ! -path src/os/posix.c ! -path src/os/sums.c ! -path src/ranks/mpi.c ! -path 'src/serve/*' -o -name server_none.c |
        LC_ALL=C sort >"$work/files"
    # shellcheck disable=SC2086 # a list of words
    xargs -P "$(nproc)" -I{} $compiler -std=gnu11 -fsyntax-only -w -D_GNU_SOURCE -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 \
        -DGABBRO_VERSION='"0"' -DGABBRO_ZSTD=1 -DGABBRO_GLSLC_DEFINES='""' -Werror=implicit-function-declaration -I include -I src \
        -I shaders $generated -I "$headers" -I "$headers/cairo" -I "$headers/lua5.4" {} <"$work/files" 2>"$work/said"
    cd "$work" || exit 1
    grep -c 'error: ' said >errors
    expect "mingw-w64 takes $(wc -l <files) files" [ "$(cat errors)" = 0 ] || tail said
}

if [ $runs = no ]; then
    compile_all
    skipped 'Windows: to link and run needs GABBRO_WINDOWS_LIBRARIES, wine and xvfb-run (apt install wine64 wine xvfb xauth)'
    checks_end
    exit
fi

# ---- built ----

# Meson tries Wine as it configures.
WINEPREFIX=$windows/wine WINEDEBUG=-all WINEDLLOVERRIDES='winemenubuilder.exe,winedbg.exe=d'
XDG_CONFIG_HOME=$windows/wine # Wine makes folders there
export WINEPREFIX WINEDEBUG WINEDLLOVERRIDES
programs='unit/test_os unit/test_check unit/test_folder unit/test_formats unit/test_json unit/test_masking unit/test_plot
    unit/test_row_file unit/test_selftest unit/test_tokenizer unit/test_world op/test_adamw op/test_attention op/test_ops op/test_topk
    tape/test_replay nn/test_objectives parity/test_parity_bert'
# shellcheck disable=SC2046,SC2086 # lists of words
cross_build windows "$windows" "$libraries" '-Dserve=disabled -Dsentencepiece=disabled' src/cli/gabbro.exe \
    $(printf 'tests/%s.exe ' $programs)

# ---- run ----

made_by=$gabbro
trap 'wineserver -k; cd / && rm -rf "$work"' EXIT
printf '#!/bin/sh\nLC_ALL=C.UTF-8 exec wine "%s" "$@"\n' "$windows/src/cli/gabbro.exe" >by-wine && chmod +x by-wine
mkdir 'a päth with blanks' && cd 'a päth with blanks' || exit 1
LC_ALL=C.UTF-8 wine wineboot >said 2>&1 # the first start makes its folder and takes long
expect 'it says its version' [ "$(../by-wine --version)" = "$("$made_by" --version)" ]
../by-wine doctor --list >devices 2>said
expect 'it finds a device' grep -q llvmpipe devices || tail said
for program in $programs; do
    LC_ALL=C.UTF-8 wine "$windows/tests/$program.exe" >out 2>said
    expect "$(basename "$program")" grep -q 'Passing: [1-9].* Failing: 0 | Crashing: 0' out || tail out
done

# ---- compared ----

same_texts Windows "$work/by-wine" Linux "$made_by"
expect 'paths are taken with backslashes' [ -n "$(gabbro=$work/by-wine made collection --from '.\beir' --keep-splits)" ]
same_table Windows "$work/by-wine" Linux "$made_by"
checks_end
