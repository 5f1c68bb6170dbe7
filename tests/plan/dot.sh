#!/bin/sh
# SPDX-License-Identifier: MIT
# What choir-plan --dot prints is a graph: Graphviz reads it where it is installed; in any case braces are balanced and
# each edge joins nodes that are there.   usage: dot.sh CHOIR-PLAN FLAG...
set -eu
graph=$(mktemp)
trap 'rm -f "$graph"' EXIT
"$@" --dot >"$graph"
if command -v dot >/dev/null; then
	dot -Tsvg -o /dev/null "$graph"
fi
awk '
{ line = $0; depth += gsub(/\{/, "", line) - gsub(/\}/, "", line) }
match($0, /^\t[a-z0-9]+ \[/) { node[substr($0, 2, RLENGTH - 3)] = 1; n++ }
/ -> / { edges++; sub(/;$/, "", $3); from[edges] = $1; to[edges] = $3 }
END {
	for (i = 1; i <= edges; i++)
		if (!(from[i] in node) || !(to[i] in node)) {
			print "an edge to nowhere: " from[i] " -> " to[i]
			bad = 1
		}
	if (depth != 0 || n < 2 || edges < 1) {
		print "depth " depth ", " n " nodes, " edges " edges"
		bad = 1
	}
	exit bad
}' "$graph"
