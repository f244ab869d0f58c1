#!/bin/sh
# A step that runs alone has the threads of all cores, beside others its share. usage: lone_step.sh
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
# shellcheck source=tests/checks.sh
. "$here/../checks.sh"
WORK=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-lone.XXXXXX") || exit 1
trap 'rm -rf "$WORK"' EXIT
# shellcheck source=reproduce/jobs.sh
. "$here/../../reproduce/jobs.sh"

# A program that says what it was given.
cat >"$WORK/gabbro" <<'END'
#!/bin/sh
sleep .2 # longer than it takes to note the process
echo "${LP_NUM_THREADS:-unset}"
END
chmod +x "$WORK/gabbro"
# shellcheck disable=SC2034 # read by run_step
jobs_dir=$WORK worker=0 dry_run=no step_flags='' jobs=2 lone_threads=6 LP_NUM_THREADS=3
gabbro=$WORK/gabbro
export LP_NUM_THREADS
: >"$WORK/done"
step_done() { :; }

run_step evaluate
expect "alone: all cores ($folder)" [ "$folder" = 6 ]
echo 1 >"$WORK/process.1"
run_step evaluate
expect "beside another: a share ($folder)" [ "$folder" = 3 ]
rm "$WORK/process.1"
run_step evaluate
expect "alone again ($folder)" [ "$folder" = 6 ]
# shellcheck disable=SC2034
jobs=1
unset LP_NUM_THREADS
run_step evaluate
expect "one step at a time: as the driver likes ($folder)" [ "$folder" = unset ]
checks_end
