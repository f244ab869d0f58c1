# Set-up shared by reproduce/run and tests/run: finds what is missing, installs it, builds.
# To be sourced with gabbro_root set to the top of the source tree. All it says goes to stderr.
# shellcheck shell=sh
: "${gabbro_root:?}"

# Packages by their Debian names (the same in Debian 12 and 13 and in Ubuntu 24.04).
gabbro_packages_build="build-essential meson ninja-build pkg-config glslc libvulkan-dev
    mesa-vulkan-drivers libjansson-dev libssl-dev zlib1g-dev libutf8proc-dev libicu-dev
    libzstd-dev libcglm-dev libcairo2-dev libcurl4-openssl-dev libarchive-dev liblua5.4-dev"
gabbro_packages_tests="libcriterion-dev vulkan-validationlayers"
# Used where it is there, not asked for where nothing may be installed.
# libsentencepiece: tokenizers of T5 and LLaMA; MPI: several ranks; libmicrohttpd: gabbro serve; NumPy: tests of python.
gabbro_packages_optional="libsentencepiece-dev libopenmpi-dev openmpi-bin libmicrohttpd-dev python3-numpy"

gabbro_say() { printf '%s\n' "$*" >&2; }

# gabbro_quietly WHAT COMMAND...: say WHAT, run the command; its output is shown if it fails.
gabbro_quietly()
{
    gabbro_say "$1"
    shift
    gabbro_log=$(mktemp "${TMPDIR:-/tmp}/gabbro-setup.XXXXXX") || return 1
    "$@" >"$gabbro_log" 2>&1 </dev/null && rm -f "$gabbro_log" && return
    gabbro_say "failed: $*; the end of its output (all of it: $gabbro_log):"
    tail -n 40 "$gabbro_log" >&2
    return 1
}

# gabbro_missing TESTS INSTALL: print the packages that are not installed. Any Vulkan driver will do;
# Mesa's (it has one for the CPU) is asked for only where there is none or it can be installed.
gabbro_missing()
{
    wanted=$gabbro_packages_build
    [ "$1" = no ] || wanted="$wanted $gabbro_packages_tests"
    [ "$2" = no ] || wanted="$wanted $gabbro_packages_optional"
    # shellcheck disable=SC2016,SC2086 # dpkg's own ${}; a list of words
    known=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $wanted 2>/dev/null)
    for package in $wanted; do
        [ "$package$2" = mesa-vulkan-driversno ] &&
            find /usr/share/vulkan/icd.d /etc/vulkan/icd.d -name '*.json' 2>/dev/null | grep -q . && continue
        printf '%s\n' "$known" | grep -qx "$package installed" || printf '%s ' "$package"
    done
}

# gabbro_need TESTS INSTALL: all packages are there, or are installed with apt-get, as root or through sudo;
# 2 if not. Nobody is asked for a password for what is optional. Where there is no dpkg, Meson says what it
# does not find.
gabbro_need()
{
    command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || return 0
    missing=$(gabbro_missing "$1" "$2")
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ] && [ -z "$(gabbro_missing "$1" no)" ]; then
        gabbro_say "going on without $missing"
        return 0
    fi
    # shellcheck disable=SC2086 # a list of words
    if [ "$2" = yes ]; then
        as_root=$([ "$(id -u)" = 0 ] || echo sudo)
        gabbro_quietly "updating the package lists${as_root:+ (with sudo)}" $as_root apt-get update ||
            gabbro_say "going on with the package lists at hand"
        gabbro_quietly "installing $missing" $as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=600 $missing && return
        missing=$(gabbro_missing "$1" no)
        [ -n "$missing" ] || return 0
    fi
    gabbro_say "missing packages: $missing"
    gabbro_say "install them with: apt-get install --no-install-recommends $missing"
    return 2
}

# gabbro_configure BUILD OPTION...: a fresh folder, or the options of an old one; one that is of no
# use any more (moved, made by another Meson) is made anew.
gabbro_configure()
{
    folder=$1 wipe=
    shift
    if [ -f "$folder/build.ninja" ]; then
        meson configure "$folder" "$@" >/dev/null 2>&1 && ninja -C "$folder" build.ninja >/dev/null 2>&1 && return
        wipe=--wipe
    fi
    gabbro_quietly "configuring ($folder)" meson setup $wipe "$folder" "$gabbro_root" "$@" && return
    command -v dpkg-query >/dev/null || gabbro_say "Debian's packages of what it needs: $gabbro_packages_build $gabbro_packages_tests"
    return 1
}

# gabbro_setup TESTS INSTALL BUILD OPTION...: all of it. TESTS and INSTALL are yes or no.
# Status: 0, 2 (something is missing), 70 (the build failed).
gabbro_setup()
{
    gabbro_need "$1" "$2" || return 2
    tests=$1 build=$3
    shift 3
    mkdir -p "$build" || return 70
    (
        # Jobs of a cluster may set up the same tree at the same time.
        ! command -v flock >/dev/null || flock 9
        if [ "$tests" = yes ]; then
            set -- -Dtests=enabled "$@"
        elif [ ! -f "$build/build.ninja" ]; then # a build that has tests keeps them
            set -- -Dtests=disabled "$@"
        fi
        gabbro_configure "$build" "$@" && gabbro_quietly "building (some minutes when it is new)" ninja -C "$build"
    ) 9>"$build.lock" || return 70
}
