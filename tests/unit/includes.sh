#!/bin/sh
# The rule of the house: a module includes its own headers and the public ones of modules before it.
#   includes.sh ROOT    checks ROOT/src and ROOT/include, then that breaches would be seen
set -u
LC_ALL=C
export LC_ALL

# Prints one line for every breach under a root; the order of the modules is here.
breaches()
{
    (cd "$1" && find include/gabbro src -name '*.[ch]' | sort | xargs awk '
    BEGIN {
        count = split("os base json options ranks store rows stats text folder vk data eval synth tape ops nn trainer late lm artifact lexical diag " \
                      "experiment retrieve querygen objectives pretrain finetune train compare bench page plot report " \
                      "figures fetch reproduce library serve cli", modules)
        for (i = 1; i <= count; i++) place[modules[i]] = i
    }
    function breach(why) { printf "%s:%d: %s\n", FILENAME, FNR, why }
    FNR == 1 {
        split(FILENAME, part, "/")
        if (part[1] == "src") module = part[2]
        else { module = part[3]; sub(/\.h$/, "", module) }
        folder = FILENAME; sub(/\/[^\/]*$/, "", folder)
        if (!(module in place)) breach("the module \"" module "\" has no place in the order")
    }
    /^[ \t]*#[ \t]*include[ \t]*[<"]/ {
        name = $0; sub(/^[^<"]*[<"]/, "", name); sub(/[>"].*/, "", name)
        own = $0 ~ /^[^<]*"/
        if (name ~ /^gabbro\//) {
            other = name; sub(/^gabbro\//, "", other); sub(/\.h$/, "", other)
            if (!(other in place)) breach(name " belongs to no module")
            else if (place[other] > place[module])
                breach("module " module " comes before " other ", yet includes " name)
        } else if (own && split(name, part, "/") > 1 && part[1] in place) {
            if (part[1] != module) breach(name " is private to module " part[1])
        } else if (own && system("test -f " folder "/" name) && name !~ /^(shader_config|[a-z]+\.(txt|css))\.h$/)
            breach(name " is not in " folder)
        else if (own && name ~ /\.\./) breach(name " leaves its folder")
    }')
}

# Writes a file of a made-up tree and says whether its include is a breach.
expect()
{
    rm -rf "$made/src" "$made/include"
    mkdir -p "$made/include/gabbro" "$made/src/tape" "$made/src/ops" "$made/$(dirname "$2")"
    touch "$made/src/tape/tape.h" "$made/src/ops/ops.h" "$made/include/gabbro/base.h"
    echo "$3" > "$made/$2"
    found=$(breaches "$made")
    case $1 in
    good) [ -z "$found" ] && return ;;
    bad) [ -n "$found" ] && return ;;
    esac
    echo "includes.sh: '$3' in $2 should be $1; found: ${found:-nothing}"
    failed=yes
}

failed=no
found=$(breaches "$1")
if [ -n "$found" ]; then
    echo "$found"
    failed=yes
fi

made=$(mktemp -d) || exit 1
trap 'rm -rf "$made"' EXIT
expect good src/ops/a.c '#include <gabbro/tape.h>'
expect good src/ops/a.c '#include "ops.h"'
expect good src/ops/a.c '#include "ops/ops.h"'
expect good src/retrieve/a.c '#include <gabbro/ops.h>'
expect good include/gabbro/retrieve.h '#include <gabbro/tape.h>'
expect good src/tape/a.c '#include <stdlib.h>'
expect bad src/tape/a.c '#include <gabbro/ops.h>'
expect bad src/tape/a.c '  #  include "gabbro/ops.h"'
expect bad src/ops/a.c '#include <gabbro/retrieve.h>'
expect bad src/ops/a.c '#include "tape/tape.h"'
expect bad src/ops/a.c '#include "../tape/tape.h"'
expect bad src/ops/a.c '#include <gabbro/unknown.h>'
expect bad src/cellar/a.c '#include <gabbro/base.h>'
expect bad include/gabbro/base.h '#include <gabbro/vk.h>'
[ "$failed" = no ]
