# SPDX-License-Identifier: MIT
"""What functions raise that C calls: operators', gathers', events'; and signals that come as C calls them."""

import ctypes
import os
import signal
import subprocess
import tempfile
import unittest
from types import SimpleNamespace
from unittest import mock

import choir
import numpy as np
from choir import _abi, _callback, _create, _event
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

    def test_an_events_callback_that_exits(self):
        seen = []
        self.complete([lambda one: exit(3), seen.append], 0)
        self.assertEqual(len(seen), 1)
        with self.assertRaises(SystemExit):
            self.comms[0].check()
        self.comms[0].check()


if __name__ == "__main__":
    unittest.main()
