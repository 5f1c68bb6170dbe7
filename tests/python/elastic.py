# SPDX-License-Identifier: MIT
"""torchrun: its workers make a comm by torchrun's own store, then run the first lines of docs/torch.md, on 2 and 3
processes of one agent and on 2 agents of one process each.  usage: elastic.py, which torchrun runs again as its
workers"""

import os
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "torch.md"


def page():
    """The lines of the page, with a model of one layer; its gradient is the mean of the ranks'."""
    import torch
    import torch.distributed
    from torch.nn.parallel import DistributedDataParallel

    block = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S)[0]
    names = dict(torch=torch, DistributedDataParallel=DistributedDataParallel, model=torch.nn.Linear(3, 1))
    exec(compile(block, str(PAGE), "exec"), names)
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    names["model"](torch.full((1, 3), rank + 1.0)).sum().backward()
    assert names["model"].module.weight.grad.tolist() == [[(size + 1) / 2] * 3]
    assert torch.distributed.get_backend() == "choir"
    torch.distributed.destroy_process_group()


def worker():
    import choir
    import numpy as np

    assert os.environ["TORCHELASTIC_USE_AGENT_STORE"] == "True"
    with choir.from_environment(deadline=60) as comm:
        x = np.full(1000, comm.rank + 1)
        comm.allreduce(x)
        line = f"rank {comm.rank} of {comm.size}: {x[999]}\n"
    page()
    print(line, end="", flush=True)


def agents(n_agents, n_workers):
    """What the workers of so many torchruns print, in the order of their ranks."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as logs:
        started = [
            # On Python 3.11 torch 1.13 knows neither 0, the default of both, nor 3: Std in elastic/multiprocessing.
            subprocess.Popen([sys.executable, "-W", "ignore", "-m", "torch.distributed.run", "--redirects", "1",
                              "--tee", "1", "--log_dir", logs, "--master_addr", "127.0.0.1", "--master_port", str(port),
                              "--nnodes", str(n_agents), "--node_rank", str(one), "--nproc_per_node", str(n_workers),
                              __file__, "worker"], stdout=subprocess.PIPE, text=True)
            for one in range(n_agents)
        ]  # fmt: skip
        said = "".join(one.communicate(timeout=100)[0] for one in started)
    assert all(one.returncode == 0 for one in started), said
    return sorted(re.findall(r"rank .*", said))


def main():
    try:
        import torch.distributed.run  # noqa: F401
    except ImportError:
        print("skipped: there is no python3-torch (tools/check installs it)")
        sys.exit(77)
    for n_agents, n_workers in ((1, 2), (1, 3), (2, 1)):
        n = n_agents * n_workers
        said = agents(n_agents, n_workers)
        assert said == [f"rank {rank} of {n}: {n * (n + 1) // 2}" for rank in range(n)], said


if __name__ == "__main__":
    worker() if sys.argv[1:] == ["worker"] else main()
