# Set-up shared by reproduce/run and tests/run: finds what is missing, installs it, builds.
# To be sourced (POSIX sh) with gabbro_root set to the top of the source tree.
# Everything here goes to stderr: stdout belongs to the results.
# shellcheck shell=sh
: "${gabbro_root:?}"

# Packages by their Debian names (the same in Debian 12 and 13 and in Ubuntu 24.04).
gabbro_packages_build="build-essential meson ninja-build pkg-config glslc libvulkan-dev
    mesa-vulkan-drivers libjansson-dev libssl-dev zlib1g-dev libutf8proc-dev libicu-dev
    libzstd-dev libcglm-dev libcairo2-dev libcurl4-openssl-dev libarchive-dev"
gabbro_packages_tests="libcriterion-dev vulkan-validationlayers"
# Used where it is there, not asked for where nothing may be installed.
# libsentencepiece: tokenizers of T5 and LLaMA; MPI: several ranks (docs/design/ranks.md).
gabbro_packages_optional="libsentencepiece-dev libopenmpi-dev openmpi-bin"
# The same for systems without dpkg: commands and pkg-config modules.
gabbro_commands_build="cc meson ninja pkg-config glslc"
gabbro_modules_build="vulkan jansson libcrypto zlib libutf8proc icu-uc cglm cairo-svg libcurl
    libarchive"
gabbro_modules_tests="criterion"

gabbro_say()
{
    printf '%s\n' "$*" >&2
}

gabbro_have()
{
    command -v "$1" >/dev/null 2>&1
}

# gabbro_quietly WHAT COMMAND...: say WHAT, run the command; its output is shown if it fails.
gabbro_quietly()
{
    gabbro_say "$1"
    shift
    gabbro_log=$(mktemp "${TMPDIR:-/tmp}/gabbro-setup.XXXXXX") || return 1
    if "$@" >"$gabbro_log" 2>&1 </dev/null; then
        rm -f "$gabbro_log"
        return 0
    fi
    gabbro_say "failed: $*"
    gabbro_say "the end of its output (all of it: $gabbro_log):"
    tail -n 40 "$gabbro_log" >&2
    return 1
}

gabbro_have_driver()
{
    for driver in /usr/share/vulkan/icd.d/*.json /etc/vulkan/icd.d/*.json; do
        [ -e "$driver" ] && return 0
    done
    return 1
}

# gabbro_missing_packages TESTS INSTALL: print those not installed. Any Vulkan driver will do; Mesa's
# (it has one for the CPU) is asked for only where there is none or it can be installed.
gabbro_missing_packages()
{
    wanted=$gabbro_packages_build
    [ "$1" = no ] || wanted="$wanted $gabbro_packages_tests"
    [ "$2" = no ] || wanted="$wanted $gabbro_packages_optional"
    # shellcheck disable=SC2016,SC2086 # dpkg's own ${}; a list of words
    known=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $wanted 2>/dev/null)
    for package in $wanted; do
        [ "$package$2" = mesa-vulkan-driversno ] && gabbro_have_driver && continue
        printf '%s\n' "$known" | grep -qx "$package installed" || printf '%s ' "$package"
    done
}

# gabbro_missing_elsewhere TESTS: the same where there is no dpkg.
gabbro_missing_elsewhere()
{
    for tool in $gabbro_commands_build; do
        gabbro_have "$tool" || printf '%s ' "$tool"
    done
    modules=$gabbro_modules_build
    [ "$1" = no ] || modules="$modules $gabbro_modules_tests"
    for module in $modules; do
        pkg-config --exists "$module" 2>/dev/null || printf '%s ' "$module"
    done
}

# gabbro_install PACKAGE...: with apt-get, as root or through sudo.
gabbro_install()
{
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        if ! gabbro_have sudo; then
            gabbro_say "missing packages: $*"
            gabbro_say "to install them needs root: apt-get install $*"
            return 2
        fi
        as_root=sudo
        gabbro_say "sudo is used to install packages: $*"
        if [ -t 0 ]; then
            sudo -v || return 2 # asks for the password here, where it can be seen
        fi
    fi
    gabbro_quietly "updating the package lists" $as_root apt-get update ||
        gabbro_say "going on with the package lists at hand"
    gabbro_quietly "installing $*" $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "$@" || return 2
}

# gabbro_need TESTS INSTALL: all packages are there, or are installed; 2 if not.
gabbro_need()
{
    if ! gabbro_have dpkg-query || ! gabbro_have apt-get; then
        missing=$(gabbro_missing_elsewhere "$1")
        [ -z "$missing" ] && return 0
        gabbro_say "not found: $missing"
        gabbro_say "install what gives these commands and pkg-config modules (and a Vulkan driver)," \
            "then run again; the Debian packages would be:"
        # shellcheck disable=SC2086 # a list of words
        gabbro_say $gabbro_packages_build $gabbro_packages_tests
        return 2
    fi
    missing=$(gabbro_missing_packages "$1" "$2")
    [ -z "$missing" ] && return 0
    if [ "$2" = no ]; then
        gabbro_say "missing packages: $missing"
        gabbro_say "install them with: apt-get install --no-install-recommends $missing"
        return 2
    fi
    # shellcheck disable=SC2086 # a list of words
    gabbro_install $missing && return 0
    [ -z "$(gabbro_missing_packages "$1" no)" ] || return 2
    gabbro_say "going on without: $missing"
}

# gabbro_configure BUILD OPTION...: a fresh folder, or the options of an old one; one that is of no
# use any more (moved, made by another Meson) is made anew.
gabbro_configure()
{
    folder=$1
    shift
    if [ ! -f "$folder/build.ninja" ]; then
        gabbro_quietly "configuring ($folder)" meson setup "$folder" "$gabbro_root" "$@"
        return
    fi
    meson configure "$folder" "$@" >/dev/null 2>&1 &&
        ninja -C "$folder" build.ninja >/dev/null 2>&1 && return
    gabbro_quietly "configuring anew ($folder)" meson setup --wipe "$folder" "$gabbro_root" "$@"
}

# gabbro_setup TESTS INSTALL BUILD OPTION...: all of it. TESTS and INSTALL are yes or no.
# Status: 0, 2 (something is missing), 70 (the build failed).
gabbro_setup()
{
    gabbro_need "$1" "$2" || return 2
    tests=$1 build=$3
    shift 3
    if [ "$tests" = yes ]; then
        set -- -Dtests=enabled "$@"
    elif [ ! -f "$build/build.ninja" ]; then # a build that has tests keeps them
        set -- -Dtests=disabled "$@"
    fi
    mkdir -p "$build" || return 70
    (
        # Jobs of a cluster may set up the same tree at the same time.
        if gabbro_have flock; then
            flock 9
        fi
        gabbro_configure "$build" "$@" && gabbro_quietly "building" ninja -C "$build"
    ) 9>"$build.lock" || return 70
}
