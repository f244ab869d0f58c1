#!/bin/sh
# The device tests on every Vulkan implementation there is; called by ./tests/run --devices.
#   tests/devices/run.sh BUILD all|LIST [TEST...]
#   BUILD   a build folder
#   LIST    parts of names with commas between (mesa-25, swiftshader); "list" only prints the names
#   TEST    these programs instead of the device tests (as in tests/, e.g. op/test_topk)
# What is looked through for drivers (files with "icd" in their name that end in .json): those of the
# system, Chromium's, and the folders that GABBRO_TEST_ICDS names (colons between; without it
# ~/.cache/gabbro/icds, where fetch.sh of this folder puts some). A folder there that holds a whole
# Debian (fetch.sh debian makes one) is entered by chroot, and tests/run runs inside.
# Each implementation is tested as it is and with GABBRO_LIMITS=min; lavapipe also with vectors of 128
# bits, which makes its subgroups small. One line each; logs are in BUILD/meson-logs/devices.
# Status: 0 all passed, 1 something failed, 2 usage, or nothing was found.
set -u
[ $# -ge 2 ] || {
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0"
    exit 2
}
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd) || exit 2
build=$(CDPATH='' cd -- "$1" && pwd) || exit 2
wanted=$2
shift 2
places=${GABBRO_TEST_ICDS:-${XDG_CACHE_HOME:-$HOME/.cache}/gabbro/icds}
logs=$build/meson-logs/devices
gabbro=$build/src/cli/gabbro
mkdir -p "$logs" || exit 2
[ $# -gt 0 ] || set -- unit/test_vk_runtime unit/test_vk_memory op/test_adamw op/test_attention op/test_contrast \
    op/test_ops op/test_topk \
    tape/test_gradients tape/test_replay tape/test_search nn/test_training nn/test_objectives nn/test_encode
: "${GABBRO_VALIDATION:=1}"
CRITERION_VERBOSITY_LEVEL=1
export GABBRO_VALIDATION CRITERION_VERBOSITY_LEVEL
unset GABBRO_DEVICE GABBRO_PROFILE GABBRO_LIMITS GABBRO_QUIRKS GABBRO_SELFTEST GABBRO_SPOIL

# "NAME<tab>KIND<tab>PATH" of what there is: KIND driver (a JSON file) or debian (a folder).
find_all()
{
    for file in /usr/share/vulkan/icd.d/*.json /etc/vulkan/icd.d/*.json \
        /usr/lib/chromium/*icd*.json /opt/google/chrome/*icd*.json; do
        [ ! -f "$file" ] || find_driver system "$file"
    done
    printf '%s\n' "$places" | tr : '\n' | while read -r place; do
        [ -d "$place" ] || continue
        for folder in "$place"/*/; do
            name=$(basename "$folder")
            if [ -f "$folder/etc/debian_version" ]; then
                printf '%s\tdebian\t%s\n' "$name" "${folder%/}"
            else
                find "$folder" -name '*icd*.json' -path '*icd*' | sort | while read -r file; do
                    find_driver "$name" "$file"
                done
            fi
        done
    done
}

# Drivers without a device here are left out.
find_driver() # FOLDER FILE
{
    device=$(VK_ICD_FILENAMES=$2 VK_DRIVER_FILES=$2 "$gabbro" doctor --list 2>/dev/null | sed -n '1s/^0: //p')
    [ -z "$device" ] || printf '%s: %s\tdriver\t%s\n' "$1" "$device" "$2"
}

chosen() # NAME
{
    [ "$wanted" != all ] || return 0
    for word in $(printf '%s' "$wanted" | tr , ' '); do
        printf '%s' "$1" | tr ' ' - | grep -qiF -- "$word" && return 0
    done
    return 1
}

# Counts of one Criterion program: "passed failed skipped".
count() # LOG STATUS
{
    awk -v status="$2" '
        { gsub(/\033\[[0-9;]*m/, "") }
        /^\[SKIP\]/ { skipped++ }
        /^\[====\] Synthesis: Tested: / {
            for (i = 1; i < NF; i++) {
                if ($i == "Tested:") tested = $(i + 1)
                if ($i == "Passing:") good = $(i + 1)
            }
        }
        END {
            wrong = tested - good
            if (status != 0 && !wrong) wrong = 1 # killed, timed out
            print good + 0, wrong, skipped + 0
        }' "$1"
}

add() # PASSED FAILED SKIPPED
{
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}

# A command as one more test.
check() # WHAT COMMAND...
{
    what=$1
    shift
    if timeout "$patience" "$@" >"$logs/$slug-$what.txt" 2>&1; then
        add 1 0 0
    else
        add 0 1 0
        bad="$bad $what"
    fi
}

patience=${GABBRO_TEST_PATIENCE:-1800} # seconds for one program

run_driver() # NAME SETTING TEST...
{
    name=$1 setting=$2
    shift 2
    slug=$(printf '%s %s' "$name" "$setting" | tr -cs 'A-Za-z0-9._\n' -)
    passed=0 failed=0 skipped=0 bad='' begun=$(date +%s)
    check doctor env "${setting:-GABBRO_DEVICE=}" "$gabbro" doctor
    for test; do
        log=$logs/$slug-$(basename "$test").txt
        env "${setting:-GABBRO_DEVICE=}" timeout "$patience" "$build/tests/$test" >"$log" 2>&1
        counts=$(count "$log" $?)
        # shellcheck disable=SC2086 # three numbers
        add $counts
        [ "${counts#* 0 }" != "$counts" ] || bad="$bad $test"
    done
    check determinism env "${setting:-GABBRO_DEVICE=}" "$gabbro" determinism --steps 12 --replays 20
    report
}

report()
{
    line="$passed passed, $failed failed"
    [ $skipped = 0 ] || line="$line, $skipped skipped"
    printf '%-58s %-28s %s, %s s%s\n' "$name" "$setting" "$line" "$(($(date +%s) - begun))" \
        "${bad:+; failed:$bad}"
    printf 'trust:\t%s: device tests that failed\tfloat64, itself (%s tests%s)\t%s\t0\n' "$name${setting:+, $setting}" \
        $((passed + failed)) "$([ $skipped = 0 ] || echo ", $skipped skipped")" "$failed"
    all_passed=$((all_passed + passed)) all_failed=$((all_failed + failed)) all_skipped=$((all_skipped + skipped))
}

# The whole suite inside a Debian folder, with its own packages and validation layer.
run_debian() # NAME FOLDER
{
    name=$1 setting='whole suite inside' passed=0 failed=0 skipped=0 bad='' begun=$(date +%s)
    log=$logs/$name.txt
    if [ "$(id -u)" != 0 ]; then
        printf '%-58s %s\n' "$name" 'skipped: entering it needs root'
        echo "skipped - $name: entering it needs root"
        all_skipped=$((all_skipped + 1))
        return
    fi
    mkdir -p "$2/root/gabbro"
    [ -e "$2/proc/self" ] || mount -t proc proc "$2/proc"
    (cd "$root" && git ls-files -z --cached --others --exclude-standard | tar --null -T - -c) |
        tar -x -C "$2/root/gabbro"
    # What these name lies outside.
    chroot "$2" env -u GABBRO_TEST_DATA -u GABBRO_TEST_MODEL -u GABBRO_TEST_ICDS HOME=/root GABBRO_VALIDATION=sync /root/gabbro/tests/run --no-install >"$log" 2>&1
    # shellcheck disable=SC2046 # three numbers
    add $(tail -n 1 "$log" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed\(, \([0-9]*\) skipped\)\{0,1\}$/\1 \2 \4/p' |
        awk '{ print $1, $2, $3 + 0 } END { if (!NR) print 0, 1, 0 }')
    report
}

all_passed=0 all_failed=0 all_skipped=0 found=$logs/found.tsv
# A driver that lies in two places is one.
find_all | sort -u -t "$(printf '\t')" -k1,1 |
    awk -F '\t' '{ device = $1; sub(/^[^:]*: /, "", device) } !seen[device]++' >"$found"
if [ "$wanted" = list ]; then
    cut -f 1,3 "$found"
    exit 0
fi
some=no here=$PWD
cd "$build" || exit 2 # as Meson does: tests leave files
while IFS="$(printf '\t')" read -r entry kind path <&3; do
    chosen "$entry" || continue
    some=yes
    case $path in /*) ;; *) path=$here/$path ;; esac
    if [ "$kind" = debian ]; then
        run_debian "$entry" "$path"
        continue
    fi
    VK_ICD_FILENAMES=$path VK_DRIVER_FILES=$path
    export VK_ICD_FILENAMES VK_DRIVER_FILES
    run_driver "$entry" '' "$@"
    run_driver "$entry" GABBRO_LIMITS=min "$@"
    case $entry in
    *llvmpipe*)
        # Mesa's cache does not tell code for one width from that for another.
        MESA_SHADER_CACHE_DIR=$logs/shaders-128
        export MESA_SHADER_CACHE_DIR
        run_driver "$entry" LP_NATIVE_VECTOR_WIDTH=128 "$@"
        unset MESA_SHADER_CACHE_DIR
        ;;
    esac
    unset VK_ICD_FILENAMES VK_DRIVER_FILES
done 3<"$found"
if [ $some = no ]; then
    echo "tests/devices/run.sh: no device is called $wanted; there is:" >&2
    cut -f 1 "$found" >&2
    exit 2
fi
printf '%s passed, %s failed' "$all_passed" "$all_failed"
[ $all_skipped = 0 ] || printf ', %s skipped' "$all_skipped"
echo
[ $all_failed = 0 ]
