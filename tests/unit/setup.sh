#!/bin/sh
# The set-up needs no root where the packages are there, and asks for nothing that is optional.
#   setup.sh ROOT
set -u
. "$(dirname -- "$0")/../checks.sh"
gabbro_root=$1
made=$(mktemp -d) || exit 1
trap 'rm -rf "$made"' EXIT

# shellcheck disable=SC2016 # for the shell inside
# Stands for the machine: an ordinary user, the packages that $made/there names, sudo and apt-get that leave a trace.
PATH=$made:$PATH
export PATH made
printf '#!/bin/sh\necho 1000\n' >"$made/id"
printf '#!/bin/sh\necho "$0 $*" >>"$made/asked"\nexit 1\n' | tee "$made/sudo" >"$made/apt-get"
printf '#!/bin/sh\nsed "s/$/ installed/" "$made/there"\n' >"$made/dpkg-query"
chmod +x "$made/id" "$made/sudo" "$made/apt-get" "$made/dpkg-query"
. "$gabbro_root/reproduce/setup.sh"

there() # PACKAGE...
{
    printf '%s\n' "$@" >"$made/there"
    rm -f "$made/asked"
}

# shellcheck disable=SC2086,SC2154 # lists of words, of setup.sh
{
    there $gabbro_packages_build $gabbro_packages_tests $gabbro_packages_optional
    expect 'all packages are there: nobody is asked' gabbro_need yes yes 2>"$made/said"
    there $gabbro_packages_build $gabbro_packages_tests
    expect 'those that are optional are missing: it goes on' gabbro_need yes yes 2>"$made/said"
    expect 'without sudo' [ ! -e "$made/asked" ]
    expect 'and says so' grep -q '^going on without .*libmicrohttpd-dev' "$made/said"
    there $gabbro_packages_build
    gabbro_need yes no 2>"$made/said"
    expect 'a package is missing, and none may be installed: 2' [ $? = 2 ]
    expect 'without sudo' [ ! -e "$made/asked" ]
    expect 'and it is named' grep -q '^missing packages: .*libcriterion-dev' "$made/said"
    gabbro_need yes yes 2>"$made/said"
    expect 'a package is missing, and sudo fails: 2' [ $? = 2 ]
    expect 'sudo was asked' grep -q 'sudo.*apt-get install' "$made/asked"
}
checks_end
