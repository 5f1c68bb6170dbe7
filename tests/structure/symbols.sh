#!/bin/sh
# SPDX-License-Identifier: MIT
# What the rooms' objects call: no room defines what a higher or neighbouring one needs from it the wrong way, nothing
# in the library prints or ends the process, and threads wait by src/base/wait.h only (libchoir-mpi, a library of its
# own, apart).
# usage: symbols.sh NM LIST      LIST has lines "room NAME LOWER..." each followed by that room's object files, one a
# line
set -eu
nm=$1 list=$2
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
# names ROOM: the symbols of that room's objects, whose paths are in the arguments.
names() {
	room=$1
	shift
	[ $# -eq 0 ] || "$nm" -A "$@" | sed "s|^|symbol $room |"
}

room=
set --
while IFS= read -r line; do
	case $line in
	"room "*)
		names "$room" "$@"
		set --
		echo "$line"
		room=${line#room }
		room=${room%% *}
		;;
	?*) set -- "$@" "$line" ;;
	esac
done <"$list" >"$here/symbols"
names "$room" "$@" >>"$here/symbols"

awk '
function breaks(why) {
	print why
	n_broken++
}
BEGIN {
	# The standard streams stand for fprintf to them; writing to a FILE that a caller gave is allowed.
	n = split("printf vprintf puts putchar perror exit _exit _Exit quick_exit abort raise __assert_fail " \
		"stdout stderr " \
		"__printf_chk __vprintf_chk", words, " ")
	for (i = 1; i <= n; i++)
		forbidden[words[i]] = 1
	n = split("sched_yield nanosleep clock_nanosleep usleep sleep thrd_yield thrd_sleep pthread_yield", words, " ")
	for (i = 1; i <= n; i++)
		waits[words[i]] = 1
}
$1 == "room" {
	rooms[$2] = 1
	for (i = 2; i <= NF; i++)
		may[$2, $i] = 1
	next
}
{
	room = $2
	name = $NF
	kind = $(NF - 1)
	file = $3
	sub(/:[0-9a-f]*$/, "", file)
	if (kind ~ /^[TDBRCVW]$/)
		owner[name] = room
	else if (kind == "U" || kind == "w") {
		n_uses++
		use_room[n_uses] = room
		use_name[n_uses] = name
		use_file[n_uses] = file
	}
}
END {
	for (i = 1; i <= n_uses; i++) {
		name = use_name[i]
		if (name in forbidden)
			breaks(use_file[i] ": the library must not use " name)
		else if (name in waits && use_room[i] != "mpi" && use_file[i] !~ /(^|\/)wait\.[^\/]*o$/)
			breaks(use_file[i] ": threads wait by src/base/wait.h, not by " name)
		else if (name == "choir_transport_wake" || use_room[i] == "mpi" && name ~ /^choir_/)
			continue # transports are written to the public face, ours too
		else if (name in owner && !((use_room[i], owner[name]) in may))
			breaks(use_file[i] ": " use_room[i] " calls " name " of " owner[name])
	}
	if (n_uses == 0)
		breaks("no object was read")
	exit n_broken > 0
}' "$here/symbols"
