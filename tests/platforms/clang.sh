#!/bin/sh
# Built by clang, which evaluates in another order than GCC what C leaves open (arguments of a call, for one): its
# warnings are errors, and what tests know by its bits, such as the world, comes out the same.
#   clang.sh SOURCES
set -u
. "$(dirname -- "$0")/../checks.sh"
tests=$(readlink -f "$(dirname -- "$0")/..")
sources=$(readlink -f "$1")
if ! command -v clang >/dev/null; then
    skipped "clang: there is none (apt install clang)"
    checks_end
    exit
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-clang.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
cd "$work" || exit 1
CC=clang CXX=clang++ meson setup build "$sources" --buildtype=release -Dwerror=true >said 2>&1 && ninja -C build >>said 2>&1
expect 'it is built without a warning' [ $? = 0 ] || tail said
meson test -C build --no-rebuild --no-suite full --suite unit --suite tape --suite parity --timeout-multiplier 3 >said 2>&1
awk -f "$tests/count.awk" build/meson-logs/testlog.txt >counts
sed '$d' counts
expect "tests of suites unit, tape and parity: $(tail -n 1 counts)" grep -q '^[1-9][0-9]* passed, 0 failed' counts
checks_end
