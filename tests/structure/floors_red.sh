#!/bin/sh
# SPDX-License-Identifier: MIT
# The reading of the table of floors must go red on a planted call upward and on a table that is not whole.
# usage: floors_red.sh FLOORS.SH NM CC
set -eu
read_table=$1 nm=$2 cc=$3
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
bad=0

# compile NAME CALLED: a file that defines NAME and calls the other.
compile() {
	echo "void $1(void); void $2(void); void $1(void) { $2(); }" | "$cc" -std=c11 -c -x c - -o "$here/$1.c.o"
}

# verdict WANTED TOP BOTTOM WHAT: the table with the rows top and bottom ends as wanted for the files one and two.
verdict() {
	printf '| floor | files |\n|---|---|\n| top | %s |\n| ground | %s |\n\nthree `four.c`\n' "$2" "$3" >"$here/doc"
	got=green
	"$read_table" "$nm" "$here/list" "$here/doc" >"$here/said" 2>&1 || got=red
	[ $got = "$1" ] || {
		echo "$4: $got"
		cat "$here/said"
		bad=1
	}
}

printf 'room low\n%s\nroom exec\n%s\n%s\nroom api\n' "$here/two.c.o" "$here/one.c.o" "$here/two.c.o" >"$here/list"
compile two two
compile one two
verdict green '`one.c` (calls), `lane.h`' '`two.c`' "a call downward"
verdict green '`one.c`, `two.c`' 'none' "a call within a row"
verdict red '`two.c`' '`one.c`' "a call upward"
verdict red '`one.c`' 'none' "a file that is missing"
verdict red '`one.c`' '`two.c`, `gone.c`' "a file that is no more"
verdict red '`one.c`' '`two.c`, `one.c`' "a file that stands twice"
verdict red 'none' 'none' "an empty table"
exit $bad
