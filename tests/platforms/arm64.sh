#!/bin/sh
# 64-bit ARM by qemu-user: built by a cross compiler, some unit tests, and what does not compute on a device has the
# bits of this machine's. Trainings are left out: lavapipe takes too long under qemu.
#   arm64.sh BUILD
# GABBRO_ARM64_TREE is a Debian 12 of arm64 with the packages of reproduce/setup.sh, unpacked (docs/reference/platforms.md
# says how to make it); GABBRO_ARM64_BUILD is the build folder, which is kept (the tree's name and .build).
set -u
. "$(dirname -- "$0")/../checks.sh"
. "$(dirname -- "$0")/texts.sh"
here=$(readlink -f "$(dirname -- "$0")")
tree=${GABBRO_ARM64_TREE:-}
compiler=aarch64-linux-gnu-gcc
if [ -z "$tree" ] || ! command -v $compiler >/dev/null || [ ! -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ]; then
    skipped "64-bit ARM: needs GABBRO_ARM64_TREE, $compiler, and qemu-user-static with binfmt"
    checks_end
    exit
fi
made_by=$(readlink -f "$1")/src/cli/gabbro
QEMU_LD_PREFIX=$(readlink -f "$tree")
arm=${GABBRO_ARM64_BUILD:-$QEMU_LD_PREFIX.build}
export QEMU_LD_PREFIX
enter_work arm64 "$made_by"

printf "[constants]\nroot = '%s'\n" "$QEMU_LD_PREFIX" >root.ini
[ -f "$arm/build.ninja" ] || meson setup --cross-file root.ini --cross-file "$here/../../cross/arm64.ini" "$arm" \
    "$here/../.." --buildtype=release -Dwerror=false -Dmpi=disabled -Dtests=enabled >said 2>&1
programs='base json masking selftest tokenizer'
# shellcheck disable=SC2046,SC2086 # lists of words
ninja -C "$arm" src/cli/gabbro $(printf 'tests/unit/test_%s ' $programs) >said 2>&1
expect 'it is built' [ $? = 0 ] || tail said
for program in $programs; do
    "$arm/tests/unit/test_$program" >out 2>&1
    expect "unit test $program" grep -q 'Passing: [1-9].* Failing: 0 | Crashing: 0' out || tail out
done

small_beir 60 beir
texts_of "$made_by" here >right
texts_of "$arm/src/cli/gabbro" there >left
expect 'files are compared' [ "$(wc -l <right)" -gt 10 ]
trust 'files of a collection, its vocabulary, tokens and BM25 that differ on 64-bit ARM' 'x86-64' "$(diff right left | grep -c '^[<>]')" 0
checks_end
