#!/bin/sh
# Every kernel through the compilers of Mesa's drivers for GPUs that are not there, in a Debian testing with
# mesa-drm-shim (fetch.sh debian makes one; fetch.sh intel-shim adds Intel's GPUs), beside compilers.tsv.
#   tests/devices/compilers.sh [--record] [--keep DIR] [GPU...]
#   --record   write compilers.tsv anew, of all GPUs or those named: its diff shows what a change of a kernel did to each
#   --keep DIR leave what `gabbro kernels --tsv` wrote of each GPU there (bench/estimates reads it)
#   GPU        these instead of all that the list below has
# Wrong is: a kernel that fails to compile, or is recorded and no longer made; a message of the validation layer;
# spills where none are recorded, or more; less occupancy; more shared memory than the smallest of its vendor's GPUs
# has. With another Mesa than the recorded one only what fails to compile and new spills are wrong.
# Folders are looked for as by run.sh (GABBRO_TEST_ICDS). The program is built in there.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
root=$(CDPATH='' cd -- "$here/../.." && pwd) || exit 1
# shellcheck source=tests/checks.sh
. "$here/../checks.sh"
recorded=$here/compilers.tsv sizes=mini,base record=no keep=''
libraries=usr/lib/x86_64-linux-gnu

# Name, variable that chooses it, value, shim, driver, bytes of shared memory that its vendor's smallest GPU has.
gpus="polaris10 AMDGPU_GPU_ID polaris10 amdgpu radeon 65536
vega20 AMDGPU_GPU_ID vega20 amdgpu radeon 65536
navi10 AMDGPU_GPU_ID navi10 amdgpu radeon 65536
navi21 AMDGPU_GPU_ID navi21 amdgpu radeon 65536
navi31 AMDGPU_GPU_ID navi31 amdgpu radeon 65536
strix1 AMDGPU_GPU_ID strix1 amdgpu radeon 65536
gfx1201 AMDGPU_GPU_ID gfx1201 amdgpu radeon 65536
nv117 NOUVEAU_CHIPSET 117 nouveau nouveau 49152
nv132 NOUVEAU_CHIPSET 132 nouveau nouveau 49152
nv140 NOUVEAU_CHIPSET 140 nouveau nouveau 49152
nv162 NOUVEAU_CHIPSET 162 nouveau nouveau 49152
nv172 NOUVEAU_CHIPSET 172 nouveau nouveau 49152
fd740 FD_GPU_ID 740 freedreno freedreno 32768
asahi ASAHI_GPU any asahi asahi 32768
adl INTEL_STUB_GPU_PLATFORM adl intel intel 49152
dg2 INTEL_STUB_GPU_PLATFORM dg2 intel intel 49152
bmg INTEL_STUB_GPU_PLATFORM bmg intel intel 49152"

while [ $# -gt 0 ]; do
    case $1 in
    --record) record=yes ;;
    --keep)
        [ $# -gt 1 ] || exit 2
        keep=$2
        mkdir -p "$keep" && keep=$(CDPATH='' cd -- "$keep" && pwd) || exit 2
        shift
        ;;
    --help | -h)
        sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0"
        exit 0
        ;;
    -*) echo "compilers.sh: unknown option $1 (see --help)" >&2 && exit 2 ;;
    *) break ;;
    esac
    shift
done
wanted=$*

ends() # WHY
{
    skipped "$1"
    checks_end
    exit
}

find_debian()
{
    printf '%s\n' "${GABBRO_TEST_ICDS:-${XDG_CACHE_HOME:-$HOME/.cache}/gabbro/icds}" | tr : '\n' |
        while read -r place; do
            for folder in "$place"/*/; do
                [ ! -f "$folder$libraries/libamdgpu_noop_drm_shim.so" ] || printf '%s\n' "${folder%/}"
            done
        done | head -n 1
}

debian=$(find_debian)
[ -n "$debian" ] || ends 'compilers of GPUs: no Debian testing with mesa-drm-shim here (tests/devices/fetch.sh debian)'
[ "$(id -u)" = 0 ] || ends "compilers of GPUs: entering $debian needs root"
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-compilers.XXXXXX") || exit 1
trap 'rm -rf "$work" "$debian/root/gabbro-kernels/out"' EXIT
trap 'exit 1' INT TERM

# ---- the program, built inside ----

inside=root/gabbro-kernels
mkdir -p "$debian/$inside/out"
[ -e "$debian/proc/self" ] || mount -t proc proc "$debian/proc"
(cd "$root" && git ls-files -z --cached --others --exclude-standard | tar --null -T - -c) | tar -x -C "$debian/$inside"
chroot "$debian" sh -c "cd /$inside && { [ -f build/build.ninja ] || meson setup build --buildtype=release; } &&
    ninja -C build src/cli/gabbro" >"$work/build.txt" 2>&1 || {
    bad 'the program is built in Debian testing' "$work/build.txt"
    checks_end
    exit 1
}

# ---- each GPU ----

# What one GPU's compiler made: "kernel constants lanes registers spills shared occupancy cycles", each kernel once;
# of one that fails to compile "fails" for its spills.
columns()
{
    awk -F '\t' -v OFS='\t' '!/^#/ && $1 != "program" && !seen[$2 "\t" $3]++ {
        print $2, $3, $5, $6, $15 == "-" ? $7 : "fails", $8, $9, $10 }' "$1"
}

look_at() # NAME VARIABLE VALUE SHIM DRIVER SHARED
{
    shim=/$libraries/lib$4_noop_drm_shim.so
    [ -f "$debian$shim" ] || shim=/usr/local/lib/lib$4_noop_drm_shim.so
    if [ ! -f "$debian$shim" ]; then
        skipped "$1: no shim for $4 (tests/devices/fetch.sh intel-shim)"
        return
    fi
    chroot "$debian" env -i PATH="$PATH" LC_ALL=C HOME=/root "$2=$3" LD_PRELOAD="$shim" \
        VK_DRIVER_FILES="/usr/share/vulkan/icd.d/$5_icd.json" NVK_I_WANT_A_BROKEN_VULKAN_DRIVER=1 \
        MESA_SHADER_CACHE_DISABLE=true XDG_CACHE_HOME="/$inside/out/cache" GABBRO_VALIDATION="${GABBRO_VALIDATION:-1}" \
        "/$inside/build/src/cli/gabbro" kernels --size "$sizes" --tsv "/$inside/out/$1.tsv" >"$work/$1.out" 2>"$work/$1.err"
    code=$?
    if [ $code = 0 ]; then
        good "$1: every kernel compiles, and the validation layer is silent"
    else
        bad "$1: every kernel compiles, and the validation layer is silent"
        grep 'fails to compile\|not made\|validation' "$work/$1.out" "$work/$1.err" | head -n 20
        tail -n 3 "$work/$1.err"
    fi
    [ -f "$debian/$inside/out/$1.tsv" ] || return
    [ -z "$keep" ] || cp "$debian/$inside/out/$1.tsv" "$keep/"
    sed -n '1s/.*\(Mesa [0-9.]*\).*/\1/p' "$debian/$inside/out/$1.tsv" >>"$work/mesa"
    columns "$debian/$inside/out/$1.tsv" | awk -v OFS='\t' -F '\t' -v gpu="$1" -v most="$6" '
        { print $1, $2, gpu, $3, $4, $5, $6, $7, $8, most }' >>"$work/found"
}

# Prints "new" and "wrong" lines of what was found beside what is recorded.
compare()
{
    awk -F '\t' -v same="$1" -v gpus="$looked" '
    FILENAME == ARGV[1] && !/^#/ && $1 != "kernel" {
        if (index(" " gpus " ", " " $3 " ")) { spills[$1 FS $2 FS $3] = $6; occupancy[$1 FS $2 FS $3] = $8 }
        next
    }
    FILENAME == ARGV[1] { next }
    {
        key = $1 FS $2 FS $3; what = $3 ": " $1 " " $2
        if ($6 == "fails") print "wrong\t" what " fails to compile"
        else if ($6 > 0 && (!(key in spills) || $6 + 0 > spills[key] + 0 && (same || !(spills[key] > 0))))
            print "wrong\t" what " spills " $6 (key in spills ? ", recorded are " spills[key] : ", and is not recorded")
        if (same && key in occupancy && $8 != "-" && $8 + 0 < occupancy[key] + 0)
            print "wrong\t" what " has an occupancy of " $8 ", recorded are " occupancy[key]
        if ($7 != "-" && $7 + 0 > $10 + 0) print "wrong\t" what " wants " $7 " bytes of shared memory, the least is " $10
        if (!(key in spills)) print "new\t" what
        delete spills[key]
    }
    END { if (same) for (key in spills) { split(key, k, FS); print "wrong\t" k[3] ": " k[1] " " k[2] " is recorded and no longer made" } }
    ' "$recorded" "$work/found"
}

: >"$work/found"
: >"$work/mesa"
looked=''
while read -r name variable value shim driver shared <&3; do
    case " ${wanted:-$name} " in *" $name "*) ;; *) continue ;; esac
    look_at "$name" "$variable" "$value" "$shim" "$driver" "$shared"
    [ ! -f "$debian/$inside/out/$name.tsv" ] || looked="$looked $name"
done 3<<END
$gpus
END
mesa=$(sort -u "$work/mesa" | head -n 1)

if [ $record = yes ]; then
    {
        printf '# What the compilers of %s make of the kernels of %s (tests/devices/compilers.sh --record).\n' "$mesa" "$sizes"
        printf 'kernel\tconstants\tgpu\tlanes\tregisters\tspills\tshared\toccupancy\tcycles\n'
        {
            # Those that were not looked at stay, if they are of the same Mesa.
            head -n 1 "$recorded" 2>/dev/null | grep -q "^# What the compilers of $mesa make" &&
                awk -F '\t' -v gpus=" $looked " '!/^#/ && $1 != "kernel" && !index(gpus, " " $3 " ")' "$recorded"
            cut -f 1-9 "$work/found"
        } | LC_ALL=C sort -s -t "$(printf '\t')" -k1,3
    } >"$recorded.new" && mv "$recorded.new" "$recorded"
    expect "$recorded is written" [ -s "$recorded" ]
fi
same=$(grep -q "^# What the compilers of $mesa make" "$recorded" 2>/dev/null && echo 1 || echo 0)
[ "$same" = 1 ] || skipped "occupancy and known spills: compilers.tsv is of another Mesa than $mesa"
compare "$same" >"$work/compared"
sed -n 's/^new\t\(.*\)/new: \1, not recorded yet (--record)/p' "$work/compared" | head -n 20
grep '^wrong' "$work/compared" | cut -f 2 >"$work/wrong"
if [ -s "$work/wrong" ]; then
    bad "what compilers make of kernels is as recorded: $(wc -l <"$work/wrong") are worse"
    head -n 40 "$work/wrong" | sed 's/^/    /'
else
    good 'what compilers make of kernels is as recorded, or better'
fi
expect 'GPUs were looked at' [ -n "$looked" ]
printf 'trust:\tkernels of GPUs that fail to compile\tcompilers of %s,%s\t%s\t0\n' "$mesa" "$looked" \
    "$(awk -F '\t' '$6 == "fails"' "$work/found" | wc -l)"
printf 'trust:\tkernels of GPUs that spill registers\tcompilers of %s,%s\t%s\t%s\n' "$mesa" "$looked" \
    "$(awk -F '\t' '$6 > 0 && $6 != "fails"' "$work/found" | wc -l)" \
    "$(awk -F '\t' '!/^#/ && $1 != "kernel" && $6 > 0 && $6 != "fails"' "$recorded" | wc -l)"
checks_end
