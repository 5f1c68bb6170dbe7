#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs choir, moves the installed tree, builds docs/examples/link-* against it and runs the results.
# By CMake also a project that can do without MPI, with a wrapper that is no MPICH's, and then with the right one in the
# same build folder.
# usage: link.sh cmake|pkgconfig CMAKE BUILD WORK EXAMPLES LIBDIR MPIEXEC CC
set -eu
way=$1 cmake=$2 build=$3 work=$4 examples=$5 libdir=$6 mpiexec=$7 cc=$8
rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/moved"
prefix=$work/moved
# What is installed must not know where it was built.
if grep -rlIF -e "$build" -e "$work/first" "$prefix"; then
	echo "^ holds a path of the build"
	exit 1
fi
# What the Python package needs beside libchoir, which it finds there.
ldd "$prefix/$libdir/libchoir-lightgbm.so" | grep "libchoir.so.0 => $prefix/"

case $way in
cmake)
	"$cmake" -S "$examples/link-cmake" -B "$work/out" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
		>"$work/cmake.log"
	"$cmake" --build "$work/out" >>"$work/cmake.log"
	mkdir "$work/may"
	cat >"$work/may/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(may C)
find_package(choir REQUIRED OPTIONAL_COMPONENTS mpi)
if((WANTED AND NOT choir_mpi_FOUND) OR (choir_mpi_FOUND AND NOT WANTED))
	message(FATAL_ERROR "mpi wanted ${WANTED}, found ${choir_mpi_FOUND}: ${choir_NOT_FOUND_MESSAGE}")
endif()
END
	printf '#!/bin/sh\nexit 1\n' >"$work/mpicc"
	chmod +x "$work/mpicc"
	for wrapper in "$work/mpicc" "$(command -v mpicc.mpich || command -v mpicc)"; do
		wanted=ON
		[ "$wrapper" != "$work/mpicc" ] || wanted=OFF
		"$cmake" -S "$work/may" -B "$work/may/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
			-DMPICH_MPICC="$wrapper" -DWANTED=$wanted >"$work/may.log"
	done
	;;
pkgconfig)
	mkdir "$work/out"
	make -C "$examples/link-pkgconfig" CC="$cc" OUT="$work/out" PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig" \
		>"$work/make.log"
	LD_LIBRARY_PATH=$prefix/$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	export LD_LIBRARY_PATH
	;;
esac
"$work/out/devices" 2
"$mpiexec" -n 2 "$work/out/first" | sort
