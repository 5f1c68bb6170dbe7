# SPDX-License-Identifier: MIT
"""tinygrad's tensors on CL, two processes: gradients reduced on its queue, and what is refused."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

from ranks import run_program

EXAMPLE = Path(__file__).parents[2] / "tools" / "python" / "examples" / "tinygrad_net.py"

sys.path.insert(0, str(EXAMPLE.parent))
from find_clang import find_clang  # noqa: E402

find_clang()

PROGRAM = """
import os
os.environ.update(DEV="CL", PARALLEL="0")
import numpy as np
import choir, choir.tinygrad
from choir._arrays import operand
from tinygrad import Tensor

def refused(tensor, words):
    try:
        operand(tensor)
    except choir.ArgumentError as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)

with choir.from_environment(device=choir.tinygrad.device(), deadline=60) as comm:
    parameters = [Tensor(np.zeros((3, 4), np.float32)).realize(), Tensor(np.zeros(1000, np.float32)).realize()]
    for number, one in enumerate(parameters):
        one.grad = Tensor(np.full(one.shape, comm.rank + 1 + number, np.float32)).realize()
    event = choir.tinygrad.allreduce_gradients(comm, parameters + [Tensor(np.zeros(3))], "sum")
    stepped = (parameters[0] - parameters[0].grad).numpy()  # a kernel behind the collective
    assert event.exception() is None and (stepped == -3).all(), stepped
    assert (parameters[1].grad.numpy() == 5).all()
    comm.allreduce(parameters[1].grad)
    assert (parameters[1].grad.numpy() == 10).all()
    assert operand(parameters[0].reshape(12)).count == 12
    refused(parameters[0] + 1, "not realized")
    refused(parameters[0].T, "one after another")
    refused(parameters[0][1:2, 1:3], "one after another")
    print(f"rank {comm.rank} passed\\n", end="")
"""


ON_CPU = """
import os
os.environ.update(DEV="CPU", PARALLEL="0")
import numpy as np
import choir, choir.tinygrad
from tinygrad import Tensor

with choir.from_environment(deadline=60) as comm:
    one = Tensor(np.zeros((3, 4), np.float32)).realize()
    one.grad = Tensor(np.full((3, 4), comm.rank + 1, np.float32)).realize()
    event = choir.tinygrad.allreduce_gradients(comm, [one])
    assert event.exception() is None and (one.grad.numpy() == 1.5).all(), one.grad.numpy()
    try:
        choir.tinygrad.allreduce(comm, [])
    except choir.ArgumentError as error:
        assert "no device" in str(error), error
    print(f"rank {comm.rank} passed\\n", end="")
"""


class Tinygrad(unittest.TestCase):
    def test_gradients(self):
        status, out = run_program(PROGRAM, 2, timeout=250)
        self.assertEqual((status, sorted(out.splitlines())), (0, ["rank 0 passed", "rank 1 passed"]), out)

    def test_on_cpu(self):
        status, out = run_program(ON_CPU, 2, timeout=250)
        self.assertEqual((status, sorted(out.splitlines())), (0, ["rank 0 passed", "rank 1 passed"]), out)

    def test_net(self):
        """The example: weights equal to the bit on both ranks, losses as of tinygrad's own sharding."""
        env = dict(os.environ, DEV="CL", PARALLEL="0", POCL_DEVICES="pthread pthread", POCL_MAX_PTHREAD_COUNT="1")
        command = [sys.executable, "-m", "choir", "-n", "2", str(EXAMPLE), "--turns", "1", "--steps", "4", "--rows", "8"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, timeout=280)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("equal to the bit", done.stdout)


if __name__ == "__main__":
    unittest.main()
