# SPDX-License-Identifier: MIT
"""choir._abi says what the headers say: a C program made here prints their numbers, sizes and offsets."""

import ctypes as ct
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from choir import _abi, _library
from test_launch import have_mpi

INCLUDE = Path(os.environ["CHOIR_TEST_INCLUDE"])
HEADERS = [one for one in sorted((INCLUDE / "choir").glob("*.h")) if one.name not in ("plan.h", "transport.h")]


def text_of(path):
    """A header without comments and preprocessor lines."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    return re.sub(r"^#(\\\n|.)*$", "", text, flags=re.M)


ALL = {path.name: text_of(path) for path in HEADERS}


def rows(name, macro):
    """The rows of a list such as dtype.def: (name, number)."""
    text = (INCLUDE / "choir" / name).read_text()
    return [(row[0], int(row[1])) for row in re.findall(rf"^{macro}\((\w+), *(\d+)", text, flags=re.M)]


def names_of_enum(c_name):
    """The names of an enumeration whose values stand in the header."""
    whole = "".join(ALL.values())
    body = re.search(rf"typedef enum {c_name} {{(.*?)}}", whole, flags=re.S).group(1)
    return re.findall(r"(CHOIR_\w+)", body)


def run_c(lines):
    program = "#include <choir/choir.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{\n"
    program += "".join(f"\tprintf(\"%s %ld\\n\", {name}, (long)({value}));\n" for name, value in lines)
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "a.c"), Path(folder, "a")
        source.write_text(program + "\treturn 0;\n}\n")
        subprocess.run([os.environ["CHOIR_TEST_CC"], f"-I{INCLUDE}", str(source), "-o", str(binary)], check=True)
        out = subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout
    return {name: int(number) for name, number in (line.split() for line in out.splitlines())}


class Version(unittest.TestCase):
    def test_of_the_headers(self):
        names = ("CHOIR_VERSION_MAJOR", "CHOIR_VERSION_MINOR")
        self.assertEqual(dict(zip(names, _abi.VERSION)), run_c([(f'"{name}"', name) for name in names]))

    def test_another_library(self):
        major, minor = _abi.VERSION
        _library._check_version("libchoir.so.0", f"{major}.{minor}.99")
        for found in (f"{major}.{minor}0.0", f"{major}.{minor + 1}.0", f"{major + 1}.{minor}.0"):
            words = f"libchoir.so.0 is of version {found}, this package of {major}.{minor}; CHOIR_LIBRARY"
            with self.assertRaisesRegex(ImportError, words):
                _library._check_version("libchoir.so.0", found)

    def test_at_import(self):
        """A library that has every function and says another version."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "a.c")
            names = set(_abi.PROTOTYPES) - {"choir_version"}
            source.write_text('const char *choir_version(void) { return "99.0.0"; }\n'
                              + "".join(f"void {name}(void) {{}}\n" for name in sorted(names)))  # fmt: skip
            library = str(Path(folder, "libchoir.so.0"))
            subprocess.run([os.environ["CHOIR_TEST_CC"], "-shared", "-fPIC", str(source), "-o", library], check=True)
            done = subprocess.run([sys.executable, "-c", "import choir"], env=dict(os.environ, CHOIR_LIBRARY=folder),
                                  capture_output=True, text=True)  # fmt: skip
        self.assertEqual(done.returncode, 1)
        self.assertIn("libchoir.so.0 is of version 99.0.0, this package of ", done.stderr)

    @unittest.skipUnless(have_mpi(), "there is no libchoir-mpi")
    def test_another_libchoir_mpi(self):
        """The wheel's libchoir may be loaded with the system's libchoir-mpi."""
        built = Path(os.environ["CHOIR_LIBRARY"])
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "libchoir.so.0").symlink_to(built / "libchoir.so.0")
            shutil.copy(built / "libchoir-mpi.so.0", Path(folder, "libchoir-mpi.so.0.99.0"))
            Path(folder, "libchoir-mpi.so.0").symlink_to("libchoir-mpi.so.0.99.0")
            done = subprocess.run([sys.executable, "-c", "import choir; choir.world()"], capture_output=True, text=True,
                                  env=dict(os.environ, CHOIR_LIBRARY=folder))  # fmt: skip
        self.assertEqual(done.returncode, 1)
        self.assertIn("libchoir-mpi.so.0.99.0 is of version 0.99.0, this package of ", done.stderr)


class Numbers(unittest.TestCase):
    def test_lists(self):
        for c_name, file, macro in (
            ("choir_status", "status.def", "CHOIR_STATUS"),
            ("choir_dtype", "dtype.def", "CHOIR_DTYPE"),
            ("choir_op", "op.def", "CHOIR_OP"),
        ):
            self.assertEqual([(one.name, one.value) for one in _abi.ENUMS[c_name][0]], rows(file, macro), c_name)

    def test_enums(self):
        for c_name in set(_abi.ENUMS) - {"choir_status", "choir_dtype", "choir_op"}:
            python, prefix = _abi.ENUMS[c_name]
            names = names_of_enum(c_name)
            numbers = run_c([(f'"{name}"', name) for name in names])
            self.assertEqual({prefix + one.name: one.value for one in python}, numbers, c_name)

    def test_every_enum_is_here(self):
        declared = set(re.findall(r"typedef enum (\w+)", "".join(ALL.values())))
        self.assertEqual(declared | {"choir_dtype", "choir_op"}, set(_abi.ENUMS))

    def test_sizes_of_elements(self):
        text = (INCLUDE / "choir" / "dtype.def").read_text()
        found = re.findall(r'^CHOIR_DTYPE\((\w+),.*", *(\d+), *\w+\)', text, flags=re.M)
        sizes = {name: int(size) for name, size in found}
        self.assertEqual({one.name: n for one, n in _abi.DTYPE_BYTES.items()}, sizes)


class Structures(unittest.TestCase):
    def test_layout(self):
        lines, mine = [], {}
        for c_name, python in _abi.STRUCTS.items():
            lines.append((f'"{c_name}"', f"sizeof({c_name})"))
            mine[c_name] = ct.sizeof(python)
            for field, kind in python._fields_:
                name = f"{c_name}.{field}"
                lines.append((f'"{name}@"', f"offsetof({c_name}, {field})"))
                lines.append((f'"{name}#"', f"sizeof((({c_name} *)0)->{field})"))
                mine[name + "@"] = getattr(python, field).offset
                mine[name + "#"] = ct.sizeof(kind)
        self.assertEqual(mine, run_c(lines))

    def test_every_field_is_here(self):
        whole = "".join(ALL.values())
        found = re.findall(r"typedef struct \w+ {(.*?)} (\w+);", whole, flags=re.S)
        declared = {name: body for body, name in found}
        self.assertEqual(set(declared), set(_abi.STRUCTS) | _abi.UNUSED_STRUCTS)
        for c_name, body in declared.items():
            if c_name in _abi.UNUSED_STRUCTS:
                continue
            fields = []
            for line in filter(None, (one.strip() for one in body.split(";"))):
                pointer = re.search(r"\(\*(\w+)\)", line)
                fields += [pointer.group(1)] if pointer else re.findall(r"(\w+)\s*(?:,|$)", line)
            self.assertEqual(fields, [one[0] for one in _abi.STRUCTS[c_name]._fields_], c_name)


class Prototypes(unittest.TestCase):
    kinds = {
        "int": ct.c_int, "size_t": ct.c_size_t, "int64_t": ct.c_int64, "uint64_t": ct.c_uint64, "void": None,
        "double": ct.c_double,
        "choir_status": ct.c_int, "choir_memory_class": ct.c_int, "choir_dtype": ct.c_int32, "choir_op": ct.c_int32,
        "choir_buffer": _abi.Buffer, "choir_event_fn": _abi.EVENT_FN, "choir_log_fn": _abi.LOG_FN,
        "choir_executor_fn": ct.c_void_p,
        "MPI_Comm": ct.c_int, "cl_context": ct.c_void_p, "cl_device_id": ct.c_void_p, "cl_command_queue": ct.c_void_p,
        "cl_event": ct.c_void_p, "cl_mem": ct.c_void_p,
    }  # fmt: skip

    def ctype(self, text):
        stars = text.count("*")
        word = re.sub(r"\bconst\b|\*", "", text).split()[0]
        if stars == 0:
            return self.kinds[word]
        if word == "char" and stars == 1:
            return ct.c_char_p
        if word in ("char", "void"):
            return ct.c_void_p if stars == 1 else ct.POINTER(ct.c_void_p)
        if word in _abi.STRUCTS and stars == 1:
            return ct.POINTER(_abi.STRUCTS[word])
        if word in self.kinds:
            return ct.POINTER(self.kinds[word])
        return ct.c_void_p if stars == 1 else ct.POINTER(ct.c_void_p)  # an opaque handle

    def declared(self, files):
        found = {}
        for name in files:
            for result, function, arguments in re.findall(
                r"CHOIR_API ([\w* ]+?[ *])(choir_\w+)\((.*?)\);", ALL[name], flags=re.S
            ):
                arguments = " ".join(arguments.split())
                kinds = [] if arguments == "void" else [self.ctype(one) for one in arguments.split(",")]
                found[function] = (self.ctype(result), kinds)
        return found

    def test_core(self):
        declared = self.declared(set(ALL) - {"mpi.h"})
        self.assertGreater(len(declared), 70)
        self.assertEqual(set(declared), set(_abi.PROTOTYPES) | _abi.UNUSED)
        for name, (result, kinds) in _abi.PROTOTYPES.items():
            self.assertEqual(result, declared[name][0], name)
            self.assertEqual(kinds, declared[name][1], name)

    def test_mpi(self):
        declared = self.declared({"mpi.h"})
        self.assertEqual(declared, _abi.MPI_PROTOTYPES)


if __name__ == "__main__":
    unittest.main()
