# SPDX-License-Identifier: MIT
"""LightGBM of PyPI through choir: trees as with its sockets; a rank that dies is an error that names it."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

import choir
import choir.lightgbm
from ranks import run_program

EXAMPLE = Path(__file__).parents[2] / "tools" / "python" / "examples" / "lightgbm_trees.py"

KILLED = """
import os, signal, time
import choir, choir.lightgbm
import lightgbm as lgb
import numpy as np

with choir.from_environment(deadline=30) as comm:
    x = np.random.default_rng(comm.rank).standard_normal((2000, 5))

    def die(env):
        if env.iteration == 3 and comm.rank == 1:
            print(f"died at {time.monotonic()}", flush=True)  # one clock for all processes
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        with choir.lightgbm.network(comm):
            params = {"verbosity": -1, "num_threads": 1, **choir.lightgbm.parameters(comm)}
            lgb.train(params, lgb.Dataset(x, x[:, 0]), 1000, callbacks=[die])
    except lgb.basic.LightGBMError as error:
        print(f"told at {time.monotonic()}: {error}", flush=True)
    lgb.train({"verbosity": -1}, lgb.Dataset(x, x[:, 0]), 2)  # the thread's network is its own again
    print("alone", flush=True)
"""


# With max_cat_threshold over 488 two ranks agree on a split by a reduce_scatter whose output is its input.
CATEGORIES = """
import choir, choir.lightgbm
import lightgbm as lgb
import numpy as np

with choir.from_environment(deadline=20) as comm, choir.lightgbm.network(comm):
    x = np.random.default_rng(comm.rank).standard_normal((2000, 5))
    trees = []
    for threshold in (32, 1000):
        params = {"verbosity": -1, "num_threads": 1, "max_cat_threshold": threshold, **choir.lightgbm.parameters(comm)}
        trees.append(lgb.train(params, lgb.Dataset(x, x[:, 0] * x[:, 1]), 5).model_to_string().partition("parameters:"))
    assert trees[0][0] == trees[1][0], trees
"""

# LightGBM builds 33 OpenCL programs, twenty seconds and more of work for PoCL, and keeps them in ~/.boost_compute.
BUILDS = """
import lightgbm as lgb
import numpy as np

x = np.random.default_rng(1).standard_normal((1000, 28))
params = {"objective": "binary", "verbosity": -1, "num_threads": 1, "device_type": "gpu", "max_bin": 15,
          "gpu_use_dp": True}
lgb.train(params, lgb.Dataset(x, x[:, 0] > 0), 1)
"""


class LightGBM(unittest.TestCase):
    def build_programs(self):
        """One process alone: ranks would all build them, and write the same files at once."""
        try:
            done = subprocess.run(
                [sys.executable, "-c", BUILDS], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300
            )
        except subprocess.TimeoutExpired:
            reason = "LightGBM's OpenCL programs were not built in 300 s on this machine"
            print(f"skipped: {reason}")
            self.skipTest(reason)
        self.assertEqual(done.returncode, 0, done.stdout)

    def trains(self, n, *arguments):
        command = [sys.executable, "-m", "choir", "-n", str(n), str(EXAMPLE), "--turns", "1", "--rows", "3000"]
        done = subprocess.run(
            [*command, "--trees", "8", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=500,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_trees_of_two(self):
        self.assertRegex(self.trains(2), r"choir is ahead in [01] of 1\n  the trees are identical")

    def test_trees_of_three(self):
        self.assertIn("the trees are identical", self.trains(3))

    def test_trees_by_voting(self):
        self.assertIn("the trees are identical", self.trains(2, "--learner", "voting"))

    def test_output_is_input(self):
        """Columns of numbers have the same trees whatever room there is for categories."""
        status, out = run_program(CATEGORIES, 2, timeout=100)
        self.assertEqual(status, 0, out)

    def test_opencl_learner(self):
        """The order of its sums may differ from run to run; the AUC do not, of sums in float64."""
        self.build_programs()
        for n in (2, 3):
            self.assertIn(f", gpu, 15 bins, {n} ranks", self.trains(n, "--device", "gpu", "--double", "--bins", "15"))

    def test_closed_comm(self):
        (comm,) = choir.threads(1)
        comm.close()
        with self.assertRaisesRegex(choir.ArgumentError, "the comm is closed"):
            with choir.lightgbm.network(comm):
                self.fail("a network of no comm")

    def test_comm_closed_in_the_block(self):
        (comm,) = choir.threads(1)
        with choir.lightgbm.network(comm):
            with self.assertRaisesRegex(choir.ArgumentError, "the comm is the network of LightGBM"):
                comm.close()
            comm.barrier()
        comm.close()

    def test_killed_rank(self):
        """The error names it within a second, of which a loaded machine may need several tries."""
        for _ in range(5):
            status, out = run_program(KILLED, 2, timeout=100, grace=80)
            self.assertEqual(status, 137, out)
            told = re.search(r"told at ([\d.]+): .*rank 1 is dead", out)
            self.assertTrue(told, out)
            self.assertIn("alone", out)
            seconds = float(told[1]) - float(re.search(r"died at ([\d.]+)", out)[1])
            if seconds < 1:
                return
        self.fail(f"told after {seconds} s")


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    unittest.main()
