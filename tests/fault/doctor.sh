#!/bin/sh
# gabbro doctor finds kernels that are wrong, avoids them from then on, or refuses the device.
# usage: doctor.sh GABBRO
set -u
gabbro=$1
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../checks.sh"
WORK=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-doctor.XXXXXX") || exit 1
trap 'rm -rf "$WORK"' EXIT
# What is found is kept here; compiled shaders stay where they are kept for all.
XDG_CACHE_HOME=$WORK/cache
: "${MESA_SHADER_CACHE_DIR:=${HOME:-/tmp}/.cache}"
export XDG_CACHE_HOME MESA_SHADER_CACHE_DIR
unset GABBRO_SELFTEST GABBRO_QUIRKS
GABBRO_PROFILE=cpu
export GABBRO_PROFILE

if ! "$gabbro" doctor --list | grep -q .; then
    skipped 'doctor: there is no Vulkan device'
    checks_end
    exit
fi
if "$gabbro" doctor --quick >"$WORK/out" 2>&1 && grep -q '^All is well' "$WORK/out"; then
    good 'all kernels are right'
else
    bad 'all kernels are right' "$WORK/out"
fi
matrices=$(grep -c ' of half floats, by ' "$WORK/out")
# Behind a kernel's name, a column for each variant of it.
worst=$(awk '/^  .* [0-9.]+e[-+][0-9]+/ && !/right up to/ {
    kernels++
    for (i = 2; i <= NF; i++) if ($i ~ /^[0-9.]+e[-+][0-9]+$/ && $i + 0 >= most + 0) most = $i
} END { print kernels, most }' "$WORK/out")
trust "gabbro doctor: ${worst% *} kernels, forward and gradients" "float64 reference" "${worst#* }" \
    "$(sed -n 's/.*right up to \([0-9.e-]*\);.*/\1/p' "$WORK/out")"
grep -q 'no_shuffle_norm' "$WORK/out" && {
    skipped 'doctor: the kernels to be spoiled cannot run here'
    checks_end
    exit
}
expect 'a right driver: nothing is avoided' grep -q '^wrong none' "$WORK"/cache/gabbro/selftest-*.txt

# One variant is spoiled: it is found, and the next best is used without being asked.
GABBRO_SPOIL=layernorm_forward_texel
export GABBRO_SPOIL
"$gabbro" doctor --quick >"$WORK/out" 2>&1
code=$?
expect 'the device stays in use' [ $code = 0 ]
if grep -q '^WRONG  *layer norm by shuffles: from now on rows one by one instead' "$WORK/out"; then
    good 'the wrong variant is named'
else
    bad 'the wrong variant is named' "$WORK/out"
fi
expect 'what was found is kept' grep -qx 'wrong no_shuffle_norm' "$WORK"/cache/gabbro/selftest-*.txt
"$gabbro" determinism --steps 3 --replays 2 >"$WORK/out" 2>&1
code=$?
expect 'a training goes on without it' [ $code = 0 ]
expect 'and says so' grep -q 'quirks no_shuffle_norm' "$WORK/out"

# A new driver is tested before its first training.
rm -f "$WORK"/cache/gabbro/selftest-*.txt
"$gabbro" determinism --steps 3 --replays 2 >"$WORK/out" 2>&1
expect 'a new driver is tested first' grep -q 'layer norm by shuffles compute wrong numbers here' "$WORK/out"

# All variants of a kernel are spoiled: the device is refused, until the driver changes.
GABBRO_SPOIL=layernorm_forward_texel,layernorm_forward
"$gabbro" doctor --quick >"$WORK/out" 2>&1
code=$?
expect 'a device without right kernels fails the check' [ $code = 1 ]
expect 'it says which' grep -q '^REFUSED .*layer norm' "$WORK/out"
"$gabbro" determinism >"$WORK/out" 2>&1
code=$?
expect 'and it is not used' [ $code = 4 ]
expect 'with a message' grep -q 'its kernels compute wrong numbers: .*layer norm' "$WORK/out"
unset GABBRO_SPOIL
"$gabbro" determinism --steps 3 --replays 2 >"$WORK/out" 2>&1
code=$?
expect 'another driver is another matter' [ $code = 0 ]

# What a kernel writes beside its first tensor counts, too: columns of top-k, AdamW's moments.
if ! command -v glslc >/dev/null; then
    skipped 'doctor: kernels with another fault need glslc'
else
    cp -r "$(dirname -- "$0")/../../shaders/common" "$WORK/" && mkdir "$WORK/kernels" && mv "$WORK/common" "$WORK/kernels"
    for edit in 'adamw/store_v(at, v1)/store_v(at, v1 * 1.5)' 'top_k/columns_ld + at] = c;/columns_ld + at] = c ^ 1u;'; do
        sed "s/${edit#*/}/" "$(dirname -- "$0")/../../shaders/${edit%%/*}.comp" >"$WORK/kernels/${edit%%/*}.comp"
    done
    "$gabbro" doctor --quick --shaders "$WORK/kernels" >"$WORK/out" 2>&1
    code=$?
    expect 'wrong columns and moments fail the check' [ $code = 1 ]
    expect 'and are named' grep -q '^REFUSED .*: AdamW; AdamW of a scaled loss; top-k$' "$WORK/out"
    cp "$(dirname -- "$0")/../../shaders/adamw.comp" "$(dirname -- "$0")/../../shaders/top_k.comp" "$WORK/kernels/"
    "$gabbro" determinism --shaders "$WORK/kernels" --steps 3 --replays 2 >"$WORK/out" 2>&1
    code=$?
    expect 'the two that it starts and kills use the same kernels' \
        [ "$code $(grep -c 'kernels from .*/kernels: 0 differ' "$WORK/out")" = '0 3' ]
fi

# A fault that is worked around by hand is none that is gone.
GABBRO_SPOIL=layernorm_forward_texel
export GABBRO_SPOIL
rm -f "$WORK"/cache/gabbro/selftest-*.txt
GABBRO_QUIRKS=no_shuffle_norm "$gabbro" determinism --steps 3 --replays 2 >"$WORK/out" 2>&1
"$gabbro" determinism --steps 3 --replays 2 >"$WORK/out" 2>&1
expect 'without the workaround the driver is tested, too' grep -q 'layer norm by shuffles compute wrong numbers here' "$WORK/out"
unset GABBRO_SPOIL

# Cooperative matrices, where there are some: wrong ones are left out, and the device stays in use.
if [ "$matrices" = 0 ]; then
    skipped 'doctor: the device has no cooperative matrices'
else
    GABBRO_PROFILE=matrix
    GABBRO_SPOIL=matmul_matrix,matmul_matrix_khr
    export GABBRO_SPOIL
    "$gabbro" doctor --quick >"$WORK/out" 2>&1
    code=$?
    expect 'with wrong matrices the device stays in use' [ $code = 0 ]
    expect 'they are named' grep -q '^WRONG  *products by cooperative matrices: from now on products of floats' "$WORK/out"
    expect 'what was found is kept' grep -qx 'wrong no_matrix' "$WORK"/cache/gabbro/selftest-matrix-*.txt
    expect 'and heeded' sh -c "'$gabbro' determinism --steps 3 --replays 2 2>&1 | grep -q 'quirks no_matrix'"
    rm -f "$WORK"/cache/gabbro/selftest-matrix-*.txt
    GABBRO_SPOIL=attention_forward_matrix,attention_forward_matrix_khr
    "$gabbro" doctor --quick >"$WORK/out" 2>&1
    code=$?
    expect 'with wrong attention by matrices products keep them' [ $code = 0 ]
    expect 'it is named' grep -q '^WRONG  *attention by cooperative matrices: from now on attention of floats' "$WORK/out"
    expect 'and kept' grep -qx 'wrong no_matrix_attention' "$WORK"/cache/gabbro/selftest-matrix-*.txt
fi
checks_end
