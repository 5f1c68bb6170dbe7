# SPDX-License-Identifier: MIT
"""From the arrays of other packages to the buffers of calls, without a copy.

A call takes NumPy arrays and all that has ``__array_interface__``, PyOpenCL's Array and Buffer, tinygrad's Tensor (on
CL or CPU), PyTorch's Tensor (CPU, and ``ocl`` of dlprimitives), ``View``, and all that has the buffer protocol.  No
package is imported for it: an object of a package comes from a package that is there.
"""

from __future__ import annotations

import ctypes as ct
import sys
from dataclasses import dataclass
from typing import Any, Callable, Union

from ._abi import DTYPE_BYTES, Buffer, BufferKind, DType
from ._numbers import counted, size
from .errors import ArgumentError, UnsupportedError

_HOST = int(BufferKind.HOST)
_MEM = int(BufferKind.MEM)
_SVM = int(BufferKind.SVM)

NONE = Buffer(0, None, 0)

_names = {one.name.lower(): one for one in DType}
_names.update(
    int8=DType.I8, uint8=DType.U8, int16=DType.I16, uint16=DType.U16, int32=DType.I32, uint32=DType.U32,
    int64=DType.I64, uint64=DType.U64, float16=DType.F16, bfloat16=DType.BF16, float32=DType.F32, float64=DType.F64,
    float8_e4m3fn=DType.F8E4M3, float8_e5m2=DType.F8E5M2,
)  # fmt: skip

# Type codes of __array_interface__ without their byte order, and formats of the buffer protocol.
_typestrs = {
    "i1": DType.I8, "u1": DType.U8, "i2": DType.I16, "u2": DType.U16, "i4": DType.I32, "u4": DType.U32,
    "i8": DType.I64, "u8": DType.U64, "f2": DType.F16, "f4": DType.F32, "f8": DType.F64, "b1": DType.BOOL,
}  # fmt: skip
_formats = {
    "b": DType.I8, "B": DType.U8, "c": DType.U8, "h": DType.I16, "H": DType.U16, "i": DType.I32, "I": DType.U32,
    "l": DType.I64, "L": DType.U64, "q": DType.I64, "Q": DType.U64, "n": DType.I64, "N": DType.U64, "e": DType.F16,
    "f": DType.F32, "d": DType.F64, "?": DType.BOOL,
}  # fmt: skip


class HeldBuffer(Buffer):
    """A buffer that holds its array's export: while a call has it, a bytearray that is resized raises BufferError."""

    export: Any = None


@dataclass
class Operand:
    """An array as a call names it.  Whoever starts a call holds the buffer until the call is complete."""

    __slots__ = ("buffer", "count", "dtype", "writable")
    buffer: Buffer
    count: int  #: elements
    dtype: int
    writable: bool


DTypeLike = Union[DType, str, Any]


def dtype_of(what: DTypeLike) -> DType:
    """The data type of a DType, a name ("f32", "float32") or a NumPy, PyTorch or tinygrad dtype."""
    if isinstance(what, DType):
        return what
    name = what if isinstance(what, str) else getattr(what, "name", None)
    if not isinstance(name, str):
        name = getattr(what, "__name__", None) or str(what)
    name = name.rpartition(".")[2]
    found = _names.get(_aliases.get(name, name).lower())
    if found is None:
        raise ArgumentError(f"{what!r} is no data type that choir reduces")
    return found


_aliases = {"float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64", "char": "int8",
            "uchar": "uint8", "short": "int16", "ushort": "uint16", "uint": "uint32", "ulong": "uint64",
            "__bf16": "bfloat16"}  # fmt: skip


def address_of(handle: Any) -> int:
    """An OpenCL handle as a number: of an int, of PyOpenCL's objects, of ctypes pointers."""
    if isinstance(handle, int):
        return handle
    pointer = getattr(handle, "int_ptr", None)
    if pointer is not None:
        return pointer
    if isinstance(handle, (ct._Pointer, ct._SimpleCData)):
        return ct.cast(handle, ct.c_void_p).value or 0
    raise ArgumentError(f"{type(handle).__name__} is no OpenCL handle")


class View:
    """Memory that says too little of itself: a cl_mem, a pointer, or bytes of another array, as elements.

    ``memory``: what a call takes, PyOpenCL's Buffer for instance; or a number with ``kind``: "mem" (a cl_mem), "host",
    "svm" or "usm" (a pointer).  ``offset_bytes`` counts from its start.  ``count``: elements; left out, all to the end.
    """

    def __init__(self, memory: Any, dtype: DTypeLike, count: int | None = None, offset_bytes: int = 0,
                 kind: str | None = None) -> None:  # fmt: skip
        self.memory = memory
        self.dtype = dtype_of(dtype)
        self.count = None if count is None else size("count", count)
        self.offset_bytes = size("offset_bytes", offset_bytes)
        self.kind = None if kind is None else BufferKind[kind.upper()]
        if self.kind is not None and count is None:
            raise ArgumentError("choir.View: a pointer or handle does not tell its length: count is needed")

    def _choir_operand(self) -> Operand:
        item = DTYPE_BYTES[self.dtype]
        if self.kind is not None:
            buffer = Buffer(int(self.kind), address_of(self.memory), self.offset_bytes)
            return Operand(buffer, self.count or 0, int(self.dtype), True)
        whole = operand(self.memory)
        left = whole.count * DTYPE_BYTES[DType(whole.dtype)] - self.offset_bytes
        count = left // item if self.count is None else self.count
        if self.offset_bytes < 0 or count < 0 or count * item > left:
            raise ArgumentError(
                f"choir.View: the room from byte {self.offset_bytes} is {counted(max(left, 0), 'byte')}, too short for "
                f"{counted(max(count, 1), 'element')}"
            )
        buffer = HeldBuffer(whole.buffer.kind, whole.buffer.base, whole.buffer.offset_bytes + self.offset_bytes)
        buffer.export = whole.buffer
        return Operand(buffer, count, int(self.dtype), whole.writable)


def _contiguous(good: bool, what: Any) -> None:
    if not good:
        raise ArgumentError(f"a {type(what).__name__} whose elements do not lie one after another cannot be an operand")


def _c_order(flags: Any, array: Any) -> None:
    if not flags.c_contiguous:
        _contiguous(flags.forc, array)
        raise ArgumentError(
            f"a {type(array).__name__} in Fortran order cannot be an operand, a call would mix up its rows: pass "
            "array.T, or numpy.ascontiguousarray(array)"
        )


_from_buffer = ct.c_char.from_buffer
_addressof = ct.addressof


def _numpy(array: Any) -> Operand:
    dtype = _numpy_dtypes.get(array.dtype)
    if dtype is None:
        dtype = _numpy_dtypes[array.dtype] = _numpy_dtype(array.dtype)
    flags = array.flags
    if flags.c_contiguous:
        try:  # the fast way; refused for arrays that are empty or cannot be written
            return Operand(Buffer(_HOST, _addressof(_from_buffer(array)), 0), array.size, dtype, True)
        except (TypeError, ValueError):
            pass
    _c_order(flags, array)
    return Operand(Buffer(_HOST, array.__array_interface__["data"][0], 0), array.size, dtype, flags.writeable)


_numpy_dtypes: dict[Any, int] = {}

# NumPy's names of the values of pairs.
_pairs = {"float32": DType.F32_I32, "float64": DType.F64_I32, "int32": DType.I32_I32, "int64": DType.I64_I32}


def _pair_dtype(dtype: Any) -> int:
    """Of elements that are a value and an int32 index, aligned as C does it."""
    fields = [dtype.fields[name] for name in dtype.names]
    pair = _pairs.get(fields[0][0].name)
    if (
        len(fields) == 2
        and pair is not None
        and fields[1][0].name == "int32"
        and [one[1] for one in fields] == [0, DTYPE_BYTES[pair] // 2]
        and dtype.itemsize == DTYPE_BYTES[pair]
        and all(one[0].byteorder in "=|<" for one in fields)
    ):
        return int(pair)
    raise ArgumentError(
        f"{dtype} is no data type that choir reduces: of structures it takes numpy.dtype([('value', T), ('index', "
        "numpy.int32)], align=True) of float32, float64, int32 or int64"
    )


def _numpy_dtype(dtype: Any) -> int:
    if dtype.byteorder not in "=|<":
        raise ArgumentError(f"the byte order of {dtype} is not this machine's")
    return int(dtype_of(dtype.name)) if dtype.names is None else _pair_dtype(dtype)


def _array_interface(array: Any) -> Operand:
    about = array.__array_interface__
    _contiguous(about.get("strides") is None, array)
    typestr = about["typestr"]
    dtype = _typestrs.get(typestr[1:]) if typestr[0] in "<|=" else None
    if dtype is None:
        raise ArgumentError(f"{typestr!r} is no data type that choir reduces")
    count = 1
    for n in about["shape"]:
        count *= n
    pointer, read_only = about["data"]
    return Operand(Buffer(_HOST, pointer, 0), count, int(dtype), not read_only)


class _PyBuffer(ct.Structure):
    _fields_ = [
        ("buf", ct.c_void_p), ("obj", ct.py_object), ("len", ct.c_ssize_t), ("itemsize", ct.c_ssize_t),
        ("readonly", ct.c_int), ("ndim", ct.c_int), ("format", ct.c_char_p), ("shape", ct.c_void_p),
        ("strides", ct.c_void_p), ("suboffsets", ct.c_void_p), ("internal", ct.c_void_p),
    ]  # fmt: skip


_get_buffer = ct.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [ct.py_object, ct.POINTER(_PyBuffer), ct.c_int]
_release_buffer = ct.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [ct.POINTER(_PyBuffer)]
_release_buffer.restype = None


def _protocol(array: Any) -> Operand:
    try:
        view = memoryview(array)
    except TypeError:
        raise ArgumentError(
            f"a {type(array).__name__} is no operand: it has neither the buffer protocol nor __array_interface__, and "
            "is no array of PyOpenCL, tinygrad or PyTorch (choir.View describes other memory)"
        ) from None
    _contiguous(view.c_contiguous, array)
    dtype = _formats.get(view.format.lstrip("@=<"))
    if dtype is None:
        raise ArgumentError(f"elements of format {view.format!r} are of no data type that choir reduces")
    if view.itemsize != DTYPE_BYTES[dtype]:
        raise ArgumentError(
            f"elements of format {view.format!r} are {view.itemsize} bytes here, {dtype.name} has {DTYPE_BYTES[dtype]}"
        )
    raw = _PyBuffer()
    _get_buffer(view, ct.byref(raw), 0)
    pointer = raw.buf
    _release_buffer(ct.byref(raw))
    buffer = HeldBuffer(_HOST, pointer, 0)
    buffer.export = view
    return Operand(buffer, view.nbytes // view.itemsize, int(dtype), not view.readonly)


def _opencl_memory(memory: Any, offset_bytes: int) -> Buffer:
    pointer = getattr(memory, "svm_ptr", None)
    if pointer is not None:
        return Buffer(_SVM, pointer, offset_bytes)
    return Buffer(_MEM, memory.int_ptr, offset_bytes)


def _pyopencl(array: Any) -> Operand:
    if hasattr(array, "base_data"):  # pyopencl.array.Array
        _c_order(array.flags, array)
        dtype = int(dtype_of(array.dtype.name))
        if array.base_data is None:
            return Operand(NONE, 0, dtype, True)
        return Operand(_opencl_memory(array.base_data, array.offset), array.size, dtype, True)
    if hasattr(array, "svm_ptr") or hasattr(array, "int_ptr"):  # a Buffer, an SVMAllocation: bytes
        return Operand(_opencl_memory(array, 0), array.size, int(DType.U8), True)
    raise ArgumentError(f"a {type(array).__name__} is no operand")


def _torch(tensor: Any) -> Operand:
    dtype = int(dtype_of(str(tensor.dtype)))
    if tensor.layout is not sys.modules["torch"].strided:
        raise ArgumentError("a sparse PyTorch tensor is no operand: give its indices and values to sparse_allreduce")
    _contiguous(tensor.is_contiguous() or tensor.numel() <= 1, tensor)
    kind = tensor.device.type
    if kind == "cpu":
        return Operand(Buffer(_HOST, tensor.data_ptr(), 0), tensor.numel(), dtype, True)
    if kind in ("ocl", "opencl", "privateuseone"):
        storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
        offset = tensor.storage_offset() * tensor.element_size()
        module = getattr(sys.modules["torch"], kind, None)
        if module is not None:  # the queue of its operations cannot be had, for `after`
            module.synchronize(tensor.device)
        return Operand(Buffer(_MEM, storage.data_ptr(), offset), tensor.numel(), dtype, True)
    raise UnsupportedError(f"a PyTorch tensor on {tensor.device} is no operand: choir takes those on cpu and ocl")


def _tinygrad(tensor: Any) -> Operand:
    from .tinygrad import _operand  # beside the rest that knows tinygrad

    return _operand(tensor)


def _own(array: Any) -> Operand:
    return array._choir_operand()


_resolvers: dict[type, Callable[[Any], Operand]] = {View: _own}


def _resolver(array: Any) -> Callable[[Any], Operand]:
    kind = type(array)
    package = kind.__module__.partition(".")[0]
    if hasattr(array, "_choir_operand"):
        return _own
    for base in kind.__mro__:
        package = base.__module__.partition(".")[0]
        if package == "numpy" and base.__name__ == "ndarray":
            return _numpy
        if package == "numpy" and base.__name__ == "generic":
            raise ArgumentError(f"a NumPy scalar ({kind.__name__}) is no array: numpy.array(x) makes one of it")
        if package == "torch" and base.__name__ == "Tensor":
            return _torch
        if package == "tinygrad" and base.__name__ == "Tensor":
            return _tinygrad
        if package == "pyopencl":
            return _pyopencl
    return _array_interface if hasattr(kind, "__array_interface__") else _protocol


def operand(array: Any) -> Operand:
    """How a call names the array: buffer, count, data type."""
    resolve = _resolvers.get(type(array))
    if resolve is None:
        resolve = _resolvers[type(array)] = _resolver(array)
    return resolve(array)
