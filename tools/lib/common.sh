# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What tools/demo and tools/check share.  Sourced with $root set to the project's folder and $me to the command's name;
# POSIX sh.
: "${root:?}" "${me:?}"

# The same words and numbers whatever the caller's locale; no question from apt, git or mpiexec may wait for a terminal.
LC_ALL=C
export LC_ALL
DEBIAN_FRONTEND=noninteractive
export DEBIAN_FRONTEND
exec </dev/null

# Two folders that programs below rely on: a TMPDIR that is gone makes gcc fail, a missing home makes PoCL compile every
# kernel anew.
if [ -n "${TMPDIR:-}" ] && ! [ -w "$TMPDIR" ]; then
	unset TMPDIR
fi
if [ -z "${HOME:-}" ] || ! [ -w "$HOME" ]; then
	HOME=$root/build/home
	mkdir -p "$HOME"
	export HOME
fi

say() {
	printf '%s: %s\n' "$me" "$*"
}

die() {
	printf '%s: %s\n' "$me" "$*" >&2
	exit 1
}

# as_root COMMAND...: as it is for root, else by sudo (which may ask for a password only where somebody can answer).
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif ! command -v sudo >/dev/null; then
		return 127
	elif [ -t 2 ]; then
		sudo "$@"
	else
		sudo -n "$@"
	fi
}

# packages_missing PACKAGE...: those of them that are not installed, on one line.
packages_missing() {
	missing=
	for package in "$@"; do
		state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
		[ "$state" = installed ] || missing="$missing $package"
	done
	printf '%s\n' "${missing# }"
}

# packages_size PACKAGE...: what apt says of them: "Need to get 1 MB of archives. After this operation, ..."
packages_size() {
	LC_ALL=C apt-get --assume-no --no-install-recommends install "$@" 2>/dev/null |
		sed -n '/^Need to get/p; /^After this/p' | tr '\n' ' ' | sed 's/ $//'
}

# need_packages PACKAGE...: installs what is missing; asks the network for nothing when all is there.
need_packages() {
	if ! command -v apt-get >/dev/null; then
		say "no apt-get here, so nothing is installed; needed are: $*"
		return 0
	fi
	missing=$(packages_missing "$@")
	if [ -z "$missing" ]; then
		say "all $# packages are installed"
		return 0
	fi
	mkdir -p "$root/build"
	apt_log=$root/build/apt.log
	# Word splitting is meant: a list of package names.
	# shellcheck disable=SC2086
	if ! { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update >"$apt_log" 2>&1 &&
		say "installing $missing ($(packages_size $missing))" &&
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
			--no-install-recommends install $missing >>"$apt_log" 2>&1
	}; then
		tail -n 15 "$apt_log" >&2
		die "installing failed (all of it: build/apt.log); as root:
  apt-get update && apt-get install --no-install-recommends $missing"
	fi
}

# cores: how many jobs to build with.
cores() {
	nproc 2>/dev/null || echo 2
}

# build FOLDER OPTION...: configures and builds build/FOLDER; its output goes to build/FOLDER.log and is shown when it
# fails.
build() {
	build_name=$1 build_log=$root/build/$1.log
	shift
	mkdir -p "$root/build"
	if [ -e "$root/build/$build_name" ] && ! [ -w "$root/build/$build_name" ]; then
		die "build/$build_name belongs to another user: remove it first"
	fi
	say "building build/$build_name"
	# MPICH by its own name: with Open MPI beside it, plain mpicc is Open MPI's.
	if ! { cmake -S "$root" -B "$root/build/$build_name" -G Ninja \
		-DMPICH_MPICC="$(command -v mpicc.mpich || command -v mpicc)" \
		-DMPICH_MPIEXEC="$(command -v mpiexec.mpich || command -v mpiexec)" "$@" &&
		cmake --build "$root/build/$build_name" -j "$(cores)"; } >"$build_log" 2>&1; then
		tail -n 40 "$build_log" >&2
		die "building failed (all of it: build/$build_name.log)"
	fi
}

# icd_folder NAME LINE...: a folder build/icd/NAME with one .icd file a line, for OCL_ICD_VENDORS.
icd_folder() {
	icd=$root/build/icd/$1
	rm -rf "$icd"
	mkdir -p "$icd"
	shift
	icd_number=0
	for line in "$@"; do
		icd_number=$((icd_number + 1))
		printf '%s\n' "$line" >"$icd/$icd_number.icd"
	done
}

# What everything needs that builds choir, its tools included.
# shellcheck disable=SC2034
packages_build="gcc g++ libc6-dev cmake ninja-build pkg-config mpich libmpich-dev pocl-opencl-icd ocl-icd-opencl-dev \
	opencl-headers \
libclblast-dev libhwloc-dev libjansson-dev libxxhash-dev wordnet-base gnuplot-nox python3"
