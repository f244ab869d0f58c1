#!/bin/sh
# 64-bit ARM by qemu-user: built by a cross compiler; the bits of this machine's files, and of a table that is trained on
# lavapipe with ARM's width of vectors; the everyday tests. Programs take some twenty times as long there; shell, awk and the
# like are this machine's.
#   arm64.sh BUILD [SUITE...]    suites of tests (default: unit op tape nn parity fault e2e fuzz)
# GABBRO_ARM64_TREE is a Debian 12 of arm64 with the packages of reproduce/setup.sh, unpacked (docs/reference/platforms.md
# says how to make it); the build folder, build-arm64, is kept.
set -u
. "$(dirname -- "$0")/../checks.sh"
. "$(dirname -- "$0")/cross.sh"
here=$(readlink -f "$(dirname -- "$0")")
tree=${GABBRO_ARM64_TREE:-}
compiler=aarch64-linux-gnu-gcc
if [ -z "$tree" ] || ! command -v $compiler >/dev/null || [ ! -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ]; then
    skipped "64-bit ARM: needs GABBRO_ARM64_TREE, $compiler, and qemu-user-static with binfmt"
    checks_end
    exit
fi
made_by=$(readlink -f "$1")/src/cli/gabbro
shift
[ $# -gt 0 ] || set -- unit op tape nn parity fault e2e fuzz
arm=$(readlink -f "$here/../..")/build-arm64 # below the sources, where the program finds its tables
enter_work arm64 "$made_by"
QEMU_LD_PREFIX=$(readlink -f "$tree")
QEMU_CPU=${QEMU_CPU:-cortex-a72} # without SVE, with which programs take 1.4 times as long
# The loader lists this machine's folders, in which it does not find the tree's files.
VK_DRIVER_FILES=$QEMU_LD_PREFIX/usr/share/vulkan/icd.d/lvp_icd.aarch64.json
VK_LAYER_PATH=$QEMU_LD_PREFIX/usr/share/vulkan/explicit_layer.d
export QEMU_LD_PREFIX QEMU_CPU VK_DRIVER_FILES VK_LAYER_PATH
printf '#!/bin/sh\nunset VK_DRIVER_FILES VK_LAYER_PATH\nLP_NATIVE_VECTOR_WIDTH=128 exec "%s" "$@"\n' "$made_by" >by-x86
chmod +x by-x86

cross_build arm64 "$arm" "$QEMU_LD_PREFIX" -Dtests=enabled
same_texts '64-bit ARM' "$arm/src/cli/gabbro" x86-64 "$work/by-x86"
same_table '64-bit ARM' "$arm/src/cli/gabbro" 'x86-64, vectors of 128 bits' "$work/by-x86"

export GABBRO_VALIDATION=1 CRITERION_VERBOSITY_LEVEL=1
for suite; do
    meson test -C "$arm" --no-rebuild --no-suite full --suite "$suite" --logbase arm64 --timeout-multiplier 60 >said 2>&1
    cp "$arm/meson-logs/arm64.txt" log
    awk -f "$here/../count.awk" log >counts
    sed '$d' counts
    expect "suite $suite: $(tail -n 1 counts)" grep -q '^[1-9][0-9]* passed, 0 failed' counts
done
checks_end
