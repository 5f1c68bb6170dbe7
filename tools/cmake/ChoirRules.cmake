# SPDX-License-Identifier: MIT
# How rooms, tests and tools are declared.
include(CheckCCompilerFlag)

# Flags that every target of the project has.  FP_CONTRACT off: a fused multiply-add would give other bits than the
# kernels.
add_library(choir_flags INTERFACE)
target_compile_options(choir_flags INTERFACE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
	-Wpointer-arith -Wwrite-strings
	# These are never right.
	-Werror=format -Werror=return-type $<$<COMPILE_LANGUAGE:C>:-Werror=int-conversion>
	$<$<COMPILE_LANGUAGE:C>:-Werror=incompatible-pointer-types;-Werror=implicit-function-declaration>
	-ffp-contract=off -fno-strict-aliasing)
target_compile_definitions(choir_flags INTERFACE _GNU_SOURCE CL_TARGET_OPENCL_VERSION=300)
if(CHOIR_SANITIZE)
	target_compile_options(choir_flags INTERFACE -fsanitize=${CHOIR_SANITIZE} -fno-omit-frame-pointer
		-fno-sanitize-recover=all -g)
	target_link_options(choir_flags INTERFACE -fsanitize=${CHOIR_SANITIZE})
endif()

# gcc clears structs of more than 32 bytes by `rep stos`, which takes some 30 cycles to start: a tenth of a call of 8
# bytes.  Clang writes stores.
set(struct_stores -mmemset-strategy=vector_loop:512:noalign,libcall:-1:noalign)
check_c_compiler_flag(${struct_stores} CHOIR_HAS_MEMSET_STRATEGY)
if(CHOIR_HAS_MEMSET_STRATEGY)
	target_compile_options(choir_flags INTERFACE ${struct_stores})
endif()

# choir_room(NAME lower rooms...): the folder's .c files as an object library that links to lower rooms only.
function(choir_room name)
	file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
	add_library(room_${name} OBJECT ${sources})
	target_include_directories(room_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
		${PROJECT_SOURCE_DIR}/cl)
	target_link_libraries(room_${name} PUBLIC choir_flags Threads::Threads)
	foreach(lower ${ARGN})
		target_link_libraries(room_${name} PUBLIC room_${lower})
	endforeach()
endfunction()

# choir_test(NAME SOURCES a.c ... ROOMS base ... [LABELS ring1] [TIMEOUT s]): a CMocka program run by ctest.
# ROOMS names every room whose objects it links (object libraries do not pass objects on).
function(choir_test name)
	cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;ROOMS;LABELS;LINK;ENVIRONMENT;ARGS" ${ARGN})
	choir_test_program(${name} SOURCES ${arg_SOURCES} ROOMS ${arg_ROOMS} LINK ${arg_LINK})
	add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
	if(NOT arg_TIMEOUT)
		set(arg_TIMEOUT 60)
	endif()
	set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}"
		ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()

# choir_longer_limits: three times as long for every test of the folder that has a time limit, since sanitizers slow
# programs down; called at the folder's end, when all limits are set.
function(choir_longer_limits)
	get_property(tests DIRECTORY PROPERTY TESTS)
	foreach(test ${tests})
		get_property(limit TEST ${test} PROPERTY TIMEOUT)
		if(limit)
			math(EXPR limit "3 * ${limit}")
			set_tests_properties(${test} PROPERTIES TIMEOUT ${limit})
		endif()
	endforeach()
endfunction()

# choir_test_program: the same, without a ctest entry (for programs started by mpiexec).
function(choir_test_program name)
	get_property(limits_follow DIRECTORY PROPERTY choir_limits_follow)
	if(CHOIR_SANITIZE AND NOT limits_follow)
		set_property(DIRECTORY PROPERTY choir_limits_follow TRUE)
		cmake_language(DEFER CALL choir_longer_limits)
	endif()
	cmake_parse_arguments(arg "" "" "SOURCES;ROOMS;LINK" ${ARGN})
	add_executable(${name} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/tests/last_word.c)
	target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
	target_link_libraries(${name} PRIVATE choir_flags PkgConfig::CMOCKA ${arg_LINK} m)
	foreach(room ${arg_ROOMS})
		target_link_libraries(${name} PRIVATE room_${room})
	endforeach()
	if("dev" IN_LIST arg_ROOMS)
		target_link_libraries(${name} PRIVATE choir_kernels) # dev builds what is embedded there
	endif()
endfunction()
