#!/bin/sh
# SPDX-License-Identifier: MIT
# The README's C program is docs/examples/first.c, to the letter.   usage: readme.sh README.md FIRST.C
set -eu
block=$(mktemp)
trap 'rm -f "$block"' EXIT
awk '/^```$/ && inside { exit } inside { print } /^```c$/ { inside = 1 }' "$1" >"$block"
[ -s "$block" ] || {
	echo "$1 has no C block"
	exit 1
}
diff -u "$block" "$2"
