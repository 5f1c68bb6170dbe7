#!/bin/sh
# SPDX-License-Identifier: MIT
# The include walk must go red: each violation planted alone in a small clean tree has to be found and named.
# usage: includes_red.sh INCLUDES.SH
set -eu
walk=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
bad=0

# clean_tree: a project of one header a room, each including what it is allowed to.
clean_tree() {
	rm -rf "${tree:?}"/*
	mkdir -p "$tree/include/choir" "$tree/cl" "$tree/docs/examples" "$tree/tests/plan" "$tree/tools/bench/kernel" \
		"$tree/tools/info" "$tree/tools/lib"
	for room in base dev net node plan kern algo exec sparse api mpi; do
		mkdir -p "$tree/src/$room"
		printf '#include <choir/types.h>\n#include <stdio.h>\n' >"$tree/src/$room/$room.h"
	done
	echo '#include <stdint.h>' >"$tree/include/choir/types.h"
	echo '#include <CL/cl.h>' >"$tree/include/choir/device.h"
	echo '#include <mpi.h>' >"$tree/include/choir/mpi.h"
	echo '#include "dev/dev.h"' >"$tree/src/kern/k.c"
	echo '#include "kern/kern.h"' >"$tree/src/exec/e.c"
	echo '#include "exec/exec.h"' >"$tree/tests/plan/t.c"
	echo '#include <choir/mpi.h>' >"$tree/tools/bench/bench.c"
	echo '#include "lib/lib.h"' >>"$tree/tools/bench/bench.c"
	echo '#include <stdio.h>' >"$tree/tools/info/info.h"
	echo '#include <mpi.h>' >"$tree/tools/lib/lib.h"
	echo '#include <stdio.h>' >"$tree/tools/bench/bench.h"
	printf '#include "sparse/sparse.h"\n#include "bench/bench.h"\n' >"$tree/tools/bench/kernel/kernel.h"
}

# red FILE LINE WHAT: with LINE at the end of FILE the walk fails and names that file and line.
red() {
	clean_tree
	printf '%s\n' "$2" >>"$tree/$1"
	number=$(wc -l <"$tree/$1")
	if said=$("$walk" "$tree" 2>&1); then
		echo "not found: $3: $1: $2"
		bad=1
	elif ! printf '%s\n' "$said" | grep -q "^$1:$number: "; then
		echo "found, but not named: $3: $1:$number: $2; it said: $said"
		bad=1
	fi
}

clean_tree
"$walk" "$tree" || {
	echo "a clean tree fails"
	bad=1
}
red src/base/base.h '#include "exec/exec.h"' "upward"
red src/kern/k.c '  #  include "exec/exec.h"' "upward, with blanks"
red src/exec/e.c '#include "sparse/sparse.h"' "one floor up"
red src/dev/dev.h '#include "net/net.h"' "sideways"
red src/kern/k.c '#include "algo/algo.h"' "sideways"
red src/mpi/mpi.h '#include "base/base.h"' "mpi sees public headers only"
red src/base/base.h '#include "../exec/exec.h"' "round the table"
red src/exec/e.c '#include <CL/cl.h>' "OpenCL outside dev"
red src/plan/plan.h '#include <choir/device.h>' "OpenCL through a public header"
red src/net/net.h '#include <mpi.h>' "MPI outside mpi"
red src/api/api.h '#include <choir/mpi.h>' "MPI in libchoir"
red include/choir/types.h '#include <mpi.h>' "MPI in a core header"
red include/choir/types.h '#include "base/base.h"' "a private header in a public one"
red tools/bench/bench.c '#include "base/base.h"' "a private header in a tool"
red tools/bench/bench.c '#include "../info/info.h"' "a tool's header in another"
red tools/bench/bench.c '#include "info/info.h"' "a tool's header in another, from the top"
red tools/lib/lib.h '#include "info/info.h"' "a tool's header in what the tools share"
red tools/bench/bench.c '#include "kernel/kernel.h"' "the program of the kernels in choir-bench"
red tools/info/info.h '#include "bench/kernel/kernel.h"' "the program of the kernels in another tool"
red tools/bench/kernel/kernel.h '#include "exec/exec.h"' "a room without kernels in their program"
red tools/bench/kernel/kernel.h '#include "info/info.h"' "another tool in the program of the kernels"
red src/api/api.h '#include "lib/lib.h"' "what the tools share in the library"
red src/base/base.h '#include "nowhere.h"' "a header that is nowhere"
exit $bad
