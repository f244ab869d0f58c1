#!/bin/sh
# The Debian packages are built from a copy of the source tree, please lintian, and work in a Debian of their own.
#   deb.sh SOURCES
set -u
. "$(dirname -- "$0")/../checks.sh"
. "$(dirname -- "$0")/root.sh"
need_root 'Debian packages'
sources=$(readlink -f "$1")
for tool in dpkg-buildpackage dh dh_python3 lintian git; do
    command -v $tool >/dev/null || not_here "Debian packages: needs $tool (apt install debhelper dh-python dpkg-dev lintian git)"
done
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-deb.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
chmod 755 "$work"
mkdir "$work/sources" && (cd "$sources" && git ls-files -z | tar --null -T - -cf -) | tar -C "$work/sources" -xf - || exit 1
cd "$work/sources" || exit 1
(cd "$work/sources" && dpkg-checkbuilddeps >../said 2>&1) || not_here "Debian packages: $(tail -n 1 ../said)"
DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" dpkg-buildpackage -us -uc -b >../said 2>&1
expect 'they are built' [ $? = 0 ] || tail -n 40 ../said
cd "$work" || exit 1
lintian --fail-on error ./*.changes >said 2>&1
expect 'lintian finds no error' [ $? = 0 ] || cat said

make_root "$work/root" "$(dpkg --print-architecture)" python3 || not_here "Debian packages in a Debian: none can be had from $mirror"
cp ./*.deb "$work/root/srv/"
in_root "$work/root" root sh -c 'cd /srv && rm -f ./*-dbgsym_* && apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y \
    --no-install-recommends ./*.deb mesa-vulkan-drivers gcc libc6-dev pkg-config' >said 2>&1
expect 'they are installed' [ $? = 0 ] || tail said
expect 'the program runs' [ "$(in_root "$work/root" nobody gabbro --version)" = "gabbro $(sed -n '1s/.*(\(.*\)).*/\1/p' sources/debian/changelog)" ]
in_root "$work/root" nobody gabbro doctor --list >devices 2>said
expect 'on a device' grep -q llvmpipe devices || tail said
in_root "$work/root" nobody gabbro reproduce list >recipes 2>said
expect 'it finds its recipes' grep -q '^qac/table1' recipes || tail said
set --
for change in $tiny_settings; do
    set -- "$@" --set "$change"
done
in_root "$work/root" nobody gabbro reproduce table1 --rows bm25 --store /tmp/store --out /tmp/out "$@" >table 2>said
expect 'a row of table1 is computed' [ $? = 0 ] || tail said
in_root "$work/root" nobody python3 -c 'import gabbro, numpy
index = gabbro.Index.of(numpy.eye(4, dtype="float32"), ["a", "b", "c", "d"])
print(gabbro.__version__, index.search(numpy.eye(4, dtype="float32")[2:3], k=1)[1][0][0])' >out 2>said
expect 'the Python package searches' grep -q '^[0-9.]* 2$' out || tail said
# shellcheck disable=SC2016 # for the shell inside
in_root "$work/root" nobody sh -c 'cd /tmp && printf "%s\n" "#include <gabbro.h>" "#include <stdio.h>" \
    "int main(void) { return puts(gabbro_version()) < 0; }" >a.c && cc a.c $(pkg-config --cflags --libs gabbro) -o a && ./a' >out 2>said
expect 'a program is built with the library' grep -qx '[0-9.]*' out || tail said
expect 'it has manual pages' [ -f "$work/root/usr/share/man/man1/gabbro-train.1.gz" ]
checks_end
