"""Record the values of MXNet 1.9.1's metrics for the batches of ``batches.py``.

Run it with an interpreter that has mxnet 1.9.1 (Python 3.10, NumPy 1.23)::

    python tests/metric/record.py
"""

import importlib.util
import json
from pathlib import Path

HERE = Path(__file__).parent

if __name__ == "__main__":
    import mxnet

    spec = importlib.util.spec_from_file_location("batches", HERE / "batches.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    recorded = {name: module.run(mxnet, name) for name in module.CASES}
    (HERE / "fixtures").mkdir(exist_ok=True)
    (HERE / "fixtures" / "batches.json").write_text(json.dumps(recorded, indent=0))
