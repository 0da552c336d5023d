"""Run symbol files under mxnet 1.9.1: ``python run_symbols.py FOLDER``; see ``networks.py``."""

import sys
from pathlib import Path

import mxnet as mx
import numpy as np

folder = Path(sys.argv[1])
for path in sorted(folder.glob("*.json")):
    symbol = mx.sym.load(str(path))
    values = dict(np.load(path.with_name(path.stem + "-inputs.npz")))
    arguments = {k: mx.nd.array(v) for k, v in values.items()}
    states = {k: arguments[k] for k in symbol.list_auxiliary_states()}
    executor = symbol.bind(
        mx.cpu(), {k: arguments[k] for k in symbol.list_arguments()}, aux_states=states
    )
    outputs = [each.asnumpy() for each in executor.forward()]
    np.savez(path.with_name(path.stem + "-outputs.npz"), *outputs)
    print(path.stem, [each.shape for each in outputs])
