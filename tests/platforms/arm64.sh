#!/bin/sh
# 64-bit ARM by qemu-user: built by a cross compiler, the everyday tests, and what does not compute on a device has the
# bits of this machine's. Programs take some twenty times as long there; shell, awk and the like are this machine's.
#   arm64.sh BUILD [SUITE...]    suites of tests (default: unit op tape nn parity fault e2e fuzz)
# GABBRO_ARM64_TREE is a Debian 12 of arm64 with the packages of reproduce/setup.sh, unpacked (docs/reference/platforms.md
# says how to make it); GABBRO_ARM64_BUILD is the build folder, which is kept (the tree's name and .build).
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
QEMU_LD_PREFIX=$(readlink -f "$tree")
arm=${GABBRO_ARM64_BUILD:-$QEMU_LD_PREFIX.build}
# The loader lists this machine's folders, in which it does not find the tree's files.
VK_DRIVER_FILES=$QEMU_LD_PREFIX/usr/share/vulkan/icd.d/lvp_icd.aarch64.json
VK_LAYER_PATH=$QEMU_LD_PREFIX/usr/share/vulkan/explicit_layer.d
QEMU_CPU=${QEMU_CPU:-cortex-a72} # without SVE, with which programs take 1.4 times as long
enter_work arm64 "$made_by"
export QEMU_LD_PREFIX VK_DRIVER_FILES VK_LAYER_PATH QEMU_CPU

cross_build arm64 "$arm" "$QEMU_LD_PREFIX" -Dtests=enabled
same_texts '64-bit ARM' "$arm/src/cli/gabbro" x86-64 "$made_by"

export GABBRO_VALIDATION=1 CRITERION_VERBOSITY_LEVEL=1
for suite; do
    meson test -C "$arm" --no-rebuild --no-suite full --suite "$suite" --logbase arm64 --timeout-multiplier 60 >said 2>&1
    cp "$arm/meson-logs/arm64.txt" log
    awk -f "$here/../count.awk" log >counts
    sed '$d' counts
    expect "suite $suite: $(tail -n 1 counts)" grep -q '^[1-9][0-9]* passed, 0 failed' counts
done
checks_end
