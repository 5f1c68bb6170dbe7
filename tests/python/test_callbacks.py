# SPDX-License-Identifier: MIT
"""What functions raise that C calls: operators', gathers', events'; and signals that come as C calls them."""

import contextlib
import ctypes
import gc
import os
import signal
import subprocess
import tempfile
import threading
import unittest
import weakref
from types import SimpleNamespace
from unittest import mock

import choir
import numpy as np
from choir import _abi, _callback, _create, _event, _library, _start
from ranks import run_ranks

# Calls on to Python, the first time with a signal that is to be handled there.
SOURCE = """
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
long (*inner)(long, long, long, long, long);
int armed;
long go(long a, long b, long c, long d, long e)
{
	if (armed)
		raise(SIGINT);
	armed = 0;
	return inner(a, b, c, d, e);
}
static void *run(void *arg)
{
	inner(1, 0, 0, 0, 0);
	return arg;
}
void elsewhere(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, NULL);
}
"""


class Interrupted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "interrupt.so")
            compiler = [os.environ["CHOIR_TEST_CC"], "-shared", "-fPIC", "-x", "c", "-", "-o", path]
            subprocess.run(compiler, input=SOURCE.encode(), check=True)
            cls.c = ctypes.CDLL(path)

    def setUp(self):
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        self.comms = choir.threads(2, deadline=30)
        self.addCleanup(self.comms.__exit__, None)
        self.kept = []

    def tearDown(self):
        self.assertEqual(_callback.pending, [])

    def test_the_end_of_a_group(self):
        with self.assertRaises(KeyboardInterrupt), choir.group():
            _callback.pending.append((threading.get_ident(), KeyboardInterrupt()))

    def in_between(self, form):
        """The form of a callback that a signal comes to once."""

        def make(function):
            made = form(function)
            self.kept.append(made)
            ctypes.c_void_p.in_dll(self.c, "inner").value = ctypes.cast(made, ctypes.c_void_p).value
            ctypes.c_int.in_dll(self.c, "armed").value = 1
            return form(ctypes.cast(self.c.go, ctypes.c_void_p).value)

        return make

    def fold(self, fn, error, interrupts=0):
        """The library's call of an operator's fold, on this thread."""
        with mock.patch.object(_abi, "OP_FOLD_FN", self.in_between(_abi.OP_FOLD_FN)):
            op = choir.Operator("own", fn)
        acc, src = np.full(4, 1.0), np.full(4, 2.0)
        ctypes.c_int.in_dll(self.c, "armed").value = 0
        for comm in self.comms:
            comm.supports("allreduce", "float64", op)
        ctypes.c_int.in_dll(self.c, "armed").value = interrupts
        self.c.go(None, ctypes.c_void_p(acc.ctypes.data), ctypes.c_void_p(src.ctypes.data), 4, int(choir.DType.F64))
        for comm in self.comms if error else ():
            with self.assertRaises(error if comm.rank == 0 else choir.AbortedError):
                comm.check()
            with self.assertRaisesRegex(choir.AbortedError, "aborted by rank"):
                comm.check()
        op.close()
        return list(acc)

    def test_a_fold(self):
        self.assertEqual(self.fold(lambda a, b: a + b, None), [3] * 4)

    def test_a_fold_that_raises(self):
        self.fold(lambda a, b: 1 // 0, ZeroDivisionError)

    def test_a_fold_that_is_interrupted(self):
        def fold(a, b):
            signal.raise_signal(signal.SIGINT)
            return a + b

        self.fold(fold, KeyboardInterrupt)

    def test_a_fold_that_is_never_entered(self):
        calls = []
        self.fold(lambda a, b: calls.append(a), KeyboardInterrupt, 1)
        self.assertEqual(calls, [])

    def test_a_reduction_whose_fold_raises(self):
        def fn(comm):
            for _ in range(2):
                with self.assertRaises((ZeroDivisionError, choir.AbortedError)):
                    comm.allreduce(np.ones(8), op=op)

        with choir.Operator("divides", lambda a, b: 1 // 0) as op:
            run_ranks(3, fn)

    def test_a_fold_of_chunks_that_raises(self):
        comms = choir.threads(2, deadline=30)
        self.addCleanup(comms.__exit__, None)
        with choir.Operator("divides", lambda a, b: 1 // 0) as op:
            with self.assertRaises((ZeroDivisionError, choir.AbortedError)):
                choir.chunks.allreduce(comms, [np.ones(8), np.ones(8)], op=op)
            self.assertEqual(set(op._comms), set(comms))

    def test_a_sparse_fold_that_raises(self):
        for method in "auto", "allgather", "split", "split_dense", "recursive_doubling", "mask":
            options = None if method == "auto" else f"algorithm={method}"
            for n in 1, 2, 4:
                with self.subTest(method=method, n=n), choir.Operator("divides", lambda a, b: 1 // 0) as op:
                    self.sparse(n, op, options)

    def sparse(self, n, op, options):
        indices, values = np.array([3, 5, 3]), np.ones(3)
        with choir.threads(n, deadline=30) as comms:
            events = []
            for comm in comms:
                try:
                    events.append(comm.sparse_allreduce(indices, values, op=op, wait=False, options=options))
                except (ZeroDivisionError, choir.AbortedError):  # a thread of the library was fast
                    pass
            for event in events:
                with self.assertRaises((ZeroDivisionError, choir.AbortedError)):
                    event.wait()
                while not event.done():
                    pass
                self.assertIsInstance(event.exception(), choir.AbortedError)

    def test_a_fold_of_pairs_that_raises(self):
        with choir.Operator("divides", lambda a, b: 1 // 0) as op:
            event = choir.pairs.coalesce_rows(np.array([1, 1]), np.ones(2), op=op, wait=False)
            for _ in range(2):
                with self.assertRaises((ZeroDivisionError, choir.AbortedError)):
                    event.wait()
            with self.assertRaisesRegex(choir.AbortedError, "the operator divides raised"):
                event.wait()

    def test_a_fold_of_pairs_that_raises_later(self):
        divisor = [1]
        with choir.Operator("divides", lambda a, b: (a + b) / divisor[0] if divisor[0] else 1 // 0) as op:
            good = choir.pairs.coalesce_rows(np.array([1, 1]), np.ones(2), op=op, wait=False)
            indices, rows = good.wait()
            divisor[0] = 0
            with self.assertRaises((ZeroDivisionError, choir.AbortedError)):
                choir.pairs.coalesce_rows(np.array([1, 1]), np.ones(2), op=op)
            with contextlib.suppress(ZeroDivisionError):
                self.comms[0].check()
        self.assertIsNone(good.exception())
        self.assertEqual((list(indices), list(rows)), ([1], [2]))

    def test_a_fold_that_raises_as_its_comm_is_closed(self):
        """The call starts behind another one, which is complete once close has begun."""
        alone, lib, closing = choir.threads(1)[0], _library.lib, threading.Event()
        before = self.comms[0].allreduce(np.ones(8), wait=False)
        indices, values = np.array([1, 1]), np.ones(2)

        def go_on():
            closing.wait()
            self.comms[1].allreduce(np.ones(8))

        def begins(call):
            return lambda handle: (closing.set(), call(handle))[1]

        thread = threading.Thread(target=go_on)
        thread.start()
        with choir.Operator("divides", lambda a, b: 1 // 0) as op:
            event = alone.sparse_allreduce(indices, values, op=op, wait=False, after=before)
            with mock.patch.object(lib, "choir_comm_flush", begins(lib.choir_comm_flush)):
                with mock.patch.object(lib, "choir_comm_destroy", begins(lib.choir_comm_destroy)):
                    with contextlib.suppress(ZeroDivisionError):
                        alone.close()
        thread.join()
        self.assertIsInstance(event.exception(), choir.AbortedError)

    def test_an_operator_meets_a_comm_that_is_being_destroyed(self):
        """The comm's handle is gone before the library destroys it."""
        comm = choir.threads(1)[0]
        op = choir.Operator("own", lambda a, b: a + b)
        self.addCleanup(op.close)
        comm.supports("allreduce", "float64", op)
        destroy, aborted, abort = choir._comm.lib.choir_comm_destroy, [], choir._comm.lib.choir_comm_abort

        def destroyed(handle):
            op._abort()
            return destroy(handle)

        with mock.patch.object(choir._comm.lib, "choir_comm_destroy", destroyed):
            with mock.patch.object(choir._comm.lib, "choir_comm_abort", lambda at: aborted.append(at) or abort(at)):
                comm.__exit__(ValueError)
        self.assertEqual(len(aborted), 1)

    def test_an_exit_comes_first_and_the_others_are_its_context(self):
        first, second, exit_ = ValueError(1), KeyError(2), KeyboardInterrupt()
        cases = (exit_, [first, exit_, second], [first, second]), (first, [first, second], [second])
        for raised, errors, after in cases:
            for one in first, second, exit_:
                one.__context__ = None
            with self.assertRaises(type(raised)) as caught:
                _callback.raise_first(errors)
            self.assertEqual(_callback._contexts(caught.exception), [raised, *after])

    def test_what_is_raised_leaves_no_cycle(self):
        class Kept(Exception):
            pass

        gc.disable()
        self.addCleanup(gc.enable)
        _callback.Callback(lambda: (_ for _ in ()).throw(Kept()))()
        made = None
        try:
            self.comms[0].check()
        except Kept as error:
            made = weakref.ref(error)
        self.assertIsNotNone(made)
        self.assertIsNone(made())

    def test_a_forked_child(self):
        _callback.pending.append((0, ValueError()))
        with _event._lock, _start._gate:
            child = os.fork()
            if child == 0:
                locks = _event._lock, _start._gate
                os._exit(0 if not _callback.pending and all(one.acquire(blocking=False) for one in locks) else 1)
        _callback.pending.clear()
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_a_thread_of_the_library(self):
        failed = []
        called = _callback.Callback(lambda *_: 1 // 0, lambda: failed.append(1))
        self.in_between(_abi.EVENT_FN)(called)
        with self.assertLogs("choir", "ERROR") as logs:
            self.c.elsewhere()
        self.assertEqual(failed, [1])
        self.assertIn("ZeroDivisionError", logs.output[0])

    def test_python_3_13_names_a_callback_in_words(self):
        one, other = (_callback.Callback(lambda: None) for _ in range(2))
        text = f"Exception ignored on calling ctypes callback function {one!r}"
        self.assertIs(_callback._of(SimpleNamespace(object=None, err_msg=text)), one)
        self.assertIs(_callback._of(SimpleNamespace(object=other, err_msg=None)), other)
        self.assertIsNone(_callback._of(SimpleNamespace(object=None, err_msg=None)))

    def test_a_gather_that_is_never_entered(self):
        calls = []
        with mock.patch.object(_create, "GATHER", self.in_between(_create.GATHER)):
            with self.assertRaises(KeyboardInterrupt):
                choir.from_gather(calls.append, 0, 2, network="none")
        self.assertEqual(calls, [])

    def test_a_gather_behind_one_that_is_never_entered(self):
        calls = []
        call = _create._bootstrap(calls.append, 0, 2).gather
        _callback.pending.append((threading.get_ident(), KeyboardInterrupt()))
        self.addCleanup(_callback.pending.clear)
        mine = ctypes.create_string_buffer(8)
        self.assertEqual(call(None, ctypes.addressof(mine), 4, ctypes.addressof(mine)), 1)
        self.assertEqual(calls, [])
        _callback.pending.clear()

    def test_a_create_whose_callback_raises_gives_back_what_it_made(self):
        comm, alone, array = self.comms[0], choir.threads(1)[0], np.ones(4)
        destroy, free = "choir_comm_destroy", "choir_request_free"
        self.gives_back("choir_comm_create_local", destroy, lambda: choir.threads(2), 2)
        self.gives_back("choir_comm_create", destroy, lambda: choir.from_gather(bytes, 0, 1))
        self.gives_back("choir_comm_split_config", destroy, lambda: alone.split(0))
        self.gives_back("choir_comm_group_split", destroy, lambda: alone.group_split("all"))
        self.gives_back("choir_comm_create_group", destroy, lambda: alone.create_group("one", [0]))
        self.gives_back("choir_allreduce_init", free, lambda: comm.allreduce_init(array))
        with comm.allreduce_init(array) as request:
            self.gives_back("choir_sequence_create", "choir_sequence_free", lambda: choir.Sequence([request]))
        self.gives_back("choir_device_create_host", "choir_device_destroy", choir.Device.host)
        self.gives_back("choir_op_create", "choir_op_destroy", lambda: choir.Operator("leaks", "a + b"))
        self.gives_back("choir_topk_create", "choir_topk_destroy", lambda: choir.TopK(comm, 100, k=3))
        alone.close()

    def gives_back(self, create, free, make, n=1):
        """make raises what a callback has left during the library's call, and n handles are freed."""
        freed, lib = [], _library.lib
        do_create, do_free = getattr(lib, create), getattr(lib, free)

        def creates(*args):
            status = do_create(*args)
            _callback.pending.append((threading.get_ident(), KeyboardInterrupt()))
            return status

        with mock.patch.object(lib, free, lambda handle: freed.append(handle) or do_free(handle)):
            with mock.patch.object(lib, create, creates), self.assertRaises(KeyboardInterrupt):
                make()
        self.assertEqual((create, len([one for one in freed if one])), (create, n))

    def complete(self, callbacks, interrupts):
        """The library's call for an event that is complete, on this thread."""
        event, numbers = self.comms[0].allreduce(np.ones(8), wait=False), []
        with mock.patch.object(_event, "_completed", _abi.EVENT_FN(lambda number, _: numbers.append(number))):
            for one in callbacks:
                event.add_done_callback(one)
            self.comms[1].allreduce(np.ones(8))
            event.wait()
            while not numbers:
                pass
        self.in_between(_abi.EVENT_FN)(_event._completed)
        ctypes.c_int.in_dll(self.c, "armed").value = interrupts
        self.c.go(numbers[0], 0)
        self.assertEqual(_event._waiting, {})

    def test_an_events_callback_that_is_never_entered(self):
        seen = []
        self.complete([seen.append], 1)
        self.assertEqual(len(seen), 1)
        with self.assertRaises(KeyboardInterrupt):
            self.comms[0].check()
        self.comms[0].check()

    def test_callbacks_that_are_interrupted_on_their_way(self):
        seen, each = [], _event._run_each

        def interrupted(number, failures):
            if not seen:
                seen.append("interrupted")
                raise KeyboardInterrupt
            each(number, failures)

        with mock.patch.object(_event, "_run_each", interrupted):
            self.complete([lambda one: seen.append(1)], 0)
        self.assertEqual(seen, ["interrupted", 1])
        with self.assertRaises(KeyboardInterrupt):
            self.comms[0].check()

    def test_an_events_callback_that_exits(self):
        seen = []
        self.complete([lambda one: exit(3), seen.append], 0)
        self.assertEqual(len(seen), 1)
        with self.assertRaises(SystemExit):
            self.comms[0].check()
        self.comms[0].check()


if __name__ == "__main__":
    unittest.main()
