#!/bin/sh
# SPDX-License-Identifier: MIT
# Includes point down only.  usage: includes.sh ROOT; prints each include that breaks a rule as file:line: reason, and
# then fails.
#
# The table below is the map of docs/architecture.md: a room and what it may include besides itself.
#   words     rooms of src/
#   @types    public headers without OpenCL: types, op, transport, the .def lists
#   @public   every public header but <choir/mpi.h>
#   @mpi      <choir/mpi.h> and <mpi.h>
#   @cl       <CL/...>, the OpenCL headers
#   @kernels  cl/, the sources that are both C and OpenCL C
# kernel-bench is tools/bench/kernel, a program of its own: what it measures has no public face, so it is linked to the
# rooms' objects instead of the library and sees the rooms that have kernels.  No other tool sees it.
# Anything else between angle brackets is the system's and free to all.
set -eu
root=$1
awk_program=$(mktemp)
trap 'rm -f "$awk_program"' EXIT
cat >"$awk_program" <<'AWK'
function allow(room, list, i, n, words) {
	known[room] = 1
	n = split(room " " list, words, " ")
	for (i = 1; i <= n; i++)
		may[room, words[i]] = 1
}
BEGIN {
	allow("base", "@types")
	allow("dev", "base @types @public @cl @kernels")
	allow("net", "base @types")
	allow("node", "base @types")
	allow("plan", "base @types")
	allow("kern", "dev base @types @public @kernels")
	allow("algo", "plan base @types")
	allow("exec", "kern algo dev net node plan base @types @public")
	allow("sparse", "exec kern algo dev net node plan base @types @public @kernels")
	allow("topk", "sparse exec kern algo dev net node plan base @types @public @kernels")
	allow("api", "topk sparse exec kern algo dev net node plan base @types @public")
	allow("mpi", "@types @public @mpi")
	allow("cl", "@types @kernels")
	allow("include", "@types @public @cl @mpi")
	allow("tools", "@types @public @cl @mpi")
	allow("kernel-bench", "sparse kern dev base @types @public @cl @mpi")
	allow("docs", "@types @public @cl @mpi")
	allow("tests", "base dev net node plan kern algo exec sparse topk api mpi @types @public @cl @mpi @kernels")
}

# The room of a path relative to the root.
function room_of(path, words) {
	split(path, words, "/")
	if (path ~ /^tools\/bench\/kernel\//)
		return "kernel-bench"
	return words[1] == "src" ? words[2] : words[1]
}

# A tool is alone with its own folder and tools/lib, which knows none of them.
function tool_of(path, words) {
	split(path, words, "/")
	return words[2]
}

function is_tool(room) {
	return room == "tools" || room == "kernel-bench"
}

function exists(path, line, rc) {
	if (!(path in seen)) {
		rc = (getline line < path)
		seen[path] = rc >= 0
		if (rc >= 0)
			closepath
	}
	return seen[path]
}

function breaks(why) {
	printf "%s:%d: %s\n", path, FNR, why
	n_broken++
}

# What an include names: a word of the table, "" for the system's.
function word_of(name, quoted, dir) {
	if (name ~ /^choir\//) {
		if (name ~ /^choir\/(types|op|transport)\.h$/ || name ~ /\.def$/)
			return "@types"
		return name == "choir/mpi.h" ? "@mpi" : "@public"
	}
	if (name ~ /^CL\//)
		return "@cl"
	if (name == "mpi.h")
		return "@mpi"
	if (!quoted)
		return ""
	dir = path
	sub(/[^\/]*$/, "", dir)
	if (exists(dir name))
		return "here:" dir name
	if (exists("src/" name))
		return room_of("src/" name)
	if (exists("cl/" name))
		return "@kernels"
	if (room == "tests" && exists("tests/" name))
		return "here:tests/" name
	if ((room == "tests" || is_tool(room)) && exists("tools/" name))
		return "here:tools/" name
	return "?"
}

FNR == 1 {
	path = FILENAME
	room = room_of(path)
	if (!(room in known))
		breaks("no such room in the table: " room)
}

match($0, /^[ \t]*#[ \t]*include[ \t]*["<][^">]*[">]/) {
	text = substr($0, RSTART, RLENGTH)
	quoted = text ~ /"$/
	sub(/^[^"<]*["<]/, "", text)
	sub(/[">]$/, "", text)
	word = word_of(text, quoted)
	if (word ~ /^here:/) {
		# Beside the file: still no way round, as "../exec/engine.h" would be.
		target = substr(word, 6)
		if (target ~ /\.\.\//)
			breaks("includes \"" text "\": name it from the top of its tree")
		else if (is_tool(room) && room != "kernel-bench" && room_of(target) == "kernel-bench")
			breaks("includes \"" text "\" of the program beside it")
		else if (is_tool(room) && tool_of(target) != tool_of(path) && tool_of(target) != "lib")
			breaks("includes \"" text "\" of another tool")
	} else if (word == "?") {
		breaks("includes \"" text "\", which is nowhere")
	} else if (word != "" && !((room, word) in may)) {
		breaks(room " includes " (quoted ? "\"" text "\"" : "<" text ">") ": " room " must not see " \
			(word ~ /^@/ ? "it" : word))
	} else if (room == "include" && word == "@mpi" && path != "include/choir/mpi.h") {
		breaks("<" text "> belongs to <choir/mpi.h> alone")
	} else if (room == "include" && quoted) {
		breaks("public headers include with angle brackets: " text)
	}
}

END {
	exit n_broken > 0
}
AWK
# Sources of every kind: .cl files include what cl/ offers and nothing else.
cd "$root"
find src include cl tools tests docs -type f \( -name '*.c' -o -name '*.h' -o -name '*.hpp' -o -name '*.inc' -o -name \
	'*.cl' \) -print0 |
	sort -z | xargs -0 awk -f "$awk_program"
