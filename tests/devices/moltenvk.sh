#!/bin/sh
# Nothing is asked of a device that MoltenVK does not offer (macOS): lavapipe behind a driver that gives no more.
#   moltenvk.sh GABBRO DRIVER TEST [full]    DRIVER: moltenvk.c; TEST: test_vk_runtime; full: every kernel, too
set -u
. "$(dirname -- "$0")/../checks.sh"
driver=$(readlink -f "$2")
runtime=$(readlink -f "$3") whole=${4:-}
enter_work moltenvk "$1"
unset GABBRO_DEVICE GABBRO_PROFILE GABBRO_LIMITS GABBRO_QUIRKS
MOLTENVK_BEHIND=$(find /usr/share/vulkan/icd.d -name 'lvp_icd*.json' -exec sed -n \
    's/.*"library_path": *"\([^"]*\)".*/\1/p' {} + 2>/dev/null | head -n 1)
[ -n "$MOLTENVK_BEHIND" ] || {
    skipped 'what MoltenVK offers: needs lavapipe'
    checks_end
    exit
}
printf '{"ICD": {"api_version": "1.1.0", "is_portability_driver": true, "library_path": "%s"}, "file_format_version": "1.0.1"}\n' \
    "$driver" >icd.json
VK_DRIVER_FILES=$work/icd.json VK_ICD_FILENAMES=$work/icd.json XDG_CACHE_HOME=$work/cache
export MOLTENVK_BEHIND VK_DRIVER_FILES VK_ICD_FILENAMES XDG_CACHE_HOME

"$gabbro" doctor --list >out 2>said
expect 'a driver that is not the whole of Vulkan is listed' grep -q '^0: what MoltenVK offers' out || cat out said
"$runtime" --filter 'vk_runtime/*replayed*' >out 2>&1
expect 'a program runs on it' grep -q 'Passing: [1-9].* Failing: 0 | Crashing: 0' out || tail out
expect 'and nothing is refused' [ "$(grep -c '^moltenvk: refused' out)" = 0 ]
if [ "$whole" = full ]; then
    "$gabbro" doctor >out 2>&1
    expect 'every kernel is right on it' [ $? = 0 ] || tail out
    expect 'by kernels for GPUs' grep -q scalar out
    expect 'and nothing is refused' [ "$(grep -c '^moltenvk: refused' out)" = 0 ]
fi

# The driver does refuse, and a device without timeline semaphores is told.
GABBRO_VALIDATION=0 MOLTENVK_LACKS=timeline "$gabbro" doctor >out 2>&1
expect 'a version without timeline semaphores: exit 4' [ $? = 4 ]
expect 'and that is said' grep -q 'timeline semaphores' out
GABBRO_VALIDATION=0 MOLTENVK_LACKS=portability "$gabbro" doctor >out 2>&1
expect 'a device without its subset is refused' grep -q '^moltenvk: refused: a device without VK_KHR_portability_subset' out

# Beside another driver of the same device, which has its UUID, only the chosen one is used and marked.
both=$work/icd.json:$(find /usr/share/vulkan/icd.d -name 'lvp_icd*.json' | head -n 1)
VK_DRIVER_FILES=$both VK_ICD_FILENAMES=$both GABBRO_VALIDATION=0 MOLTENVK_LACKS=portability \
    "$gabbro" doctor --quick --device cpu >out 2>&1
expect 'of two drivers of a device the chosen one is tested' [ $? = 0 ] || tail out
expect 'and no other' [ "$(grep -c '^moltenvk: refused' out)" = 0 ]
expect 'and one is marked' [ "$(grep -c '^ \* ' out)" = 1 ]
checks_end
