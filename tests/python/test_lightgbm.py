# SPDX-License-Identifier: MIT
"""LightGBM of PyPI through choir: trees as with its sockets; a rank that dies is an error that names it."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

from ranks import run_program

EXAMPLE = Path(__file__).parents[2] / "tools" / "python" / "examples" / "lightgbm_trees.py"

KILLED = """
import os, signal, time
import choir, choir.lightgbm
import lightgbm as lgb
import numpy as np

with choir.from_environment(deadline=30) as comm:
    x = np.random.default_rng(comm.rank).standard_normal((2000, 5))
    died = []

    def die(env):
        if env.iteration == 3:
            if comm.rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            died.append(time.monotonic())

    try:
        with choir.lightgbm.network(comm):
            params = {"verbosity": -1, "num_threads": 1, **choir.lightgbm.parameters(comm)}
            lgb.train(params, lgb.Dataset(x, x[:, 0]), 1000, callbacks=[die])
    except lgb.basic.LightGBMError as error:
        print(f"after {time.monotonic() - died[0] < 15}: {error}", flush=True)
    lgb.train({"verbosity": -1}, lgb.Dataset(x, x[:, 0]), 2)  # the thread's network is its own again
    print("alone", flush=True)
"""


class LightGBM(unittest.TestCase):
    def trains(self, n):
        command = [sys.executable, "-m", "choir", "-n", str(n), str(EXAMPLE), "--turns", "1", "--rows", "3000"]
        done = subprocess.run(
            [*command, "--trees", "8"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("the trees are identical", done.stdout)

    def test_trees_of_two(self):
        self.trains(2)

    def test_trees_of_three(self):
        self.trains(3)

    def test_killed_rank(self):
        status, out = run_program(KILLED, 2, timeout=100, grace=80)
        self.assertEqual(status, 137, out)
        self.assertRegex(out, "after True: .*rank 1 is dead")
        self.assertIn("alone", out)


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    unittest.main()
