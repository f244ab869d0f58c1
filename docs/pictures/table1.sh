#!/bin/sh
# Draws docs/pictures/table1.svg, the picture of the README: MRR@10 of the main table, as published and as recorded
# here. Run it from the root of the source tree after recording anew: docs/pictures/table1.sh > docs/pictures/table1.svg
set -eu
LC_ALL=C
export LC_ALL
awk '
# The recorded values are read from JSON that gabbro writes, one member a line.
FILENAME ~ /\.json$/ {
    split($0, part, "\"")
    if ($0 ~ /^  "[0-9]+": \{/) seeds++
    if ($0 ~ /^    "[a-z0-9-]+": \{/) row = part[2]
    if (seeds && part[2] == "msmarco-dev:MRR@10") {
        value = 100 * substr(part[3], 2)
        count[row]++
        sum[row] += value
        squares[row] += value * value
    }
    next
}
BEGIN { FS = "\t" }
FILENAME ~ /rows/ { if ($1 != "-") key[$2] = $1; next }
FILENAME ~ /published/ && $3 == "msmarco-dev:MRR@10" { published[key[$1 " @ " $2]] = $4 }

function text(x, y, anchor, style, words)
{
    printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" %s>%s</text>\n", x, y, anchor, style, words
}
function place(value, panel) { return left[panel] + (value - low[panel]) / (high[panel] - low[panel]) * width }
# One mark: x of its value, whiskers of one standard deviation where there is one.
function mark(value, deviation, panel, y, fill, anchor)
{
    if (deviation)
        printf "<path d=\"M%.1f %.1fH%.1f\" stroke=\"%s\" stroke-width=\"2\" opacity=\".45\"/>\n",
            place(value - deviation, panel), y, place(value + deviation, panel), fill
    printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"%s\"/>\n", place(value, panel), y, fill
    text(place(value, panel) + (anchor == "end" ? 5 : -5), y - 9, anchor, "font-size=\"11\" fill=\"" fill "\"", sprintf("%.1f", value))
}
function pair(name, method, round, y,    panel, span, query, a, b)
{
    text(148, y + 4, "end", "font-size=\"12.5\" fill=\"#222\"", name)
    span = method "-span-" round
    query = method "-query-" round
    for (panel = 1; panel <= 2; panel++) {
        a = panel == 1 ? published[span] : sum[span] / count[span]
        b = panel == 1 ? published[query] : sum[query] / count[query]
        printf "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#999\" stroke-width=\"1.5\"/>\n", place(a, panel), y, place(b, panel)
        mark(a, panel == 1 ? 0 : deviation(span), panel, y, "#777", "end")
        mark(b, panel == 1 ? 0 : deviation(query), panel, y, "#0a66b0", "start")
    }
}
function deviation(row,    mean)
{
    if (count[row] < 2) return 0
    mean = sum[row] / count[row]
    return sqrt((squares[row] - count[row] * mean * mean) / (count[row] - 1))
}
END {
    left[1] = 165; left[2] = 455; width = 250
    low[1] = 36.5; high[1] = 40.7
    low[2] = 25; high[2] = 50
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 292\" font-family=\"sans-serif\" role=\"img\">"
    print "<title>MRR@10 of coCondenser and CoT-MAE, with spans and with generated queries as context: published and recorded</title>"
    print "<rect width=\"720\" height=\"292\" fill=\"#fff\"/>"
    text(left[1], 22, "start", "font-size=\"13\" font-weight=\"bold\" fill=\"#222\"", "published")
    text(left[1], 38, "start", "font-size=\"11\" fill=\"#555\"", "BERT-base, MS MARCO")
    text(left[2], 22, "start", "font-size=\"13\" font-weight=\"bold\" fill=\"#222\"", "reproduced")
    text(left[2], 38, "start", "font-size=\"11\" fill=\"#555\"", "two layers, mini world, " seeds " seeds")
    for (panel = 1; panel <= 2; panel++) {
        printf "<rect x=\"%d\" y=\"48\" width=\"%d\" height=\"190\" fill=\"none\" stroke=\"#ccc\"/>\n", left[panel], width
        for (value = panel == 1 ? 37 : 25; value <= high[panel]; value += panel == 1 ? 1 : 5) {
            printf "<path d=\"M%.1f 48V238\" stroke=\"#eee\"/>\n", place(value, panel)
            text(place(value, panel), 253, "middle", "font-size=\"11\" fill=\"#555\"", value)
        }
    }
    pair("coCondenser, round 1", "cocondenser", "r1", 78)
    pair("coCondenser, round 2", "cocondenser", "r2", 122)
    pair("CoT-MAE, round 1", "cotmae", "r1", 166)
    pair("CoT-MAE, round 2", "cotmae", "r2", 210)
    printf "<circle cx=\"170\" cy=\"276\" r=\"5\" fill=\"#777\"/>\n"
    text(180, 280, "start", "font-size=\"12\" fill=\"#222\"", "spans as context")
    printf "<circle cx=\"300\" cy=\"276\" r=\"5\" fill=\"#0a66b0\"/>\n"
    text(310, 280, "start", "font-size=\"12\" fill=\"#222\"", "generated queries as context")
    text(705, 280, "end", "font-size=\"12\" fill=\"#555\"", "MRR@10, dev")
    print "</svg>"
}
' tables/recorded/qac-table1.mini.json tables/rows/qac-table1.tsv tables/published/qac-table1.tsv
