#!/bin/sh
# SPDX-License-Identifier: MIT
# The check of the format must go red on a file of each kind that is not formatted, and where there is nothing to read.
# usage: format_red.sh FORMAT.SH CLANG-FORMAT ROOT
set -eu
check=$1 tool=$2 root=$3
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
bad=0
mkdir -p "$tree/src/exec" "$tree/include" "$tree/tools" "$tree/tests" "$tree/docs/examples"

# verdict WANTED FILE TEXT WHAT: the check of a tree with that text in that file ends as wanted.
verdict() {
	[ -z "$2" ] || printf '%b' "$3" >"$tree/$2"
	got=green
	"$check" "$tool" "$tree" >"$tree/said" 2>&1 || got=red
	[ -z "$2" ] || rm "$tree/$2"
	[ $got = "$1" ] || {
		echo "$4: $got"
		cat "$tree/said"
		bad=1
	}
}

rc=0
"$check" "$tree/no-such-tool" "$tree" >"$tree/said" 2>&1 || rc=$?
[ $rc -eq 77 ] && grep -q "no clang-format-14" "$tree/said" || {
	echo "no tool: $rc"
	cat "$tree/said"
	bad=1
}
command -v "$tool" >/dev/null || {
	echo "no clang-format-14: only that is tested"
	[ $bad -eq 0 ] && exit 77
	exit 1
}
verdict red src/a.c 'int a(void)\n{\n\treturn 1;\n}\n' "no .clang-format"
cp "$root/.clang-format" "$tree"
verdict red "" "" "no file"
verdict green src/a.c 'int a(void)\n{\n\treturn 1;\n}\n' "a formatted file"
verdict red src/exec/a.c 'int a(void) {\n\treturn 1;\n}\n' "a brace"
verdict red include/a.h 'int  a(void);\n' "two blanks"
verdict red tests/a.inc 'int a(void)\n{\n    return 1;\n}\n' "blanks for a tab"
verdict red docs/examples/a.c 'int  a(void);\n' "two blanks of an example"
verdict red tools/a.c 'int a(int x,\n  int y);\n' "a parameter"
exit $bad
