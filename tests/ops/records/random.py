"""Records of densities; random operators are tested in test_sample.py."""

from __future__ import annotations

from mixnet.ops.random.sample import DISTRIBUTIONS
from tests.ops.record import Record

_DENSITIES = {"uniform": 2, "normal": 2, "gamma": 2, "exponential": 1, "dirichlet": 1}
_COUNTS = {"poisson": 1, "negative_binomial": 2, "generalized_negative_binomial": 2}

RECORDS = [
    *(Record(f"_random_pdf_{name}", [(2, 3)] * (1 + count), {}, stored=True, low=0.2, high=0.9,
             gradient=name != "uniform")  # low above high has no logarithm
      for name, count in _DENSITIES.items()),
    *(Record(f"_random_pdf_{name}", [(2, 3)] * (1 + count), {}, stored=True, low=0.2, high=0.9,
             integers={0: 5})
      for name, count in _COUNTS.items()),
]  # fmt: skip

_NUMPYS = (
    "uniform uniform_n normal normal_n gamma gumbel logistic exponential rayleigh pareto powerd weibull "
    "bernoulli choice multinomial"
)
RANDOM = {
    *(f"_random_{name}" for name in DISTRIBUTIONS),
    *(f"_random_{name}_like" for name in DISTRIBUTIONS),
    *(f"_sample_{name}" for name in DISTRIBUTIONS),
    *(f"_npi_{name}" for name in _NUMPYS.split()),
    "_noise", "_random_randint", "_sample_multinomial", "_sample_unique_zipfian", "_shuffle",
}  # fmt: skip
