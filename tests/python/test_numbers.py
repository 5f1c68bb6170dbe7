# SPDX-License-Identifier: MIT
"""Integers that C cannot hold: every call says so, none goes on with their low bits."""

import inspect
import unittest

import choir
import numpy as np

X = np.zeros(4, np.float32)
I = np.zeros(4, np.int64)
#: what the other parameters are given, those that must be there
GIVEN = dict(
    send=X, recv=X, array=X, values=X, table=X, memory=X, indices=I, tensors=[X], arrays=[X], sends=[X], recvs=[X],
    counts=[4], send_counts=[4], recv_counts=[4], ranks=[0], dest=0, source=0, root=0, color=0, rank=0, holder=0,
    size=1, n=1, k=1, rows=4, count=4, n_bytes=8, threshold=0.0, dtype="float32", collective="allreduce", name="g",
    gather=bytes, folder="/nonexistent", host="127.0.0.1", port=1, secret="0" * 16, store=None,
)  # fmt: skip
#: the parameters that C has as size_t; the others are int
SIZES = {"n_bytes", "k", "room", "offset_bytes", "count", "calls_per_density", "dense_calls", "threshold_period",
         "sends_in_flight", "counts", "displacements", "send_counts", "recv_counts", "send_displacements",
         "recv_displacements", "places", "rows"}  # fmt: skip


def public(comm):
    """Every call with an integer, or with a list of them, and the parameter's name."""
    calls = {getattr(comm, name) for name in dir(comm) if not name.startswith("_")}
    functions = {getattr(choir, name) for name in choir.__all__}
    calls |= {one for one in functions if inspect.isfunction(one)}
    calls |= {choir.TopK, choir.View, choir.Device.default, choir.chunks.Chunks, choir.chunks.Chunks.lengths}
    calls |= {one for module in (choir.chunks, choir.pairs) for one in vars(module).values()
              if inspect.isfunction(one) and one.__module__ == module.__name__}  # fmt: skip
    for call in calls:
        module = getattr(call, "__module__", None) or ""
        if not callable(call) or not module.startswith("choir") or getattr(call, "__name__", "_").startswith("_"):
            continue
        try:
            parameters = inspect.signature(call).parameters
        except ValueError:
            continue
        for name, parameter in parameters.items():
            if str(parameter.annotation).partition(" |")[0] in ("int", "Sequence[int]", "Sequence[tuple[int, int]]"):
                yield call, parameters, name


class Numbers(unittest.TestCase):
    def refused(self, call, named, name, value):
        with self.assertRaises(choir.ArgumentError, msg=f"{call.__qualname__}: {name} = {value}") as caught:
            call(**named)
        self.assertRegex(str(caught.exception), name.rstrip("s") if name != "places" else "index|offset")

    def test_every_integer(self):
        found = 0
        with choir.threads(1) as (comm,):
            given = dict(GIVEN, comm=comm, comms=[comm], chunks=choir.chunks.Chunks([X.copy()]))
            for call, parameters, name in public(comm):
                needed = {one: given[one] for one, parameter in parameters.items()
                          if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD}
                for value in (2**64 + 1, -(2**64) + 1) + (() if name in SIZES else (2**32, -(2**32))):
                    kind = str(parameters[name].annotation)
                    listed = [value] if "Sequence[int]" in kind else [(value, 0)] if "tuple" in kind else value
                    with self.subTest(call=call.__qualname__, name=name, value=value):
                        self.refused(call, {**needed, name: listed}, name, value)
                        found += 1
        self.assertGreater(found, 150)

    def test_settings_and_options(self):
        with choir.threads(1) as (comm,):
            for options, words in (({"tag": 2**64}, "tag is 18446744073709551616"), ({"tag": 0.5}, "tag is 0.5"),
                                   ({"deadline": 1e30}, "deadline"), ({"deadline": float("inf")}, "deadline is inf")):
                with self.assertRaisesRegex(choir.ArgumentError, words):
                    comm.allreduce(X, **options)
            comm.allreduce(X, tag=np.int64(0))
        for settings, words in (({"ranks_per_node": 2**32 + 1}, "ranks_per_node is 4294967297"),
                                ({"warn": float("nan")}, "warn is nan"), ({"deadline": 1e30}, "deadline")):
            with self.assertRaisesRegex(choir.ArgumentError, words):
                choir.threads(1, **settings)

    def test_numpy_integers_do(self):
        with choir.threads(1) as (comm,):
            comm.broadcast(X, root=np.int64(0))
            comm.allgatherv(X, X, np.array([4]))
            self.assertEqual(comm.node_of(np.uint8(0)), 0)


if __name__ == "__main__":
    unittest.main()
