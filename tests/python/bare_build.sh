#!/bin/sh
# SPDX-License-Identifier: MIT
# The wheel's build on a machine without compiler and libraries: a PATH that has CMake and little else, and for apt
# an empty list of installed packages.  Where apt-get is missing too, a sentence names them.
# usage: bare_build.sh ROOT FOLDER   77: Debian's packages cannot be had.
set -eu
root=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/bin"
cmake=$(command -v cmake)
# link NAME...: these programs, and no others.
link() {
	for name in "$@"; do
		ln -s "$(command -v "$name")" "$folder/bin/$name"
	done
}
link cmake ninja sh
configure() {
	env -u CC PATH="$folder/bin" "$cmake" -S "$root/tools/python" -B "$folder/build" -G Ninja \
		-DCMAKE_BUILD_TYPE=Debug >"$folder/said" 2>&1
}

if configure; then
	echo "configured without a compiler"
	exit 1
fi
tr -s '\n ' ' ' <"$folder/said" >"$folder/sentence"
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
rm -rf "$folder/build"
: >"$folder/status"
echo "Dir::State::status \"$folder/status\";" >"$folder/apt.conf"
APT_CONFIG=$folder/apt.conf
export APT_CONFIG
configure || {
	if tr -s '\n ' ' ' <"$folder/said" | grep -q "apt-get cannot f"; then
		echo "skipped: Debian's packages cannot be had"
		exit 77
	fi
	cat "$folder/said"
	exit 1
}
grep "^-- unpacking from Debian: .*gcc" "$folder/said"
# The compiler and OpenCL's loader are those that were unpacked; a room compiles.
grep -q "^CMAKE_C_COMPILER.*=$folder/build/debian/cc" "$folder/build/CMakeCache.txt" ||
	grep -q "CMAKE_C_COMPILER \"$folder/build/debian/cc\"" "$folder"/build/CMakeFiles/*/CMakeCCompiler.cmake
grep -q "^OpenCL_LIBRARY:.*=$folder/build/debian/usr/lib/" "$folder/build/CMakeCache.txt"
PATH="$folder/bin" "$cmake" --build "$folder/build" -j 2 --target room_base >"$folder/said" 2>&1 || {
	cat "$folder/said"
	exit 1
}
rm -rf "$folder/build"
