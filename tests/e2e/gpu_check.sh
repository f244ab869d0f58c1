#!/bin/sh
# The bundle runs from any folder, and gpu-check puts everything into one file. usage: gpu_check.sh BUILD
set -u
build=$1
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
# shellcheck source=tests/checks.sh
. "$here/../checks.sh"
WORK=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-check-test.XXXXXX") || exit 1
trap 'rm -rf "$WORK"' EXIT
unset GABBRO GABBRO_TESTS

# The device that is compared is the one that all is about, not the first of the list.
cat >"$WORK/gabbro" <<'END'
#!/bin/sh
case $* in
'doctor --type') echo discrete ;;
*--names) [ "$3" = '' ] && printf 'a\nb\n' ;;
*) echo "$1 ($3)" ;;
esac
END
chmod +x "$WORK/gabbro"
GABBRO=$WORK/gabbro "$here/../../bench/gpu-check" --no-tests --peers none --out "$WORK/other" >"$WORK/out" 2>&1
expect 'a training is compared with that of the chosen device' grep -qx 'compare-devices ()' "$WORK/other/compare-devices.txt"

"$here/../../bench/bundle" "$build" "$WORK/bundle.tar.gz" >"$WORK/out" 2>&1
code=$?
expect 'a bundle is made' [ $code = 0 ]
tar -xzf "$WORK/bundle.tar.gz" -C "$WORK" || exit 1
top=$WORK/gabbro-bundle
if ! "$top/gabbro" doctor --list 2>/dev/null | grep -q .; then
    skipped 'gpu-check: there is no Vulkan device'
    checks_end
    exit
fi
"$top/gpu-check" --quick --peers none --out "$WORK/results" >"$WORK/out" 2>&1
code=$?
if [ $code = 0 ]; then
    good 'all checks hold'
else
    bad 'all checks hold' "$WORK/out"
fi
record=$WORK/results/gpu-check.json
expect 'the device tests ran' grep -q '"check": "device tests", "status": 0,' "$record"
expect 'the record has the bench' grep -q '"bench": {' "$record"
expect 'products by matrices are tried' grep -q '"check": "steps with GABBRO_PROFILE=matrix-bf16"' "$record"
if command -v python3 >/dev/null; then
    expect 'the record is JSON' python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$record"
    expect 'and has what the compiler made of each kernel' python3 -c 'if True:
        import json, sys
        kernels = json.load(open(sys.argv[1]))["kernels"]
        rows = [dict(zip(kernels["columns"], row)) for row in kernels["rows"]]
        step = [r for r in rows if r["program"] == "mini coCondenser, step"]
        assert len(step) > 10 and all(r["workgroups"] > 0 and r["failure"] == "-" for r in step)' "$record"
fi

# A device that is wrong in one thing is told, and the rest goes on.
GABBRO_SPOIL=top_k,top_k_texel "$top/gpu-check" --quick --no-tests --peers none --out "$WORK/wrong" >"$WORK/out" 2>&1
code=$?
expect 'wrong kernels: exit 1' [ $code = 1 ]
expect 'named' grep -q '^kernels against float64  *wrong: status 1' "$WORK/out"
expect 'and the record is written' grep -q '"status": 1,' "$WORK/wrong/gpu-check.json"
"$top/gpu-check" --device 'no such device' --out "$WORK/none" >"$WORK/out" 2>&1
code=$?
expect 'no device: exit 4' [ $code = 4 ]
checks_end
