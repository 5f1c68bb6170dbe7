# SPDX-License-Identifier: MIT
"""The C interface of libchoir as ctypes sees it: numbers, structures and prototypes.

Nothing here is free to change: tests/python/test_abi.py compiles the headers and compares each number, offset and
prototype with theirs.
"""

from __future__ import annotations

import ctypes as ct
import enum
from typing import Any


#: of the headers: before 1.0 a minor version may change the interface
VERSION = (0, 1)


class Status(enum.IntEnum):
    """The outcome of a call."""

    SUCCESS = 0
    ARGUMENT = 1
    MISMATCH = 2
    TIMEOUT = 3
    PEER_DEAD = 4
    OPENCL = 5
    TRANSPORT = 6
    NO_MEMORY = 7
    ABORTED = 8
    UNSUPPORTED = 9
    WOULD_DEADLOCK = 10
    CAPACITY = 11
    RUNNING = 12


class DType(enum.IntEnum):
    """A data type of elements."""

    I8 = 0
    U8 = 1
    I16 = 2
    U16 = 3
    I32 = 4
    U32 = 5
    I64 = 6
    U64 = 7
    F16 = 8
    BF16 = 9
    F32 = 10
    F64 = 11
    BOOL = 12
    F8E4M3 = 13
    F8E5M2 = 14
    F32_I32 = 15
    F64_I32 = 16
    I32_I32 = 17
    I64_I32 = 18


class Op(enum.IntEnum):
    """A reduction operator."""

    SUM = 0
    PROD = 1
    MIN = 2
    MAX = 3
    MEAN = 4
    SQUARE_ADD = 5
    LOGICAL_AND = 6
    LOGICAL_OR = 7
    BAND = 8
    BOR = 9
    BXOR = 10
    LOCAL = 11
    PREMUL_SUM = 12
    LOGICAL_XOR = 13
    MINLOC = 14
    MAXLOC = 15


class MemoryClass(enum.IntEnum):
    """How the host reaches the memory of a device."""

    AUTO = 0
    DIRECT = 1
    MAP = 2
    STAGE = 3


class ReduceWhere(enum.IntEnum):
    """Where reductions run."""

    AUTO = 0
    HOST = 1
    KERNEL = 2


class BufferKind(enum.IntEnum):
    """What the base of a buffer is."""

    NONE = 0
    MEM = 1
    HOST = 2
    SVM = 3
    USM = 4


class Coalesce(enum.IntEnum):
    """What a sparse collective does with rows of one index."""

    REGULAR = 0
    DISABLE = 1
    KEEP_PRECISION = 2


class SparseWire(enum.IntEnum):
    """In what f32 rows travel."""

    FULL = 0
    F16 = 1
    BF16 = 2


class TopkThreshold(enum.IntEnum):
    """How a rank selects in a top-k allreduce."""

    AUTO = 0
    EXACT = 1
    REUSE = 2
    GAUSSIAN = 3
    SAMPLED = 4


class CommGroupType(enum.IntEnum):
    """How a rule cuts the ranks of a comm into groups."""

    ALL = 0
    CONSECUTIVE = 1
    ORTHOGONAL = 2


#: C enumeration -> (Python class, prefix of the C names)
ENUMS = {
    "choir_status": (Status, "CHOIR_"),
    "choir_dtype": (DType, "CHOIR_"),
    "choir_op": (Op, "CHOIR_OP_"),
    "choir_memory_class": (MemoryClass, "CHOIR_CLASS_"),
    "choir_reduce_where": (ReduceWhere, "CHOIR_REDUCE_"),
    "choir_buffer_kind": (BufferKind, "CHOIR_BUFFER_"),
    "choir_coalesce": (Coalesce, "CHOIR_COALESCE_"),
    "choir_sparse_wire": (SparseWire, "CHOIR_SPARSE_WIRE_"),
    "choir_topk_threshold": (TopkThreshold, "CHOIR_TOPK_THRESHOLD_"),
    "choir_comm_group_type": (CommGroupType, "CHOIR_COMM_GROUP_"),
}

DTYPE_BYTES = {
    DType.I8: 1, DType.U8: 1, DType.I16: 2, DType.U16: 2, DType.I32: 4, DType.U32: 4, DType.I64: 8, DType.U64: 8,
    DType.F16: 2, DType.BF16: 2, DType.F32: 4, DType.F64: 8, DType.BOOL: 1,
    DType.F8E4M3: 1, DType.F8E5M2: 1, DType.F32_I32: 8, DType.F64_I32: 16, DType.I32_I32: 8, DType.I64_I32: 16,
}  # fmt: skip

_enum = ct.c_int
_handle = ct.c_void_p
_size_p = ct.POINTER(ct.c_size_t)
_handle_p = ct.POINTER(ct.c_void_p)


class Buffer(ct.Structure):
    """choir_buffer: memory that a call reads or writes."""

    _fields_ = [("kind", _enum), ("base", ct.c_void_p), ("offset_bytes", ct.c_size_t)]


class Call(ct.Structure):
    """choir_call: what a call depends on, and how it is carried out."""

    _fields_ = [
        ("struct_size", ct.c_size_t),
        ("after", _handle),
        ("cl_deps", _handle_p),
        ("n_cl_deps", ct.c_size_t),
        ("deps", _handle_p),
        ("n_deps", ct.c_size_t),
        ("deadline_ms", ct.c_int64),
        ("options", ct.c_char_p),
        ("name", ct.c_char_p),
        ("factor", ct.c_double),
        ("key", ct.c_char_p),
        ("tag", ct.c_int64),
    ]


class CommConfig(ct.Structure):
    """choir_comm_config."""

    _fields_ = [
        ("struct_size", ct.c_size_t),
        ("deadline_ms", ct.c_int64),
        ("warn_ms", ct.c_int64),
        ("ranks_per_node", ct.c_int),
        ("rules", ct.c_char_p),
        ("name", ct.c_char_p),
        ("transport", ct.c_void_p),
        ("keyed", ct.c_int),
        ("options", ct.c_char_p),
        ("order_ranks", ct.c_int),
    ]


OP_FOLD_FN = ct.CFUNCTYPE(None, ct.c_void_p, ct.c_void_p, ct.c_void_p, ct.c_size_t, ct.c_int32)
OP_EACH_FN = ct.CFUNCTYPE(None, ct.c_void_p, ct.c_void_p, ct.c_size_t, ct.c_int, ct.c_int32)


class OpConfig(ct.Structure):
    """choir_op_config: functions and texts of an operator of the caller's own."""

    _fields_ = [
        ("struct_size", ct.c_size_t),
        ("name", ct.c_char_p),
        ("fold", OP_FOLD_FN),
        ("raw", OP_EACH_FN),
        ("final", OP_EACH_FN),
        ("identity", OP_EACH_FN),
        ("ctx", ct.c_void_p),
        ("source", ct.c_char_p),
        ("fold_text", ct.c_char_p),
        ("raw_text", ct.c_char_p),
        ("final_text", ct.c_char_p),
        ("identity_text", ct.c_char_p),
        ("commutative", ct.c_int),
        ("dtypes", ct.c_uint64),
    ]


class DeviceConfig(ct.Structure):
    """choir_device_config."""

    _fields_ = [("struct_size", ct.c_size_t), ("memory_class", _enum), ("reduce", _enum)]


GATHER = ct.CFUNCTYPE(ct.c_int, ct.c_void_p, ct.c_void_p, ct.c_size_t, ct.c_void_p)
EVENT_FN = ct.CFUNCTYPE(None, ct.c_void_p, ct.c_int)
LOG_FN = ct.CFUNCTYPE(None, ct.c_void_p, ct.c_int, ct.c_char_p)


class Bootstrap(ct.Structure):
    """choir_bootstrap: how processes meet."""

    _fields_ = [
        ("struct_size", ct.c_size_t),
        ("rank", ct.c_int),
        ("size", ct.c_int),
        ("gather", GATHER),
        ("ctx", ct.c_void_p),
        ("end", ct.c_void_p),
    ]


class Tensor(ct.Structure):
    """choir_tensor: one of a list."""

    _fields_ = [("send", Buffer), ("recv", Buffer), ("count", ct.c_size_t), ("dtype", ct.c_int32)]


class CommGroup(ct.Structure):
    """choir_comm_group: a rule that cuts the ranks of a comm into groups."""

    _fields_ = [("struct_size", ct.c_size_t), ("type", _enum), ("size", ct.c_int), ("stride", ct.c_int)]


class Chunk(ct.Structure):
    """choir_chunk: a part of a tensor."""

    _fields_ = [("index", ct.c_size_t), ("offset", ct.c_size_t), ("count", ct.c_size_t), ("buffer", Buffer)]


class ChunkSet(ct.Structure):
    """choir_chunks: a tensor in parts."""

    _fields_ = [
        ("struct_size", ct.c_size_t),
        ("count", ct.c_size_t),
        ("dtype", ct.c_int32),
        ("n", ct.c_size_t),
        ("chunks", ct.POINTER(Chunk)),
    ]


class SparseAttr(ct.Structure):
    """choir_sparse_attr; results are fetched here, so the two callbacks stay NULL."""

    _fields_ = [
        ("struct_size", ct.c_size_t),
        ("completion_fn", ct.c_void_p),
        ("alloc_fn", ct.c_void_p),
        ("fn_ctx", ct.c_void_p),
        ("coalesce_mode", _enum),
        ("wire", _enum),
    ]


class SparseStats(ct.Structure):
    """choir_sparse_stats: what a sparse collective did."""

    _fields_ = [
        ("struct_size", ct.c_size_t),
        ("algorithm", ct.c_char_p),
        ("pairs_in", ct.c_uint64),
        ("pairs_merged", ct.c_uint64),
        ("pairs_out", ct.c_uint64),
        ("wire_bytes", ct.c_uint64),
        ("imbalance", ct.c_double),
        ("predicted_us", ct.c_double),
        ("link", ct.c_char_p),
        ("messages", ct.c_double),
        ("bytes_received", ct.c_double),
        ("bytes_copied", ct.c_double),
        ("pairs_placed", ct.c_double),
        ("bytes_folded", ct.c_double),
        ("predicted_pairs_out", ct.c_double),
        ("kept", ct.c_int),
    ]


class TopkConfig(ct.Structure):
    """choir_topk_config."""

    _fields_ = [
        ("struct_size", ct.c_size_t),
        ("count", ct.c_size_t),
        ("dtype", ct.c_int32),
        ("algorithm", ct.c_char_p),
        ("density", ct.c_double),
        ("k", ct.c_size_t),
        ("n_densities", ct.c_size_t),
        ("densities", ct.POINTER(ct.c_double)),
        ("calls_per_density", ct.c_size_t),
        ("dense_calls", ct.c_size_t),
        ("preset", ct.c_char_p),
        ("decay", ct.c_double),
        ("scale", ct.c_double),
        ("momentum", ct.c_double),
        ("op", ct.c_int32),
        ("nan_fails", ct.c_int),
        ("threshold", ct.c_int32),
        ("threshold_period", ct.c_size_t),
        ("threshold_low", ct.c_double),
        ("threshold_high", ct.c_double),
        ("threshold_factor", ct.c_double),
        ("wire_dtype", ct.c_int32),
        ("sends_in_flight", ct.c_size_t),
    ]


class TopkOut(ct.Structure):
    """choir_topk_out: where the result of a top-k allreduce goes."""

    _fields_ = [
        ("struct_size", ct.c_size_t),
        ("dense", Buffer),
        ("ind", Buffer),
        ("val", Buffer),
        ("ind_dtype", ct.c_int32),
        ("pairs_p", ct.POINTER(ct.c_size_t)),
        ("involved", Buffer),
        ("involved_pairs_p", ct.POINTER(ct.c_size_t)),
        ("rank_pairs_p", ct.POINTER(ct.c_size_t)),
    ]


class TopkStats(ct.Structure):
    """choir_topk_stats: what a top-k allreduce did."""

    _fields_ = [
        ("struct_size", ct.c_size_t),
        ("algorithm", ct.c_char_p),
        ("call", ct.c_uint64),
        ("k", ct.c_uint64),
        ("selected", ct.c_uint64),
        ("pairs", ct.c_uint64),
        ("involved", ct.c_uint64),
        ("local_threshold", ct.c_double),
        ("global_threshold", ct.c_double),
        ("imbalance", ct.c_double),
        ("pairs_received", ct.c_uint64),
        ("wire_bytes", ct.c_uint64),
        ("select_us", ct.c_double),
        ("exchange_us", ct.c_double),
        ("merge_us", ct.c_double),
        ("update_us", ct.c_double),
    ]


def members(stats: ct.Structure) -> dict[str, Any]:
    """What the library has filled in, behind struct_size; texts as str."""
    found = {field[0]: getattr(stats, field[0]) for field in stats._fields_[1:]}
    return {name: one.decode() if isinstance(one, bytes) else one for name, one in found.items()}


#: C structure -> ctypes class
STRUCTS = {
    "choir_buffer": Buffer,
    "choir_call": Call,
    "choir_comm_config": CommConfig,
    "choir_device_config": DeviceConfig,
    "choir_op_config": OpConfig,
    "choir_bootstrap": Bootstrap,
    "choir_tensor": Tensor,
    "choir_comm_group": CommGroup,
    "choir_chunk": Chunk,
    "choir_chunks": ChunkSet,
    "choir_sparse_attr": SparseAttr,
    "choir_sparse_stats": SparseStats,
    "choir_topk_config": TopkConfig,
    "choir_topk_out": TopkOut,
    "choir_topk_stats": TopkStats,
}

_call_p = ct.POINTER(Call)
_tensor_p = ct.POINTER(Tensor)
_config_p = ct.POINTER(CommConfig)
_device_config_p = ct.POINTER(DeviceConfig)
_dtype = ct.c_int32
_op = ct.c_int32
_tail = [_call_p, _handle_p]  # call, event_p
_send_recv = [_handle, Buffer, Buffer, ct.c_size_t, _dtype]

#: function -> (result, arguments)
PROTOTYPES: dict[str, tuple] = {
    "choir_version": (ct.c_char_p, []),
    "choir_last_error": (ct.c_char_p, []),
    "choir_set_log": (None, [LOG_FN, ct.c_void_p]),
    "choir_device_create": (_enum, [_handle, _handle, _device_config_p, _handle_p]),
    "choir_device_create_default": (_enum, [ct.c_int, _handle_p]),
    "choir_device_create_queue": (_enum, [_handle, _device_config_p, _handle_p]),
    "choir_device_create_host": (_enum, [_handle_p]),
    "choir_device_destroy": (None, [_handle]),
    "choir_device_context": (_handle, [_handle]),
    "choir_device_id": (_handle, [_handle]),
    "choir_device_class": (_enum, [_handle]),
    "choir_device_json": (_enum, [_handle, _handle_p]),
    "choir_op_create": (_enum, [ct.POINTER(OpConfig), ct.POINTER(ct.c_int32)]),
    "choir_op_destroy": (_enum, [ct.c_int32]),
    "choir_comm_create_local": (_enum, [ct.c_int, _handle_p, _config_p, _handle_p]),
    "choir_comm_create": (_enum, [ct.POINTER(Bootstrap), ct.c_int, _handle_p, _config_p, _handle_p]),
    "choir_comm_create_start": (
        _enum, [ct.POINTER(Bootstrap), ct.c_int, _handle_p, _config_p, _handle_p, _handle_p]
    ),
    "choir_comm_split": (_enum, [_handle, ct.c_int, ct.c_int, _handle_p]),
    "choir_mem_alloc": (_enum, [_handle, ct.c_size_t, _handle_p, _handle_p]),
    "choir_mem_free": (_enum, [_handle, ct.c_void_p]),
    "choir_comm_rank": (ct.c_int, [_handle]),
    "choir_comm_size": (ct.c_int, [_handle]),
    "choir_comm_nodes": (ct.c_int, [_handle]),
    "choir_comm_node": (ct.c_int, [_handle, ct.c_int]),
    "choir_comm_node_rank": (ct.c_int, [_handle, ct.c_int]),
    "choir_comm_status": (_enum, [_handle]),
    "choir_comm_abort": (_enum, [_handle]),
    "choir_comm_destroy": (_enum, [_handle]),
    "choir_comm_warm": (_enum, [_handle, _dtype, _op]),
    "choir_comm_json": (_enum, [_handle, _handle_p]),
    "choir_event_test": (_enum, [_handle, ct.POINTER(ct.c_int)]),
    "choir_event_wait": (_enum, [_handle, ct.c_int64]),
    "choir_event_status": (_enum, [_handle]),
    "choir_event_error": (ct.c_char_p, [_handle]),
    "choir_event_on_complete": (_enum, [_handle, EVENT_FN, ct.c_void_p]),
    "choir_event_release": (None, [_handle]),
    "choir_queue_wait": (_enum, [_handle, ct.c_size_t, _handle_p]),
    "choir_event_to_cl": (_enum, [_handle, _handle_p]),
    "choir_event_algorithm": (ct.c_char_p, [_handle]),
    "choir_event_wire_bytes": (ct.c_uint64, [_handle]),
    "choir_allreduce": (_enum, [*_send_recv, _op, *_tail]),
    "choir_allreduce_multi": (_enum, [_handle, _tensor_p, ct.c_size_t, _op, *_tail]),
    "choir_reduce_scatter_multi": (_enum, [_handle, _tensor_p, ct.c_size_t, _op, *_tail]),
    "choir_allgather_multi": (_enum, [_handle, _tensor_p, ct.c_size_t, *_tail]),
    "choir_broadcast_multi": (_enum, [_handle, _tensor_p, ct.c_size_t, ct.c_int, *_tail]),
    "choir_reduce_multi": (_enum, [_handle, _tensor_p, ct.c_size_t, _op, ct.c_int, *_tail]),
    "choir_reduce_scatter_padded": (_enum, [*_send_recv, _op, *_tail]),
    "choir_allgather_padded": (_enum, [*_send_recv, *_tail]),
    "choir_reduce_scatter_padded_multi": (_enum, [_handle, _tensor_p, ct.c_size_t, _op, *_tail]),
    "choir_allgather_padded_multi": (_enum, [_handle, _tensor_p, ct.c_size_t, *_tail]),
    "choir_reduce_scatter": (_enum, [*_send_recv, _op, *_tail]),
    "choir_reduce_scatterv": (_enum, [_handle, Buffer, Buffer, _size_p, _dtype, _op, *_tail]),
    "choir_allgather": (_enum, [*_send_recv, *_tail]),
    "choir_allgatherv": (_enum, [_handle, Buffer, ct.c_size_t, Buffer, _size_p, _size_p, _dtype, *_tail]),
    "choir_alltoall": (_enum, [*_send_recv, *_tail]),
    "choir_alltoallv": (_enum, [_handle, Buffer, _size_p, _size_p, Buffer, _size_p, _size_p, _dtype, *_tail]),
    "choir_broadcast": (_enum, [*_send_recv, ct.c_int, *_tail]),
    "choir_reduce": (_enum, [*_send_recv, _op, ct.c_int, *_tail]),
    "choir_gather": (_enum, [*_send_recv, ct.c_int, *_tail]),
    "choir_gatherv": (_enum, [_handle, Buffer, ct.c_size_t, Buffer, _size_p, _size_p, _dtype, ct.c_int, *_tail]),
    "choir_scatter": (_enum, [*_send_recv, ct.c_int, *_tail]),
    "choir_scatterv": (_enum, [_handle, Buffer, _size_p, _size_p, Buffer, ct.c_size_t, _dtype, ct.c_int, *_tail]),
    "choir_scan": (_enum, [*_send_recv, _op, *_tail]),
    "choir_exscan": (_enum, [*_send_recv, _op, *_tail]),
    "choir_barrier": (_enum, [_handle, *_tail]),
    "choir_send": (_enum, [_handle, Buffer, ct.c_size_t, _dtype, ct.c_int, *_tail]),
    "choir_recv": (_enum, [_handle, Buffer, ct.c_size_t, _dtype, ct.c_int, *_tail]),
    "choir_sendrecv": (
        _enum,
        [_handle, Buffer, ct.c_size_t, ct.c_int, Buffer, ct.c_size_t, ct.c_int, _dtype, *_tail],
    ),
    "choir_allreduce_init": (_enum, [*_send_recv, _op, *_tail]),
    "choir_allreduce_multi_init": (_enum, [_handle, _tensor_p, ct.c_size_t, _op, *_tail]),
    "choir_reduce_scatter_multi_init": (_enum, [_handle, _tensor_p, ct.c_size_t, _op, *_tail]),
    "choir_allgather_multi_init": (_enum, [_handle, _tensor_p, ct.c_size_t, *_tail]),
    "choir_broadcast_multi_init": (_enum, [_handle, _tensor_p, ct.c_size_t, ct.c_int, *_tail]),
    "choir_reduce_multi_init": (_enum, [_handle, _tensor_p, ct.c_size_t, _op, ct.c_int, *_tail]),
    "choir_reduce_scatter_padded_init": (_enum, [*_send_recv, _op, *_tail]),
    "choir_allgather_padded_init": (_enum, [*_send_recv, *_tail]),
    "choir_reduce_scatter_padded_multi_init": (_enum, [_handle, _tensor_p, ct.c_size_t, _op, *_tail]),
    "choir_allgather_padded_multi_init": (_enum, [_handle, _tensor_p, ct.c_size_t, *_tail]),
    "choir_reduce_scatter_init": (_enum, [*_send_recv, _op, *_tail]),
    "choir_allgather_init": (_enum, [*_send_recv, *_tail]),
    "choir_alltoall_init": (_enum, [*_send_recv, *_tail]),
    "choir_alltoallv_init": (_enum, [_handle, Buffer, _size_p, _size_p, Buffer, _size_p, _size_p, _dtype, *_tail]),
    "choir_broadcast_init": (_enum, [*_send_recv, ct.c_int, *_tail]),
    "choir_reduce_init": (_enum, [*_send_recv, _op, ct.c_int, *_tail]),
    "choir_reduce_scatterv_init": (_enum, [_handle, Buffer, Buffer, _size_p, _dtype, _op, *_tail]),
    "choir_allgatherv_init": (_enum, [_handle, Buffer, ct.c_size_t, Buffer, _size_p, _size_p, _dtype, *_tail]),
    "choir_gather_init": (_enum, [*_send_recv, ct.c_int, *_tail]),
    "choir_gatherv_init": (_enum, [_handle, Buffer, ct.c_size_t, Buffer, _size_p, _size_p, _dtype, ct.c_int, *_tail]),
    "choir_scatter_init": (_enum, [*_send_recv, ct.c_int, *_tail]),
    "choir_scatterv_init": (_enum, [_handle, Buffer, _size_p, _size_p, Buffer, ct.c_size_t, _dtype, ct.c_int, *_tail]),
    "choir_scan_init": (_enum, [*_send_recv, _op, *_tail]),
    "choir_exscan_init": (_enum, [*_send_recv, _op, *_tail]),
    "choir_send_init": (_enum, [_handle, Buffer, ct.c_size_t, _dtype, ct.c_int, *_tail]),
    "choir_recv_init": (_enum, [_handle, Buffer, ct.c_size_t, _dtype, ct.c_int, *_tail]),
    "choir_sendrecv_init": (
        _enum,
        [_handle, Buffer, ct.c_size_t, ct.c_int, Buffer, ct.c_size_t, ct.c_int, _dtype, *_tail],
    ),
    "choir_barrier_init": (_enum, [_handle, *_tail]),
    "choir_start": (_enum, [_handle, *_tail]),
    "choir_request_free": (None, [_handle]),
    "choir_group_begin": (_enum, []),
    "choir_group_end": (_enum, []),
    "choir_group_cancel": (_enum, []),
    "choir_sparse_allreduce": (
        _enum,
        [_handle, Buffer, ct.c_size_t, Buffer, ct.c_size_t, Buffer, _size_p, Buffer, _size_p, _dtype, _dtype, _op,
         ct.POINTER(SparseAttr), *_tail],
    ),
    "choir_sparse_allreduce_init": (
        _enum,
        [_handle, Buffer, ct.c_size_t, Buffer, ct.c_size_t, Buffer, _size_p, Buffer, _size_p, _dtype, _dtype, _op,
         ct.POINTER(SparseAttr), *_tail],
    ),
    "choir_sparse_fetch": (_enum, [_handle, Buffer, _size_p, Buffer, _size_p]),
    "choir_predict": (
        _enum,
        [_handle, ct.c_char_p, ct.c_size_t, _dtype, _op, ct.c_int, _call_p, ct.POINTER(ct.c_double),
         _handle_p],
    ),
    "choir_event_sparse_stats": (_enum, [_handle, ct.POINTER(SparseStats)]),
    "choir_select_top": (
        _enum, [_handle, Buffer, ct.c_size_t, _dtype, ct.c_size_t, Buffer, _dtype, Buffer, *_tail]
    ),
    "choir_select_above": (
        _enum, [_handle, Buffer, ct.c_size_t, _dtype, ct.c_double, Buffer, _dtype, Buffer, _size_p, *_tail]
    ),
    "choir_gather_rows": (
        _enum,
        [_handle, Buffer, ct.c_size_t, _dtype, Buffer, ct.c_size_t, ct.c_size_t, _dtype, Buffer, *_tail],
    ),
    "choir_scatter_rows": (
        _enum,
        [_handle, Buffer, ct.c_size_t, _dtype, Buffer, Buffer, ct.c_size_t, ct.c_size_t, _dtype, *_tail],
    ),
    "choir_intersect": (
        _enum, [_handle, Buffer, ct.c_size_t, Buffer, ct.c_size_t, _dtype, Buffer, *_tail]
    ),
    "choir_coalesce_rows": (
        _enum,
        [_handle, Buffer, ct.c_size_t, Buffer, ct.c_size_t, _dtype, _dtype, _op, Buffer, Buffer, _size_p, *_tail],
    ),
    "choir_topk_create": (_enum, [_handle, ct.POINTER(TopkConfig), _handle_p]),
    "choir_topk_destroy": (None, [_handle]),
    "choir_topk_reset": (_enum, [_handle]),
    "choir_topk_export": (_enum, [_handle, ct.c_void_p, _size_p]),
    "choir_topk_import": (_enum, [_handle, ct.c_void_p, ct.c_size_t]),
    "choir_topk_residual": (_enum, [_handle, ct.c_void_p]),
    "choir_topk_allreduce": (_enum, [_handle, Buffer, ct.POINTER(TopkOut), *_tail]),
    "choir_topk_allreduce_at": (_enum, [_handle, Buffer, Buffer, ct.c_size_t, _enum, ct.POINTER(TopkOut), *_tail]),
    "choir_sequence_create": (_enum, [_handle_p, ct.c_size_t, _handle_p]),
    "choir_sequence_start": (_enum, [_handle, *_tail]),
    "choir_sequence_free": (None, [_handle]),
    "choir_supports": (_enum, [_handle, ct.c_char_p, _dtype, _op, Buffer]),
    "choir_mem_register": (_enum, [_handle, ct.c_void_p, ct.c_size_t]),
    "choir_mem_deregister": (_enum, [_handle, ct.c_void_p]),
    "choir_comm_flush": (_enum, [_handle]),
    "choir_comm_split_config": (_enum, [_handle, ct.c_int, ct.c_int, _config_p, _handle_p]),
    "choir_comm_split_start": (_enum, [_handle, ct.c_int, ct.c_int, _config_p, _handle_p, _handle_p]),
    "choir_comm_group_find": (_enum, [_handle, ct.POINTER(CommGroup), *[ct.POINTER(ct.c_int)] * 4]),
    "choir_comm_group_text": (_enum, [ct.POINTER(CommGroup), _handle_p]),
    "choir_comm_group_parse": (_enum, [ct.c_char_p, ct.POINTER(CommGroup)]),
    "choir_comm_group_split": (_enum, [_handle, ct.POINTER(CommGroup), _config_p, _handle_p]),
    "choir_comm_create_group": (
        _enum, [_handle, ct.c_char_p, ct.POINTER(ct.c_int), ct.c_int, _config_p, _handle_p]
    ),
    "choir_comm_create_group_start": (
        _enum, [_handle, ct.c_char_p, ct.POINTER(ct.c_int), ct.c_int, _config_p, _handle_p, _handle_p]
    ),
    "choir_comm_find": (_enum, [_handle, ct.c_char_p, _handle_p]),
    "choir_chunks_cut": (_enum, [ct.POINTER(ChunkSet)]),
    "choir_chunks_reduce_scatter": (
        _enum, [ct.c_int, _handle_p, ct.POINTER(Buffer), ct.POINTER(ChunkSet), _op, *_tail]
    ),
    "choir_chunks_allgather": (_enum, [ct.c_int, _handle_p, ct.POINTER(ChunkSet), ct.POINTER(Buffer), *_tail]),
    "choir_chunks_concat": (_enum, [ct.c_int, _handle_p, ct.POINTER(ChunkSet), ct.c_int, Buffer, *_tail]),
    "choir_allreduce_local": (
        _enum,
        [ct.c_int, _handle_p, ct.POINTER(Buffer), ct.POINTER(Buffer), ct.c_size_t, _dtype, _op, *_tail],
    ),
    "choir_topk_allreduce_multi": (_enum, [_handle, _tensor_p, ct.c_size_t, ct.POINTER(TopkOut), *_tail]),
    "choir_topk_allreduce_init": (_enum, [_handle, Buffer, ct.POINTER(TopkOut), *_tail]),
    "choir_topk_allreduce_multi_init": (_enum, [_handle, _tensor_p, ct.c_size_t, ct.POINTER(TopkOut), *_tail]),
    "choir_event_topk_stats": (_enum, [_handle, ct.POINTER(TopkStats)]),
}  # fmt: skip

#: of libchoir-mpi; an MPI_Comm of the MPICH family is an int
MPI_PROTOTYPES: dict[str, tuple] = {
    "choir_comm_create_mpi": (_enum, [ct.c_int, ct.c_int, _handle_p, _config_p, _handle_p]),
    "choir_comm_create_mpi_start": (_enum, [ct.c_int, ct.c_int, _handle_p, _config_p, _handle_p, _handle_p]),
    "choir_comm_create_world": (_enum, [ct.c_int, _handle_p, _config_p, _handle_p]),
    "choir_comm_create_gather": (
        _enum, [ct.POINTER(Bootstrap), ct.c_int, _handle_p, _config_p, _handle_p]
    ),
    "choir_finalize_world": (_enum, []),
}

#: declared in the headers, and without a use here
UNUSED = {
    "choir_status_name", "choir_dtype_name", "choir_op_name", "choir_dtype_bytes", "choir_dtype_parse",
    "choir_op_parse", "choir_memory_class_name", "choir_mem", "choir_host", "choir_svm", "choir_usm", "choir_none",
    "choir_comm_split_local", "choir_mem_alloc_local", "choir_mem_free_local",
    "choir_mem_register_local", "choir_mem_deregister_local", "choir_comm_device", "choir_event_retain",
    "choir_comm_group_split_local", "choir_comm_create_group_local", "choir_set_executor",
}  # fmt: skip
UNUSED_STRUCTS = {"choir_f32_i32", "choir_f64_i32", "choir_i32_i32", "choir_i64_i32"}
