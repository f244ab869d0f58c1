#!/bin/sh
# The tables do what their papers did: what the recipes would run, at scale mini and at scale paper, without
# running it. as_the_papers.sh REPRODUCE GABBRO
set -u
. "$(dirname -- "$0")/../checks.sh"
reproduce=$1
GABBRO=$2
export GABBRO
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd) || exit 1
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-papers-XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

# recipe TABLE [OPTIONS]: its commands in $work/run
recipe()
{
    table=$1
    "$reproduce" "$@" --dry-run --data "$work/data" >"$work/run" 2>"$work/stderr" ||
        bad "reproduce $* --dry-run" "$work/stderr"
}

# count PATTERN...: commands that have all of these
count()
{
    cp "$work/run" "$work/left"
    for pattern; do
        grep -e "$pattern" "$work/left" >"$work/fewer"
        mv "$work/fewer" "$work/left"
    done
    wc -l <"$work/left" | tr -d ' '
}

# has N WHAT PATTERN...: so many commands
has()
{
    number=$1 what=$2
    shift 2
    found=$(count "$@")
    expect "$table: $what ($found)" [ "$found" = "$number" ]
}

# ---- bag-of-word prediction -----------------------------------------------------------------------
articles='--collection <collection-wikipedia>' passages='--collection <collection-main>'

recipe bow/table1
has 5 "all pre-training is on the articles" '^gabbro pretrain [^n]' "$articles"
has 0 "none is on the passages whose loss is measured" '^gabbro pretrain [^n]' "$passages"
has 5 "the loss is measured on passages" '^gabbro mlm-loss' "$passages"
recipe bow/table2
has 5 "the loss is measured on what is searched" '^gabbro mlm-loss' '<collection-nq>'
has 0 "and not on the articles" '^gabbro mlm-loss' "$articles"
for table in bow/table2 bow/table3 bow/table5 bow/table6 costa/table1; do
    recipe $table
    has 1 "the start is masked LM on the articles" '^gabbro pretrain mlm' '--steps 1000' "$articles"
done
recipe bow/table6
has 1 "without the task, but with the same mask ratio" '^gabbro pretrain mlm' '--steps 1200' '--mask-ratio 0.15 '
recipe bow/table3
for system in simlm cocondenser enhanced; do
    has 2 "$system is trained, on either corpus" "^gabbro pretrain $system "
done
for system in seed condenser; do
    has 1 "$system is trained once, on the articles" "^gabbro pretrain $system " "$articles"
done
has 2 "coCondenser begins as a Condenser" '^gabbro pretrain cocondenser ' '--init <pretrain-condenser'
recipe bow/table2 --scale paper
has 20 "20 epochs at 5e-6 on questions with answers" '^gabbro finetune' '--epochs 20 ' '--learning-rate 0.000005 '
recipe bow/table1 --scale paper
has 10 "3 epochs at 2e-5 on MS MARCO, by cosine to a tenth" '^gabbro finetune' '--epochs 3 ' \
    '--learning-rate 0.00002 ' '--warmup 0.053 ' '--schedule cosine --final-rate 0.1 '

recipe bow/fig2
has 5 "five schemes on the articles" '^gabbro pretrain [^n]' "$articles" '--steps 1200'
has 7 "the coverage of six models, a row each, and all of them on a page" '^gabbro coverage'

# ---- COSTA ----------------------------------------------------------------------------------------
recipe costa/table2 --rows costa-i2
has 2 "documents begin where both stages of passages end" '^gabbro finetune' '<collection-documents>' \
    '--init <finetune-'
has 4 "two stages and two iterations" '^gabbro finetune'
has 2 "six epochs, as on passages, or none converges" '^gabbro finetune' '--epochs 6 ' '<collection-documents>'
recipe costa/table2 --scale paper --rows costa-i2
has 2 "one epoch" '^gabbro finetune' '--epochs 1 ' '<collection-documents>'
has 4 "64 queries with 7 negatives" '^gabbro finetune' '--batch 64 --negatives-per-query 7 ' \
    '--learning-rate 0.000005 '
recipe costa/table4
has 1 "3 spans of each granularity" '^gabbro pretrain costa' '--spans 3 '
has 4 "4 of each of three" '^gabbro pretrain costa' '--granularities' '--spans 4 '
has 5 "half of the steps, at the temperature that the base's value belongs to" '^gabbro pretrain costa' \
    '--steps 600 ' '--temperature 0.1 '
recipe costa/fig3
has 2 "fine-tuned with few queries" '^gabbro finetune' '--train-queries 250 '
has 1 "SEED beside COSTA" '^gabbro tsne' '--model SEED=' '--model COSTA='
has 0 "no other" '^gabbro tsne' 'BERT'

recipe costa/fig4
has 24 "two systems, four numbers of queries, three samples" '^gabbro finetune'
has 8 "whose mean is shown" '^gabbro mean' '--of.*--of.*--of'
recipe costa/fig4 --scale paper
has 144 "each with three batches and two rates" '^gabbro finetune'
has 48 "4 queries" '^gabbro finetune' '--batch 4 '
has 72 "at 1e-5" '^gabbro finetune' '--learning-rate 0.00001 '

# ---- query-as-context -----------------------------------------------------------------------------
recipe qac/table2
has 1 "negatives are mined once, for all rows" '^gabbro mine'
has 5 "one fine-tuning a row, and one that mines" '^gabbro finetune'
has 4 "with the same negatives" '^gabbro finetune' '--negatives <mine-seed-42> --negatives <bm25-train>'
recipe qac/table2 --scale paper
has 1 "the public hard negatives" '^gabbro negatives' 'msmarco-hard-negatives'
has 4 "which all rows learn from" '^gabbro finetune' '--negatives <hard-negatives>'
recipe qac/table1
has 0 "other papers' systems are not in a plain run" '^gabbro pretrain \(seed\|costa\|condenser\|simlm\|enhanced\) '
recipe qac/table1 --rows all
for system in seed costa simlm enhanced; do
    has 1 "with --rows all $system is" "^gabbro pretrain $system "
done
has 1 "coCondenser as its paper began it, from a Condenser" '^gabbro pretrain cocondenser' '--init <pretrain-condenser-'
has 1 "CoT-MAE with half as many spans again" '^gabbro pretrain cotmae' '--steps 2700 '
has 0 "no text is longer than an encoder of the table takes" '^gabbro tokenize' '--passage-tokens \(49\|[5-9][0-9]\|[0-9]\{3,\}\) '
recipe qac/table1 --rows retromae
has 1 "a system that is asked for alone" '^gabbro pretrain' 'enhanced '

recipe qac/speed
has 1 "spans and queries in turn" '^gabbro pretrain cocondenser' '--context span' '--interleave-with cocondenser:query'

# ---- document expansion ---------------------------------------------------------------------------
recipe llm/table2
has 1 "SimLM is trained" '^gabbro pretrain simlm ' '--generator <pretrain-mlm-'
has 1 "Condenser is, once, for itself and as coCondenser's beginning" '^gabbro pretrain condenser ' "$articles"
has 1 "coCondenser from a Condenser" '^gabbro pretrain cocondenser' '--init <pretrain-condenser-'
for table in llm/table1 llm/table3; do
    recipe $table
    has 1 "coCondenser from a Condenser" '^gabbro pretrain cocondenser' '--init <pretrain-condenser-'
done
recipe llm/table1 --scale paper
for system in simcse co-condenser-marco contriever; do
    has 0 "published weights of $system are not trained on" "^gabbro pretrain.*--init $work/data/$system "
    has 1 "but measured" "^gabbro evaluate --model $work/data/$system "
done
recipe llm/table1 --scale paper --set simcse_model=train
has 1 "or trained here" '^gabbro pretrain simcse '
prompt=$(dirname -- "$0")/../../prompts/tk-instruct
expect "the prompt of tk-instruct is the printed one" \
    grep -q '^Definition: Generate one search query in question or phrase format\.' "$prompt"
# ---- all recipes ------------------------------------------------------------------------------------
# Every option of every command, also those of ranks, is one that the command knows.
for recipe in "$root"/reproduce/*/*.lua; do
    table=${recipe%.lua}
    "$reproduce" "${table#"$root"/reproduce/}" --rows all --ranks 2 --gradient-shards 4 --dry-run --data "$work/data" 2>>"$work/stderr"
done >"$work/all"
awk '/^gabbro / { for (i = 3; i <= NF; i++) if ($i ~ /^--/) print $2, $i }' "$work/all" | sort -u >"$work/options"
while read -r command option; do
    [ -f "$work/$command.help" ] || "$GABBRO" "$command" --help >"$work/$command.help" 2>&1
    grep -qe "^ *${option}[ ,]" -e ", ${option}[ ,]" "$work/$command.help" || echo "$command $option"
done <"$work/options" >"$work/unknown"
expect "the recipes' options, $(wc -l <"$work/options" | tr -d ' ') of them, are those of the commands" \
    sh -c '[ -s "$1" ] && [ ! -s "$2" ]' sh "$work/options" "$work/unknown"
[ ! -s "$work/unknown" ] || cat "$work/unknown" "$work/stderr"
checks_end
