#!/bin/sh
# Takes the pictures docs/pictures/site-*.png of the site of the recorded results, by headless Chromium. Run it from the
# root of the source tree after recording anew: docs/pictures/site.sh GABBRO
# pngquant and optipng make the pictures small where they are installed.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
docs/pictures/recorded.sh "$1" "$work" >/dev/null
for scheme in light dark; do
    for size in 1280x900 390x844; do
        picture=docs/pictures/site-${size%x*}-$scheme.png
        python3 tests/e2e/pages.py shot "$(command -v chromium)" "$picture" "$work/site/index.html" \
            "${size%x*}" "${size#*x}" "$scheme"
        ! command -v pngquant >/dev/null || pngquant --force --output "$picture" 64 "$picture"
        ! command -v optipng >/dev/null || optipng -quiet -o5 "$picture"
    done
done
