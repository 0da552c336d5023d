"""Memory of networks: nothing shared, in place, co-share, both; MXNet's and XLA's figures beside them.

python -m tests.benchmarks.memory [--xla] [--picture docs/pictures/memory-plans.svg]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import jax

import mixnet as mx
from mixnet.passes.lifetimes import EXTERNAL
from mixnet.runtime.compile.lower import lower

NETS = Path(__file__).parents[1] / "parity" / "fixtures" / "nets"
DATA = (64, 3, 224, 224)
WAYS = {"none": (False, False), "inplace": (True, False), "co-share": (False, True),
        "both": (True, True)}  # fmt: skip
MB = 2**20


def resnet152() -> mx.sym.Symbol:
    """ResNet-152 as of He et al., "Identity Mappings in Deep Residual Networks", 2016."""
    sym = mx.sym

    def convolution(x: Any, filters: int, kernel: int, stride: int, name: str) -> Any:
        pad = kernel // 2
        return sym.Convolution(x, num_filter=filters, kernel=(kernel, kernel), no_bias=True,
                               stride=(stride, stride), pad=(pad, pad), name=name)  # fmt: skip

    def activated(x: Any, name: str) -> Any:
        return sym.Activation(sym.BatchNorm(x, name=f"{name}_bn"), act_type="relu", name=name)

    x = convolution(sym.Variable("data"), 64, 7, 2, "conv0")
    x = sym.Pooling(activated(x, "relu0"), kernel=(3, 3), stride=(2, 2), pad=(1, 1))
    for stage, (units, filters) in enumerate(
        zip((3, 8, 36, 3), (256, 512, 1024, 2048), strict=False)
    ):
        for unit in range(units):
            name = f"stage{stage + 1}_unit{unit + 1}"
            stride = 2 if stage and not unit else 1
            first = activated(x, f"{name}_relu1")
            y = activated(convolution(first, filters // 4, 1, 1, f"{name}_conv1"), f"{name}_relu2")
            y = convolution(y, filters // 4, 3, stride, f"{name}_conv2")
            y = convolution(activated(y, f"{name}_relu3"), filters, 1, 1, f"{name}_conv3")
            if not unit:
                x = convolution(first, filters, 1, stride, f"{name}_sc")
            x = sym.elemwise_add(y, x, name=f"{name}_plus")
    x = sym.Pooling(activated(x, "relu1"), kernel=(7, 7), global_pool=True, pool_type="avg")
    return sym.SoftmaxOutput(sym.FullyConnected(x, num_hidden=1000, name="fc"), name="softmax")


def figures(symbol: mx.sym.Symbol, grad_req: str) -> dict[str, Any]:
    """Megabytes of each way, the lower bound, and the seconds that the first plan took."""
    start = time.perf_counter()
    plan = symbol.memory_plan(grad_req=grad_req, data=DATA)
    seconds = time.perf_counter() - start
    result: dict[str, Any] = {"bound": plan.lower_bound_bytes / MB, "seconds": seconds}
    for name, (inplace, co_share) in WAYS.items():
        each = symbol.memory_plan(grad_req, inplace, co_share, data=DATA)
        result[name] = each.total_bytes / MB
    result["dependencies"] = len(plan.dependencies)
    result["arrays"] = sum(array.kind not in EXTERNAL for array in plan.arrays)
    return result


def by_xla(symbol: mx.sym.Symbol, grad_req: str) -> float:
    """Megabytes of temporaries and outputs of the program that XLA makes of the graph."""
    plan = symbol.memory_plan(grad_req=grad_req, data=DATA)
    graph = plan.schedule.graph
    arrays = [plan.schedule.arrays[node, 0] for node in graph.inputs]  # type: ignore[index]
    structs = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in arrays]
    with jax.enable_x64(True):
        compiled = jax.jit(lower(graph)).lower(structs).compile()
    analysis = compiled.memory_analysis()
    outputs = sum(a.nbytes for a in plan.arrays if a.kind == "output")
    return (analysis.temp_size_in_bytes + outputs) / MB


def draw(rows: dict[str, dict[str, dict[str, Any]]], path: str) -> None:
    """The paper's figure 7: bars for each network and way."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "memory"
    import matplotlib.pyplot as plt

    shown = {"none": "nothing shared", "inplace": "in place", "co-share": "co-share",
             "both": "both", "MXNet": "MXNet 1.9.1"}  # fmt: skip
    colours = ["#c9c9c9", "#9ecae1", "#6baed6", "#2171b5", "#e6a04b"]
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.8))
    for axis, (way, nets) in zip(axes, rows.items(), strict=True):
        for i, (key, label) in enumerate(shown.items()):
            values = [net.get(key, 0) / 1024 for net in nets.values()]
            places = [n + (i - 2) * 0.17 for n in range(len(nets))]
            axis.bar(places, values, 0.16, label=label, color=colours[i])
        for n, net in enumerate(nets.values()):
            low, high = n + 0.5 * 0.17, n + 1.5 * 0.17
            bound = net["bound"] / 1024
            label = "lower bound" if n == 0 else None
            axis.plot([low, high], [bound, bound], color="black", linewidth=1.5, label=label)
        axis.set_xticks(range(len(nets)), nets, fontsize=9)
        axis.set_title(f"{way}, batch 64", fontsize=11)
        axis.set_ylabel("GB")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=9)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main(arguments: list[str] | None = None) -> None:
    """Print the table; draw the picture where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--xla", action="store_true", help="compile, which takes minutes")
    parser.add_argument("--picture", help="where to draw it")
    options = parser.parse_args(arguments)
    megabytes = json.loads((NETS / "memory.json").read_text())["megabytes"]
    rows: dict[str, dict[str, dict[str, Any]]] = {"prediction": {}, "training": {}}
    for way, grad_req in (("prediction", "null"), ("training", "write")):
        head = " ".join(f"{each:>9}" for each in (*WAYS, "bound", "MXNet", "XLA"))
        print(f"{way + ', MB':22}{head}  none/both  seconds")
        for name in (*megabytes, "resnet152"):
            known = megabytes.get(name)
            symbol = mx.sym.load(NETS / f"{name}-symbol.json") if known else resnet152()
            result = figures(symbol, grad_req)
            if known:
                result["MXNet"] = known[way]["with"]
                rows[way][name] = result
            if options.xla and known:
                result["XLA"] = by_xla(symbol, grad_req)
            columns = [result.get(each) for each in (*WAYS, "bound", "MXNet", "XLA")]
            text = " ".join(f"{'' if each is None else round(each):>9}" for each in columns)
            ratio = result["none"] / result["both"]
            print(f"{name:22}{text}  {ratio:8.1f}x  {result['seconds']:.2f}", flush=True)
    if options.picture:
        draw(rows, options.picture)


if __name__ == "__main__":
    main()
