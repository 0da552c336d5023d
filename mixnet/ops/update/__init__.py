"""Update rules of optimizers."""

from mixnet.ops.update import optimizer_update as optimizer_update
