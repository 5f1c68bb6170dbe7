# SPDX-License-Identifier: MIT
# MPICH, even where Open MPI is installed beside it and owns the plain names.  Gives MPICH_MPIEXEC and the target
# choir_mpich.
find_program(MPICH_MPICC NAMES mpicc.mpich mpicc DOC "compiler wrapper of an MPI of the MPICH ABI family")
find_program(MPICH_MPIEXEC NAMES mpiexec.mpich mpiexec.hydra mpiexec)
if(NOT MPICH_MPICC)
	message(FATAL_ERROR
		"no MPICH found: install mpich and libmpich-dev, or name its compiler wrapper with -DMPICH_MPICC=...")
endif()
execute_process(COMMAND ${MPICH_MPICC} -show OUTPUT_VARIABLE mpich_show
	OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE mpich_rc)
separate_arguments(mpich_words UNIX_COMMAND "${mpich_show}")
add_library(choir_mpich INTERFACE)
set(mpich_includes "")
foreach(word ${mpich_words})
	if(word MATCHES "^-I(.+)")
		list(APPEND mpich_includes ${CMAKE_MATCH_1})
	elseif(word MATCHES "^-(L.+|l.+)")
		target_link_libraries(choir_mpich INTERFACE ${word})
	endif()
endforeach()
target_include_directories(choir_mpich SYSTEM INTERFACE ${mpich_includes})

include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_INCLUDES ${mpich_includes})
# MPICH_NUMVERSION or I_MPI_NUMVERSION or MVAPICH2: the family has MPI_Comm as int.
check_c_source_compiles("
	#include <mpi.h>
	_Static_assert(sizeof(MPI_Comm) == sizeof(int), \"MPICH ABI\");
	#ifdef OPEN_MPI
	#error Open MPI
	#endif
	int main(void) { return 0; }" MPICH_ABI_FAMILY)
unset(CMAKE_REQUIRED_INCLUDES)
if(mpich_rc OR NOT MPICH_ABI_FAMILY)
	message(FATAL_ERROR
		"${MPICH_MPICC} is not of the MPICH ABI family (MPICH, Intel MPI, MVAPICH): \
name one with -DMPICH_MPICC=...")
endif()
