#!/bin/sh
# docs/reference/commands.md is what the program says of itself.
#   commands_page.sh PROGRAM ROOT
set -u
made=$(mktemp)
trap 'rm -f "$made"' EXIT
"$2/docs/reference/commands.sh" "$1" > "$made" || exit 1
"$1" --help --completion | grep -q "'reproduce:--scale')" || {
    echo "commands_page.sh: no completion of commands"
    exit 1
}
diff -u "$2/docs/reference/commands.md" "$made" && exit 0
echo "commands_page.sh: write the page again: docs/reference/commands.sh $1 > docs/reference/commands.md"
exit 1
