#!/bin/sh
# gabbro verify on the golden model, and on damaged copies of it: verify.sh GABBRO FOLDER/config.json
set -u
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
gabbro=$1 model=$(dirname -- "$2")
work=$(mktemp -d "${TMPDIR:-/tmp}/gabbro-verify.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

ends() # WHAT STATUS PATTERN ARGUMENTS...
{
    what=$1 wanted=$2 pattern=$3
    shift 3
    "$gabbro" verify "$@" >"$work/out" 2>&1
    status=$?
    if [ "$status" = "$wanted" ] && grep -q -- "$pattern" "$work/out"; then
        good "$what"
    else
        bad "$what: status $wanted and \"$pattern\", not $status" "$work/out"
    fi
}

# A copy in $work/m, to be damaged.
copy()
{
    rm -rf "$work/m"
    cp -r "$model" "$work/m" && chmod -R u+w "$work/m"
}

ends "the golden model" 0 "All of it holds" "$model"
ends "its numbers in lines to be collected" 0 \
    "^trust:.states of every layer.golden numbers.[0-9.e-]*.0.0001$" --trust "$model"
grep '^trust:' "$work/out" | sed 's/^\(trust:.\)/\1gabbro verify, golden model: /; s/golden numbers/transformers, torch (float64)/'
real=${GABBRO_TEST_MODEL:-${GABBRO_TEST_DATA:-}/all-MiniLM-L6-v2}
if [ -f "$real/config.json" ]; then
    ends "a real checkpoint" 0 "^trust:" --trust "$real"
    grep '^trust:' "$work/out" | sed "s|^\(trust:.\)|\1gabbro verify, real checkpoint $(basename "$real"): |"
else
    skipped "gabbro verify, all-MiniLM-L6-v2: neither GABBRO_TEST_MODEL nor GABBRO_TEST_DATA has it"
fi
copy
cp -r "$model/../splade/." "$work/m"
ends "a SparseEncoder as sentence-transformers saves it" 0 \
    "^trust:.sentence vectors.golden numbers.[0-9.e-]*.0.0001$" --trust "$work/m"
grep '^trust:' "$work/out" | sed 's/^\(trust:.\)/\1gabbro verify, SparseEncoder: /; s/golden numbers/sentence-transformers/'
ends "a bound that is too narrow" 1 "FAIL" --bound 1e-12 "$model"
ends "no model" 2 "needs one folder"
ends "a bound that is no number" 2 "is no number" --bound x "$model"
ends "no such folder" 3 "no such folder" "$work/none"
ends "no such numbers" 3 "$work/none" --golden "$work/none" "$model"
ends "weights as golden numbers" 3 "neither text nor ids" --golden "$model/model.safetensors" "$model"
copy
rm "$work/m/vocab.txt"
ends "no vocabulary" 3 "vocab.txt" "$work/m"
copy
sed 's/"hidden_size": 32/"hidden_size": 48/' "$model/config.json" >"$work/m/config.json"
ends "another size" 3 "config.json asks for" "$work/m"
copy
sed 's/"pad_token_id": 0/"pad_token_id": 3/' "$model/config.json" >"$work/m/config.json"
ends "another padding" 3 "\[PAD\] is token 0" "$work/m"
copy
sed 's/"layer_norm_eps": 1e-12/"layer_norm_eps": 0.01/' "$model/config.json" >"$work/m/config.json"
ends "another computation" 1 "FAIL" "$work/m"
copy
size=$(wc -c <"$work/m/model.safetensors")
printf '\377\377\377\177' | dd of="$work/m/model.safetensors" bs=1 seek=$((size - 8)) conv=notrunc 2>"$work/dd"
ends "a value that is no number" 3 "not finite" "$work/m"
copy
mv "$work/m/model.safetensors" "$work/m/pytorch_model.bin"
ends "a pytorch_model.bin that is none" 3 "not a zip" "$work/m"
copy
mkdir "$work/m/1_Pooling"
printf '{"word_embedding_dimension": 32, "pooling_mode_max_tokens": true}\n' >"$work/m/1_Pooling/config.json"
printf '[{"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
 {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]\n' >"$work/m/modules.json"
ends "a pooling that is not computed" 3 "max_tokens" "$work/m"
checks_end
