#!/bin/sh
# Writes what docs/results.md, docs/claims.md and README.md say of the recorded results, and draws docs/pictures/forest.svg:
# the counts of verdicts, the tables of claims, and all of them as a forest plot. Run it from the root of the source tree after
# recording anew: docs/results.sh GABBRO
# With --check it changes nothing and fails where a page is not what the records say.
set -eu
LC_ALL=C
export LC_ALL
check=
[ "$1" != --check ] || { check=yes; shift; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
docs/pictures/recorded.sh "$1" "$work" >/dev/null

# One line a claim, with tabs between: paper, scale, table, id, statement, the paper's difference, mean, name of the difference
# that decides, both ends of its interval, unit, seeds, verdict, margin or "".
awk '
BEGIN { OFS = "\t" }
/^<tr><td><a href="[^"]*#claim-/ {
    match($0, /href="[^"#]*/)
    split(substr($0, RSTART + 6, RLENGTH - 6), slug, ".") # qac-table1.mini.html
    paper = table = slug[1]
    sub(/-.*/, "", paper)
    sub(/-/, "/", table)
    # id, statement, place, kind and column, the paper, mean, interval, unit, seeds, verdict
    count = split($0, cell, /<\/td>/)
    sub(/<br>.*/, "", cell[10]) # notes to the verdict
    for (i = 1; i <= count; i++) {
        exact[i] = match(cell[i], /data-exact="[^"]*/) ? substr(cell[i], RSTART + 12, RLENGTH - 12) : ""
        gsub(/<[^>]*>/, "", cell[i])
    }
    name = cell[6] ~ /: / ? cell[6] : "" # +2.33 (the deciding one of 5: ICT)
    sub(/^[^:]*: /, "", name)
    sub(/\)$/, "", name)
    margin = cell[7] ~ /margin/ ? cell[7] : ""
    sub(/.*margin /, "", margin)
    ends[1] = ends[2] = ""
    split(exact[7], ends, " ")
    print table ~ /\/fig/, paper, slug[2], table, cell[1], cell[2], exact[5], exact[6], name, ends[1], ends[2], cell[8], cell[9], \
        cell[10], margin
}' "$work/site/claims.html" | sort -s -k1,1 | cut -f2- >"$work/claims.tsv" # figures last

# Counts a paper: from the summaries of the page.
awk '
BEGIN {
    print "| paper | supported | contradicted | undecided | not judged |"
    print "|---|---|---|---|---|"
}
/<details class="part" open><summary>/ {
    split($0, part, /<summary>|<small>/)
    rest = part[3]
    gsub(/<[^>]*>/, "", rest)
    split(rest, count, ", ")
    line = sprintf("| %s | %d | %d | %d | %d |", part[2], count[1], count[2], count[3], count[4])
    if (part[2] ~ /\(scale /) {
        other = other line "\n"
        next
    }
    print line
    for (i = 1; i <= 4; i++) all[i] += count[i]
}
END { printf "| all four | %d | %d | %d | %d |\n%s", all[1], all[2], all[3], all[4], other }' "$work/site/index.html" >"$work/counts"

# What the undecided claims on the mini world have in common, in points.
median() { sort -g | awk '{ x[NR] = $1 } END { printf "%.1f", NR % 2 ? x[(NR + 1) / 2] : (x[NR / 2] + x[NR / 2 + 1]) / 2 }'; }
awk -F '\t' '$2 == "mini" && $6 != "" && $11 == "points" && $13 ~ /^undecided/ { print $6, $9, $10 }' "$work/claims.tsv" >"$work/open"
{
    echo "Where a claim is undecided, the paper's own difference is mostly small: known for $(wc -l <"$work/open") undecided claims, it is"
    echo "$(awk '{ print $1 < 0 ? -$1 : $1 }' "$work/open" | median) points in the median, while the intervals here reach $(awk '{ print ($3 - $2) / 2 }' "$work/open" | median) points to each side."
} >"$work/undecided"

# Claims as lines of a table, and what stands between comments of docs/results.md: the counts, the words on undecided claims, and
# below "claims mini qac-02 qac-05" the table of these.
# shellcheck disable=SC2016 # awk's own $
lines='
function number(value, unit,    text) {
    text = value == "" ? "" : sprintf(unit == "points" ? "%+.1f" : "%+.2f", value)
    return text + 0 == 0 ? substr(text, 2) : text # no sign of zero
}
function with_unit(value, unit) { return number(value, unit) (value == "" || unit == "points" ? "" : " " unit) }
function line(f) {
    return "| " f[4] " | " f[5] " | " with_unit(f[6], f[11]) " | " with_unit(f[7], f[11]) (f[8] == "" ? "" : " (" f[8] ")") " | " \
        (f[9] == "" ? "" : number(f[9], f[11]) " to " number(f[10], f[11])) (f[14] == "" || f[7] == "" ? "" : ", margin " f[14] + 0) \
        " | " f[12] " | " f[13] " |"
}
function head() {
    return "| claim | statement | paper | here | interval | seeds | verdict |\n|---|---|---|---|---|---|---|"
}
'
awk -v work="$work" "$lines"'
NR == FNR {
    split($0, f, "\t")
    sub(/ \(needs .*/, "", f[13])
    lines[f[2], f[4]] = line(f)
    next
}
/^<!-- end/ { skip = 0 }
skip { next }
{ print }
/^<!-- / && !/^<!-- end/ { skip = 1 }
/^<!-- (counts|undecided)/ {
    sub(/:/, "", $2)
    while ((getline text < (work "/" $2)) > 0) print text
}
/^<!-- claims / {
    print ""
    print head()
    for (i = 4; i < NF; i++) {
        if (!(($3, $i) in lines)) {
            print "docs/results.md: there is no claim " $i " at scale " $3 >"/dev/stderr"
            exit 1
        }
        print lines[$3, $i]
    }
    print ""
}' "$work/claims.tsv" docs/results.md >"$work/results.md"

# All of them: docs/claims.md up to its first heading of a paper stays as it is.
{
    sed '/^## /,$d' docs/claims.md
    while read -r paper title; do
        printf '## %s\n\n' "$title"
        awk -v paper="${paper%.*}" -v scale="${paper#*.}" "$lines"'
BEGIN { print head() }
{ split($0, f, "\t") }
f[1] == paper && f[2] == scale {
    if (f[3] != table) print "| **" f[3] "** | | | | | | |"
    table = f[3]
    print line(f)
}
END { print "" }' "$work/claims.tsv"
    done <<END
qac.mini Query-as-context pre-training
qac.squad Query-as-context pre-training, on real text
llm.mini Document expansion by a large language model
bow.mini Bag-of-Word prediction
costa.mini Contrastive span prediction (COSTA)
END
} | sed '$d' >"$work/claims.md"

# The two lines of README.md that count them.
all=$(($(wc -l <tables/claims.tsv) - 1)) recorded=$(awk -F '\t' '$2 == "mini"' "$work/claims.tsv" | wc -l)
total=$(sed -n 's/^| all four | \([0-9]*\) | \([0-9]*\) | \([0-9]*\) | \([0-9]*\) |$/\1 are supported on the mini world, \2 contradicted, \3 undecided and \4 not judged/p' "$work/counts")
sed "s/^Of [0-9]* comparisons that the papers make [0-9]* have recorded results:$/Of $all comparisons that the papers make $recorded have recorded results:/
s/^[0-9]* are supported on the mini world, .* not judged$/$total/" README.md >"$work/README.md"

if [ "$check" ]; then
    diff -u docs/results.md "$work/results.md" && diff -u docs/claims.md "$work/claims.md" &&
        diff -u README.md "$work/README.md" && exit
    echo "docs/results.md, docs/claims.md and README.md do not say what tables/recorded holds: run docs/results.sh GABBRO"
    exit 1
fi
cp "$work/results.md" "$work/claims.md" docs
cp "$work/README.md" README.md

# A panel for each paper, and one for real text; in each the claims from the largest difference to the smallest, on an axis of points that is cut at 20.
awk -F '\t' -v OFS='\t' '
{ split($13, verdict, " ") }
$11 == "points" && $7 != "" && verdict[1] != "not" { print $2 == "mini" ? $1 : $2, verdict[1], $7, $9, $10, $6 }
' "$work/claims.tsv" | sort -t "$(printf '\t')" -k1,1 -k3,3gr | awk '
BEGIN {
    FS = "\t"
    panels = split("qac squad llm bow costa", papers, " ")
    title["qac"] = "query-as-context"
    title["squad"] = "the same on real text"
    title["llm"] = "document expansion"
    title["bow"] = "Bag-of-Word prediction"
    title["costa"] = "COSTA"
    colour["supported"] = "#1a7f37"
    colour["contradicted"] = "#c0392b"
    colour["undecided"] = "#888"
    width = 144
    gap = 34
    bound = 20
    step = 6
    top = 52
}
{
    n = ++count[$1]
    verdict[$1, n] = $2; mean[$1, n] = $3; low[$1, n] = $4; high[$1, n] = $5; published[$1, n] = $6
    if (n > most) most = n
}
function limit(x, bound) { return x > bound ? bound : x < -bound ? -bound : x }
function place(x) { return left + width / 2 + limit(x, bound) / bound * width / 2 }
# As on the site, by shape as well as by colour: a disc, a triangle, a square.
function mark(x, y, r, verdict) {
    if (verdict == "supported")
        printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\"/>\n", x, y, r, colour[verdict]
    else if (verdict == "contradicted")
        printf "<path d=\"M%.1f %.1fh%.1fl%.1f %.1fz\" fill=\"%s\"/>\n", x - 1.2 * r, y - r, 2.4 * r, -1.2 * r, 2.1 * r, colour[verdict]
    else
        printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#fff\" stroke=\"%s\"/>\n", x - .8 * r, y - .8 * r, 1.6 * r, 1.6 * r, colour[verdict]
}
END {
    whole = panels * (width + gap) + 20
    total = top + most * step + 40
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" role=\"img\">\n", whole, total
    print "<title>Claims of the four papers: differences over seeds with their intervals, and verdicts</title>"
    printf "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", whole, total
    for (p = 1; p <= panels; p++) {
        paper = papers[p]
        left = 20 + (p - 1) * (width + gap)
        printf "<text x=\"%.1f\" y=\"20\" font-size=\"13\" fill=\"#222\">%s</text>\n", left, title[paper]
        for (x = -bound; x <= bound; x += bound / 2) {
            printf "<text x=\"%.1f\" y=\"40\" font-size=\"10\" fill=\"#666\" text-anchor=\"middle\">%s%d</text>\n", place(x), (x > 0 ? "+" : ""), x
            printf "<path d=\"M%.1f %dV%d\" stroke=\"%s\"%s/>\n", place(x), top - 6, total - 30, (x ? "#eee" : "#444"), (x ? "" : " stroke-dasharray=\"3 3\"")
        }
        for (i = 1; i <= count[paper]; i++) {
            y = top + (i - .5) * step
            fill = colour[verdict[paper, i]]
            printf "<path d=\"M%.1f %.1fH%.1f\" stroke=\"%s\" stroke-width=\"1.2\" opacity=\"%s\"/>\n", place(low[paper, i]), y, place(high[paper, i]), fill, verdict[paper, i] == "undecided" ? ".45" : "1"
            if (published[paper, i] != "")
                printf "<path d=\"M%.1f %.1fv5\" stroke=\"#222\"/>\n", place(published[paper, i]), y - 2.5
            mark(place(mean[paper, i]), y, 2.2, verdict[paper, i])
        }
    }
    x = 20
    for (p = 1; p <= 3; p++) {
        name = p == 1 ? "supported" : p == 2 ? "contradicted" : "undecided"
        mark(x + 5, total - 12, 4, name)
        printf "<text x=\"%d\" y=\"%d\" font-size=\"12\" fill=\"#222\">%s</text>\n", x + 14, total - 8, name
        x += 110
    }
    printf "<text x=\"%d\" y=\"%d\" font-size=\"12\" fill=\"#666\">points as claimed, cut at %d; lines: intervals over seeds; black strokes: the papers</text>\n", x + 10, total - 8, bound
    print "</svg>"
}' >docs/pictures/forest.svg
