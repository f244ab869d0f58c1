#!/bin/sh
# A command of Gabbro as a batch job of Slurm, which goes on after each time limit until it is done:
#   sbatch --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --time=8:00:00 reproduce/slurm.sh gabbro pretrain cotmae ...
# Three minutes before the limit the tasks keep their training state and end with 75, and the job is queued again. The
# store must lie on a file system that all machines share.
#   GABBRO_SRUN    launcher of the tasks, instead of srun --mpi=pmix
#SBATCH --job-name=gabbro
#SBATCH --signal=B:USR1@180
#SBATCH --requeue
#SBATCH --open-mode=append
set -u
# shellcheck disable=SC2086 # a list of words
${GABBRO_SRUN:-srun --mpi=pmix} "$@" &
tasks=$!
# srun hands the signal on to all tasks. A job that is ended by TERM, as by scancel, is not queued again here.
limit='' signal=yes
trap 'signal=yes limit=yes; kill -s USR1 "$tasks"' USR1
trap 'signal=yes; kill -s USR1 "$tasks"' TERM
while [ "$signal" ]; do # a signal ends a wait before its time
    signal=''
    wait "$tasks"
    status=$?
done
if [ "$status" = 75 ] && [ "$limit" ]; then
    scontrol requeue "$SLURM_JOB_ID" || exit 75
fi
exit "$status"
