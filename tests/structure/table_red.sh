#!/bin/sh
# SPDX-License-Identifier: MIT
# The walk over the table must go red on a row of each kind that is wrong.
# usage: table_red.sh TABLE.SH
set -eu
walk=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
bad=0
printf '#!/bin/sh\necho "  Test  #1: known"\necho "  Test #12: other_3"\n' >"$tree/ctest"
chmod +x "$tree/ctest"
mkdir "$tree/include"
echo 'CHOIR_API choir_status choir_known(choir_comm *comm);' >"$tree/include/a.h"

# verdict WANTED ROW WHAT: the walk over a page with that row ends as wanted.
verdict() {
	printf '# Page\n\n| there | here | test |\n|---|---|---|\n%s\n' "$2" >"$tree/page.md"
	got=green
	"$walk" "$tree/ctest" "$tree" "$tree/page.md" "$tree/include" >"$tree/said" 2>&1 || got=red
	[ $got = "$1" ] || {
		echo "$3: $got"
		cat "$tree/said"
		bad=1
	}
}

# shellcheck disable=SC2016  # the pages have backquotes
{
	verdict green '| theirs | `choir_known` of `choir_comm` | `known`, `other_3` |' "a right row"
	verdict green '| theirs | none: why | |' "a row that says none"
	verdict green '| theirs | `choir_..._init` | `known` |' "a family of names"
	verdict red '| theirs | `choir_known` | `unknown` |' "no such test"
	verdict red '| theirs | `choir_known` | `known`, `other` |' "no such second test"
	verdict red '| theirs | `choir_known` | |' "a row without a test"
	verdict red '| theirs | `choir_unknown` | `known` |' "no such function"
	verdict red '| theirs | `choir_known` |' "a cell less"
	verdict red '' "no rows"
}
exit $bad
