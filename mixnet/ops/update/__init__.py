"""Update rules of optimizers."""

from mixnet.ops.update import adaptive as adaptive
from mixnet.ops.update import derived as derived
from mixnet.ops.update import gradient_descent as gradient_descent
from mixnet.ops.update import layerwise as layerwise
