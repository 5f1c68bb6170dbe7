import choir
import numpy

with choir.from_environment() as comm:
    x = numpy.array([1, 10, 100, 1000], "float32")
    comm.allreduce(x)  # in place: the sum over all ranks

    event = comm.allreduce(x, op="max", wait=False)  # at once; other work goes on
    event.wait()
    print(f"rank {comm.rank} of {comm.size}: {x}")
