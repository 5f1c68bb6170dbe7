# SPDX-License-Identifier: MIT
# Installing: libraries, public headers, tools, the CMake package `choir` (components choir and mpi) and choir.pc,
# choir-mpi.pc. The installed tree may be moved: all paths inside it are relative to the files that hold them.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/choir)

if(CHOIR_MPI)
	# MPICH is looked for again on the machine that links: the package names a target that choirConfig.cmake makes
	# there.
	set_target_properties(choir-mpi PROPERTIES
		INTERFACE_LINK_LIBRARIES "choir;$<BUILD_INTERFACE:choir_mpich>;$<INSTALL_INTERFACE:choir::mpich>"
		INSTALL_RPATH "$ORIGIN")
	install(TARGETS choir-mpi EXPORT choirMpiTargets)
endif()

install(TARGETS choir EXPORT choirTargets)
if(TARGET choir-lightgbm) # the Python package looks for it beside libchoir
	install(TARGETS choir-lightgbm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
set(without "")
if(NOT CHOIR_MPI)
	set(without PATTERN mpi.h EXCLUDE)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/choir TYPE INCLUDE
	FILES_MATCHING PATTERN "*.h" PATTERN "*.def" ${without})
install(FILES ${PROJECT_SOURCE_DIR}/docs/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The tools install themselves; this is how they find the libraries there.
file(RELATIVE_PATH bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
set(tools_rpath "$ORIGIN/${bin_to_lib}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
	set(tools_rpath "${CMAKE_INSTALL_LIBDIR}")
endif()
foreach(tool choir-bench choir-info choir-plan choir-train)
	if(TARGET ${tool})
		set_target_properties(${tool} PROPERTIES INSTALL_RPATH "${tools_rpath}")
	endif()
endforeach()

install(EXPORT choirTargets NAMESPACE choir:: DESTINATION ${package_dir})
if(CHOIR_MPI)
	install(EXPORT choirMpiTargets NAMESPACE choir:: DESTINATION ${package_dir})
	install(FILES ${CMAKE_CURRENT_LIST_DIR}/FindMpich.cmake DESTINATION ${package_dir})
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/choirConfig.cmake.in ${PROJECT_BINARY_DIR}/choirConfig.cmake
	INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the ABI.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/choirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/choirConfig.cmake ${PROJECT_BINARY_DIR}/choirConfigVersion.cmake
	DESTINATION ${package_dir})

# pkg-config.  pcfiledir is where the .pc file lies when it is read.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_to_prefix /${pc_dir} /)
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
set(pc_prefix "\${pcfiledir}/${pc_to_prefix}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}") # then nothing can be moved
	set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
endif()
foreach(what lib include)
	string(TOUPPER CMAKE_INSTALL_${what}DIR folder)
	if(IS_ABSOLUTE "${${folder}}")
		set(pc_${what}dir "${${folder}}")
	else()
		set(pc_${what}dir "\${prefix}/${${folder}}")
	endif()
endforeach()
# What a static libchoir leaves to be linked; a shared one brings it along.
set(pc_static_requires "")
set(pc_static_libs "")
if(NOT BUILD_SHARED_LIBS)
	set(pc_static_requires "Requires.private: jansson libxxhash")
	# pkg-config --static would add what a static hwloc needs, which Debian's libhwloc-dev does not bring.
	list(JOIN HWLOC_LDFLAGS " " hwloc)
	set(pc_static_libs "Libs.private: ${hwloc} -pthread -lm")
endif()
set(pc_names choir)
if(CHOIR_MPI)
	list(APPEND pc_names choir-mpi)
	set(pc_mpich_cflags "")
	foreach(folder ${mpich_includes})
		string(APPEND pc_mpich_cflags " -I${folder}")
	endforeach()
	get_target_property(pc_mpich_libs choir_mpich INTERFACE_LINK_LIBRARIES)
	list(JOIN pc_mpich_libs " " pc_mpich_libs)
endif()
foreach(name ${pc_names})
	configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
	install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pc_dir})
endforeach()
