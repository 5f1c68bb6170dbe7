# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# tools/demo without an option.  Sourced after common.sh.
: "${root:?}" "${packages_build:?}"

say "four to ten minutes on two cores: installing, building, two trainings; some 20 MB under build/"
# shellcheck disable=SC2086
need_packages $packages_build
build release -DCMAKE_BUILD_TYPE=Release -DCHOIR_BUILD_TESTS=OFF

out=$root/build/demo
mkdir -p "$out"
mpiexec=$(command -v mpiexec.mpich || command -v mpiexec)

# Each rank gets half of the cores to itself, where mpiexec can bind: else a rank's threads wake on cores that the other
# is using.
cores=$(lscpu -p=SOCKET,CORE 2>/dev/null | grep -v '^#' | sort -u | wc -l)
bind="-bind-to core:$((cores > 3 ? cores / 2 : 1))"
# shellcheck disable=SC2086 # an option and its value
"$mpiexec" $bind -n 2 true 2>/dev/null || bind=

# train NAME OPTION...: two ranks; the summary goes to build/demo/NAME.json.
train() {
	name=$1
	shift
	rm -f "$out/$name.json"
	# shellcheck disable=SC2086
	"$mpiexec" $bind -n 2 "$root/build/release/tools/train/choir-train" --json "$out/$name.json" "$@"
	[ -s "$out/$name.json" ] || die "choir-train wrote no summary"
}

# figure NAME KEY: a number of that summary, which has one key a line.
figure() {
	sed -n "s/^ *\"$2\": \([-+.0-9e]*\),*\$/\1/p" "$out/$1.json" | head -n 1
}

say "training for a minute on two ranks, gradients through choir"
train choir --seconds 60
steps=$(figure choir steps)
say "the same $steps steps, gradients by hand: read to the host, MPI, write back (two minutes at most)"
train mpi --via mpi --steps "$steps" --seconds 120

# row TEXT KEY FACTOR FORMAT PER: one line of the comparison; PER step or once.
row() {
	awk -v text="$1" -v a="$(figure choir "$2")" -v b="$(figure mpi "$2")" -v factor="$3" -v format="$4" \
		-v na="$(figure choir "$5")" -v nb="$(figure mpi "$5")" 'BEGIN {
			a *= factor / (na > 0 ? na : 1)
			b *= factor / (nb > 0 ? nb : 1)
			printf "%-44s " format " " format "\n", text, a, b
		}'
}
echo
printf '%-44s %12s %12s\n' "two ranks" choir "by hand"
row "steps" steps 1 %12.0f -
row "words/s" words_per_s 1 %12.0f -
row "a step, ms" seconds 1000 %12.1f steps
row "comm, ms a step: the ranks' least" total 1000 %12.3f steps
row "  of it shown: after the backward pass" shown 1000 %12.3f steps
row "loss at the end" loss 1 %12.4f -
echo
"$root/build/release/tools/plot/choir-plot" "$out/loss.svg" "$out/choir.json" "$out/mpi.json"
say "the loss of both, drawn: build/demo/loss.svg"
