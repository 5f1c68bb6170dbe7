#!/bin/sh
# SPDX-License-Identifier: MIT
# The table of src/exec in docs/architecture.md is true: it has every file of the room, and none calls a file of a row
# above its own; read from the object files.
# usage: floors.sh NM LIST DOC   LIST as of circles.sh; DOC has rows "| FLOOR | `file.c` ... |" below the row
# "| floor | files |"
set -eu
nm=$1 list=$2 doc=$3
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
awk '$1 == "room" { inside = $2 == "exec"; next } inside && NF > 0' "$list" >"$here/objects"
xargs "$nm" -A <"$here/objects" >"$here/symbols"
awk '
function breaks(why) {
	print why
	n_broken++
}
FILENAME == ARGV[1] {
	if (/^[|] floor [|] files [|]/)
		table = NR
	if (!table || /^[|](-|:| floor)/)
		next
	if (!/^[|]/) {
		table = 0
		next
	}
	row++
	for (rest = $0; match(rest, /`[a-z0-9_]+[.]c`/); rest = substr(rest, RSTART + RLENGTH)) {
		name = substr(rest, RSTART + 1, RLENGTH - 4)
		if (name in floor)
			breaks(name ".c stands twice")
		floor[name] = row
	}
	next
}
{
	path = $1
	sub(/:[0-9a-f]*$/, "", path)
	sub(/.*\//, "", path)
	sub(/(\.c)?\.o$/, "", path)
	file[path] = 1
	if ($(NF - 1) ~ /^[TDBRCVW]$/)
		owner[$NF] = path
	else if ($(NF - 1) ~ /^[Uw]$/) {
		use_name[++n_uses] = $NF
		use_file[n_uses] = path
	}
}
END {
	for (path in file)
		if (!(path in floor))
			breaks(path ".c is not in the table")
	for (path in floor)
		if (!(path in file))
			breaks(path ".c is in the table, but not in the room")
	for (u = 1; u <= n_uses; u++) {
		from = use_file[u]
		to = owner[use_name[u]]
		if (to != "" && floor[to] < floor[from])
			breaks(from ".c calls " use_name[u] " of " to ".c, in a row above its own")
	}
	if (n_uses == 0 || row == 0)
		breaks("no object or no table was read")
	exit n_broken > 0
}' "$doc" "$here/symbols"
