# Debian trees to test in (POSIX sh, to be sourced behind tests/checks.sh). Packages come from Debian's
# mirror, or from GABBRO_DEBIAN_MIRROR.
# shellcheck shell=sh
mirror=${GABBRO_DEBIAN_MIRROR:-http://deb.debian.org/debian}

# Ends the test unless it can make a tree and enter it.
need_root() # TEST
{
    [ "$(id -u)" = 0 ] && command -v chroot >/dev/null && command -v unshare >/dev/null ||
        not_here "$1: needs root, chroot and unshare"
    command -v mmdebstrap >/dev/null || command -v debootstrap >/dev/null || not_here "$1: needs mmdebstrap or debootstrap"
}

not_here() # WHAT AND WHY
{
    skipped "$1"
    checks_end
    exit
}

# Makes a minimal Debian 12 of an architecture with some packages more; false if it cannot be had.
make_root() # FOLDER ARCHITECTURE [PACKAGE...]
{
    made_root=$1 architecture=$2
    shift 2
    if command -v mmdebstrap >/dev/null; then
        mmdebstrap --quiet --variant=minbase --arch="$architecture" --include="ca-certificates $*" bookworm \
            "$made_root" "$mirror"
    else
        debootstrap --variant=minbase --arch="$architecture" \
            --include="$(printf '%s' "ca-certificates $*" | tr ' ' ,)" bookworm "$made_root" "$mirror"
    fi >"$made_root.log" 2>&1 && cp /etc/resolv.conf "$made_root/etc/resolv.conf"
}

# Runs a command in a tree, with /proc, as a user of it.
in_root() # FOLDER USER COMMAND...
{
    entered=$1 user=$2
    shift 2
    # shellcheck disable=SC2016 # for the shell inside
    unshare --mount sh -c 'mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/tmp" && root=$1 user=$2 && shift 2 &&
        exec chroot --userspec="$user" "$root" /usr/bin/env HOME=/tmp LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"' \
        sh "$entered" "$user" "$@"
}
