"""Random numbers and densities."""

from mixnet.ops.random import density as density
from mixnet.ops.random import sample as sample
