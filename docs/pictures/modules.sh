#!/bin/sh
# Draws docs/pictures/modules.svg, which module uses which, from the includes of the source tree. Run it from the
# root of the source tree: docs/pictures/modules.sh > docs/pictures/modules.svg
# With --check it fails where the picture is not what the includes say.
set -eu
LC_ALL=C
export LC_ALL
if [ "${1:-}" = --check ]; then
    "$0" | cmp - docs/pictures/modules.svg && exit
    echo "docs/pictures/modules.svg is not what the includes say: run docs/pictures/modules.sh > docs/pictures/modules.svg"
    exit 1
fi
find src include/gabbro -name '*.[ch]' | sort | xargs awk '
FNR == 1 {
    split(FILENAME, part, "/")
    module = part[1] == "src" ? part[2] : part[3]
    sub(/\.h$/, "", module)
    if (part[1] == "src") known[module] = 1
}
/^[ \t]*#[ \t]*include[ \t]*[<"]gabbro\// {
    header = $0
    sub(/^.*gabbro\//, "", header)
    sub(/\.h.*/, "", header)
    if (header != module) uses[module, header] = 1
}
# Layers by the longest way down to a module that uses none. Lines are drawn only where no other module lies between.
function layer_of(m,    n, below, highest)
{
    if (m in layer) return layer[m]
    highest = -1
    for (n in known)
        if ((m, n) in uses && (below = layer_of(n)) > highest) highest = below
    return layer[m] = highest + 1
}
function reaches(m, n,    k)
{
    if ((m, n) in reach) return reach[m, n]
    reach[m, n] = 0
    for (k in known)
        if ((m, k) in uses && (k == n || reaches(k, n))) return reach[m, n] = 1
    return 0
}
function is_direct(m, n,    k)
{
    for (k in known)
        if (k != n && (m, k) in uses && reaches(k, n)) return 0
    return 1
}
END {
    for (m in known) {
        l = layer_of(m)
        if (l > top) top = l
        size[l]++
    }
    # Within a layer: by the mean place of what a module uses, then by name.
    width = 860
    for (l = 0; l <= top; l++) {
        count = 0
        for (m in known) {
            if (layer[m] != l) continue
            sum = n_below = 0
            for (n in known)
                if ((m, n) in uses && is_direct(m, n)) {
                    sum += x[n]
                    n_below++
                }
            wish[m] = n_below ? sum / n_below : width / 2
            order[count++] = m
        }
        for (i = 1; i < count; i++)
            for (j = i; j > 0 && (wish[order[j]] < wish[order[j - 1]] ||
                                  (wish[order[j]] == wish[order[j - 1]] && order[j] < order[j - 1])); j--) {
                m = order[j]
                order[j] = order[j - 1]
                order[j - 1] = m
            }
        for (i = 0; i < count; i++) {
            x[order[i]] = width * (i + .5) / count
            y[order[i]] = (top - l) * 62 + 24
            drawn[++all] = order[i]
        }
    }
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" role=\"img\">\n",
        width, (top + 1) * 62
    print "<title>The modules of Gabbro; each uses those below it that a line leads to</title>"
    printf "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, (top + 1) * 62
    for (i = 1; i <= all; i++)
        for (j = 1; j <= all; j++) {
            m = drawn[i]
            n = drawn[j]
            if ((m, n) in uses && is_direct(m, n))
                printf "<path d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\" fill=\"none\" stroke=\"#9ab\"/>\n",
                    x[m], y[m] + 14, x[m], y[m] + 40, x[n], y[n] - 40, x[n], y[n] - 14
        }
    for (i = 1; i <= all; i++) {
        m = drawn[i]
        w = 20 + 8 * length(m)
        printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"28\" rx=\"5\" fill=\"#eef4fa\" stroke=\"#0a66b0\"/>\n",
            x[m] - w / 2, y[m] - 14, w
        printf "<text x=\"%.1f\" y=\"%.1f\" font-size=\"14\" text-anchor=\"middle\" fill=\"#222\">%s</text>\n",
            x[m], y[m] + 5, m
    }
    print "</svg>"
}'
