#!/bin/sh
# SPDX-License-Identifier: MIT
# pip install ./tools/python on a machine without compiler and libraries: a PATH that has CMake and little else, and for
# apt an empty list of installed packages.  Where apt-get is missing too, a sentence names them.
# usage: bare_build.sh PYTHON ROOT FOLDER   77: the packages of PyPI or Debian cannot be had.
set -eu
python=$1 root=$2 folder=$3
unset CC CHOIR_LIBRARY PYTHONPATH PYTHONUNBUFFERED
rm -rf "$folder"
mkdir -p "$folder/bin"
"$python" -m venv "$folder/venv"
venv=$folder/venv/bin/python
timeout 400 "$venv" -m pip --no-input --disable-pip-version-check --retries 1 --timeout 20 install \
	'scikit-build-core>=0.10' || {
	echo "skipped: PyPI did not give the packages within 400 s"
	exit 77
}
# link NAME...: these programs, and no others.
link() {
	for name in "$@"; do
		ln -s "$(command -v "$name")" "$folder/bin/$name"
	done
}
# Without isolation, as in install.sh; a debug build is soonest done.
pip_install() {
	rm -rf "$folder/build"
	env PATH="$folder/bin" CMAKE_BUILD_PARALLEL_LEVEL=2 "$venv" -m pip --no-input --disable-pip-version-check \
		install --no-build-isolation --config-settings build-dir="$folder/build" \
		--config-settings cmake.build-type=Debug --verbose "$root/tools/python" >"$folder/said" 2>&1
	rc=$?
	tr -s '\n ' ' ' <"$folder/said" >"$folder/sentence" # CMake breaks lines
	return $rc
}

link cmake ninja sh
if pip_install; then
	echo "installed without a compiler"
	exit 1
fi
grep -q "choir's build needs these packages of Debian, or their like: apt install gcc .*there is no apt-get here" \
	"$folder/sentence" || {
	cat "$folder/said"
	exit 1
}

command -v apt-get >/dev/null || {
	echo "skipped: no apt-get here"
	exit 77
}
link apt-get dpkg dpkg-deb tar rm
: >"$folder/status"
echo "Dir::State::status \"$folder/status\";" >"$folder/apt.conf"
APT_CONFIG=$folder/apt.conf
export APT_CONFIG
pip_install || {
	if grep -q "apt-get cannot f" "$folder/sentence"; then
		echo "skipped: Debian's packages cannot be had"
		exit 77
	fi
	cat "$folder/said"
	exit 1
}
grep "unpacking from Debian: .*gcc" "$folder/said"
# The compiler and OpenCL's loader are those that were unpacked.
grep -q "^CMAKE_C_COMPILER.*=$folder/build/debian/cc" "$folder/build/CMakeCache.txt" ||
	grep -q "CMAKE_C_COMPILER \"$folder/build/debian/cc\"" "$folder"/build/CMakeFiles/*/CMakeCCompiler.cmake
grep -q "^OpenCL_LIBRARY:.*=$folder/build/debian/usr/lib/" "$folder/build/CMakeCache.txt"
rm -rf "$folder/build"

# The README's program on two processes, and the libraries are the package's own.
cd "$folder"
out=$(PATH="$folder/bin" "$venv" -m choir -n 2 "$root/tools/python/examples/first.py" | sort)
[ "$out" = "rank 0 of 2: [2.0, 20.0, 200.0, 2000.0]
rank 1 of 2: [2.0, 20.0, 200.0, 2000.0]" ] || {
	echo "the program printed: $out"
	exit 1
}
"$venv" -c '
import choir, pathlib
own = str(pathlib.Path(choir.__file__).parent / "lib")
maps = pathlib.Path("/proc/self/maps").read_text().split()
for name in ("libchoir.so", "libOpenCL.so", "libhwloc.so", "libjansson.so", "libxxhash.so"):
    found = {one for one in maps if name in one}
    assert found and all(one.startswith(own) for one in found), (name, found)'
