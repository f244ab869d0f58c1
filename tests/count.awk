# Reads Meson's log: shows what failed or was skipped, then counts single tests. A Criterion program
# gives a summary line; one that ended badly without a failed test in it (killed, timed out, a leak)
# counts as one failure. A shell test prints "ok - ", "not ok - " and "skipped - " lines (tests/checks.sh);
# one without them counts by its exit status (77: skipped).
function close_program(    i) { # i is its own
    if (!programs) return
    if (result !~ /^exit status (0|77)$/) wrong = wrong ? wrong : 1
    else if (!summary && result ~ /77/) skipped++
    else if (!summary) good = !wrong
    passed += good; failed += wrong
    if (wrong) printf "\n---- %s: %s\n", name, result
    for (i = lines > 200 ? lines - 200 : 0; wrong && i < lines; i++) print text[i]
}
{ gsub(/\033\[[0-9;]*m/, "") }
/^=+ [0-9]+\/[0-9]+ =+$/ {
    close_program()
    programs++; split($2, of, "/")
    reading = 1; summary = good = wrong = lines = 0; name = result = ""
    next
}
name == "" && /^test: / { sub(/^test: +/, ""); name = $0; next }
result == "" && /^result: / { sub(/^result: +/, ""); result = $0; next }
/^\[SKIP\]/ { skipped++; print }
/^\[====\] Synthesis: Tested: / {
    summary = 1
    for (i = 1; i < NF; i++) {
        if ($i == "Tested:") wrong += $(i + 1)
        if ($i == "Passing:") { good += $(i + 1); wrong -= $(i + 1) }
    }
}
reading && /^ok - / { good++; summary = 1; next }
reading && /^not ok - / { wrong++; summary = 1 }
reading && /^==[0-9]+==ERROR: .*Sanitizer|: runtime error: / { wrong++ }
reading && /^skipped - / { skipped++; summary = 1; print }
/^=+$/ { reading = 0 }
reading && !/^(\[(RUN |PASS|====)|trust:)/ { text[lines++] = $0 }
END {
    close_program()
    failed += of[2] - programs # Meson itself was stopped
    printf "%d passed, %d failed%s\n", passed, failed, skipped ? ", " skipped " skipped" : ""
    exit failed > 0 || passed == 0
}
