#!/bin/sh
# SPDX-License-Identifier: MIT
# The walk for circles must go red on a planted one, and on one file more than is allowed.   usage: circles_red.sh
# CIRCLES.SH NM CC
set -eu
walk=$1 nm=$2 cc=$3
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
bad=0

# compile NAME CALLED...: a file that defines NAME and calls the others.
compile() {
	name=$1
	shift
	{
		echo "void $name(void);"
		for called in "$@"; do echo "void $called(void);"; done
		echo "void $name(void) {"
		for called in "$@"; do echo "$called();"; done
		echo "}"
	} | "$cc" -std=c11 -c -x c - -o "$here/$name.o"
}

# verdict WANTED ALLOWED WHAT: the walk over the room api (one, two, three) and the room low (four) ends as wanted.
verdict() {
	printf '# files in circles\n%s\n' "$2" >"$here/allowed"
	printf 'room api low\n%s\nroom low\n%s\n' "$(printf "$here/%s.o\n" one two three)" "$here/four.o" >"$here/list"
	got=green
	"$walk" "$nm" "$here/list" "$here/allowed" >"$here/said" 2>&1 || got=red
	[ $got = "$1" ] || {
		echo "$3: $got"
		cat "$here/said"
		bad=1
	}
}

compile one two three
compile two three four
compile three four
compile four
verdict green "" "calls downward"
compile three three four
verdict green "" "a file that calls itself"
compile four one
verdict green "" "a circle through another room, which symbols.sh finds"
compile three one
verdict red "" "a circle of two and of three"
verdict green "api 3" "a circle of three where three may be"
verdict red "api 2" "a circle of three where two may be"
verdict red "low 3" "a circle where another room may have one"
compile one two
compile two one
compile three
verdict red "" "a circle of two"
verdict green "api 3" "a circle that shrank"
for list in '' "room low\n$here/four.o\nroom api\n\n" "room api\n\nroom low\n$here/four.o\n"; do
	printf "$list" >"$here/list"
	! "$walk" "$nm" "$here/list" "$here/allowed" >"$here/said" 2>&1 || {
		echo "no object of a room: green"
		bad=1
	}
done
exit $bad
