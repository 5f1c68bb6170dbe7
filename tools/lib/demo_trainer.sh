# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# tools/demo --lightgbm, --tinygrad, --torch: the trainer comes into a venv under build/, libchoir is built without MPI,
# and an example of tools/python compares both transports in turns.  Sourced after common.sh, with $which set.
: "${root:?}" "${which:?}"

packages="gcc libc6-dev cmake ninja-build pkg-config pocl-opencl-icd ocl-icd-opencl-dev opencl-headers libhwloc-dev \
	libjansson-dev libxxhash-dev python3 python3-venv"
modules="numpy $which"
case $which in
lightgbm)
	example=lightgbm_trees.py
	say "one to two minutes on two cores: LightGBM, NumPy, SciPy from PyPI (60 MB, 250 MB in build/demo-lightgbm)"
	;;
tinygrad)
	example=tinygrad_net.py
	say "two to eight minutes on two cores, most of it PoCL's compiler: tinygrad and NumPy from PyPI (25 MB," \
		"140 MB in build/demo-tinygrad)"
	;;
torch) # PyPI's brings gigabytes of CUDA: Debian's is for the CPU alone
	example=ddp.py packages="$packages python3-torch" modules=
	say "one to two minutes on two cores: PyTorch from Debian, where it is not installed (60 MB, 300 MB installed)"
	;;
esac
# shellcheck disable=SC2086
need_packages $packages
build demo-choir -DCMAKE_BUILD_TYPE=Release -DCHOIR_MPI=OFF -DCHOIR_BUILD_TESTS=OFF

python=/usr/bin/python3
if [ -n "$modules" ]; then
	venv=$root/build/demo-$which
	pins=$root/tools/python/pins.txt
	if ! cmp -s "$venv/complete" "$pins"; then
		say "installing $modules in build/demo-$which"
		rm -rf "$venv"
		# shellcheck disable=SC2086
		if ! { $python -m venv "$venv" && "$venv/bin/pip" install --no-input --disable-pip-version-check \
			--no-cache-dir --retries 1 --timeout 30 --constraint "$pins" $modules; } >"$venv.log" 2>&1; then
			tail -n 15 "$venv.log" >&2
			die "installing failed (all of it: build/demo-$which.log)"
		fi
		cp "$pins" "$venv/complete"
	fi
	python=$venv/bin/python
fi

# One thread a rank: the ranks share few cores.  Two devices for tinygrad by itself.
OMP_NUM_THREADS=1 POCL_MAX_PTHREAD_COUNT=1
export OMP_NUM_THREADS POCL_MAX_PTHREAD_COUNT
[ "$which" != tinygrad ] || export DEV=CL POCL_DEVICES="pthread pthread"
pocl=$(cat /etc/OpenCL/vendors/pocl.icd 2>/dev/null || true)
if [ -n "$pocl" ] && [ -z "${OCL_ICD_VENDORS:-}" ]; then
	icd_folder pocl "$pocl"
	export OCL_ICD_VENDORS="$icd"
fi
export CHOIR_LIBRARY="$root/build/demo-choir/src" PYTHONPATH="$root/tools/python"
say "training on two ranks, in turns"
status=0
"$python" -W ignore -m choir -n 2 "$root/tools/python/examples/$example" --turns 5 >"$root/build/demo-$which.out" \
	2>"$root/build/demo-$which.err" || status=$?
# LightGBM prints what its sockets do.
grep -v -e '^\[LightGBM\] \[Info\]' -e '^\[LightGBM\] \[Warning\] Connecting to' -e '^Listening\.\.\.$' \
	"$root/build/demo-$which.out" || true
[ $status -eq 0 ] || tail -n 20 "$root/build/demo-$which.err" >&2
exit $status
