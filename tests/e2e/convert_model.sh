#!/bin/sh
# gabbro convert-model: GGUF files of BERT encoders, and which models are refused. tests/unit/gguf.c reads the files;
# tests/peers/gguf_file.py has llama.cpp compute them.
#   convert_model.sh GABBRO
set -u
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
golden=$(CDPATH='' cd -- "$(dirname -- "$0")/../golden" && pwd) || exit 1
enter_work convert-model "$1"

bytes()
{
    wc -c <"$1"
}

"$gabbro" convert-model "$golden/bert" --to whole.gguf 2>log
expect "a BERT becomes a GGUF of version 3, 53 tensors" \
    [ "$(head -c 16 whole.gguf | od -An -tx1 | tr -d ' \n')" = 47475546030000003500000000000000 ]
"$gabbro" convert-model "$golden/bert" --to again.gguf 2>log
expect "the same bytes each time" cmp whole.gguf again.gguf
"$gabbro" convert-model "$golden/bert" --to half.gguf --numbers float16 2>log
# Of 3 layers with 4 H^2 + 2 H F numbers in matrices, and 99 word embeddings, H = 32, F = 64: two bytes less each.
expect "float16 takes half for matrices" [ $(($(bytes whole.gguf) - $(bytes half.gguf))) = $((2 * (3 * (4 * 32 * 32 + 2 * 32 * 64) + 99 * 32))) ]

copy() # NAME: of the golden BERT, to be spoiled
{
    cp -r "$golden/bert" "$1" && chmod -R u+w "$1"
}
copy cased && echo '{"do_lower_case": false}' >cased/tokenizer_config.json
copy asks && echo '{"prompts": {"query": "query: "}}' >asks/config_sentence_transformers.json
"$gabbro" convert-model asks --to asks.gguf 2>log
expect "prompts are said to be left out" grep -q "prompts are not in the file.*query: " log
refused 3 "a cased tokenizer" 'cased' convert-model cased --to x.gguf
refused 3 "an encoder of another kind" 'is not written as GGUF' convert-model "$golden/encoders/roberta" --to x.gguf
refused 3 "a cross-encoder" 'cross-encoder' convert-model "$golden/cross" --to x.gguf
refused 3 "a GGUF file as a model" "whole.gguf: a GGUF file, which is not read" embed whole.gguf
refused 3 "no model" 'nothing: no folder and no artifact' convert-model nothing --to x.gguf
mkfifo pipe
cat pipe >/dev/null &
refused 3 "a pipe" 'GGUF cannot be written to a pipe' convert-model "$golden/bert" --to pipe
wait
expect "nothing is left of what was refused" [ ! -e x.gguf ]
checks_end
