#!/bin/sh
# gabbro determinism as a user runs it: a hundred replays of a step, whole trainings, barriers, kills,
# layers computed again, parts of a batch.
#   determinism.sh GABBRO
set -u
. "$(dirname -- "$0")/../checks.sh"
log=$(mktemp "${TMPDIR:-/tmp}/gabbro-determinism.XXXXXX") || exit 1
trap 'rm -f "$log"' EXIT
trap 'exit 1' INT TERM
"$1" determinism >"$log" 2>&1
status=$?
expect "it ends with 0" [ $status = 0 ]
for what in 'a training step' 'a training,' 'few barriers' 'killed and resumed' \
    'layers computed again' 'parts as large'; do
    line=$(grep "^$what.* bit-equal\$" "$log") || line='' # what (52 characters), how often (22), result
    trust "gabbro determinism, $(echo "$line" | cut -c 1-52 | sed 's/ *$//'): comparisons with other bits" \
        "each other, $(echo "$line" | cut -c 54-75 | sed 's/ *$//')" \
        "$(echo "$line" | awk '/ bit-equal$/ { print / NOT bit-equal$/ ? 1 : 0 }')" 0
done
for parts in 1 2 5; do # texts at once; differ by WORST, bound BOUND
    line=$(grep "^parts of $parts of .* differ by .*, bound .*" "$log") || line=''
    trust "gabbro determinism, $(echo "$line" | cut -c 1-52 | sed 's/ *$//'): gradients, with dropout" \
        "the whole batch" "$(echo "$line" | sed -n 's/.* differ by \([^,]*\),.*/\1/p')" \
        "$(echo "$line" | sed -n 's/.*, bound //p')"
done
checks_end
