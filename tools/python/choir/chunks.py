# SPDX-License-Identifier: MIT
"""Collectives of all ranks of a comm that lives in one process (``choir.threads``), made by one call.

Each rank is a device, and a tensor is spread over them in chunks: docs/chunks.md of the project.  ``comms`` are the
comms of all ranks; lists go by their order.  A call blocks, or with ``wait=False`` returns an Event of all ranks; it
takes after, deps, deadline, options, name and factor, as the methods of a comm.
"""

from __future__ import annotations

import ctypes as ct
from typing import Any, Sequence

from ._abi import Buffer, Chunk, ChunkSet, DType
from ._arrays import operand
from ._comm import Comm, _at_least, _op, _writable
from ._library import check, lib
from ._numbers import INT, counted, number, size
from .errors import ArgumentError


class Chunks:
    """A tensor in parts: ``arrays[i]`` is held by ``comms[i]``.

    places: (index, offset) of each part; left out, they follow one another in the order of the list.
    """

    def __init__(self, arrays: Sequence[Any], places: Sequence[tuple[int, int]] | None = None) -> None:
        parts = [operand(one) for one in arrays]
        if not parts:
            raise ArgumentError("a tensor has one chunk at least")
        self.arrays, self.dtype = list(arrays), DType(parts[0].dtype)
        self._buffers = [part.buffer for part in parts]
        self._chunks = (Chunk * len(parts))()
        at = 0
        for i, part in enumerate(parts):
            if part.dtype != self.dtype:
                raise ArgumentError(f"chunk {i} is {DType(part.dtype).name}, chunk 0 {self.dtype.name}")
            index, offset = (i, at) if places is None else places[i]
            self._chunks[i] = Chunk(size("index", index), size("offset", offset), part.count, part.buffer)
            at += part.count
        self.count = at
        self._set = ChunkSet(ct.sizeof(ChunkSet), at, int(self.dtype), len(parts), self._chunks)

    @staticmethod
    def lengths(count: int, n: int) -> list[int]:
        """Elements of each of n chunks of count: ceil(count / n), the last ones fewer or none."""
        number("n", n, (0, INT[1]))
        cut = (Chunk * max(n, 1))()
        chunks = ChunkSet(ct.sizeof(ChunkSet), size("count", count), int(DType.U8), n, cut)
        check(lib.choir_chunks_cut(ct.byref(chunks)))
        return [one.count for one in cut[:n]]


def _go(comms: Sequence[Comm], fn: Any, args: tuple, held: Any, wait: bool, call: dict[str, Any]) -> Any:
    if not comms:
        raise ArgumentError("comms is empty")
    handles = (ct.c_void_p * len(comms))(*[one._handle for one in comms])
    return comms[0]._go(fn, (len(comms), handles, *args), (held, list(comms)), wait, call)


def _buffers(comms: Sequence[Comm], arrays: Sequence[Any], count: int, dtype: int, what: str,
             writes: bool) -> tuple[Any, list[Buffer]]:  # fmt: skip
    """An array of the buffers for C, and the buffers, which hold their arrays."""
    if len(arrays) != len(comms):
        raise ArgumentError(f"{what} has {len(arrays)} arrays, {len(comms)} are needed")
    made = (Buffer * len(arrays))()
    buffers: list[Buffer] = []
    for i, one in enumerate(arrays):
        found = operand(one)
        if found.dtype != dtype:
            raise ArgumentError(f"{what}[{i}] is {DType(found.dtype).name}, not {DType(dtype).name}")
        if writes and not found.writable:
            raise ArgumentError(f"{what}[{i}] cannot be written")
        _at_least(found.count, count, f"{what}[{i}]")
        made[i] = found.buffer
        buffers.append(found.buffer)
    return made, buffers


def _same_number(comms: Sequence[Comm], chunks: Chunks) -> None:
    if len(chunks.arrays) != len(comms):
        raise ArgumentError(f"chunks has {counted(len(chunks.arrays), 'array')}, comms {counted(len(comms), 'comm')}")


def reduce_scatter(comms: Sequence[Comm], sends: Sequence[Any], chunks: Chunks, op: Any = "sum", wait: bool = True,
                   **call: Any) -> Any:  # fmt: skip
    """Each rank's chunk = its part of op over all ranks of the whole tensors in sends."""
    _same_number(comms, chunks)
    for i, one in enumerate(chunks.arrays):
        _writable(one, chunks.dtype, f"chunk {i}")
    given, held = _buffers(comms, sends, chunks.count, chunks.dtype, "sends", False)
    args = (given, ct.byref(chunks._set), _op(op, *comms))
    return _go(comms, lib.choir_chunks_reduce_scatter, args, (sends, chunks, held), wait, call)


def allgather(comms: Sequence[Comm], chunks: Chunks, recvs: Sequence[Any], wait: bool = True, **call: Any) -> Any:
    """recvs of every rank = the whole tensor."""
    _same_number(comms, chunks)
    given, held = _buffers(comms, recvs, chunks.count, chunks.dtype, "recvs", True)
    return _go(comms, lib.choir_chunks_allgather, (ct.byref(chunks._set), given), (recvs, chunks, held), wait, call)


def concat(comms: Sequence[Comm], chunks: Chunks, holder: int, recv: Any, wait: bool = True, **call: Any) -> Any:
    """recv, on the device of ``comms[holder]``, = the whole tensor."""
    _same_number(comms, chunks)
    to = _writable(recv, chunks.dtype, "recv")
    _at_least(to.count, chunks.count, "recv")
    args = (ct.byref(chunks._set), number("holder", holder), to.buffer)
    return _go(comms, lib.choir_chunks_concat, args, (recv, chunks), wait, call)


def allreduce(comms: Sequence[Comm], sends: Sequence[Any], recvs: Sequence[Any] | None = None, op: Any = "sum",
              wait: bool = True, **call: Any) -> Any:  # fmt: skip
    """recvs of every rank = op over all ranks of sends; recvs left out: in place."""
    recvs = sends if recvs is None else recvs
    if not sends:
        raise ArgumentError("sends is empty")
    first = operand(sends[0])
    froms, from_held = _buffers(comms, sends, first.count, first.dtype, "sends", False)
    tos, to_held = _buffers(comms, recvs, first.count, first.dtype, "recvs", True)
    args = (froms, tos, first.count, first.dtype, _op(op, *comms))
    return _go(comms, lib.choir_allreduce_local, args, (sends, recvs, from_held, to_held), wait, call)
