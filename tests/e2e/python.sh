#!/bin/sh
# The Python package over libgabbro, from the source tree: the same vectors and passages as the program's.
#   python.sh GABBRO LIBRARY
set -u
. "$(dirname -- "$0")/../checks.sh"
tests=$(readlink -f "$(dirname -- "$0")")
GABBRO_LIBRARY=$(readlink -f "$2")
PYTHONPATH=$tests/../../python PYTHONDONTWRITEBYTECODE=1
export GABBRO_LIBRARY PYTHONPATH PYTHONDONTWRITEBYTECODE
enter_work python "$1"
needs_numpy "the Python package"

small_beir 60 beir
collection=$(made collection --from beir --keep-splits)
random_model "$collection"
run=$(made bm25-run --collection "$collection" --split test)/run.trec
printf 'rain stone\nmoss\nriver ice sand\n' >questions
"$gabbro" embed "$model" questions --query --out vectors.npy --quiet
"$gabbro" ask "$model" "$collection" --json --quiet <questions >answers
for similarity in cosine manhattan; do # of means, which differ in length
    cp -r "$model/model" $similarity
    printf '{"pooling_mode_mean_tokens": true}' >$similarity/1_Pooling/config.json
    printf '{"similarity_fn_name": "%s"}' $similarity >$similarity/config_sentence_transformers.json
done
for folder in prompted apart; do # the latter leaves the tokens of prompts out of the mean
    cp -r cosine $folder
    printf '{"prompts": {"query": "rain ", "document": "", "topic": "moss ", "ask": "rain "}, "default_prompt_name": "topic"}' \
        >$folder/config_sentence_transformers.json
done
printf '{"pooling_mode_mean_tokens": true, "include_prompt": false}' >apart/1_Pooling/config.json
"$python" "$tests/python.py" "$model" "$collection" beir/qrels/test.tsv "$run" questions vectors.npy answers >out 2>said
status=$?
take_checks out
expect "the script ends well ($status)" [ $status = 0 ] || tail said
checks_end
