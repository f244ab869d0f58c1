#!/bin/sh
# Draws docs/pictures/forest.svg, the claims of all papers by the recorded results, and writes their counts into
# docs/results.md and README.md. Run it from the root of the source tree after recording anew: docs/pictures/forest.sh GABBRO
# With --check it changes nothing and fails where the page's counts are not those of the records.
set -eu
LC_ALL=C
export LC_ALL
check=
[ "$1" != --check ] || { check=yes; shift; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
docs/pictures/recorded.sh "$1" "$work" >/dev/null
page=$work/site/index.html

# One line a claim that is drawn: paper ("squad": on real text), verdict, difference, both ends of its interval; "own" where
# its unit is no measure's.
awk '
/<a href="[^"]*#claim-/ {
    match($0, /#claim-[0-9]*">[a-z]*/)
    claim = substr($0, RSTART, RLENGTH)
    sub(/.*>/, "", claim)
    if (/\.squad\.html#claim-/) claim = "squad"
}
/<svg class="forest [a-z]*" role/ {
    own = 0
    split($0, part, "aria-label=\"")
    split(part[2], label, "\"")
    gsub(/,/, "", label[1])
    split(label[1], word, " ") # supported difference +1.71 interval +0.44 to +2.98
    line = claim "\t" word[1] "\t" word[3] "\t" word[5] "\t" word[7]
}
/its own scale/ { own = 1 }
/<\/li>/ && line { print line "\t" (own ? "own" : "points"); line = "" }' "$page" >"$work/claims.tsv"

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
END { printf "| all four | %d | %d | %d | %d |\n%s", all[1], all[2], all[3], all[4], other }' "$page" >"$work/counts"
awk -v counts="$work/counts" '
/^<!-- counts/ { print; while ((getline line < counts) > 0) print line; skip = 1; next }
/^<!-- end/ { skip = 0 }
!skip' docs/results.md >"$work/results.md"

total=$(sed -n 's/^| all four | \([0-9]*\) | \([0-9]*\) | \([0-9]*\) | \([0-9]*\) |$/\1 are supported on the mini world, \2 contradicted, \3 undecided and \4 not judged/p' "$work/counts")
sed "s/[0-9]* are supported on the mini world, .* not judged$/$total/" README.md >"$work/README.md"

if [ "$check" ]; then
    diff -u docs/results.md "$work/results.md" && diff -u README.md "$work/README.md" && exit
    echo "docs/results.md and README.md have not the counts of tables/recorded: run docs/pictures/forest.sh GABBRO"
    exit 1
fi
cp "$work/results.md" docs/results.md
cp "$work/README.md" README.md

# A panel for each paper, and one for real text; in each the claims from the largest difference to the smallest, on an axis of points that is cut at 20.
sort -t "$(printf '\t')" -k1,1 -k3,3gr "$work/claims.tsv" | awk '
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
$6 == "points" {
    n = ++count[$1]
    verdict[$1, n] = $2; mean[$1, n] = $3; low[$1, n] = $4; high[$1, n] = $5
    if (n > most) most = n
}
function limit(x, bound) { return x > bound ? bound : x < -bound ? -bound : x }
function place(x) { return left + width / 2 + limit(x, bound) / bound * width / 2 }
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
            printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.2\" fill=\"%s\"/>\n", place(mean[paper, i]), y, fill
        }
    }
    x = 20
    for (p = 1; p <= 3; p++) {
        name = p == 1 ? "supported" : p == 2 ? "contradicted" : "undecided"
        printf "<circle cx=\"%d\" cy=\"%d\" r=\"4\" fill=\"%s\"/>", x + 5, total - 12, colour[name]
        printf "<text x=\"%d\" y=\"%d\" font-size=\"12\" fill=\"#222\">%s</text>\n", x + 14, total - 8, name
        x += 110
    }
    printf "<text x=\"%d\" y=\"%d\" font-size=\"12\" fill=\"#666\">points in the claimed direction; lines are intervals over seeds, cut at %d</text>\n", x + 10, total - 8, bound
    print "</svg>"
}' >docs/pictures/forest.svg
