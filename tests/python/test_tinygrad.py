# SPDX-License-Identifier: MIT
"""tinygrad's tensors on CL, two processes: gradients reduced on its queue, and what is refused."""

import unittest

from ranks import run_program

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


class Tinygrad(unittest.TestCase):
    def test_gradients(self):
        status, out = run_program(PROGRAM, 2, timeout=250)
        self.assertEqual((status, sorted(out.splitlines())), (0, ["rank 0 passed", "rank 1 passed"]), out)


if __name__ == "__main__":
    unittest.main()
