#!/bin/sh
# What the tests measured, as one table: what, against what, worst difference, bound.
#   tests/trust/table.sh LOG FOLDER [PAGE]
#   LOG     Meson's log of a run of the tests; lines "trust:<TAB>..." are collected (trust.h, checks.sh)
#   FOLDER  logs of suites that are run apart: peers.txt, kills.txt, devices.txt, fuzz.txt; where one is not
#           there, what was kept of an earlier run (runs/; the longest fuzzing in ../fuzz/longest.tsv)
#   PAGE    write it as this Markdown file instead, with the lines of standard input below its title
# Cases of one line (same what and against what) are shown by the one that comes nearest to its bound.
# Sections and their order: sections.tsv, by test program. Status: 1 where a printed line is above its bound.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
log=$1 folder=$2 page=${3:-}
LC_ALL=C
export LC_ALL
tab=$(printf '\t')

# ORDER SECTION WHAT AGAINST WORST BOUND of every line and of every test that was skipped, from Meson's
# log, or of a log without programs in it as that section.
gather() # LOG [ORDER SECTION]
{
    awk -F '\t' -v OFS='\t' -v only_order="${2:-}" -v only_section="${3:-}" '
    function row(what, against, worst, bound) {
        print place, title, what, against, worst, bound
        rows++
    }
    function not_run(what, why) {
        sub(/^skipped: /, "", why)
        row(what, "", "not run: " why, "")
    }
    function end_program() {
        if (name in order && !rows && result != "exit status 0") row(name, "", "no result: " result, "")
    }
    function begin_program(program) {
        name = program
        rows = 0
        place = name in order ? order[name] : 99
        title = name in order ? section[name] : "Other tests"
    }
    FILENAME != ARGV[2] {
        count = split($2, programs, " ")
        for (i = 1; i <= count; i++) {
            order[programs[i]] = FNR
            section[programs[i]] = $1
        }
        next
    }
    FNR == 1 && only_section { place = only_order; title = only_section }
    { gsub(/\033\[[0-9;]*m|\r/, "") }
    !only_section && /^=+ [0-9]+\/[0-9]+ =+$/ { end_program(); name = result = ""; next }
    !only_section && name == "" && /^test: / { sub(/.*[ \/:]/, ""); begin_program($0); next } # as Meson 1.0 or 1.7 writes it
    !only_section && result == "" && /^result: / { sub(/^result: +/, ""); result = $0; next }
    $1 == "trust:" && NF == 5 { row($2, $3, $4, $5) }
    /^\[SKIP\] [^:]*::[^:]*: / {
        sub(/^\[SKIP\] [^:]*::/, "")
        what = why = $0
        sub(/:.*/, "", what)
        gsub(/_/, " ", what)
        sub(/[^:]*: */, "", why)
        not_run((only_section || name in order ? "" : name ", ") what, why)
    }
    /^skipped - / {
        sub(/^skipped - /, "")
        what = why = $0
        sub(/: .*/, "", what)
        if (!sub(/[^:]*: /, "", why)) why = "see the log"
        not_run(what, why)
    }
    END { if (!only_section) end_program() }' "$here/sections.tsv" "$1"
}

# One line for all cases of the same: the one nearest to its bound, and how many.
merge()
{
    awk -F '\t' -v OFS='\t' '
    function share() { return $5 !~ /^[0-9]/ ? -1 : $6 > 0 ? $5 / $6 : $5 > 0 ? 1e300 : 0 }
    {
        key = $1 OFS $2 OFS $3 OFS $4
        if (!(key in cases) || share() > most[key]) {
            most[key] = share()
            end[key] = $5 OFS $6
        }
        cases[key]++
    }
    END { for (key in cases) print key, end[key], cases[key] }' |
        sort -t "$tab" -k1,1n -k2
}

apart() # NAME ORDER: the log, if that suite was run
{
    for of_suite in "$folder/$1.txt" "$here/runs/$1.txt"; do
        [ -f "$of_suite" ] || continue
        gather "$of_suite" "$2" "./tests/run --$1 ($(sed -n 's/^tests\/run: //p' "$of_suite" | tail -n 1))"
        return 0
    done
}

all()
{
    {
        gather "$log"
        apart peers 101
        apart kills 102
        apart devices 103
        apart fuzz 104
        awk -F '\t' -v OFS='\t' 'NR > 1 {
            print 105, "The longest fuzzing of each reader, recorded",
                "reader of " $1 ", " $3 " damaged inputs in " $2 " s of a processor (" $4 ", source " $5 ")",
                "no crash, leak or silent failure", 0, 0 }' "$here/../fuzz/longest.tsv"
    } | merge
    for suite in peers kills devices; do
        [ -f "$folder/$suite.txt" ] || [ -f "$here/runs/$suite.txt" ] ||
            printf '%s\t%s\t%s\t\t%s\t\t1\n' 106 "Suites that are run apart" "./tests/run --$suite" "not run"
    done
}

# Too long for a terminal's width: a line has what it needs.
print_text()
{
    awk -F '\t' '
    function padded(text, width) { return sprintf("%-" width "s", text) }
    {
        section[NR] = $2
        cell[NR, 1] = $3 ($7 > 1 ? " (" $7 " cases)" : "")
        cell[NR, 2] = $4
        cell[NR, 3] = $5
        cell[NR, 4] = $6 (above() ? "  ABOVE" : "")
        if (above()) bad = 1
        for (i = 1; i <= 3; i++) if (length(cell[NR, i]) > width[i] && $5 ~ /^[0-9]/) width[i] = length(cell[NR, i])
    }
    function above() { return $5 ~ /^[0-9]/ && $5 + 0 > $6 + 0 || $5 ~ /^-?(inf|nan)/ }
    END {
        printf "%s | %s | %s | %s\n", padded("what", width[1]), padded("against what", width[2]),
            padded("worst", width[3]), "bound"
        for (row = 1; row <= NR; row++) {
            if (section[row] != section[row - 1]) print "-- " section[row]
            if (cell[row, 4] == "" && cell[row, 2] == "") printf "%s%s\n", padded(cell[row, 1], width[1]) " | ", cell[row, 3]
            else printf "%s | %s | %s | %s\n", padded(cell[row, 1], width[1]), padded(cell[row, 2], width[2]),
                padded(cell[row, 3], width[3]), cell[row, 4]
        }
        exit bad
    }'
}

print_page()
{
    printf '# What the numbers are worth\n\n'
    cat
    all | awk -F '\t' '
    function plain(text) { gsub(/[|<>*_]/, "\\\\&", text); return text }
    $2 != section {
        section = $2
        printf "\n## %s\n\n", $2
        print "| what | against what | worst difference | bound |"
        print "| --- | --- | --- | --- |"
    }
    {
        printf "| %s | %s | %s | %s |\n", plain($3 ($7 > 1 ? " (" $7 " cases)" : "")), plain($4), plain($5), plain($6)
    }'
}

if [ -n "$page" ]; then
    print_page >"$page.new"
    mv -f "$page.new" "$page"
else
    all | print_text
fi
