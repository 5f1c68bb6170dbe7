#!/bin/sh
# SPDX-License-Identifier: MIT
# The README's program of a language is that file, to the letter.   usage: readme.sh README.md LANGUAGE FILE
set -eu
block=$(mktemp)
trap 'rm -f "$block"' EXIT
awk -v fence="\`\`\`$2" '/^```$/ && inside { exit } inside { print } $0 == fence { inside = 1 }' "$1" >"$block"
[ -s "$block" ] || {
	echo "$1 has no block of $2"
	exit 1
}
diff -u "$block" "$3"
