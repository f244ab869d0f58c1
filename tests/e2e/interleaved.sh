#!/bin/sh
# Steps of several pre-trainings timed while interleaved, and what a table reads from them.
#   interleaved.sh GABBRO
set -u
# shellcheck source=tests/checks.sh
. "$(dirname -- "$0")/../checks.sh"
enter_work turns "$1"

refused() # WHAT STATUS TEXT COMMAND...: says so, once
{
    what=$1 wanted=$2 text=$3
    shift 3
    "$gabbro" "$@" --quiet >out 2>log
    status=$?
    expect "$what: ends with $wanted ($status)" [ $status = "$wanted" ]
    expect "$what: says why, once" [ "$(grep -c "$text" log)" = 1 ]
}

collection=$(made collection --world 1)
vocabulary=$(made vocabulary --collection "$collection" --size 500)
tokens=$(made tokenize --collection "$collection" --vocabulary "$vocabulary" --passage-tokens 24 --query-tokens 8)
set -- --collection "$collection" --tokens "$tokens" --vocabulary "$vocabulary" --layers 1 --hidden 32 --heads 2 \
    --ffn 32 --batch 4 --steps 7
times=$(made pretrain mlm "$@" --interleave-with bow,enhanced)
expect "times" [ -f "$times/step_times.json" ]
expect "no model" [ ! -e "$times/model" ]
expect "an option of theirs is recorded" [ "$(grep -c '"bow-weight":' "$times/run.json")" = 1 ]
expect "and one of other objectives is not" [ "$(grep -c '"window"' "$times/run.json")" = 0 ]
expect "said, it is another step" [ "$(made pretrain mlm "$@" --interleave-with bow,enhanced --bow-weight 2)" != "$times" ]
expect "the same command gives the same step" [ "$(made pretrain mlm "$@" --interleave-with bow,enhanced)" = "$times" ]

# The medians, once more: of what is wanted of NAME's and mlm's steps, as an awk expression of both.
median_of() # NAME EXPRESSION
{
    tr -d ' \n' <"$times/step_times.json" | sed 's/"\(mlm\|bow\|enhanced\)"/\n\1/g; s/"\(data_s\|step_s\)":\[/ \1 /g; s/[],{}:]/ /g' |
        awk -v name="$1" '
            { for (i = 2; i <= NF; i++) if ($i ~ /_s$/) { kind = $i; n = 0 } else value[$1, kind, ++n] = $i; count[$1] = n }
            END {
                for (i = 1; i <= count[name]; i++) {
                    data = value[name, "data_s", i]; step = value[name, "step_s", i]
                    first_data = value["mlm", "data_s", i]; first = value["mlm", "step_s", i]
                    print '"$2"'
                }
            }' | sort -g | awk '{ v[NR] = $1 } END { printf "%d %.6g\n", NR, (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

measure() # NAME OF A MEASURE [DIGITS]: from the metrics of $cost
{
    sed -n "s/^ *\"efficiency:$1\": *\([-0-9.e+]*\),\{0,1\}\$/\1/p" "$cost/metrics.json" |
        awk -v digits="${2:-6}" '{ printf "7 %.*g\n", digits, $1 }'
}

cost=$(made efficiency --of "$times" --objective enhanced)
lost=$(median_of enhanced '1 - first / step')
first=$(median_of mlm '4 / step')
expect "samples a second ($(measure samples_per_s))" \
    [ "$(measure samples_per_s 4)" = "7 $(awk -v lost="${lost#* }" -v first="${first#* }" 'BEGIN { printf "%.4g", (1 - lost) * first }')" ]
expect "time for data ($(measure data_s))" [ "$(measure data_s)" = "$(median_of enhanced data)" ]
expect "time beyond that of masked LM ($(measure decoder_s))" \
    [ "$(measure decoder_s)" = "$(median_of enhanced '(step - data) - (first - first_data)')" ]
expect "share of speed lost ($(measure degeneration))" [ "$(measure degeneration)" = "$lost" ]
cost=$(made efficiency --of "$times" --objective mlm)
expect "the first objective is compared with none" [ "$(measure data_s | wc -l) $(measure degeneration | wc -l)" = '1 0' ]

times=$(made pretrain cocondenser "$@" --context span --head-layers 1 --interleave-with cocondenser:query)
cost=$(made efficiency --of "$times" --objective cocondenser:query)
expect "one objective with two contexts" [ "$(measure degeneration | wc -l)" = 1 ]
refused "a context where the command has none" 2 'a context that the command does not have' \
    pretrain mlm "$@" --interleave-with cocondenser:query
times=$(made pretrain mlm "$@" --interleave-with bow,enhanced)
refused "an objective that was not timed" 3 'no times of the steps of cotmae' efficiency --of "$times" --objective cotmae
model=$(made pretrain mlm "$@")
expect "a model beside it is trained as ever" [ -f "$model/model/model.safetensors" ]
refused "a step without times" 3 'no times of the steps of mlm' efficiency --of "$model" --objective mlm
refused "an unknown objective" 2 'no objective "bag"' pretrain mlm "$@" --interleave-with bow,bag
refused "an objective given twice" 2 'mlm is there twice' pretrain mlm "$@" --interleave-with bow,mlm
refused "an objective that needs a context" 2 'cotmae needs a --context' pretrain mlm "$@" --interleave-with cotmae

"$gabbro" pretrain mlm "$@" --steps 100000 --interleave-with bow >out 2>log &
process=$!
until grep -q interleaved log || ! kill -0 $process 2>/dev/null; do sleep .1; done
kill -INT $process
wait $process
status=$?
expect "interrupted: ends with 75 ($status)" [ $status = 75 ]
expect "interrupted: says that it begins anew" grep -q 'begins anew' log
expect "interrupted: no step" [ ! -s out ]
checks_end
