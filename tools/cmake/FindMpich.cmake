# SPDX-License-Identifier: MIT
# MPICH, even where Open MPI is installed beside it and owns the plain names.  Gives MPICH_MPIEXEC and the target
# choir_mpich; or, without the target, mpich_missing: a sentence.
find_program(MPICH_MPICC NAMES mpicc.mpich mpicc DOC "compiler wrapper of an MPI of the MPICH ABI family")
find_program(MPICH_MPIEXEC NAMES mpiexec.mpich mpiexec.hydra mpiexec)
if(NOT MPICH_MPICC)
	set(mpich_missing
		"no MPICH found: install mpich and libmpich-dev, or name its compiler wrapper with -DMPICH_MPICC=...")
	return()
endif()
execute_process(COMMAND ${MPICH_MPICC} -show OUTPUT_VARIABLE mpich_show
	OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE mpich_rc)
separate_arguments(mpich_words UNIX_COMMAND "${mpich_show}")
set(mpich_includes "")
set(mpich_links "")
foreach(word ${mpich_words})
	if(word MATCHES "^-I(.+)")
		list(APPEND mpich_includes ${CMAKE_MATCH_1})
	elseif(word MATCHES "^-(L.+|l.+)")
		list(APPEND mpich_links ${word})
	endif()
endforeach()

# The outcome is of one wrapper: where another is named the check is made again.
if(NOT "${MPICH_CHECKED}" STREQUAL "${MPICH_MPICC}")
	unset(MPICH_ABI_FAMILY CACHE)
	set(MPICH_CHECKED "${MPICH_MPICC}" CACHE INTERNAL "the wrapper that MPICH_ABI_FAMILY is about")
endif()
include(CMakePushCheckState)
include(CheckCSourceCompiles)
cmake_push_check_state()
set(CMAKE_REQUIRED_INCLUDES ${mpich_includes})
# MPICH_NUMVERSION or I_MPI_NUMVERSION or MVAPICH2: the family has MPI_Comm as int.
check_c_source_compiles("
	#include <mpi.h>
	_Static_assert(sizeof(MPI_Comm) == sizeof(int), \"MPICH ABI\");
	#ifdef OPEN_MPI
	#error Open MPI
	#endif
	int main(void) { return 0; }" MPICH_ABI_FAMILY)
cmake_pop_check_state()
if(mpich_rc OR NOT MPICH_ABI_FAMILY)
	set(mpich_missing "${MPICH_MPICC} is not of the MPICH ABI family (MPICH, Intel MPI, MVAPICH): \
name one with -DMPICH_MPICC=...")
	return()
endif()
add_library(choir_mpich INTERFACE)
target_include_directories(choir_mpich SYSTEM INTERFACE ${mpich_includes})
target_link_libraries(choir_mpich INTERFACE ${mpich_links})
