"""``mx.tvmop``: operators compiled by TVM, deliberately omitted: XLA compiles all operators."""

from mixnet.runtime.features import Features as Features
