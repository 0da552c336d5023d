"""All benchmarks: python -m tests.benchmarks"""

from tests.benchmarks import (
    chain,
    data_parallel,
    importing,
    lenet,
    processes,
    recompute,
    schedule,
    steady,
)

for each in (chain, steady, lenet, data_parallel, processes, recompute, schedule, importing):
    each.main()
