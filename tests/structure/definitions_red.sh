#!/bin/sh
# SPDX-License-Identifier: MIT
# The search for definitions must go red on a function that a macro makes, and on one in a file of another name.
# usage: definitions_red.sh DEFINITIONS.SH
set -eu
walk=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
bad=0
mkdir -p "$tree/include/choir" "$tree/src/api"
echo 'CHOIR_API choir_status choir_sing(int voice);' >"$tree/include/choir/choir.h"

# verdict WANTED FAMILIES FILE TEXT WHAT: the search over a tree with that text in that file ends as wanted.
verdict() {
	printf '%s\n' "$4" >"$tree/src/api/$3"
	printf '%s\n' "$2" >"$tree/families"
	got=green
	"$walk" "$tree" "$tree/families" >"$tree/said" 2>&1 || got=red
	rm "$tree/src/api/$3"
	[ $got = "$1" ] || {
		echo "$5: $got"
		cat "$tree/said"
		bad=1
	}
}

verdict green "" sing.c 'choir_status choir_sing(int voice)
{' "a definition in its file"
verdict green "" sings.c 'choir_status choir_sing(int voice)
{' "a plural"
verdict red "" sing.c 'CALL(sing, int voice)' "a macro"
verdict green "missing 1" sing.c 'CALL(sing, int voice)' "a macro where one may be"
verdict red "" sing.c '	return choir_sing(1);' "a call alone"
verdict red "" other.c 'choir_status choir_sing(int voice)
{' "a file of another name"
verdict green "family src/api/other.c sing" other.c 'choir_status choir_sing(int voice)
{' "a file of its family"
verdict red "family src/api/another.c sing" other.c 'choir_status choir_sing(int voice)
{' "another file's family"
exit $bad
