"""Running a JAX function on NumPy arrays: its primitives one by one, without a device or compiler.

Work on the host beside a program that uses the devices runs this way, such as the samples of a
data loader, in threads or in processes that must not use a device. It is slower than running a
compiled program, but faster than compiling one.

``compiled`` takes a function and specs, ``closed`` a jaxpr; both raise ``NoRuleError`` for a
primitive without a rule in the table. ``work`` estimates how long a run takes.
"""

from mixnet.runtime.interpret.on_numpy import (
    control,
    convert,
    convolution,
    elementwise,
    indexing,
    linalg,
    product,
    random,
    reduce,
    regions,
    shape,
    sort,
    special,
    window,
)
from mixnet.runtime.interpret.on_numpy.run import closed, compiled, quietly
from mixnet.runtime.interpret.on_numpy.table import RULES, NoRuleError
from mixnet.runtime.interpret.on_numpy.work import cost, work
