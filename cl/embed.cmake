# SPDX-License-Identifier: MIT
# cmake -D FOLDER=... -D OUT=x.c -D NAMES="a.cl,b.cl" -P embed.cmake: writes a C file with embedded_source() and the
# text of each source as bytes, since a string literal has a length limit.  #include "x.h" of a file of the folder is
# replaced by its text, with #line so that compiler messages name the right line.
string(REPLACE "," ";" NAMES "${NAMES}")

function(paste_includes name text_p)
	set(text "${${text_p}}")
	set(given "${text}")
	string(REGEX MATCHALL "#include \"[a-z0-9_]+\\.(h|cl)\"" lines "${text}")
	list(REMOVE_DUPLICATES lines)
	foreach(line IN LISTS lines)
		string(REGEX REPLACE "#include \"(.*)\"" "\\1" included "${line}")
		file(READ ${FOLDER}/${included} body)
		paste_includes(${included} body)
		string(FIND "${given}" "${line}" at)
		string(SUBSTRING "${given}" 0 ${at} before)
		string(REGEX MATCHALL "\n" breaks "${before}")
		list(LENGTH breaks number)
		math(EXPR number "${number} + 1") # of the include, which the line break after it ends
		string(REPLACE "${line}" "#line 1 \"${included}\"\n${body}\n#line ${number} \"${name}\"" text "${text}")
	endforeach()
	set(${text_p} "${text}" PARENT_SCOPE)
endfunction()

set(arrays "")
set(rows "")
foreach(name IN LISTS NAMES)
	file(READ ${FOLDER}/${name} text)
	paste_includes(${name} text)
	string(HEX "${text}" hex)
	string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
	string(REPEAT "." 80 line_of_bytes)
	string(REGEX REPLACE "(${line_of_bytes})" "\\1\n\t" bytes "${bytes}")
	string(MAKE_C_IDENTIFIER "text_of_${name}" id)
	string(APPEND arrays "static const unsigned char ${id}[] = {\n\t${bytes}0x00\n};\n\n")
	string(APPEND rows "\t{ \"${name}\", ${id} },\n")
endforeach()

file(WRITE ${OUT} "/* Made by embed.cmake. */
#include \"embedded.h\"

#include <stddef.h>
#include <string.h>

${arrays}static const struct { const char *name; const unsigned char *text; } sources[] = {
${rows}};

const char *embedded_source(const char *name)
{
	for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
		if (strcmp(sources[i].name, name) == 0)
			return (const char *)sources[i].text;
	return NULL;
}
")
