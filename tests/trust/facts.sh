#!/bin/sh
# Under what docs/reference/trust.md was made: Markdown lines for below its title.
#   tests/trust/facts.sh BUILD REVISION COUNTS MINUTES
set -eu
build=$1 revision=$2 counts=$3 minutes=$4
layer=/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json
version=none
[ ! -f $layer ] || version=$(sed -n 's/.*"api_version": *"\([^"]*\)".*/\1/p' $layer | sed 1q)
system=$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release 2>/dev/null || true)
device=$("$build/src/cli/gabbro" determinism --steps 3 --replays 2 2>/dev/null | sed 1q)
cat <<END
Written by \`./tests/run --full --write-trust\` when all of it had passed: change the tests, not this page.
CONTRIBUTING.md says, under Tests, how a line comes about.

- date and source: $(date -u +%Y-%m-%d), $revision
- result: $counts, in $minutes minutes
- device: $device
- validation layer: $version
- system: $system, $(uname -sm), $(getconf _NPROCESSORS_ONLN) cores, $(${CC:-cc} --version | sed 1q)
END
