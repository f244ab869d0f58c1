#!/bin/sh
# The batch job of reproduce/slurm.sh with a launcher and a scontrol that are made up: a training that is told to stop is
# queued again and goes on.
#   slurm.sh GABBRO JOB
set -u
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
job=$2
enter_work slurm "$1"

mkdir bin
printf '#!/bin/sh\necho "$@" >>scontrol.said\n' >bin/scontrol
printf '#!/bin/sh\nshift\nexec "$@"\n' >bin/srun # without --mpi=pmix
chmod +x bin/scontrol bin/srun
PATH=$PWD/bin:$PATH SLURM_JOB_ID=17
export PATH SLURM_JOB_ID

training_beir 60 beir
collection=$(made collection --from beir)
vocabulary=$(made vocabulary --collection "$collection" --size 100)
tokens=$(made tokenize --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 8 --query-tokens 8)

# A job with a training of $1 steps, in the background.
train()
{
    "$job" "$gabbro" pretrain mlm --collection "$collection" --tokens "$tokens" --vocabulary "$vocabulary" --batch 4 \
        --layers 1 --hidden 16 --heads 2 --ffn 16 --steps "$1" --progress json >made 2>said &
}

# Sends a signal to a job whose training has begun.
stop() # SIGNAL
{
    rm -f said
    train 1000000
    at=$!
    for _ in $(seq 300); do
        grep -q '"done": *[1-9]' said && break
        sleep .1
    done
    kill -s "$1" "$at"
    wait "$at"
    status=$?
}

stop TERM
expect "a job that is cancelled ends with 75 ($status)" [ "$status" = 75 ]
expect "and is not queued again" [ ! -e scontrol.said ]
stop USR1
expect "a job that is told of its limit ends with 75 ($status)" [ "$status" = 75 ]
expect "and is queued again" [ "$(cat scontrol.said)" = "requeue 17" ]
expect "the training keeps its state" ls store/work/pretrain-*/resume
rm scontrol.said

train 3
wait $!
status=$?
expect "a job that is done ends with 0 ($status)" [ "$status" = 0 ]
expect "what it made is there" [ -f "$(cat made)/model/model.safetensors" ]
"$job" "$gabbro" pretrain mlm >made 2>said
status=$?
expect "a job that fails ends with its code ($status)" [ "$status" = 2 ]
failed=0
for _ in 1 2 3 4 5 6; do
    GABBRO_SRUN=/nonexistent/srun "$job" "$gabbro" pretrain mlm >made 2>said
    [ $? = 127 ] && failed=$((failed + 1))
done
expect "so does one whose launcher is not there ($failed of 6)" [ $failed = 6 ]
expect "none is queued again" [ ! -e scontrol.said ]
checks_end
