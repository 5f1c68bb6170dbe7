# SPDX-License-Identifier: MIT
"""A language model with a sparse embedding under DistributedDataParallel, through choir and through gloo in turns.

    python -m choir -n 2 tools/python/examples/ddp.py --turns 5

--dense: the embedding's gradient has all its rows.  Prints a table of step times; exit status 1 if the gradients
differ.
"""

import argparse
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

import choir.torch  # noqa: F401  registers the backend


class Model(nn.Module):
    def __init__(self, words, width, sparse):
        super().__init__()
        self.embedding = nn.Embedding(words, width, sparse=sparse)
        self.layers = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, 16))

    def forward(self, text):
        return self.layers(self.embedding(text).mean(1)).square().mean()


def train(group, given, seed):
    """A few steps: (seconds, of the processor too) of each but the first, and the gradients of the last."""
    torch.manual_seed(seed)
    model = Model(given.words, given.width, not given.dense)
    model = nn.parallel.DistributedDataParallel(model, process_group=group)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    texts = torch.Generator().manual_seed(1000 * seed + dist.get_rank())
    seconds = []
    for _ in range(given.steps + 1):
        text = torch.randint(0, given.words, (given.batch, 32), generator=texts)
        dist.barrier(group)
        start = time.perf_counter(), time.process_time()
        optimizer.zero_grad()
        model(text).backward()
        optimizer.step()
        seconds.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    return seconds[1:], [p.grad.to_dense() if p.grad.is_sparse else p.grad.clone() for p in model.parameters()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--words", type=int, default=100000)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--dense", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("choir", f"file://{os.environ['CHOIR_MEETING']}/store", rank=rank, world_size=size)
    groups = {"choir": None, "gloo": dist.new_group(backend="gloo")}
    medians, worst = {name: [] for name in groups}, 0.0
    for turn in range(given.turns):
        found = {}
        for name in sorted(groups, reverse=turn % 2):
            seconds, found[name] = train(groups[name], given, turn)
            medians[name].append([statistics.median(one) * 1000 for one in zip(*seconds)])
        worst = max(worst, *(float((a - b).abs().max()) for a, b in zip(found["choir"], found["gloo"])))
    if rank == 0:
        what = f"{size} ranks, {'dense' if given.dense else 'sparse'} embedding"
        print(f"torch {torch.__version__}, {what}: a step in ms, and of that the processor's; {given.turns} turns")
        for name in groups:
            print(f"  {name:6s}", *(f"{wall:8.1f} ({cpu:.1f})" for wall, cpu in medians[name]))
        ahead = sum(a[0] < b[0] for a, b in zip(medians["choir"], medians["gloo"]))
        print(f"  choir is ahead in {ahead} of {given.turns}; gradients differ by {worst:.1e} at most")
    dist.destroy_process_group()
    return 1 if worst > 1e-6 else 0


if __name__ == "__main__":
    sys.exit(main())
