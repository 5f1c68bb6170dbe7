# SPDX-License-Identifier: MIT
"""The Python lines of docs/python.md, lightgbm.md and tinygrad.md are run as they stand there, by two ranks; and the
example that says what a call costs."""

import os
import subprocess
import sys
import unittest

import choir
import numpy as np
from ranks import run_program, run_ranks
from test_docs import ROOT, blocks

sys.path.insert(0, str(ROOT / "tools" / "python" / "examples"))
from find_clang import find_clang  # noqa: E402


def block_with(page, words):
    """The one block of Python on the page in which the words stand."""
    (found,) = [block for block in blocks(page, "python") if words in block]
    return compile(found, page, "exec")


class PythonPage(unittest.TestCase):
    def test_every_block_is_run(self):
        self.assertEqual(len(blocks("python.md", "python")), 5)

    def on_ranks(self, words, names):
        """The block on two ranks, each with the names that names(rank) gives; what they have then."""
        block, found = block_with("python.md", words), [None, None]

        def fn(comm):
            found[comm.rank] = dict(names(comm.rank), choir=choir, np=np, comm=comm)
            exec(block, found[comm.rank])
            if "event" in found[comm.rank]:
                found[comm.rank]["event"].wait()

        run_ranks(2, fn)
        return found

    def test_calls(self):
        def names(rank):
            a, b, c, x = (np.full(n, rank + 1.0) for n in (3, 4, 5, 6))
            return dict(a=a, b=b, c=c, x=x, y=np.zeros(6), i=np.array([7, rank]), v=np.ones((2, 3)))

        for one in self.on_ranks("allreduce_multi", names):
            self.assertEqual([one[name][0] for name in "abc"], [3, 3, 3])
            self.assertEqual((one["x"][5], one["y"][5]), (6, 3))
            np.testing.assert_array_equal(one["indices"], [0, 1, 7])
            np.testing.assert_array_equal(one["rows"][:, 0], [1, 1, 2])

    def test_operator(self):
        for one in self.on_ranks("choir.Operator", lambda rank: dict(x=np.array([1.0, 2.0]) * (1 - rank) + [0, rank])):
            np.testing.assert_array_equal(one["x"], [1, 1])

    def test_pairs(self):
        def names(rank):
            i, v = np.zeros(2000, np.int32), np.zeros(2000, np.float32)
            return dict(gradient=np.arange(2000, dtype=np.float32), i=i, v=v)

        for one in self.on_ranks("choir.TopK", names):
            self.assertEqual(one["indices"][-1], 1999)

    def test_chunks(self):
        with choir.threads(2, deadline=30) as comms:
            gradients, weights = [np.arange(5.0), np.arange(5.0)], [np.zeros(5), np.zeros(5)]
            shards = [np.zeros(3), np.zeros(2)]
            names = dict(choir=choir, comms=comms, gradients=gradients, weights=weights, shards=shards)
            exec(block_with("python.md", "choir.chunks"), names)
            for one in weights:
                np.testing.assert_array_equal(one, 2 * np.arange(5.0))


class OtherPages(unittest.TestCase):
    def passes(self, text, **env):
        status, out = run_program(text, 2, timeout=200, env=env)
        self.assertEqual((status, out.count("passed")), (0, 2), out)

    def program(self, page, before, after, words=""):
        (block,) = [one for one in blocks(page, "python") if words in one]
        return f"{before}\n{block}{after}\nprint('passed\\n', end='')\n"

    def test_lightgbm(self):
        before = """
import os, numpy
my_rows = numpy.random.default_rng(int(os.environ["RANK"])).standard_normal((500, 4))
my_labels, params = my_rows[:, 0], {"verbosity": -1, "num_threads": 1, "num_iterations": 3}"""
        self.passes(self.program("lightgbm.md", before, "assert booster.num_trees() == 3"), OMP_NUM_THREADS="1")

    def test_pyopencl(self):
        before = """
import numpy, pyopencl, pyopencl.array, choir
context = pyopencl.Context([pyopencl.get_platforms()[0].get_devices()[0]])
text = "kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }"
kernel = pyopencl.Kernel(pyopencl.Program(context, text).build(), "twice")
rows = numpy.ones(1000, numpy.float32)"""
        self.passes(self.program("python.md", before, "assert (x.get(queue) == 8).all()", "pyopencl"))

    def test_tinygrad(self):
        find_clang()
        before = """
import os, numpy
from tinygrad import Context, Tensor
from tinygrad.nn.optim import SGD
rank = int(os.environ["RANK"])
Context(TRAINING=1).__enter__()
parameters = [Tensor(numpy.ones(4, numpy.float32)).realize()]
optimizer = SGD(parameters, lr=1.0)
loss = (parameters[0] * Tensor([float(rank), 2.0, 3.0, 4.0])).sum()"""
        after = """
assert event.exception() is None
assert parameters[0].tolist() == [0.5, -1, -2, -3], parameters[0].tolist()"""
        self.passes(self.program("tinygrad.md", before, after), DEV="CL", PARALLEL="0", POCL_MAX_PTHREAD_COUNT="1")


class Overhead(unittest.TestCase):
    def test_table(self):
        example = ROOT / "tools" / "python" / "examples" / "overhead.py"
        for n, launcher in (1, []), (2, ["-m", "choir", "-n", "2"]):
            done = subprocess.run(
                [sys.executable, *launcher, example, "--calls", "200", "--rounds", "2"], timeout=100, text=True,
                stdout=subprocess.PIPE, env=dict(os.environ, CC=os.environ["CHOIR_TEST_CC"]),
            )  # fmt: skip
            self.assertEqual(done.returncode, 0)
            self.assertRegex(done.stdout, rf"(?s)4 B, {n} ranks.*\n  Python +[\d.]+, .* above C\n.*\n  C +[\d.]+\n")


if __name__ == "__main__":
    unittest.main()
