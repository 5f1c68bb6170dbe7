#!/bin/sh
# SPDX-License-Identifier: MIT
# No two files of a room call each other in a circle, read from the object files.
# usage: circles.sh NM LIST ALLOWED   LIST has lines "room NAME ..." each followed by that room's object files, one a
# line; ALLOWED has lines "NAME FILES": a room that may still have that many files in circles, and no more.
set -eu
nm=$1 list=$2 allowed=$3
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
# names: the symbols of the objects in the arguments.
names() {
	[ $# -eq 0 ] || "$nm" -A "$@" | sed 's/^/symbol /'
}

set --
while read -r word rest; do
	case $word in
	room)
		names "$@"
		set --
		echo "room ${rest%% *}"
		;;
	?*) set -- "$@" "$word" ;;
	esac
done <"$list" >"$here/symbols"
names "$@" >>"$here/symbols"

awk '
function breaks(why) {
	print why
	n_broken++
}
# The files of the room that reach file i and are reached from it, i first; empty if i is in no circle.
function circle_of(i,    j, found) {
	if (!((i, i) in reaches))
		return ""
	found = file[i]
	for (j = 1; j <= n_files; j++)
		if (j != i && ((i, j) in reaches) && ((j, i) in reaches)) {
			found = found " " file[j]
			shown[j] = 1
		}
	return found
}
function close_calls(    i, j, k) {
	for (k = 1; k <= n_files; k++)
		for (i = 1; i <= n_files; i++)
			if ((i, k) in reaches)
				for (j = 1; j <= n_files; j++)
					if ((k, j) in reaches)
						reaches[i, j] = 1
}
function print_calls_inside(    key, ends) {
	for (key in call) {
		split(key, ends, SUBSEP)
		if ((ends[2], ends[1]) in reaches)
			print "\t" file[ends[1]] " calls " call[key] " of " file[ends[2]]
	}
}
function end_room(    i, u, to, n_circled, lines) {
	if (room == "")
		return
	if (n_files == 0)
		breaks(room ": no object was read")
	for (u = 1; u <= n_uses; u++)
		if ((use_name[u] in owner) && owner[use_name[u]] != use_file[u]) {
			to = owner[use_name[u]]
			reaches[use_file[u], to] = 1
			call[use_file[u], to] = use_name[u]
		}
	close_calls()
	for (i = 1; i <= n_files; i++) {
		if ((i, i) in reaches)
			n_circled++
		if (!(i in shown) && (lines = circle_of(i)) != "")
			print room ": files that call each other in a circle: " lines
	}
	if (n_circled > 0)
		print room ": " n_circled " files in circles, " allowed[room] + 0 " allowed"
	if (n_circled > allowed[room] + 0) {
		print_calls_inside()
		breaks(room ": more files in circles than allowed")
	}
	n_rooms++
	delete file; delete number; delete owner; delete reaches; delete call; delete shown
	n_files = n_uses = n_circled = 0
}
FILENAME == ARGV[1] {
	if ($1 !~ /^#/ && NF >= 2)
		allowed[$1] = $2
	next
}
$1 == "room" {
	end_room()
	room = $2
	next
}
{
	path = $2
	sub(/:[0-9a-f]*$/, "", path)
	sub(/.*\//, "", path)
	sub(/\.o$/, "", path)
	if (!(path in number)) {
		number[path] = ++n_files
		file[n_files] = path
	}
	if ($(NF - 1) ~ /^[TDBRCVW]$/)
		owner[$NF] = number[path]
	else if ($(NF - 1) ~ /^[Uw]$/) {
		use_name[++n_uses] = $NF
		use_file[n_uses] = number[path]
	}
}
END {
	end_room()
	if (n_rooms == 0)
		breaks("no object was read")
	exit n_broken > 0
}' "$allowed" "$here/symbols"
