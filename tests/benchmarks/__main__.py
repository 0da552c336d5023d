"""All benchmarks: python -m tests.benchmarks"""

from tests.benchmarks import chain, data_parallel, importing, lenet, recompute, schedule

for each in (chain, lenet, data_parallel, recompute, schedule, importing):
    each.main()
