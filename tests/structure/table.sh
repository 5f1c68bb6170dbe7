#!/bin/sh
# SPDX-License-Identifier: MIT
# The rows of docs/coming-from.md: each has its test, which there is, unless it says "none"; and the functions of ours
# in it are declared in a public header.
# usage: table.sh CTEST BUILD PAGE INCLUDE
set -eu
ctest=$1 build=$2 page=$3 include=$4
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT

"$ctest" -N --test-dir "$build" | sed -n 's/^ *Test *#[0-9]*: *//p' >"$here/tests"
cat "$include"/*.h | grep -o '\<choir_[a-z0-9_]*' | sort -u >"$here/names"
[ -s "$here/tests" ] && [ -s "$here/names" ] || {
	echo "no tests in $build, or no names in $include"
	exit 1
}
awk -v page="$page" '
FILENAME ~ /tests$/ { tests[$0]; next }
FILENAME ~ /names$/ { names[$0]; next }
function wrong(what) { printf "%s:%d: %s\n", page, FNR, what; bad = 1 }
# Of the text all words in `...`, of which check looks at each.
function quoted(text, check,   n, part, i) {
	n = split(text, part, "`")
	for (i = 2; i <= n; i += 2)
		if (check == "test" && !(part[i] in tests))
			wrong("there is no test " part[i])
		else if (check == "name" && match(part[i], /^choir_[a-z0-9_]+/) && part[i] !~ /\.\.\./ &&
			 !(substr(part[i], RSTART, RLENGTH) in names))
			wrong("no header declares " part[i])
	return int(n / 2)
}
/^\|/ && !/^\|---/ && !/^\| there / {
	n = split($0, cell, "|")
	rows++
	if (n != 5)
		wrong("a row of " n - 2 " cells, not of 3")
	if (quoted(cell[4], "test") == 0 && cell[3] !~ /^ none[ :]/)
		wrong("a row without a test")
	quoted(cell[3], "name")
}
END {
	if (rows == 0)
		wrong("no rows")
	exit bad
}' "$here/tests" "$here/names" "$page"
