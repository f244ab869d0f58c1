# What the scripts of the tables are written in (POSIX sh, sourced by reproduce). Each function runs
# one step, `gabbro STEP ...`, which prints the folder of the step; a finished step is not run again.
# Settings come from scales/<scale>; see there for their meaning.
# shellcheck shell=sh disable=SC2034,SC2154 # the settings, and what reproduce sets

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
}

# $tables_dir: given, or that of this source tree or installation; else empty, the program's own
find_tables()
{
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
    [ -n "$own_collection" ] || setting_names | grep -qx 'world_seed\|data_main' ||
        fail 2 "scale $scale is for a collection of your own: --collection DIR"
    # What not every scale has.
    initial_encoder='' pretraining_set='' pretrain_schedule='' finetune_schedule='' finetune_warmup_ratio='' micro_batch='' finetune_micro_batch='' data_beir=''
    generator_epochs='' generator_prompt=''
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
    # What BERT and its further pre-training read, as against the passages that are searched.
    general_set=wikipedia
    [ -z "$own_collection" ] || general_set=main
    [ -z "$own_collection" ] || load_prefixed own
    [ -z "$own_init" ] || initial_encoder=$own_init
}

# PREFIX_NAME stands for NAME, unless NAME itself was changed by --set. Prefixes: own, of an own
# collection, and paper_PAPER.
load_prefixed() # PREFIX
{
    for prefixed in $(setting_names | grep "^$1_" || true); do
        name=${prefixed#"$1"_}
        case " $changes" in
        *" $name="*) ;;
        *) eval "$name=\$$prefixed" ;;
        esac
    done
}

# setting_of WHOSE NAME OTHERWISE: the setting WHOSE_NAME, e.g. of an objective or a set, if there is one
setting_of()
{
    eval "printf '%s\n' \"\${$1_$2:-\$3}\""
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

# Of what it reads, in one word.
checksum()
{
    cksum | tr ' ' -
}

# step WHAT COMMAND...: run `gabbro COMMAND...`, print the step's folder.
step()
{
    what=$1
    shift
    case $dry_run in
    plan)
        plan_step "$@"
        return
        ;;
    ahead)
        step_ahead "$what" "$@"
        return
        ;;
    compare)
        step_compare "$@"
        return
        ;;
    count)
        printf '%s\n' "$*" >&3
        printf '<%s>\n' "$(printf '%s' "$*" | checksum)"
        return
        ;;
    yes)
        printf 'gabbro %s%s\n' "$*" "$step_flags" >&3
        (
            IFS=' ,'
            # shellcheck disable=SC2086 # words
            set -- $what
            IFS=-
            printf '<%s>\n' "$*"
        )
        return
        ;;
    esac
    [ "$worked_ahead" = yes ] || say "$what ($(how_far))"
    run_step "$@"
    [ $code = 0 ] || exit $code
    printf '%s\n' "$folder"
}

# step_number NAME FOLDER: a number of the step's run.json
step_number()
{
    sed -n "s/^ *\"$1\": \([0-9.e+-]*\),\{0,1\}\$/\1/p" "$2/run.json" | head -n 1
}

# A set's name as part of a variable's.
set_key_of() # SET
{
    printf '%s' "$1" | tr -- '-/' '__'
}

# use SET: work on this set of the world from here on (main, wikipedia, nq, beir-scifact ...):
# $collection, $tokens. The vocabulary is that of main.
use()
{
    [ "$1" = main ] || [ -z "$own_collection" ] || fail 2 "$table needs sets that only the built-in world has"
    set_name=$1
    set_key=$(set_key_of "$1")
    eval "collection=\${collection_$set_key:-} tokens=\${tokens_$set_key:-}"
    [ -z "$tokens" ] || return 0
    collection=$(collection)
    [ -n "${vocabulary:-}" ] || vocabulary=$(vocabulary)
    tokens=$(tokens)
    if [ -n "$writer" ] && [ "$set_name" = "${pretraining_set:-main}" ]; then
        plain_tokens=$tokens
        written=$(written_by "$generator_size" "$generator_queries")
        tokens=$(tokens "$written")
    fi
    eval "collection_$set_key=\$collection tokens_$set_key=\$tokens"
}

collection()
{
    if [ "$set_name" = spans ]; then
        spans
        return
    fi
    public=$(public_name "$set_name")
    if [ -n "$own_collection" ]; then
        step "collection" collection --from "$own_collection" ${own_queries:+--queries "$own_queries"} \
            --queries-per-passage "$queries_per_passage"
    elif [ -n "$public" ]; then
        public=$(public_folder "$public")
        [ ! -f "$public.queries.jsonl" ] || set -- --queries "$public.queries.jsonl"
        # BEIR's sets only judge, articles are only read.
        case $set_name in beir-* | wikipedia) set -- "$@" --keep-splits ;; esac
        words=$(setting_of "$set_key" span_words '')
        [ -z "$words" ] || set -- "$@" --span-words "$words"
        step "collection $set_name" collection --from "$public" "$@" --queries-per-passage "$queries_per_passage"
    else
        [ "${set_name:=main}" = main ] || set -- --set "$set_name"
        step "collection $set_name" collection --world "$world_seed" "$@"
    fi
}

# The documents cut into spans, for pre-training where passages have no documents.
spans()
{
    set_name=documents # for this step only: it runs in a shell of its own
    whole=$(collection)
    public=$(public_name documents)
    public=$(public_folder "$public")
    set --
    [ ! -f "$public.spans.queries.jsonl" ] || set -- --queries "$public.spans.queries.jsonl"
    step "spans of documents" collection --cut "$whole" --span-words "$spans_span_words" "$@" \
        --queries-per-passage "$queries_per_passage"
}

# The public collection that a set is at this scale; nothing: a set of the built-in world.
public_name() # SET
{
    case $1 in
    beir-*) [ -z "$data_beir" ] || printf '%s\n' "$1" ;;
    *) setting_of data "$(set_key_of "$1")" '' ;;
    esac
}

# Where `gabbro data fetch` put a collection or a model; a path is its own place.
public_folder() # NAME
{
    case $1 in
    /*)
        printf '%s\n' "$1"
        return
        ;;
    esac
    [ "$dry_run" != plan ] || {
        stand_in "$1"
        return
    }
    if { [ "$dry_run" = no ] || [ "$dry_run" = ahead ]; } && [ ! -d "$data_dir/$1" ]; then
        how="gabbro data fetch $1 --to $data_dir/$1"
        "$gabbro" data fetch "$1" --dry-run >/dev/null 2>&1 ||
            how="it cannot be fetched, its files must be put there (datasets/README.md)"
        fail 3 "no folder $data_dir/$1 (see --data): $how"
    fi
    printf '%s\n' "$data_dir/$1"
}

vocabulary()
{
    if [ -n "$initial_encoder" ]; then
        initial=$(public_folder "$initial_encoder")
        step "vocabulary" vocabulary --from "$initial/vocab.txt"
        return
    fi
    step "vocabulary" vocabulary --collection "$collection" --size "$vocabulary_tokens"
}

# tokens [QUERIES]: ids of the collection's texts, with other generated queries than its own
tokens()
{
    step "tokens ${set_name:-main}" tokenize --collection "$collection" --vocabulary "$vocabulary" \
        --passage-tokens "$(setting_of "$set_key" passage_tokens "$passage_tokens")" --query-tokens "$query_tokens" ${1:+--generated "$1"}
}

# queries GENERATOR: queries that a generator writes for the passages
queries()
{
    case $writer in
    '') ;;
    trained)
        written_by "$(generator_size_of "$1")" "$generated_queries"
        return
        ;;
    *) fail 2 "$table compares generators: --generator trained" ;;
    esac
    public=$(public_name "$set_name")
    if [ -z "$public" ]; then
        set -- "$1" --generator "$1"
    elif [ "$dry_run" = plan ]; then
        set -- "$1" --generator extractive
    else
        public=$(public_folder "$public")
        set -- "$1" --from "$public.${1#world-}.jsonl"
    fi
    step "queries $1" queries --collection "$collection" "$2" "$3" --queries-per-passage "$generated_queries"
}

# The three sizes in the place of the stand-ins for three language models.
generator_size_of() # STAND_IN
{
    case $1 in
    world-13b) echo large ;;
    world-7b) echo medium ;;
    *) echo small ;;
    esac
}

# written_by SIZE NUMBER: so many queries a passage by --generator, and how often they are about it
written_by()
{
    model=$writer
    [ "$writer" != trained ] || model=$(train_generator "$1")
    set -- "$1" --queries "$2"
    if [ "$writer" = trained ]; then
        set -- "$@" --name "trained-$1" --most-tokens "$query_tokens" --prompt-tokens "$passage_tokens" --batch 128
    fi
    size=$1
    shift
    wrote=$(step "queries, generator $size" generate --model "$model" --collection "$collection" "$@" \
        ${generator_prompt:+--prompt "$generator_prompt"})
    related=$(step "relatedness, generator $size" relatedness --collection "$collection" --queries "$wrote" \
        --of queries --pairs "$annotated_pairs")
    [ "$dry_run" != no ] || say "generator $size: $(sed -n 's/^ *"value": \([0-9.]*\).*/\1/p' "$related/metrics.json" |
        awk '{ printf "%.1f%%", 100 * $1 }') of $annotated_pairs queries are strongly related to their passage"
    printf '%s\n' "$wrote"
}

# train_generator SIZE: a T5 trained on the training queries, small, medium or large
train_generator()
{
    [ -n "$generator_epochs" ] || fail 2 "scale $scale has no settings of generators to train"
    width=$(setting_of generator "$1"_hidden '')
    [ -n "$width" ] || fail 2 "a generator is small, medium or large, not \"$1\""
    step "train generator, $1" train-generator --collection "$collection" --tokens "$plain_tokens" \
        --vocabulary "$vocabulary" --layers "$(setting_of generator "$1"_layers '')" --hidden "$width" \
        --heads $((width / 16)) --ffn $((4 * width)) --epochs "$generator_epochs" \
        --batch "$generator_batch_pairs" --learning-rate "$generator_learning_rate"
}

# bm25 SPLIT: BM25's run over the queries of a split
bm25()
{
    step "bm25 $1" bm25-run --collection "$collection" --split "$1" --depth "$bm25_depth"
}

# random_encoder: an encoder that was not trained
random_encoder()
{
    step "random encoder, seed $seed" pretrain none --collection "$collection" \
        --tokens "$tokens" --vocabulary "$vocabulary" --layers "$encoder_layers" --hidden "$encoder_hidden" --heads "$encoder_heads" \
        --ffn "$encoder_ffn" --init-std "$encoder_init_std" --steps 0 --seed "$seed"
}

# begin_seed [SET]: $random, and $mlm, trained from it by masked LM on that set (main), where all other
# pre-training of a seed starts; the set at hand is then main. A failed step ends a script only where its
# folder is assigned to a variable: never write one $( ) into another.
begin_seed()
{
    use main
    random=$(random_encoder)
    if [ -n "$initial_encoder" ]; then
        mlm=$(initial_model "$initial_encoder")
        return
    fi
    steps=$mlm_steps batch=$mlm_batch_passages rate=$mlm_learning_rate mask=$mlm_mask_ratio
    use "${1:-main}"
    mlm=$(pretrain_step mlm none "$random")
    use main
}

# A published encoder to start from.
initial_model() # NAME
{
    if [ "$dry_run" = plan ] && [ -z "$own_init" ]; then stand_in_model; else public_folder "$1"; fi
}

# pretrain_for STEPS OBJECTIVE CONTEXT ENCODER [OPTIONS]: as pretrain, but for so many steps
pretrain_for()
{
    steps=$1 batch=$(setting_of "$2" context_batch_pairs "$context_batch_pairs")
    rate=$(setting_of "$2" context_learning_rate "$context_learning_rate")
    own=''
    [ -n "$own_init" ] || own=$(setting_of "$2" encoder '')
    shift
    eval "mask=\${mask_ratio:-\$${1}_mask_ratio}"
    if [ -n "$own" ] && [ "$3" = "$mlm" ]; then
        own=$(initial_model "$own")
        objective=$1 context=$2
        shift 3
        set -- "$objective" "$context" "$own" "$@"
    fi
    # Other queries than main's own, which some tables compare, were written for main's passages.
    [ "$set_name" != main ] || [ -z "$pretraining_set" ] || [ "$tokens" != "$tokens_main" ] || use "$pretraining_set"
    pretrain_step "$@" ${pretrain_schedule:+--schedule "$pretrain_schedule" --final-rate "$pretrain_final_rate"}
}

# curriculum OBJECTIVE COARSE_CONTEXT: $coarse, the first 75% of the steps, with a cosine schedule
curriculum()
{
    coarse=$(pretrain_for $(($(steps_here "$1") * 3 / 4)) "$1" "$2" "$mlm" --schedule cosine)
}

# curriculum_end OBJECTIVE PASSAGES: the last 25% at a constant rate, on generated queries of so many
# passages
curriculum_end()
{
    warmup=0 # for this step only: it runs in a shell of its own
    pretrain_for $(($(steps_here "$1") / 4)) "$1" query "$coarse" --schedule constant --passages "$2" \
        --queries "$generated_queries"
}

# pretrain OBJECTIVE CONTEXT ENCODER [OPTIONS]: an encoder trained further. All objectives of a table
# share steps, batch and rate; the mask ratio is the objective's own.
pretrain()
{
    pretrain_for "$(steps_here "$1")" "$@"
}

# Steps on the set at hand: others on long articles (at scale mini fewer: texts are three times as long).
steps_here() # OBJECTIVE
{
    if [ "$set_name" = wikipedia ]; then echo "$article_steps"; else setting_of "$1" context_steps "$context_steps"; fi
}

# other_system NAME: $encoder, a system of another paper as that paper trained it, as far as it goes here: its
# published weights where the scale names their folder (NAME_model, unless it is "train"), else from $mlm. The
# set stays main.
other_system()
{
    encoder=$(setting_of "$1" model train)
    if [ "$encoder" != train ]; then
        encoder=$(initial_model "$encoder")
        return
    fi
    case $1 in
    condenser | seed | costa)
        use "$general_set"
        encoder=$(pretrain "$1" none "$mlm")
        ;;
    cocondenser) # begins as a Condenser, which no row of coCondenser trained here does
        use "$general_set"
        encoder=$(pretrain condenser none "$mlm")
        use main
        encoder=$(pretrain cocondenser span "$encoder")
        ;;
    cotmae) # 1,200,000 steps of 1,024 are half as many spans again as 50,000 of 16,384
        encoder=$(pretrain_for $(($(steps_here cotmae) * 3 / 2)) cotmae span "$mlm")
        ;;
    retromae) encoder=$(pretrain enhanced none "$mlm") ;;
    *) encoder=$(pretrain "$1" none "$mlm") ;;
    esac
    use main
}

# pretrain_scheme SCHEME ENCODER [CONTEXT [MASK_RATIO]]: one of the schemes that the bag-of-word paper
# compares; plain masked LM is the same pre-training without anything beside it.
pretrain_scheme()
{
    mask_ratio=${4:-} # for this step only: it runs in a shell of its own
    [ "$1" != mlm ] || : "${mask_ratio:=$bow_mask_ratio}"
    pretrain "$1" "${3:-none}" "$2"
}

# mlm_loss ENCODER: its masked-LM loss on passages of the set
mlm_loss()
{
    step "masked-LM loss, seed $seed" mlm-loss --model "$1" --collection "$collection" \
        --tokens "$tokens" --vocabulary "$vocabulary" --mask-ratio "$mlm_mask_ratio"
}

pretrain_step()
{
    objective=$1 context=$2 init=$3 drop=$dropout
    shift 3
    [ "$objective" != simcse ] || drop=$simcse_dropout # its two views differ by nothing else
    set -- "$objective" "$@" --collection "$collection" --tokens "$tokens" \
        --vocabulary "$vocabulary" --context "$context" --steps "$steps" --batch "$batch" --learning-rate "$rate" --mask-ratio "$mask" \
        --weight-decay "$pretrain_weight_decay" --warmup "${warmup:-$warmup_ratio}" --dropout "$drop" \
        --init-std "$encoder_init_std" --seed "$seed"
    set -- "$@" --init "$init"
    case $objective in
    condenser | cocondenser) set -- "$@" --head-layers "$condenser_head_layers" ;;
    contriever) set -- "$@" --queue "$contriever_queue" --momentum "$contriever_momentum" ;;
    simlm) set -- "$@" --generator "$mlm" ;;
    esac
    # shellcheck disable=SC2086 # options are words
    case $objective in
    contriever) ;; # its queue wants a batch at once
    *) set -- "$@" ${micro_batch:+--micro-batch "$micro_batch"} $spread $share_options ;;
    esac
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
    # shellcheck disable=SC2086 # options are words
    step "finetune, negatives $negatives, seed $seed" finetune --init "$encoder" --tokens "$tokens" \
        --collection "$collection" "$@" --epochs "$(setting_of "$set_key" finetune_epochs "$finetune_epochs")" \
        --train-queries "$finetune_train_queries" --batch "$finetune_batch_queries" \
        --negatives-per-query "$finetune_negatives_per_query" --depth "$finetune_negative_depth" \
        --learning-rate "$(setting_of "$set_key" finetune_learning_rate "$finetune_learning_rate")" \
        --weight-decay "$finetune_weight_decay" --warmup "${finetune_warmup_ratio:-$warmup_ratio}" --dropout "$dropout" \
        ${finetune_schedule:+--schedule "$finetune_schedule" --final-rate "$finetune_final_rate"} \
        --seed "$seed" ${finetune_options:-} \
        ${finetune_micro_batch:+--micro-batch "$finetune_micro_batch"} $spread $share_options
}

# few ENCODER [BATCH RATE]: a retriever trained with $number of the training queries, in as many steps as
# with all
few()
{
    (
        finetune_epochs=$((finetune_epochs * few_queries_most / number))
        finetune_train_queries=$number
        finetune_batch_queries=${2:-${few_batches%% *}}
        finetune_learning_rate=${3:-${few_learning_rates%% *}}
        finetune "$1" "$bm25"
    )
}

# few_samples ENCODER: $evaluation, the mean over three samples of so many queries, batches and rates
few_samples()
{
    few_encoder=$1 few_seed=$seed
    set --
    for sample in 1 2 3; do
        seed=$((few_seed * 10 + sample)) # of fine-tuning: it draws the sample
        for batch in $few_batches; do
            for rate in $few_learning_rates; do
                first=$(few "$few_encoder" "$batch" "$rate")
                evaluation=$(evaluate "$first")
                set -- "$@" --of "$evaluation"
            done
        done
    done
    seed=$few_seed
    evaluation=$(step "mean of samples of $number queries, seed $seed" mean "$@")
}

# mine RETRIEVER: its run over the training queries. $spread: over ranks, which changes no result.
mine()
{
    # shellcheck disable=SC2086 # a list of words
    step "mine, seed $seed" mine --model "$1" --collection "$collection" --tokens "$tokens" \
        --split train --depth "$finetune_negative_depth" $spread
}

# evaluate RETRIEVER | bm25: all measures on all evaluation splits
evaluate()
{
    of=$1
    set --
    # In ArguAna and Quora a query is a passage too; MS MARCO's ids are numbers that mean nothing.
    case $set_name in beir-*) [ -z "$data_beir" ] || set -- --drop-identical ;; esac
    if [ "$of" = bm25 ]; then
        step "evaluate bm25" evaluate --bm25 --collection "$collection" --depth "$search_depth" "$@"
    else
        # shellcheck disable=SC2086 # a list of words
        step "evaluate, seed $seed" evaluate --model "$of" --collection "$collection" \
            --tokens "$tokens" --depth "$search_depth" $spread "$@"
    fi
}

# evaluate_on SET RETRIEVER | bm25: $evaluation, on that set from here on. A set of several collections
# (parts_SET: CQADupStack's forums) counts with the mean of theirs; its plan is that of one collection.
evaluate_on()
{
    whole=$1 retriever=$2
    parts=$(setting_of parts "$(set_key_of "$whole")" '')
    if [ -z "$parts" ] || [ "$dry_run" = plan ]; then
        use "$whole"
        evaluation=$(evaluate "$retriever")
        return
    fi
    set --
    for part in $parts; do
        use "$whole/$part"
        evaluation=$(evaluate "$retriever")
        set -- "$@" --of "$evaluation"
    done
    evaluation=$(step "mean of $whole, seed $seed" mean "$@")
}

# retrievers ENCODER: $first learns from BM25's negatives, $second from the mistakes of $first. Both
# start from the encoder.
retrievers()
{
    first=$(finetune "$1" "$bm25")
    mined=$(mine "$first")
    second=$(finetune "$1" "$mined" "$bm25")
}

# hard_negatives: $hard and $hard_too, the runs that all rows of a table learn from: the public file of hard
# negatives where the scale has it, else BM25's and those that $mlm finds once it is fine-tuned
hard_negatives()
{
    hard_too=''
    file=$(setting_of data hard_negatives '')
    if [ -n "$file" ] && [ "$dry_run" = plan ]; then
        hard=$bm25
    elif [ -n "$file" ]; then
        file=$(public_folder "$file")
        hard=$(step "hard negatives" negatives --collection "$collection" --from "$file")
    else
        first=$(finetune "$mlm" "$bm25")
        hard=$(mine "$first")
        hard_too=$bm25
    fi
}

# retriever_rows NAME ENCODER: rows NAME-r1 and NAME-r2
retriever_rows()
{
    wanted "$1-r1" "$1-r2" || return 0
    second=''
    if wanted "$1-r2"; then retrievers "$2"; else first=$(finetune "$2" "$bm25"); fi
    row "$1-r1" "$first" "$2"
    row "$1-r2" "$second" "$2"
}

# costa_encoder TASK [OPTIONS]: $encoder, pre-trained from $mlm on the long articles by a task of the
# COSTA paper; bert: $mlm, not pre-trained further. The set stays main.
costa_encoder()
{
    task=$1
    shift
    case $task in
    bert)
        encoder=$mlm
        return
        ;;
    seed)
        other_system seed
        return
        ;;
    esac
    use "$general_set"
    encoder=$(pretrain "$task" none "$mlm" "$@")
    use main
}

# $first learns from BM25's negatives; $second continues from there with mined ones.
costa_retrievers()
{
    first=$(finetune "$encoder" "$bm25")
    mined=$(mine "$first")
    second=$(finetune "$first" "$mined")
}

# costa_ablation KEY [OPTIONS]: a row for COSTA with 3 spans of a granularity and the ablations'
# temperature unless options differ, pre-trained half as long as elsewhere
costa_ablation()
{
    key=$1
    shift
    wanted "$key" || return 0
    case " $* " in *' --spans '*) ;; *) set -- "$@" --spans 3 ;; esac
    case " $* " in *' --temperature '*) ;; *) set -- "$@" --temperature "$costa_ablation_temperature" ;; esac
    use "$general_set"
    encoder=$(pretrain_for $(($(steps_here costa) / 2)) costa none "$mlm" "$@")
    use main
    first=$(finetune "$encoder" "$bm25")
    row "$key" "$first" "$encoder"
}

# ---- results --------------------------------------------------------------------------------------

json_text()
{
    printf '%s' "$1" | sed 's/[\\"]/\\&/g'
}

results_begin()
{
    begin_script
    results_start=$(date +%s)
    # What decides the results, the same on every device: the steps and their options. Settings that
    # the table does not use are not in it, nor is the place of public collections, nor which rows are made.
    data_pattern=$(printf '%s' "$data_dir/" | sed 's/[][\\.*^$|]/\\&/g')
    recipe=$( (
        share_options=$spread$share_options # of either, results know the shares alone
        seeds=42 only_rows='' everything=no step_flags='' spread='' share_options=${share_options:+--shares $shares}
        run_script yes
    ) | sed "s|$data_pattern||g" | checksum)
    [ "$dry_run" = no ] || return 0
    results_rows=''
    results_draft=$out/.results.$$
    trap 'rm -f "$results_draft" "$jobs_dir/worker.$worker"' EXIT
    # Better now than after the training.
    { mkdir -p "$out" && true >"$results_draft" && rm "$results_draft"; } 2>/dev/null ||
        fail 3 "cannot write to the folder $out (see --out)"
}

write_results()
{
    { printf '%s\n' "$results_all" >"$results_draft" && mv "$results_draft" "$out/results.jsonl"; } \
        2>/dev/null || fail 3 "cannot write $out/results.jsonl"
}

# Every name in --rows must be one of the table's rows; else nothing would be made, silently.
check_rows()
{
    rows_file=$tables_dir/rows/$(echo "$table" | tr / -).tsv
    [ -n "$only_rows" ] && [ -f "$rows_file" ] || return 0
    keys=$(sed 1d "$rows_file" | cut -f 1 | grep -vx -e - | tr '\n' ' ')
    set -f
    for pattern in $(echo "$only_rows" | tr '|' ' '); do
        # shellcheck disable=SC2086 # words
        (only_rows=$pattern && wanted $keys) || fail 2 "$table has no row $pattern; it has: $keys"
    done
    set +f
}

# wanted KEY...: whether one of these rows is asked for (--rows); scripts leave out what only others need.
wanted()
{
    [ -n "$only_rows" ] || return 0
    for wanted_key; do
        eval "case \$wanted_key in $only_rows) return 0 ;; esac"
    done
    return 1
}

# asked KEY...: the same of rows that a plain run leaves out: --rows names them, or asks for all
asked()
{
    [ "$everything" = yes ] || { [ -n "$only_rows" ] && wanted "$@"; }
}

# row KEY RETRIEVER | bm25 [ENCODER]: evaluate, and note the row for the report; with ENCODER also what
# that found before it was fine-tuned, a column of our own. Not within a pipe or $( ): the rows are in a
# variable.
row()
{
    wanted "$1" || return 0
    evaluation=$(evaluate "$2")
    note_row "$1" "$evaluation" "$2"
    [ -z "${3:-}" ] || row_before "$1" "$3"
}

# row_before KEY ENCODER [SET]
row_before()
{
    wanted "$1" || return 0
    evaluation=$(evaluate "$2")
    note_row "$1" "$evaluation" '' "before${3:+/$3}"
}

# note_row KEY EVALUATION [RETRIEVER | bm25 [SET]]
note_row()
{
    [ "$dry_run" = no ] || return 0
    wanted "$1" || return 0
    noted_model=${3:-}
    [ "$noted_model" != bm25 ] || noted_model=''
    results_rows="$results_rows$(printf '{"row": "%s", "seed": %s, "evaluation": "%s", "model": "%s"%s}' \
        "$1" "$seed" "$(json_text "$2")" "$(json_text "$noted_model")" "${4:+, \"set\": \"$4\"}")
"
}

# row_on SETS KEY RETRIEVER | bm25 [ENCODER]: the same for other sets of the world.
row_on()
{
    wanted "$2" || return 0
    row_before=$set_name
    for row_set in $1; do
        evaluate_on "$row_set" "$3"
        note_row "$2" "$evaluation" "$3" "$row_set"
        [ -z "${4:-}" ] || row_before "$2" "$4" "$row_set"
    done
    use "$row_before"
}

# figure TITLE X_LABEL MEASURE Y_LABEL: a script that draws a measure against a number
figure()
{
    figure_title=$1 figure_x=$2 figure_measure=$3 figure_y=$4
}

# point SERIES X RETRIEVER [ROW], level SERIES RETRIEVER [ROW] (a dashed line); ROW: it is one of the
# figure's table too, where the figure has claims
point()
{
    evaluation=$(evaluate "$3")
    figure_line "$1" ", \"x\": $2" "$evaluation" "${4:-}" "$3"
}

level()
{
    evaluation=$(evaluate "$2")
    figure_line "$1" "" "$evaluation" "${3:-}" "$2"
}

figure_line() # SERIES REST EVALUATION [ROW [RETRIEVER | bm25]]
{
    [ "$dry_run" = no ] || return 0
    noted_model=${5:-}
    [ "$noted_model" != bm25 ] || noted_model=''
    results_rows="$results_rows$(printf '{"series": "%s", "seed": %s%s, "evaluation": "%s"%s}' "$1" "$seed" \
        "$2" "$(json_text "$3")" \
        "${4:+, \"row\": \"$4\", \"model\": \"$(json_text "$noted_model")\"}")
"
}

# page FOLDER FILE: what a step drew, copied to where results go
page()
{
    [ "$dry_run" = no ] || return 0
    figure_folder=$1 figure_page=$2
}

# The first line says what was run; then the table or figure is made.
results_end()
{
    [ "$dry_run" = no ] || {
        echo "# recipe $recipe"
        return
    }
    if [ -n "$figure_folder" ]; then
        cp -- "$figure_folder"/*.* "$out/" || fail 3 "cannot write to the folder $out"
        rm -f "$out/run.json" "$out/metrics.json"
        printf '%s/%s\n' "$out" "$figure_page"
        [ -n "$results_rows" ] || return 0
    fi
    kind=world
    [ -z "$own_collection" ] || kind=own
    results_all=$(
        printf '{"table": "%s", "scale": "%s", "collection_kind": "%s", "collection": "%s", ' \
            "$table" "$scale" "$kind" "$(json_text "$collection")"
        [ -z "$figure_title" ] ||
            printf '"figure": "%s", "title": "%s", "x": "%s", "log_x": true, "measure": "%s", "y": "%s", ' \
                "$table" "$figure_title" "$figure_x" "$figure_measure" "$figure_y"
        printf '"recipe": "%s", "settings": %s, "times": {"wall_s": %s}}\n' "$recipe" "$(settings_json)" \
            $(($(date +%s) - results_start))
        printf '%s' "$results_rows"
    )
    write_results
    if [ -n "$figure_title" ]; then
        "$gabbro" curves --results "$out/results.jsonl" --out "$out" || return
        case $results_rows in *'"row": '*) ;; *) return 0 ;; esac
    fi
    set -- report --table "$table" --scale "$scale" --results "$out/results.jsonl" --out "$out"
    [ -z "$tables_dir" ] || set -- "$@" --tables "$tables_dir"
    [ "$record" = no ] || set -- "$@" --record
    "$gabbro" "$@"
}
