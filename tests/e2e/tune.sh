#!/bin/sh
# gabbro tune keeps a choice of tiles that is used where it is asked for, and is part of keys then.
# usage: tune.sh GABBRO [measure]: measure also really tunes, which takes long on a CPU device
set -u
gabbro=$1
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
WORK=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-tune.XXXXXX") || exit 1
trap 'rm -rf "$WORK"' EXIT
XDG_CACHE_HOME=$WORK/cache
: "${MESA_SHADER_CACHE_DIR:=${HOME:-/tmp}/.cache}"
export XDG_CACHE_HOME MESA_SHADER_CACHE_DIR
unset GABBRO_TUNE GABBRO_LIMITS
"$gabbro" tune --seconds nothing >"$WORK/out" 2>&1
code=$?
expect 'wrong options: exit 2' [ $code = 2 ]
if [ "$("$gabbro" doctor --type --device cpu 2>/dev/null)" != cpu ]; then
    skipped 'tune: there is no CPU device'
    checks_end
    exit
fi

identity() # [SETTING]: of the CPU device with it
{
    env "${1:-GABBRO_DEVICE=cpu}" "$gabbro" compare-devices cpu cpu --names | head -n 1
}
plain=$(identity)
expect 'a key says which tiles were asked for' [ "$(identity GABBRO_TUNE=0x2c68d)" = "$plain | tiles 0x2c68d" ]
expect 'off: none' [ "$(identity GABBRO_TUNE=off)" = "$plain" ]
expect 'on, but nothing was tuned: none' [ "$(identity GABBRO_TUNE=on)" = "$plain" ]
if [ "${2:-}" = measure ]; then
    "$gabbro" tune --device cpu --seconds .02 >"$WORK/out" 2>&1
    code=$?
    tiles=$(sed -n 's/^tiles \(0x[0-9a-f]*\).*/\1/p' "$WORK/out")
    if [ $code = 0 ] && [ -n "$tiles" ]; then
        good 'a device is tuned'
    else
        bad 'a device is tuned' "$WORK/out"
    fi
    expect 'the choice is kept' grep -qx "tiles $tiles" "$WORK"/cache/gabbro/tiles-*.txt
    [ "$tiles" = 0x00000 ] || plain="$plain | tiles $tiles"
    expect 'and used where it is asked for' [ "$(identity GABBRO_TUNE=on)" = "$plain" ]
    plain=${plain% | tiles*}
    expect 'not on a CPU device that does not ask' [ "$(identity)" = "$plain" ]
    rm "$WORK"/cache/gabbro/tiles-*.txt
    GABBRO_TUNE=on "$gabbro" bench bandwidth --only nothing --device cpu >"$WORK/out" 2>&1
    expect 'the first use of a device tunes it' grep -q '^tiles 0x' "$WORK"/cache/gabbro/tiles-*.txt
fi
"$gabbro" tune --device cpu --forget >"$WORK/out" 2>&1
code=$?
expect 'a choice can be forgotten' [ $code = 0 ]
expect 'and is' [ "$(identity GABBRO_TUNE=on)" = "$plain" ]
checks_end
