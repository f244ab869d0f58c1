#!/bin/sh
# Fetch further Vulkan implementations for ./tests/run --devices, from Debian's packages; the system
# stays as it is.
#   tests/devices/fetch.sh swiftshader|mesa-backports|debian|intel-shim [FOLDER]
#   swiftshader     Chromium's CPU driver: subgroups of 4 lanes, no 16-bit floats, no 64-bit integers
#   mesa-backports  the Mesa of bookworm-backports, unpacked (for Debian 12, whose other libraries it uses)
#   debian          a whole Debian testing with the packages that building and testing need, by
#                   debootstrap (as root; about 2 GB): the newest Mesa and validation layer, and shims for
#                   GPUs that are not there (docs/design/kernels.md)
#   intel-shim      a shim for Intel's GPUs, which mesa-drm-shim lacks: built inside that Debian from the
#                   sources of Debian 13's Mesa (as root; five minutes on a core)
#   FOLDER          where (default ~/.cache/gabbro/icds; tests/devices/run.sh looks there)
set -eu
what=${1:-}
place=${2:-${XDG_CACHE_HOME:-$HOME/.cache}/gabbro/icds}
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
mirror=${GABBRO_DEBIAN_MIRROR:-http://deb.debian.org/debian}

usage()
{
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0"
}

need()
{
    for tool; do
        command -v "$tool" >/dev/null || {
            echo "fetch.sh: $tool is missing" >&2
            exit 2
        }
    done
}

# Unpack a package into a folder; further arguments are apt-get's.
unpack() # PACKAGE FOLDER [OPTION...]
{
    package=$1 into=$2
    shift 2
    mkdir -p "$work/debs" "$into"
    (cd "$work/debs" && apt-get "$@" download "$package")
    dpkg -x "$work"/debs/"${package%%/*}"_*.deb "$into"
}

# Drivers are named by a path; the one they were packaged with is not where they are now.
repoint() # JSON LIBRARY
{
    sed "s|\"library_path\": *\"[^\"]*\"|\"library_path\": \"$2\"|" "$1" >"$1.new"
    mv "$1.new" "$1"
}

swiftshader()
{
    unpack chromium-common "$work/root"
    mkdir -p "$place/swiftshader/icd.d"
    cp "$work/root/usr/lib/chromium/libvk_swiftshader.so" "$place/swiftshader/"
    cp "$work/root/usr/lib/chromium/vk_swiftshader_icd.json" "$place/swiftshader/icd.d/"
    repoint "$place/swiftshader/icd.d/vk_swiftshader_icd.json" "$place/swiftshader/libvk_swiftshader.so"
}

mesa_backports()
{
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb [signed-by=$keyring] $mirror bookworm-backports main" >"$work/sources.list"
    set -- -oDir::Etc::SourceList="$work/sources.list" -oDir::Etc::SourceParts=- \
        -oDir::State::Lists="$work/lists" -oDir::Cache="$work/cache"
    apt-get "$@" update
    rm -rf "$place/mesa-backports"
    unpack mesa-vulkan-drivers/bookworm-backports "$place/mesa-backports" "$@"
    repoint "$place/mesa-backports/usr/share/vulkan/icd.d/lvp_icd.json" \
        "$(find "$place/mesa-backports" -name libvulkan_lvp.so)"
    # The CPU driver is what is wanted: those for GPUs need other libraries, too.
    find "$place/mesa-backports" -name '*_icd*.json' ! -name 'lvp_icd*' -exec rm {} +
}

debian()
{
    need debootstrap chroot
    gabbro_root=$root
    # shellcheck source=/dev/null
    . "$root/reproduce/setup.sh"
    : "${gabbro_root}"
    target=$place/debian-testing
    [ -f "$target/etc/debian_version" ] ||
        debootstrap --variant=minbase --include=ca-certificates testing "$target" "$mirror"
    cp /etc/resolv.conf "$target/etc/resolv.conf"
    # A mirror may be weeks behind; its signature is checked all the same.
    chroot "$target" apt-get -o Acquire::Check-Valid-Until=false update
    # shellcheck disable=SC2086,SC2154 # lists of words
    chroot "$target" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        $gabbro_packages_build $gabbro_packages_tests mesa-drm-shim
}

# Drivers talk to the shim as to Linux, so its version need not be theirs; only this one file is built.
intel_shim()
{
    need chroot
    target=$place/debian-testing
    [ -f "$target/etc/debian_version" ] || {
        echo "fetch.sh: first: $0 debian $place" >&2
        exit 2
    }
    echo "deb-src $mirror trixie main" >"$target/etc/apt/sources.list.d/sources-of-mesa.list"
    chroot "$target" apt-get -o Acquire::Check-Valid-Until=false update
    chroot "$target" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends dpkg-dev flex bison \
        python3-mako python3-yaml python3-packaging libdrm-dev libelf-dev libexpat1-dev zlib1g-dev
    mkdir -p "$target/root/mesa"
    chroot "$target" sh -eu -c '
        cd /root/mesa
        apt-get source --download-only mesa/trixie
        rm -rf source
        mkdir source
        tar -xf mesa_*.orig.tar.xz -C source --strip-components=1
        cd source
        # glibc 2.43 has names that this Mesa defines itself.
        sed "s/^#if defined(HAVE_THRD_CREATE)/#include <stdlib.h>\n#undef ONCE_FLAG_INIT\n#define once_flag mesa_once_flag\n#define call_once mesa_call_once\n&/" src/c11/threads.h >threads.h
        mv threads.h src/c11/threads.h
        off=
        for option in glx egl gbm gles1 gles2 llvm valgrind libunwind lmsensors shader-cache zstd xmlconfig; do
            off="$off -D$option=disabled"
        done
        meson setup build -Dbuildtype=release $off -Dopengl=false -Dvulkan-drivers= -Dgallium-drivers= -Dplatforms= \
            -Dvideo-codecs= -Dtools=drm-shim,intel -Dwerror=false -Dbuild-tests=false
        nice ninja -C build src/intel/tools/libintel_noop_drm_shim.so
        cp build/src/intel/tools/libintel_noop_drm_shim.so /usr/local/lib/'
}

case $what in
-h | --help | '')
    usage
    [ -n "$what" ] || exit 2
    exit 0
    ;;
swiftshader | mesa-backports) need apt-get dpkg ;;
debian | intel-shim) ;;
*)
    usage >&2
    exit 2
    ;;
esac
mkdir -p "$place"
place=$(CDPATH='' cd -- "$place" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$(echo "$what" | tr - _)"
echo "$place"
