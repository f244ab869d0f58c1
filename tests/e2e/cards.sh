#!/bin/sh
# `reproduce plan` of a table at scale paper for cards that are not there: each command's cost is
# counted as such a card would cut its batch, and none is refused. A step of BERT-base takes minutes
# here, so the trainings that measure the device's speed are stood in for. Then all tables at scale mini.
# cards.sh REPRODUCE GABBRO
set -u
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
reproduce=$1
PROGRAM=$(readlink -f "$2")
WORK=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-cards.XXXXXX") || exit 1
trap 'rm -rf "$WORK"' EXIT
trap 'exit 1' INT TERM
GABBRO_PROFILE=scalar GABBRO_SELFTEST=off XDG_CACHE_HOME=$WORK/cache
export PROGRAM WORK GABBRO_PROFILE GABBRO_SELFTEST XDG_CACHE_HOME

# The program, but for trainings that would run: those took this long.
cat >"$WORK/gabbro" <<'END'
#!/bin/sh
case "$1 $2 $*" in
*' --cost '* | 'pretrain none '*) ;;
pretrain* | finetune*)
    mkdir -p "$WORK/training"
    echo '{"steps": 100, "work_s": 12, "build_s": 1, "wall_s": 14, "peak_resident_bytes": 2e8}' >"$WORK/training/run.json"
    exec echo "$WORK/training"
    ;;
esac
"$PROGRAM" "$@"
code=$?
printf '%s\t%s\n' $code "$*" >>"$WORK/commands"
exit $code
END
chmod +x "$WORK/gabbro"
GABBRO=$WORK/gabbro
export GABBRO

for card in 8:2 16:4 24:4 80:4; do
    : >"$WORK/commands"
    GABBRO_LIMITS=memory=${card%:*}G,buffer=${card#*:}G "$reproduce" plan qac/table1 --scale paper \
        >"$WORK/plan" 2>"$WORK/messages" </dev/null
    code=$?
    expect "a card of ${card%:*} GB: the plan of qac/table1 at scale paper ends well" [ $code = 0 ]
    [ $code = 0 ] || cat "$WORK/messages"
    expect "a card of ${card%:*} GB: four pre-trainings and a fine-tuning are counted, none is refused" awk -F '\t' '
        $1 { exit wrong = 1 }
        $2 ~ /^pretrain co.* --cost/ { trainings++ }
        $2 ~ /^finetune .* --cost/ { others++ }
        END { exit wrong || trainings < 4 || others < 1 }' "$WORK/commands"
    expect "a card of ${card%:*} GB: the plan names the table" grep -q 'qac/table1' "$WORK/plan"
done

: >"$WORK/commands"
"$reproduce" plan >"$WORK/plan" 2>"$WORK/messages" </dev/null
expect "all tables of scale mini, with all rows, are planned" [ $? = 0 ]
expect "none of their commands fails" [ "$(awk -F '\t' '$1' "$WORK/commands" | tee "$WORK/failed")" = '' ]
cat "$WORK/failed"
checks_end
