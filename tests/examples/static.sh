#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds choir as a static library without MPI, with its tools and one test of processes, installs it, moves it, and
# links docs/examples/devices.c to it by CMake and by pkg-config; component mpi is refused with a sentence.  Then links
# the same objects to a shared library, without MPI too.
# usage: static.sh CMAKE SOURCE WORK EXAMPLES LIBDIR CC GENERATOR [LAUNCHER]
set -eu
cmake=$1 source=$2 work=$3 examples=$4 libdir=$5 cc=$6 generator=$7 launcher=${8:-}
mkdir -p "$work"
rm -rf "$work/first" "$work/moved" "$work/out" "$work/project"
"$cmake" -S "$source" -B "$work/build" -G "$generator" -DCMAKE_BUILD_TYPE=Debug \
	-DCHOIR_MPI=OFF -DBUILD_SHARED_LIBS=OFF -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_COMPILER_LAUNCHER="$launcher" \
	>"$work/cmake.log"
"$cmake" --build "$work/build" --target choir choir-plan choir-info fork_world >"$work/build.log" || {
	tail -n 20 "$work/build.log"
	exit 1
}
"$cmake" --install "$work/build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/moved"
prefix=$work/moved
[ -f "$prefix/$libdir/libchoir.a" ]
for absent in include/choir/mpi.h "$libdir/pkgconfig/choir-mpi.pc" "$libdir/libchoir.so"; do
	[ ! -e "$prefix/$absent" ] || {
		echo "$absent is installed"
		exit 1
	}
done
"$prefix/bin/choir-plan" allreduce -n 4 -b 1K --check

mkdir -p "$work/project" "$work/out"
cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(static C)
find_package(choir REQUIRED)
add_executable(devices $examples/devices.c)
target_link_libraries(devices PRIVATE choir::choir)
find_package(choir QUIET COMPONENTS mpi)
if(choir_FOUND OR NOT choir_NOT_FOUND_MESSAGE MATCHES "without MPI")
	message(FATAL_ERROR "component mpi: \${choir_NOT_FOUND_MESSAGE}")
endif()
END
"$cmake" -S "$work/project" -B "$work/out/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
	>"$work/project.log"
"$cmake" --build "$work/out/cmake" >>"$work/project.log"
"$work/out/cmake/devices" 2

PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
"$cc" -std=c11 "$examples/devices.c" $(pkg-config --cflags --libs --static choir) -o "$work/out/devices"
"$work/out/devices" 2

"$cmake" -S "$source" -B "$work/build" -DBUILD_SHARED_LIBS=ON -DCMAKE_INSTALL_LIBDIR=/elsewhere/lib \
	-DCMAKE_INSTALL_PREFIX=/here >"$work/cmake.log"
grep -q "^prefix=/here$" "$work/build/choir.pc"
grep -q "^libdir=/elsewhere/lib$" "$work/build/choir.pc"
"$cmake" --build "$work/build" --target choir >"$work/build.log" || {
	tail -n 20 "$work/build.log"
	exit 1
}
find "$work/build/src" -name libchoir.so | grep -q . || {
	echo "no shared library is built"
	exit 1
}
