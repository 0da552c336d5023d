"""All benchmarks: python -m tests.benchmarks"""

from tests.benchmarks import chain, importing, lenet, schedule

for each in (chain, lenet, schedule, importing):
    each.main()
