# The same table on two devices, side by side (POSIX sh, sourced by reproduce for --compare-devices).
# Each device's run is a process of its own, an ordinary one: it resumes, and both use the store. Then
# the cells are compared, and the first training of the table is run a few steps on both at once.
# shellcheck shell=sh disable=SC2034,SC2154 # variables shared with reproduce

COMPARE_STEPS=10

# $device_A, $device_B and their settings, from "A,B": a word with "=" is a setting of the device before.
split_devices() # LIST
{
    device_A='' device_B='' settings_A='' settings_B='' side=''
    old_ifs=$IFS IFS=,
    set -f
    for word in $1; do
        case $word in
        *=*)
            [ -n "$side" ] || fail 2 "--compare-devices: the setting $word belongs behind a device"
            eval "settings_$side=\$settings_$side,\$word"
            ;;
        *)
            case $side in
            '') side=A ;;
            A) side=B ;;
            *) fail 2 "--compare-devices needs two devices, not more: $1" ;;
            esac
            eval "device_$side=\$word"
            ;;
        esac
    done
    set +f
    IFS=$old_ifs
    [ -n "$device_B" ] || fail 2 "--compare-devices needs two devices, e.g. 0,1 (see: gabbro doctor --list)"
}

# On a device: with its settings in the environment.
on() # A|B COMMAND...
(
    eval "settings=\${settings_$1#,} GABBRO_DEVICE=\$device_$1"
    shift
    IFS=,
    set -f
    for setting in $settings; do
        export "${setting?}"
    done
    export GABBRO_DEVICE
    exec "$@"
)

# A signal may come twice, to this process and to its group.
stop_side()
{
    trap '' INT TERM
    kill "$child" 2>/dev/null || true
    wait "$child" || true
    exit 75
}

# The table by a process of its own. A signal reaches it, and it is waited for.
table_on() # A|B ARGUMENTS...
{
    side=$1
    shift
    set -- sh "$here/reproduce" "$table" "$@" --scale "$scale" --data "$data_dir" --out "$out/$side"
    [ "$jobs" = auto ] || set -- "$@" --jobs "$jobs"
    if [ "${seeds%% *}" = "${seeds% }" ]; then
        set -- "$@" --seed "${seeds% }"
    else
        set -- "$@" --seeds "$(echo "$seeds" | wc -w)"
    fi
    [ -z "$own_collection" ] || set -- "$@" --collection "$own_collection"
    [ -z "$own_queries" ] || set -- "$@" --queries "$own_queries"
    [ -z "$writer" ] || set -- "$@" --generator "$writer"
    for change in $changes; do
        set -- "$@" --set "$change"
    done
    # shellcheck disable=SC2086 # flags are words
    set -- "$@" $step_flags
    [ "$side" = A ] || [ -z "$store_B" ] || set -- "$@" --store "$store_B"
    code=0
    on "$side" "$@" &
    child=$!
    trap stop_side INT TERM
    wait $child || code=$?
    trap - INT TERM
    [ "$code" = 0 ] || exit "$code"
}

# In the place of step: up to the first training, which is compared.
step_compare() # COMMAND ARGUMENTS...
{
    case "$1 $2" in
    'pretrain none') ;;
    pretrain*)
        say "$table on both devices: the first $COMPARE_STEPS steps of pretrain $2"
        code=0
        "$gabbro" compare-devices "$device_A$settings_A" "$device_B$settings_B" --steps $COMPARE_STEPS \
            -- "$@" >&3 || code=$?
        [ "$code" != 0 ] || code=$COMPARED
        exit "$code"
        ;;
    esac
    on A "$gabbro" "$@" --quiet
}
COMPARED=99 # status of the script once its first training was compared

compare_devices() # LIST
{
    split_devices "$1"
    GABBRO=$gabbro
    export GABBRO
    case $table in
    */fig*) fail 2 "$table is a figure: --compare-devices compares the cells of a table" ;;
    esac
    names=$("$gabbro" compare-devices --names "$device_A$settings_A" "$device_B$settings_B") || exit
    name_A=$(echo "$names" | sed -n 1p) name_B=$(echo "$names" | sed -n 2p)
    # Under one name the store would give B what A made.
    store_B=''
    [ "$name_A" != "$name_B" ] || store_B=$out/B/store
    [ "$name_A" != "$name_B" ] || name_B="$name_B (the same: with a store of its own, $store_B)"
    if [ "$dry_run" = yes ]; then
        printf '# A  %s\n# B  %s\n' "$name_A" "$name_B"
        printf '# cost: on each device %s steps (%s), and %s steps of training on both\n' \
            "$( (run_script count) | sort -u | wc -l)" "$(sed -n 's/^# cost: //p' "$here/$table")" $COMPARE_STEPS
        table_on A --dry-run
        return
    fi
    say "A  $name_A"
    say "B  $name_B"
    for one in A B; do
        say "==== $table on $one"
        table_on $one >/dev/null
    done
    "$gabbro" compare-devices --tables "$out/A" "$out/B"
    echo
    run_script compare
    [ "$code" != 0 ] || say "$table trains nothing that could be compared step by step"
    [ "$code" != $COMPARED ] || code=0
    exit "$code"
}
