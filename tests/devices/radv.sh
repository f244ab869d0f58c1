#!/bin/sh
# Every kernel through RADV's compiler for GPUs that are not there: RADV_FORCE_FAMILY of Mesa 22 to 25
# makes pipelines and runs nothing. usage: radv.sh GABBRO [SIZES]
set -u
gabbro=$(readlink -f "$1")
sizes=${2:-mini}
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-radv.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
icd=$(find /usr/share/vulkan/icd.d /etc/vulkan/icd.d -name 'radeon_icd*.json' 2>/dev/null | head -n 1)
VK_ICD_FILENAMES=$icd VK_DRIVER_FILES=$icd XDG_CACHE_HOME=$work/cache MESA_SHADER_CACHE_DISABLE=true
: "${GABBRO_VALIDATION:=1}"
export VK_ICD_FILENAMES VK_DRIVER_FILES XDG_CACHE_HOME MESA_SHADER_CACHE_DISABLE GABBRO_VALIDATION
unset GABBRO_DEVICE GABBRO_PROFILE GABBRO_LIMITS GABBRO_TUNE GABBRO_QUIRKS

# GCN, RDNA2, RDNA3 and RDNA3.5; Mesa 22 and later ones have two names for the third.
tried=0
for family in vega20 navi21 gfx1100 navi31 gfx1151; do
    [ -n "$icd" ] || break
    RADV_FORCE_FAMILY=$family "$gabbro" kernels --size "$sizes" --tsv "$work/$family.tsv" >"$work/out" 2>"$work/messages"
    code=$?
    if [ $code = 4 ] || grep -q '^radv: Unknown family' "$work/messages"; then
        skipped "$family: this RADV does not know it"
        continue
    fi
    tried=$((tried + 1))
    expect "$family: every kernel compiles, and the validation layer is silent" [ $code = 0 ]
    [ $code = 0 ] || cat "$work/messages" "$work/out"
    expect "$family: the compiler says what it made" grep -q ' 0 fail to compile, [0-9]* spill' "$work/out"
    expect "$family: steps of every objective, scoring and loss, of generators and cross-encoders" awk -F '\t' '
        BEGIN { split("deepct;costa;fine-tuning, sparse;fine-tuning, coil;fine-tuning, lambdarank;generator;cross-encoder", names, ";") }
        { seen[$1] = 1; floor = floor || $2 == "max_sim_forward" && $3 ~ /,1$/ }
        END { for (n in names) missing += !seen["mini " names[n] ", step"]; exit missing || !floor }' "$work/$family.tsv"
    expect "$family: a program has its kernels, with registers and workgroups" awk -F '\t' '
        $1 == "mini coCondenser, step" && $2 ~ /^matmul/ && $6 > 0 && $11 > 0 && $12 > 0 { n++ }
        END { exit !n }' "$work/$family.tsv"
done
[ $tried -gt 0 ] || skipped 'kernels for GPUs: no RADV here that can be told which GPU there is'
checks_end
