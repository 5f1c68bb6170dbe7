#!/bin/sh
# SPDX-License-Identifier: MIT
# The symbol walk must go red on a call upward and on each thing the library must not do.   usage: symbols_red.sh
# SYMBOLS.SH NM CC
set -eu
walk=$1 nm=$2 cc=$3
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
bad=0

# compile NAME TEXT
compile() {
	printf '%s\n' "$2" | "$cc" -std=c11 -c -x c - -o "$here/$1.o"
}

# verdict WANTED WHAT: the walk over low (base) and high (exec, which sees base) ends as wanted.
verdict() {
	printf 'room base\n%s/low.o\nroom exec base\n%s/high.o\n' "$here" "$here" >"$here/list"
	got=green
	"$walk" "$nm" "$here/list" >"$here/said" 2>&1 || got=red
	[ $got = "$1" ] || {
		echo "$2: $got"
		cat "$here/said"
		bad=1
	}
}

compile high 'int low(void); int high(void); int high(void) { return low(); }'
compile low 'int low(void); int low(void) { return 1; }'
verdict green "a call downward"
compile low 'int high(void); int low(void); int low(void) { return high(); }'
verdict red "a call upward"
compile low '#include <stdio.h>
int low(char *to); int low(char *to) { return snprintf(to, 4, "%d", 1); }'
verdict green "snprintf"
for call in 'printf("%d", to[0])' 'puts(to)' 'fprintf(stderr, "%s", to)' 'perror(to)' 'exit(1)' 'abort()' '_Exit(1)'; do
	compile low "#include <stdio.h>
#include <stdlib.h>
void low(char *to); void low(char *to) { (void)to; $call; }"
	verdict red "$call"
done
compile low '#include <assert.h>
void low(int x); void low(int x) { assert(x > 1); }'
verdict red assert
for call in 'sched_yield()' 'usleep(1)' 'nanosleep(0, 0)'; do
	compile low "#include <sched.h>
#include <time.h>
#include <unistd.h>
void low(void); void low(void) { $call; }"
	verdict red "$call"
done
exit $bad
