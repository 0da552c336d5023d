"""``mx.tvmop``: operators compiled by TVM, left out on purpose: XLA compiles them all."""

from mixnet.runtime.features import Features as Features
