#!/bin/sh
# Runs a test of the build with sanitizers: undefined behaviour ends it, a leak fails it. The CPU driver
# stays loaded in a program, so that what it keeps for itself has its name (leaks.txt); scripts run other
# programs too and do not look for leaks.
#   sanitized.sh COMMAND...
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}"
case $1 in
*/sh | *.sh) exec env ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" "$@" ;;
esac
driver=$(sed -n 's/.*"library_path": "\(.*\)".*/\1/p' /usr/share/vulkan/icd.d/lvp_icd*.json 2>/dev/null | head -n 1)
[ -f "$driver" ] || exec "$@"
exec env LSAN_OPTIONS="suppressions=$here/leaks.txt:print_suppressions=0" \
    LD_PRELOAD="$(cc -print-file-name=libasan.so):$driver" "$@"
