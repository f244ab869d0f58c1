# What the scripts of the tables are written in (POSIX sh, sourced by reproduce). Each function runs
# one step, `gabbro STEP ...`, which prints the folder of the step; a finished step is not run again.
# Settings come from scales/<scale>; see there for their meaning.
# shellcheck shell=sh disable=SC2154 # the settings, and what reproduce sets

say()
{
    case " $step_flags " in
    *' --quiet '*) ;;
    *) printf '%s\n' "$*" >&2 ;;
    esac
}

fail()
{
    code=$1
    shift
    printf 'reproduce: %s\n' "$*" >&2
    exit "$code"
}

absolute()
{
    case $1 in
    /*) printf '%s\n' "$1" ;;
    *) printf '%s/%s\n' "$PWD" "$1" ;;
    esac
}

# The program of this source tree or installation; else the one in PATH.
find_gabbro()
{
    gabbro=${GABBRO:-}
    for place in "$here/../build/src/cli/gabbro" "$here/../../../bin/gabbro"; do
        [ -n "$gabbro" ] || [ ! -x "$place" ] || gabbro=$place
    done
    : "${gabbro:=$(command -v gabbro || true)}"
    [ -n "$gabbro" ] || fail 2 "the program gabbro was not found (build it: reproduce/run ${table:-list})"
    tables_dir=${GABBRO_TABLES:-}
    [ -n "$tables_dir" ] || [ ! -f "$here/../tables/tables.tsv" ] || tables_dir=$here/../tables
}

# ---- settings -------------------------------------------------------------------------------------

setting_names()
{
    sed -n 's/^\([a-z][a-z0-9_]*\)=.*/\1/p' "$here/scales/$scale"
}

load_scale()
{
    case $scale in
    */* | .*) fail 2 "no scale $scale" ;;
    esac
    [ -f "$here/scales/$scale" ] ||
        fail 2 "no scale $scale (there is: $(cd "$here/scales" && echo *))"
    # shellcheck source=/dev/null # one of the scales
    . "$here/scales/$scale"
    for change in $changes; do
        name=${change%%=*} value=${change#*=}
        setting_names | grep -qx -- "$name" || fail 2 "scale $scale has no setting \"$name\""
        case $value in
        '' | *[!A-Za-z0-9._-]*) fail 2 "--set $name needs a plain word or number" ;;
        esac
        eval "$name=\$value"
    done
    [ -z "$own_collection" ] || load_own
}

# Of an own collection own_NAME stands for NAME, unless NAME itself was changed by --set.
load_own()
{
    for own in $(setting_names | grep '^own_'); do
        name=${own#own_}
        case " $changes" in
        *" $name="*) ;;
        *) eval "$name=\$$own" ;;
        esac
    done
}

# {"name": "value", ...} of all settings as they are now
settings_json()
{
    separator=''
    printf '{'
    for name in $(setting_names); do
        eval "value=\$$name"
        printf '%s"%s": "%s"' "$separator" "$name" "$value"
        separator=', '
    done
    printf '}'
}

# ---- running --------------------------------------------------------------------------------------

# step WHAT COMMAND...: run `gabbro COMMAND...`, print the step's folder.
step()
{
    what=$1
    shift
    if [ "$dry_run" = yes ]; then
        printf 'gabbro %s%s\n' "$*" "$step_flags" >&3
        printf '<%s>\n' "$what" | tr -d ',' | tr ' ' '-'
        return
    fi
    say "$what"
    # shellcheck disable=SC2086 # flags are words
    "$gabbro" "$@" $step_flags
}

collection()
{
    if [ -n "$own_collection" ]; then
        step "collection" collection --from "$own_collection" ${own_queries:+--queries "$own_queries"} \
            --queries-per-passage "$queries_per_passage"
    else
        step "collection" collection --world "$world_seed"
    fi
}

vocabulary()
{
    step "vocabulary" vocabulary --collection "$collection" --size "$vocabulary_tokens"
}

tokens()
{
    step "tokens" tokenize --collection "$collection" --vocabulary "$vocabulary" \
        --passage-tokens "$passage_tokens" --query-tokens "$query_tokens"
}

# bm25 SPLIT: BM25's run over the queries of a split
bm25()
{
    step "bm25 $1" bm25-run --collection "$collection" --split "$1" --depth "$bm25_depth"
}

# random_encoder: an encoder that was not trained
random_encoder()
{
    step "random encoder, seed $seed" pretrain none --collection "$collection" --tokens "$tokens" --vocabulary "$vocabulary" \
        --layers "$encoder_layers" --hidden "$encoder_hidden" --heads "$encoder_heads" \
        --ffn "$encoder_ffn" --init-std "$encoder_init_std" --steps 0 --seed "$seed"
}

# pretrain mlm | cocondenser | cotmae, none | span | query [ENCODER]: an encoder
pretrain()
{
    objective=$1 context=$2 init=${3:-}
    case $objective in
    mlm) steps=$mlm_steps batch=$mlm_batch_passages rate=$mlm_learning_rate mask=$mlm_mask_ratio ;;
    cocondenser)
        steps=$context_steps batch=$context_batch_pairs rate=$context_learning_rate
        mask=$cocondenser_mask_ratio
        ;;
    cotmae)
        steps=$context_steps batch=$context_batch_pairs rate=$context_learning_rate
        mask=$cotmae_mask_ratio
        ;;
    esac
    set -- "$objective" --collection "$collection" --tokens "$tokens" --vocabulary "$vocabulary" --context "$context" \
        --steps "$steps" --batch "$batch" --learning-rate "$rate" --mask-ratio "$mask" \
        --weight-decay "$pretrain_weight_decay" --warmup "$warmup_ratio" --dropout "$dropout" \
        --init-std "$encoder_init_std" --seed "$seed"
    if [ -n "$init" ]; then
        set -- "$@" --init "$init"
    else
        set -- "$@" --layers "$encoder_layers" --hidden "$encoder_hidden" --heads "$encoder_heads" \
            --ffn "$encoder_ffn"
    fi
    [ "$objective" != cocondenser ] || set -- "$@" --head-layers "$condenser_head_layers"
    [ "$objective" != cotmae ] ||
        set -- "$@" --decoder "$cotmae_decoder" --decoder-layers "$cotmae_decoder_layers"
    step "pretrain $objective, context $context, seed $seed" pretrain "$@"
}

# finetune ENCODER RUN [RUN]: a retriever trained with negatives from one or two runs
finetune()
{
    encoder=$1 negatives="from BM25"
    [ $# -lt 3 ] || negatives="mined and from BM25"
    shift
    for run; do
        shift
        set -- "$@" --negatives "$run"
    done
    step "finetune, negatives $negatives, seed $seed" finetune --init "$encoder" --tokens "$tokens" \
        --collection "$collection" "$@" --epochs "$finetune_epochs" \
        --train-queries "$finetune_train_queries" --batch "$finetune_batch_queries" \
        --negatives-per-query "$finetune_negatives_per_query" --depth "$finetune_negative_depth" \
        --learning-rate "$finetune_learning_rate" --weight-decay "$finetune_weight_decay" \
        --warmup "$warmup_ratio" --dropout "$dropout" --seed "$seed"
}

# mine RETRIEVER: its run over the training queries
mine()
{
    step "mine, seed $seed" mine --model "$1" --collection "$collection" --tokens "$tokens" \
        --split train --depth "$finetune_negative_depth"
}

# evaluate RETRIEVER | bm25: all measures on all evaluation splits
evaluate()
{
    if [ "$1" = bm25 ]; then
        step "evaluate bm25" evaluate --bm25 --collection "$collection" --depth "$search_depth"
    else
        step "evaluate, seed $seed" evaluate --model "$1" --collection "$collection" \
            --tokens "$tokens" --depth "$search_depth"
    fi
}

# ---- results --------------------------------------------------------------------------------------

json_text()
{
    printf '%s' "$1" | sed 's/[\\"]/\\&/g'
}

results_begin()
{
    exec 3>&1
    trap 'exit 75' INT TERM
    results_start=$(date +%s)
    seed=${seeds%% *}
    [ "$dry_run" = no ] || return 0
    results_rows=''
    results_draft=$out/.results.$$
    trap 'rm -f "$results_draft"' EXIT
    # Better now than after the training.
    { mkdir -p "$out" && true >"$results_draft" && rm "$results_draft"; } 2>/dev/null ||
        fail 3 "cannot write to the folder $out (see --out)"
}

# row KEY RETRIEVER | bm25: evaluate, and note the row for the report. Not within a pipe or $( ):
# the rows are in a variable.
row()
{
    model=$2
    evaluation=$(evaluate "$model")
    [ "$dry_run" = no ] || return 0
    [ "$model" != bm25 ] || model=''
    results_rows="$results_rows$(printf '{"row": "%s", "seed": %s, "evaluation": "%s", "model": "%s"}' \
        "$1" "$seed" "$(json_text "$evaluation")" "$(json_text "$model")")
"
}

# The first line says what was run; then the table is printed.
results_end()
{
    [ "$dry_run" = no ] || return 0
    kind=world
    [ -z "$own_collection" ] || kind=own
    results_all=$(
        printf '{"table": "%s", "scale": "%s", "collection_kind": "%s", "collection": "%s", ' \
            "$table" "$scale" "$kind" "$(json_text "$collection")"
        printf '"settings": %s, "times": {"wall_s": %s}}\n' "$(settings_json)" \
            $(($(date +%s) - results_start))
        printf '%s' "$results_rows"
    )
    { printf '%s\n' "$results_all" >"$results_draft" && mv "$results_draft" "$out/results.jsonl"; } \
        2>/dev/null || fail 3 "cannot write $out/results.jsonl"
    set -- report --table "$table" --scale "$scale" --results "$out/results.jsonl" --out "$out"
    [ -z "$tables_dir" ] || set -- "$@" --tables "$tables_dir"
    [ "$record" = no ] || set -- "$@" --record
    "$gabbro" "$@"
}
