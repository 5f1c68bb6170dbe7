# SPDX-License-Identifier: MIT
# What building libchoir needs and this machine lacks, a compiler included: Debian's packages, which apt fetches and
# proves, unpacked in the build folder.  Nothing is installed, and nobody has to be root.  Included before project().
# Sets unpacked_libraries to those of them that libchoir is linked to, hwloc to libudev: they go into the wheel.
set(packages gcc libc6-dev pkg-config ocl-icd-opencl-dev libhwloc-dev libjansson-dev libxxhash-dev)
set(unpacked_libraries "")

find_program(choir_cc NAMES $ENV{CC} cc gcc clang)
find_program(choir_pkg_config NAMES pkg-config pkgconf)
if(DEFINED OpenCL_LIBRARY OR DEFINED CMAKE_C_COMPILER)
	return() # whoever builds says where things are; CMAKE_PREFIX_PATH is always set, by pip's CMake
endif()
if(choir_cc AND choir_pkg_config)
	execute_process(COMMAND ${choir_pkg_config} --exists OpenCL hwloc jansson libxxhash RESULT_VARIABLE lacks)
	if(lacks EQUAL 0)
		return()
	endif()
endif()

set(unpacked ${CMAKE_BINARY_DIR}/debian)
file(REMOVE_RECURSE ${unpacked})
file(MAKE_DIRECTORY ${unpacked})
list(JOIN packages " " words)
function(give_up why)
	message(FATAL_ERROR
		"choir's build needs these packages of Debian, or their like: apt install ${words}\n(${why})")
endfunction()
find_program(APT_GET apt-get)
find_program(DPKG_DEB dpkg-deb)
if((NOT APT_GET OR NOT DPKG_DEB) AND choir_cc AND choir_pkg_config)
	return() # project() finds OpenCL without pkg-config too, and says what it misses
endif()
if(unpacked MATCHES "[ ;]")
	give_up("and the path of the build folder, ${unpacked}, should have no space for them to be fetched")
endif()
if(NOT APT_GET OR NOT DPKG_DEB)
	give_up("there is no apt-get here that could fetch them")
endif()

# A line of apt is 'URL' NAME_VERSION_ARCHITECTURE.deb BYTES HASH.  It leaves out what is in its cache: none is given.
file(MAKE_DIRECTORY ${unpacked}/cache/partial)
execute_process(COMMAND ${APT_GET} install -qq --print-uris --no-install-recommends
	-o Dir::Cache::archives=${unpacked}/cache ${packages}
	OUTPUT_VARIABLE lines ERROR_VARIABLE why RESULT_VARIABLE rc)
string(REGEX MATCHALL "' [^ _\n]+_" missing "${lines}")
list(TRANSFORM missing REPLACE "' (.+)_" "\\1")
if(rc)
	give_up("apt-get cannot find them, before apt update say: ${why}")
elseif(missing STREQUAL "")
	give_up("apt-get says that they are installed, but there is no C compiler, or pkg-config does not know them")
endif()
message(STATUS "unpacking from Debian: ${missing}")
execute_process(COMMAND ${APT_GET} -qq -o Acquire::Retries=1 download ${missing} WORKING_DIRECTORY ${unpacked}
	ERROR_VARIABLE why RESULT_VARIABLE rc)
if(rc)
	give_up("apt-get cannot fetch them: ${why}")
endif()
file(GLOB archives ${unpacked}/*.deb)
foreach(archive ${archives})
	execute_process(COMMAND ${DPKG_DEB} -x ${archive} ${unpacked} RESULT_VARIABLE rc)
	if(rc)
		give_up("dpkg-deb cannot unpack ${archive}")
	endif()
endforeach()
file(REMOVE ${archives})

file(GLOB lib ${unpacked}/usr/lib/*-linux-gnu*)
list(GET lib 0 lib)
get_filename_component(triple "${lib}" NAME)
# Texts with the paths that the files would have had: pkg-config's, and the linker's script.
file(GLOB texts ${lib}/pkgconfig/*.pc ${unpacked}/usr/share/pkgconfig/*.pc ${lib}/libc.so)
foreach(file ${texts})
	file(READ ${file} text)
	string(REGEX REPLACE "([= ])/usr" "\\1${unpacked}/usr" text "${text}")
	file(WRITE ${file} "${text}")
endforeach()
# A link to a library that is installed already leads to that one.
file(GLOB links ${lib}/lib*.so)
foreach(link ${links})
	if(NOT EXISTS ${link})
		file(READ_SYMLINK ${link} library)
		get_filename_component(library ${library} NAME)
		file(CREATE_LINK /usr/lib/${triple}/${library} ${link} SYMBOLIC)
	endif()
endforeach()
file(GLOB unpacked_libraries ${lib}/libOpenCL.so.1 ${lib}/libhwloc.so.15 ${lib}/libjansson.so.4
	${lib}/libudev.so.1 ${lib}/libxxhash.so.0)

# unpacked_program(NAME PROGRAM): a program that sees the unpacked folders beside the system's.
function(unpacked_program name program)
	file(WRITE ${unpacked}/${name} "#!/bin/sh
PATH=${unpacked}/usr/bin:$PATH
LD_LIBRARY_PATH=${lib}\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
C_INCLUDE_PATH=${unpacked}/usr/include:${unpacked}/usr/include/${triple}
LIBRARY_PATH=${lib}
PKG_CONFIG_PATH=${lib}/pkgconfig:${unpacked}/usr/share/pkgconfig
export PATH LD_LIBRARY_PATH C_INCLUDE_PATH LIBRARY_PATH PKG_CONFIG_PATH
exec ${program} \"$@\"\n")
	file(CHMOD ${unpacked}/${name} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()
if(NOT choir_cc)
	set(choir_cc gcc)
endif()
if(NOT choir_pkg_config)
	set(choir_pkg_config pkg-config)
endif()
unpacked_program(cc ${choir_cc})
unpacked_program(pkg-config ${choir_pkg_config})
set(CMAKE_C_COMPILER ${unpacked}/cc)
set(PKG_CONFIG_EXECUTABLE ${unpacked}/pkg-config)
list(APPEND CMAKE_PREFIX_PATH ${unpacked}/usr)
list(APPEND CMAKE_LIBRARY_PATH ${lib})
