#!/bin/sh
# SPDX-License-Identifier: MIT
# report.sh TOOLS_GPU BUILD SCRATCH: tools/gpu --quick writes its report, and what fails stands in it.  A rate is 0
# where the probe had no time for it (src/dev/rates.c).
set -eu
tool=$1 build=$2 scratch=$3
rm -rf "$scratch"
mkdir -p "$scratch/bad/tools/bench"

fail() {
	echo "report.sh: $*" >&2
	exit 1
}

"$tool" --quick --build "$build" --report "$scratch/report.md" || fail "the quick run failed: $scratch/report.md"
for words in "^# choir on .*model" "^Nothing\.$" "^    type  *gpu$" "^    driver  *[^ ]" \
	"^    rates  *read_us .* read_GBps [0-9.]" "^    rates  .* write_GBps [0-9.]" \
	"100% tests passed" "^## Kernels" "kernel reduce" "^## Dense collectives" "staged" "-b 128K -e 128K" \
	"class map$" "class stage$" "by the kernel alone$" "by the host alone$" "^## Overlap" "overlap_allgather" \
	"hidden" "^## Ranks of one process" "--algorithm device,twoshot" "^## Sparse" "sparse_allreduce" \
	"^## Training" "--via choir" "--via mpi"; do
	grep -q -e "$words" "$scratch/report.md" || fail "the report lacks '$words'"
done

# A build whose choir-bench fails: every section is there, each failure is listed, and the status says so.
for part in info train; do
	ln -s "$build/tools/$part" "$scratch/bad/tools/$part"
done
printf '#!/bin/sh\necho planted; exit 3\n' >"$scratch/bad/tools/bench/choir-bench"
chmod +x "$scratch/bad/tools/bench/choir-bench"
! "$tool" --quick --build "$scratch/bad" --report "$scratch/bad.md" || fail "a failing bench made no failing report"
sed '/^## The machine/,$d' "$scratch/bad.md" >"$scratch/head"
grep -q '^- .*choir-bench.*kernel reduce.*: exit status 3$' "$scratch/head" || fail "the failure is not listed"
grep -q '^- .*ctest.*: exit status' "$scratch/head" || fail "a build without tests is not listed"
grep -q '^planted$' "$scratch/bad.md" || fail "the failing command's words are not in the report"
grep -q '^## Training' "$scratch/bad.md" || fail "the report ends at the first failure"

! "$tool" --quick --build "$build" --device 9:9 2>"$scratch/words" || fail "device 9:9 was taken"
grep -q 'there is no device 9:9' "$scratch/words" || fail "no sentence for device 9:9"
