"""All benchmarks: python -m tests.benchmarks"""

from tests.benchmarks import chain, importing, lenet, recompute, schedule

for each in (chain, lenet, recompute, schedule, importing):
    each.main()
