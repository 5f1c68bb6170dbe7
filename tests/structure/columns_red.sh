#!/bin/sh
# SPDX-License-Identifier: MIT
# The walk over the columns must go red on a long line of each kind, and on one more than is allowed.
# usage: columns_red.sh COLUMNS.SH
set -eu
walk=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
bad=0
mkdir -p "$tree/src/exec" "$tree/include" "$tree/cl" "$tree/tools" "$tree/tests" "$tree/docs"
touch "$tree/README.md"
long=$(printf '%0120d' 1)

# verdict WANTED ALLOWED FILE LINE WHAT: the walk over a tree with that line in that file ends as wanted.
verdict() {
	printf '%s\n' "$4" >"$tree/$3"
	printf '# lines\n%s\n' "$2" >"$tree/allowed"
	got=green
	"$walk" "$tree" "$tree/allowed" >"$tree/said" 2>&1 || got=red
	rm "$tree/$3"
	touch "$tree/README.md"
	[ $got = "$1" ] || {
		echo "$5: $got"
		cat "$tree/said"
		bad=1
	}
}

verdict green "" src/a.c "$long" "120 columns"
verdict red "" src/a.c "1$long" "121 columns"
verdict red "" src/a.c "$(printf '\t')${long#00000000}1" "a tab and 113"
verdict red "" src/exec/a.h "/* $long */" "a comment"
verdict red "" docs/a.md "1$long" "a page"
verdict red "" README.md "1$long" "the README"
verdict green "" docs/a.md "| $long |" "a table"
verdict red "" cl/a.cl "1$long" "a kernel"
verdict red "" tests/a.sh "1$long" "a script"
verdict red "" tools/a.py "1$long" "a program in Python"
verdict red "" tools/a "1$long" "a script without a suffix"
verdict green "" tests/a.c "$(printf '\303\244')${long#0}" "119 columns and one of two bytes"
verdict green "src/exec 1" src/exec/a.c "1$long" "one where one may be"
verdict red "src/exec 0" src/exec/a.c "1$long" "one where none may be"
verdict red "src/api 1" src/exec/a.c "1$long" "one where another folder may have one"
exit $bad
