# SPDX-License-Identifier: MIT
"""LightGBM's network as choir's: data-parallel training without its sockets, ports and lists of machines.

    with choir.from_environment() as comm, choir.lightgbm.network(comm):
        booster = lightgbm.train({**params, **choir.lightgbm.parameters(comm)}, dataset)

LightGBM is that of PyPI, unchanged.  Its histograms come to the host, so comms of host memory do for
``device_type=gpu`` as well.  A failed collective is a ``LightGBMError`` with choir's sentence.
"""

from __future__ import annotations

import ctypes as ct
from contextlib import contextmanager
from typing import Any, Iterator

from . import _library
from ._comm import Comm
from .errors import ArgumentError, NoMemoryError

_hooks: ct.CDLL | None = None


def _load() -> ct.CDLL:
    global _hooks
    if _hooks is None:
        name = "libchoir-lightgbm.so"
        hooks = _library._open(name, _library._own / name)  # the wheel's works with any libchoir
        hooks.choir_lightgbm_open.argtypes = [ct.c_void_p, ct.c_void_p]
        hooks.choir_lightgbm_open.restype = ct.c_int
        hooks.choir_lightgbm_close.argtypes = []
        hooks.choir_lightgbm_close.restype = None
        _hooks = hooks
    return _hooks


def parameters(comm: Comm, tree_learner: str = "data") -> dict[str, Any]:
    """The parameters of training that a network needs; ``tree_learner``: data or voting.

    LightGBM's library refuses the third, feature, which its program alone has.
    """
    return {"num_machines": comm.size, "tree_learner": tree_learner, "pre_partition": True}


@contextmanager
def network(comm: Comm) -> Iterator[None]:
    """Within it LightGBM on this thread, its Dataset and train, goes through the comm.

    LightGBM keeps its network by thread: construct and train on the thread that enters.  Close the comm after the
    block.
    """
    from lightgbm.basic import _LIB, _safe_call

    hooks = _load()
    throw = ct.cast(ct.CDLL("libstdc++.so.6")._ZSt21__throw_runtime_errorPKc, ct.c_void_p)
    refused = hooks.choir_lightgbm_open(comm._handle, throw)
    if refused == 2:
        raise ArgumentError("choir.lightgbm: the comm is closed")
    if refused:
        raise NoMemoryError("choir.lightgbm: no memory")
    comm._network_of = "LightGBM"
    try:
        _safe_call(
            _LIB.LGBM_NetworkInitWithFunctions(
                ct.c_int(comm.size),
                ct.c_int(comm.rank),
                ct.cast(hooks.choir_lightgbm_reduce_scatter, ct.c_void_p),
                ct.cast(hooks.choir_lightgbm_allgather, ct.c_void_p),
            )
        )
        try:
            yield
        finally:
            _safe_call(_LIB.LGBM_NetworkFree())
    finally:
        hooks.choir_lightgbm_close()
        comm._network_of = ""
