#!/bin/sh
# The tarball of bench/bundle runs from a folder with blanks in its name, as an ordinary user of a Debian that has
# neither the libraries nor a Vulkan driver, and computes what the program of the build computes.
#   bundle.sh BUILD
set -u
. "$(dirname -- "$0")/../checks.sh"
. "$(dirname -- "$0")/root.sh"
need_root 'the tarball in another Debian'
build=$(readlink -f "$1")
here=$(readlink -f "$(dirname -- "$0")")
enter_work bundle "$build/src/cli/gabbro"
unset GABBRO_VALIDATION

lavapipe=--lavapipe
find /usr/share/vulkan/icd.d -name 'lvp_icd*.json' 2>/dev/null | grep -q . || lavapipe=
"$here/../../bench/bundle" $lavapipe "$build" bundle.tar.gz >said 2>&1
expect 'it is packed' [ $? = 0 ] || tail said
make_root "$work/root" "$(dpkg --print-architecture)" || not_here "the tarball in another Debian: none can be had from $mirror"
[ -n "$lavapipe" ] || not_here 'the tarball in another Debian: needs lavapipe here'
place='/srv/a path with blanks'
mkdir -p "$work/root$place" && tar -xzf bundle.tar.gz -C "$work/root$place"
top=$place/gabbro-bundle
expect 'no library of the machine is needed but the C library' [ -z "$(in_root "$work/root" nobody sh -c \
    "cd '$top' && LD_LIBRARY_PATH=lib:\$(echo lib/else/* | tr ' ' :) ldd bin/gabbro" | grep 'not found')" ]
expect 'it says its version' [ "$(in_root "$work/root" nobody "$top/gabbro" --version)" = "$("$gabbro" --version)" ]
in_root "$work/root" nobody "$top/gabbro" doctor --list >devices 2>said
expect "it finds the driver that is packed" grep -q llvmpipe devices || tail said
in_root "$work/root" nobody "$top/reproduce" list >recipes 2>said
expect 'it finds its recipes' grep -q '^qac/table1' recipes || tail said

# In the folder of the tarball, which must be left as it was: results and store are elsewhere.
set --
for change in $tiny_settings; do
    set -- "$@" --set "$change"
done
mkdir -m 777 "$work/root/srv/out"
in_root "$work/root" nobody sh -c 'cd /srv/out && exec "$@"' sh "$top/reproduce" table1 --rows bm25,cotmae-query-r1 --store store --out out "$@" >table 2>said
expect 'two rows of table1 are computed there' [ $? = 0 ] || tail said
"$build/src/cli/reproduce" table1 --rows bm25,cotmae-query-r1 --store store --out out "$@" >table 2>said
expect 'and here' [ $? = 0 ] || tail said
table_numbers out/table.json >right
table_numbers "$work/root/srv/out/out/table.json" >left
trust 'lines of table.json that differ, but for times' "the program of the build ($(wc -l <right) lines)" \
    "$(diff left right | grep -c '^[<>]')" 0
checks_end
