"""Reading ONNX files: mixnet's own, other exporters', and damaged ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.base import FileFormatError, MissingFileError, MXNetError, ShapeError
from mixnet.gluon import nn
from mixnet.onnx.load.table import READERS
from tests.onnx.models import computed, floats, model_of, saved
from tests.onnx.runtime import onnx, run

MXNETS = """
    Abs Acos Add And ArgMax ArgMin Asin Atan AveragePool BatchNormalization Cast Ceil Clip
    Concat Conv ConvTranspose Cos DepthToSpace Div Dropout Elu Equal Exp FC Flatten Floor
    Gather Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater HardSigmoid Hardmax
    Identity InstanceNormalization LRN LeakyRelu Less Log LogSoftmax LpNormalization LpPool
    MatMul Max MaxPool MaxRoiPool Mean Min Mul Multinomial Neg Not Or PRelu Pad Pow
    RandomNormal RandomNormalLike RandomUniform RandomUniformLike Reciprocal ReduceLogSum
    ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu
    Reshape Selu Shape Sigmoid Sin Size Slice Softmax Softplus Softsign SpaceToDepth SpatialBN
    Split Sqrt Squeeze Sub Sum Tan Tanh TopK Transpose Unsqueeze Xor
"""
"""What MXNet 1.9.1's importer reads, but for ``Constant``, which needs no reader."""


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, np.ndarray, np.ndarray]:
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(4, 3, padding=1), nn.BatchNorm(), nn.LeakyReLU(0.2), nn.AvgPool2D(), nn.Dense(3)
    )
    net.initialize(mx.init.Normal(0.3))
    net.hybridize()
    x = floats(2, 3, 6, 6)
    out = net(mx.nd.array(x)).asnumpy()
    (path,) = net.export(
        str(tmp_path / "net"), format="onnx", dynamic_input_shapes=[("batch", 3, 6, 6)]
    )
    return Path(path), x, out


def test_exported_models_can_be_imported(written: tuple[Path, np.ndarray, np.ndarray]) -> None:
    path, x, expected = written
    symbol, arguments, states = mx.contrib.onnx.import_model(path)
    assert "data" in symbol.list_arguments()
    assert {name.split("_")[-1] for name in states} == {"mean", "var"}
    bound = {"data": mx.nd.array(x), **arguments}
    (out,) = symbol.bind(mx.cpu(), bound, aux_states=states).forward()
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-4, atol=1e-5)


def test_imported_models_can_be_exported(written: tuple[Path, np.ndarray, np.ndarray]) -> None:
    path, x, expected = written
    symbol, arguments, states = mx.contrib.onnx.import_model(path, {"data": (2, 3, 6, 6)})
    again = mx.onnx.export_model(
        symbol, [arguments, states], [x.shape], onnx_file_path=str(path) + "2"
    )
    np.testing.assert_allclose(run(again, x)[0], expected, rtol=1e-4, atol=1e-5)


def test_a_block_that_was_read_trains_on(written: tuple[Path, np.ndarray, np.ndarray]) -> None:
    path, x, expected = written
    block = mx.contrib.onnx.import_to_gluon(str(path), mx.cpu())
    np.testing.assert_allclose(block(mx.nd.array(x)).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    trainer = mx.gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.05})
    losses = []
    for _ in range(4):
        with mx.autograd.record():
            loss = ((block(mx.nd.array(x)) - 1) ** 2).mean()
        loss.backward()
        trainer.step(1)
        losses.append(float(loss.asscalar()))
    assert losses[-1] < losses[0]


def test_lengths_and_shapes_that_arecomputed(tmp_path: Path) -> None:
    make = onnx.helper.make_node
    nodes = [
        make("Shape", ["x"], ["shape"]),
        make("Gather", ["shape", "zero"], ["rows"], axis=0),
        make("Concat", ["rows", "rest"], ["wanted"], axis=0),
        make("Reshape", ["x", "wanted"], ["y"]),
    ]
    model = model_of(nodes, {"x": ["n", 2, 3]}, ["y"], zero=np.array([0]), rest=np.array([-1]))
    path = saved(model, tmp_path / "net.onnx")
    symbol, *_ = mx.contrib.onnx.import_model(path, {"x": (4, 2, 3)})
    assert symbol.infer_shape(x=(4, 2, 3))[1] == [(4, 6)]
    with pytest.raises(ShapeError, match=r"\('n', 2, 3\) in the file, which the shape \(4, 2\)"):
        mx.contrib.onnx.import_model(path, {"x": (4, 2)})


@pytest.mark.parametrize("opset", [7, 9, 11, 13, 18, 22, 26, 28])
def test_operator_sets(opset: int, tmp_path: Path) -> None:
    make = onnx.helper.make_node
    axes: dict[str, Any] = {}
    squeeze = ["z"]
    if opset >= 13:
        axes["axes"], squeeze = np.array([1]), ["z", "axes"]
    options = {} if opset >= 13 else {"axes": [1]}
    nodes = [
        make("Softmax", ["x"], ["s"], axis=1),
        make("Unsqueeze", ["s", *squeeze[1:]], ["z"], **options),
        make("Squeeze", squeeze, ["t"], **options),
        make("Dropout", ["t"], ["u"]),
        make("Gemm", ["u", "w", "b"], ["y"]),
    ]
    x, w, b = floats(2, 3), floats(3, 4), floats(4)
    model = model_of(nodes, {"x": [2, 3]}, ["y"], opset, w=w, b=b, **axes)
    symbol, arguments, _ = mx.contrib.onnx.import_model(saved(model, tmp_path / "net.onnx"))
    (out,) = symbol.bind(mx.cpu(), {"x": mx.nd.array(x), **arguments}).forward()
    share = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(out.asnumpy(), share @ w + b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("is_constant", [False, True])
def test_remainders_of_a_division_by_zero(is_constant: bool, tmp_path: Path) -> None:
    x = np.array([5, -5, 0, 7], "float32")
    y = np.array([3, 3, 0, 0], "float32")
    node = onnx.helper.make_node("Mod", ["x", "y"], ["z"])
    inputs, arrays = ({"x": [4]}, {"y": y}) if is_constant else ({"x": [4], "y": [4]}, {})
    path = saved(model_of([node], inputs, ["z"], **arrays), tmp_path / "net.onnx")
    block = mx.contrib.onnx.import_to_gluon(path, mx.cpu())
    with np.errstate(invalid="ignore"):
        expected = np.mod(x, y)
    values = block(*[mx.nd.array(each) for each in ([x] if is_constant else [x, y])])
    np.testing.assert_array_equal(values.asnumpy(), expected)


def test_training_leaves_numbers_of_the_program_alone(tmp_path: Path) -> None:
    make = onnx.helper.make_node
    nodes = [
        make("MatMul", ["x", "w"], ["a"]),
        make("Mul", ["a", "scale"], ["b"]),
        make("Add", ["b", "mask"], ["c"]),
        make("Softmax", ["c"], ["y"], axis=-1),
    ]
    scale, mask = np.float32(0.5), np.array([[0, 0, -np.inf, 0]], "float32")
    x, w = floats(3, 5), floats(5, 4)
    arrays = {"w": w, "scale": np.asarray(scale), "mask": mask}
    path = saved(model_of(nodes, {"x": [3, 5]}, ["y"], **arrays), tmp_path / "net.onnx")
    block = mx.contrib.onnx.import_to_gluon(path, mx.cpu())
    parameters = block.collect_params()
    trained = {each.name: each.grad_req for each in parameters.values()}
    assert trained == {"w": "write", "scale": "null", "mask": "null"}
    trainer = mx.gluon.Trainer(parameters, "adam", {"learning_rate": 0.1})  # adds wd * weight
    with mx.autograd.record():
        loss = (block(mx.nd.array(x)) ** 2).sum()
    loss.backward()

    def of(weight: np.ndarray) -> float:
        scores = np.exp(x.astype("float64") @ weight * scale + mask)
        return float(((scores / scores.sum(1, keepdims=True)) ** 2).sum())

    step = np.zeros((5, 4))
    step[2, 1] = 1e-4
    slope = (of(w + step) - of(w - step)) / 2e-4
    gradients = {each.name: each.grad() for each in parameters.values() if each.grad_req != "null"}
    assert gradients["w"].asnumpy()[2, 1] == pytest.approx(slope, rel=1e-3)
    trainer.step(1)
    assert np.isfinite(block(mx.nd.array(x)).asnumpy()).all()
    after = {each.name: each.data().asnumpy() for each in parameters.values()}
    np.testing.assert_array_equal(after["mask"], mask)
    assert after["scale"] == scale


def _trained(
    nodes: list[Any], data: list[int], path: Path, arrays: dict[str, np.ndarray]
) -> dict[str, bool]:
    """By name of a parameter of the imported block whether it is trained; the last output is 'y'."""
    block = mx.contrib.onnx.import_to_gluon(
        saved(model_of(nodes, {"x": data}, ["y"], opset=21, **arrays), path), mx.cpu()
    )
    return {n: p.grad_req != "null" for n, p in block.collect_params().items()}


def test_training_leaves_the_ones_and_zeros_of_a_reader_alone(tmp_path: Path) -> None:
    node = onnx.helper.make_node("GroupNormalization", ["x", "scale", "shift"], ["y"], num_groups=2)
    arrays = {"scale": floats(4), "shift": floats(4)}
    trained = _trained([node], [2, 4, 3], tmp_path / "net.onnx", arrays)
    assert {n for n, yes in trained.items() if yes} == {"scale", "shift"}
    assert len(trained) > 2, "the operator GroupNorm has a scale and a shift of its own"


@pytest.mark.parametrize("source", ["absent", "stored", "filled"])
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_training_leaves_first_states_of_zeros_alone(
    kind: str, source: str, tmp_path: Path
) -> None:
    make, gates = onnx.helper.make_node, {"LSTM": 4, "GRU": 3}[kind]
    arrays = {"w": floats(1, gates * 2, 3), "r": floats(1, gates * 2, 2)}
    inputs, nodes = ["x", "w", "r"], []
    if source == "stored":
        inputs += ["", "", "state"]
        arrays["state"] = np.zeros((1, 2, 2), "float32")
    if source == "filled":
        inputs += ["", "", "state"]
        arrays["shape"] = np.array([1, 2, 2])
        nodes = [make("ConstantOfShape", ["shape"], ["state"])]
    nodes.append(make(kind, inputs, ["y"], hidden_size=2))
    trained = _trained(nodes, [4, 2, 3], tmp_path / "net.onnx", arrays)
    assert 1 <= sum(trained.values()) <= 2, "one vector of parameters, or two matrices"


def test_weights_that_nodes_compute_are_trained(tmp_path: Path) -> None:
    make = onnx.helper.make_node
    nodes = [
        make("Transpose", ["w"], ["turned"]),
        make("MatMul", ["x", "turned"], ["a"]),
        make("Cast", ["mask"], ["kept"], to=onnx.TensorProto.FLOAT),
        make("Mul", ["a", "kept"], ["b"]),
        make("Expand", ["half", "shape"], ["halves"]),
        make("Add", ["b", "halves"], ["y"]),
    ]
    arrays = {
        "w": floats(4, 5),
        "mask": np.array([True, False, True, True]),
        "half": np.asarray(np.float32(0.5)),
        "shape": np.array([4]),
    }
    trained = _trained(nodes, [3, 5], tmp_path / "net.onnx", arrays)
    assert sorted(trained.values()) == [False, False, True]


@pytest.mark.parametrize("kind", ["ConstantOfShape", "EyeLike", "Trilu"])
def test_damaged_extents_take_no_memory(kind: str, tmp_path: Path) -> None:
    make = onnx.helper.make_node
    nodes = [make("Shape", ["x"], ["shape"])]
    nodes.append(make(kind, ["shape" if kind == "ConstantOfShape" else "x"], ["y"]))
    path = saved(model_of(nodes, {"x": [1 << 20, 1 << 20]}, ["y"]), tmp_path / "net.onnx")
    if kind == "ConstantOfShape":  # computed when a call asks for it, and not before
        symbol, arguments, _ = mx.contrib.onnx.import_model(path)
        assert not arguments
        assert symbol.infer_shape()[1] == [(1 << 20, 1 << 20)]
        return
    with pytest.raises(MXNetError, match=f"{kind}.*shape .1048576, 1048576.*too large"):
        mx.contrib.onnx.import_model(path)


def test_an_operator_without_what_it_needs_says_so(tmp_path: Path) -> None:
    node = onnx.helper.make_node("MaxPool", ["x"], ["y"])
    path = saved(model_of([node], {"x": [1, 1, 4, 4]}, ["y"]), tmp_path / "net.onnx")
    with pytest.raises(MXNetError, match=r"MaxPool.*input or attribute is missing"):
        mx.contrib.onnx.import_model(path)


def test_mistakes_name_what_was_given_and_the_way_out(tmp_path: Path) -> None:
    make, read = onnx.helper.make_node, mx.contrib.onnx.import_model
    with pytest.raises(MissingFileError, match=r"none\.onnx"):
        read(tmp_path / "none.onnx")
    text = tmp_path / "text.onnx"
    text.write_text("this is no model")
    with pytest.raises(FileFormatError, match="not an ONNX file"):
        read(text)
    node = make("NonMaxSuppression", ["x", "x"], ["y"], name="boxes")
    with pytest.raises(MXNetError, match="NonMaxSuppression of node 'boxes' cannot be read yet"):
        read(saved(model_of([node], {"x": [1, 2, 4]}, ["y"]), tmp_path / "a.onnx"))
    with pytest.raises(MXNetError, match="operator set 99; 7 to 28"):
        read(
            saved(
                model_of([make("Relu", ["x"], ["y"])], {"x": [1]}, ["y"], 99), tmp_path / "b.onnx"
            )
        )
    cycle = [make("Relu", ["z"], ["y"], name="first"), make("Relu", ["y"], ["z"])]
    with pytest.raises(
        FileFormatError, match=r"'first' .Relu. reads 'z', which no earlier node produces"
    ):
        read(saved(model_of(cycle, {"x": [1]}, ["y"]), tmp_path / "c.onnx"))
    with pytest.raises(MXNetError, match="activation 'Cosine' is unknown; known are Affine, Elu"):
        gru = make("GRU", ["x", "w", "r"], ["y"], hidden_size=1, activations=["Cosine", "Tanh"])
        read(
            saved(
                model_of([gru], {"x": [2, 1, 1]}, ["y"], w=floats(1, 3, 1), r=floats(1, 3, 1)),
                tmp_path / "d.onnx",
            )
        )


@pytest.mark.parametrize("location", ["../secret.data", "{absolute}", "", "link.data"])
def test_parameters_outside_of_the_folder_are_not_read(location: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.data").write_bytes(floats(400).tobytes())
    (folder / "link.data").symlink_to(tmp_path / "secret.data")
    model = model_of(
        [onnx.helper.make_node("Add", ["x", "w"], ["y"])], {"x": [400]}, ["y"], w=floats(400)
    )
    path = folder / "net.onnx"
    onnx.save_model(model, path, save_as_external_data=True, location="net.data", size_threshold=10)
    _, arguments, _ = mx.contrib.onnx.import_model(path)
    assert arguments["w"].shape == (400,)
    model.graph.initializer[0].external_data[0].value = location.format(
        absolute=tmp_path / "secret.data"
    )
    with pytest.raises(FileFormatError, match="outside the model's folder"):
        mx.contrib.onnx.import_model(saved(model, path))


def _body(nodes: list[Any], inputs: list[tuple[str, int, list[int]]], outputs: Any) -> Any:
    info = onnx.helper.make_tensor_value_info
    return onnx.helper.make_graph(
        nodes, "body", [info(*e) for e in inputs], [info(*e) for e in outputs]
    )


@pytest.mark.parametrize("turns", [3, 1])
def test_a_loop_of_known_length(turns: int, tmp_path: Path) -> None:
    make = onnx.helper.make_node
    nodes = [
        make("Gather", ["rows", "turn"], ["row"], axis=0),  # of the graph around it
        make("Add", ["sum", "row"], ["next"]),
        make("Cast", ["turn"], ["number"], to=1),
        make("Mul", ["next", "number"], ["out"]),
        make("Identity", ["going"], ["again"]),
    ]
    inputs = [("turn", 7, []), ("going", 9, []), ("sum", 1, [2])]
    body = _body(nodes, inputs, [("again", 9, []), ("next", 1, [2]), ("out", 1, [2])])
    loop = make("Loop", ["turns", "", "first"], ["last", "all"], body=body)
    arrays = {"turns": np.array(turns, np.int64), "first": floats(2)}
    model = model_of([loop], {"rows": [3, 2]}, ["last", "all"], **arrays)
    rows = floats(3, 2)
    sums = arrays["first"] + np.cumsum(rows, axis=0)[:turns]
    last, every = computed(model, tmp_path / "net.onnx", rows=rows)
    np.testing.assert_allclose(last, sums[-1], rtol=1e-5)
    np.testing.assert_allclose(every, sums * np.arange(turns)[:, None], rtol=1e-5, atol=1e-6)


def test_a_loop_as_long_as_an_input_says(tmp_path: Path) -> None:
    make = onnx.helper.make_node
    nodes = [make("Add", ["x", "x"], ["twice"]), make("Identity", ["going"], ["again"])]
    inputs = [("turn", 7, []), ("going", 9, []), ("x", 1, [2])]
    body = _body(nodes, inputs, [("again", 9, []), ("twice", 1, [2])])
    loop = make("Loop", ["turns", "", "x"], ["out"], body=body)
    model = model_of([loop], {"turns": ("int64", []), "x": [2]}, ["out"])
    block = mx.contrib.onnx.import_to_gluon(saved(model, tmp_path / "net.onnx"))
    data = mx.nd.array([3], dtype="int64"), mx.nd.array([1, 0.5])
    np.testing.assert_allclose(block(*data).asnumpy(), [8, 4])
    *_, state = mx.look(block, *data).payload["numbers"][-1]
    assert state[-1] == [8.0, 4.0]


@pytest.mark.parametrize("limit", ["", "limit"])
def test_a_loop_until_a_condition(limit: str, tmp_path: Path) -> None:
    make = onnx.helper.make_node
    nodes = [
        make("Add", ["x", "x"], ["twice"]),
        make("ReduceMax", ["twice"], ["top"], keepdims=0),
        make("Less", ["top", "most"], ["again"]),
    ]
    inputs = [("turn", 7, []), ("going", 9, []), ("x", 1, [2])]
    body = _body(nodes, inputs, [("again", 9, []), ("twice", 1, [2])])
    loop = make("Loop", [limit, "", "x"], ["out"], body=body)
    arrays = {"most": np.float32(100), "limit": np.array(4, np.int64)}
    model = model_of([loop], {"x": [2]}, ["out"], **arrays)
    for start in (1.0, 60.0):
        (out,) = computed(model, tmp_path / "net.onnx", x=np.array([start, 0.5], "float32"))
        turns = 1 if start > 50 else 4 if limit else 7
        np.testing.assert_allclose(out, np.array([start, 0.5]) * 2**turns)


def test_a_loop_with_as_many_rows_as_it_makes_turns_is_refused(tmp_path: Path) -> None:
    make = onnx.helper.make_node
    nodes = [make("Add", ["x", "x"], ["twice"]), make("Less", ["twice", "most"], ["again"])]
    inputs = [("turn", 7, []), ("going", 9, []), ("x", 1, [1])]
    outputs = [("again", 9, [1]), ("twice", 1, [1]), ("twice", 1, [1])]
    loop = make(
        "Loop", ["", "", "x"], ["out", "all"], name="steps", body=_body(nodes, inputs, outputs)
    )
    model = model_of([loop], {"x": [1]}, ["out", "all"], most=np.float32([8]))
    with pytest.raises(MXNetError, match=r"Loop of node 'steps'.*a constant number of iterations"):
        mx.contrib.onnx.import_model(saved(model, tmp_path / "net.onnx"))


@pytest.mark.parametrize("backwards", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_scan_is_imported(axis: int, backwards: int, tmp_path: Path) -> None:
    make = onnx.helper.make_node
    nodes = [
        make("Mul", ["sum", "factor"], ["part"]),  # the factor is of the graph around it
        make("Add", ["part", "row"], ["next"]),
        make("ReduceSum", ["next"], ["total"], keepdims=0),
        make("Add", ["number", "number"], ["twice"]),
        make("Identity", ["next"], ["out"]),
    ]
    inputs = [("sum", 1, [2]), ("row", 1, [2]), ("number", 1, [])]
    outputs = [("next", 1, [2]), ("out", 1, [2]), ("total", 1, []), ("twice", 1, [])]
    scan = make(
        "Scan", ["first", "rows", "numbers"], ["last", "all", "totals", "doubled"],
        num_scan_inputs=2, body=_body(nodes, inputs, outputs),
        scan_input_axes=[axis, 0], scan_input_directions=[backwards, 1 - backwards],
        scan_output_axes=[axis, 0, 0], scan_output_directions=[0, backwards, 0],
    )  # fmt: skip
    rows, numbers = floats(*((3, 2) if axis == 0 else (2, 3))), floats(3)
    arrays = {"first": floats(2), "factor": np.float32([0.5, 2])}
    shapes = {"rows": rows.shape, "numbers": (3,)}
    model = model_of([scan], shapes, ["last", "all", "totals", "doubled"], **arrays)
    expected = run(model.SerializeToString(), rows, numbers)
    for ours, theirs in zip(
        computed(model, tmp_path / "net.onnx", rows=rows, numbers=numbers), expected, strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_an_old_scan_is_refused(tmp_path: Path) -> None:
    body = _body(
        [onnx.helper.make_node("Identity", ["x"], ["y"])], [("x", 1, [2])], [("y", 1, [2])]
    )
    scan = onnx.helper.make_node("Scan", ["", "x"], ["y"], "s", body=body, num_scan_inputs=1)
    model = model_of([scan], {"x": [1, 3, 2]}, ["y"], opset=8)
    with pytest.raises(MXNetError, match=r"Scan of node 's'.*export the file with a newer set"):
        mx.contrib.onnx.import_model(saved(model, tmp_path / "net.onnx"))


def test_a_branch_is_imported(tmp_path: Path) -> None:
    make = onnx.helper.make_node
    yes = _body([make("Add", ["x", "one"], ["more"])], [], [("more", 1, [2])])
    no = _body([make("Sub", ["x", "one"], ["less"])], [], [("less", 1, [2])])
    nodes = [
        make("ReduceSum", ["x"], ["sum"], keepdims=0),
        make("Greater", ["sum", "zero"], ["positive"]),
        make("If", ["positive"], ["out"], then_branch=yes, else_branch=no),
    ]
    arrays = {"one": np.float32([1]), "zero": np.float32(0)}
    model = model_of(nodes, {"x": [2]}, ["out"], **arrays)
    for sign in (1, -1):
        x = sign * np.array([1, 2], "float32")
        np.testing.assert_allclose(computed(model, tmp_path / "net.onnx", x=x)[0], x + sign)


def test_elements_at_places(tmp_path: Path) -> None:
    make = onnx.helper.make_node
    nodes = [
        make("ScatterElements", ["x", "along", "new"], ["first"], axis=1),
        make("ScatterND", ["first", "points", "two"], ["out"]),
    ]
    arrays = {"along": np.array([[2], [-3]]), "new": floats(2, 1), "points": np.array([[0, 1], [-1, 1]]),
              "two": floats(2)}  # fmt: skip
    model = model_of(nodes, {"x": [2, 3]}, ["out"], 18, **arrays)
    x = floats(2, 3)
    expected = x.copy()
    expected[0, 2], expected[1, 0], expected[[0, 1], 1] = *arrays["new"][:, 0], arrays["two"]
    np.testing.assert_allclose(computed(model, tmp_path / "net.onnx", x=x)[0], expected)


def test_models_that_mxnet_imports_are_imported() -> None:
    assert not {*MXNETS.split()} - {*READERS}


def test_padding_that_wraps_around(tmp_path: Path) -> None:
    node = onnx.helper.make_node("Pad", ["x", "pads"], ["y"], mode="wrap")
    x = floats(2, 3)
    model = model_of([node], {"x": [2, 3]}, ["y"], opset=19, pads=np.array([1, 2, 0, 4]))
    (ours,) = computed(model, tmp_path / "net.onnx", x=x)
    np.testing.assert_array_equal(ours, np.pad(x, ((1, 0), (2, 4)), "wrap"))


def test_a_wider_transposed_convolution_than_its_windows(tmp_path: Path) -> None:
    node = onnx.helper.make_node(
        "ConvTranspose", ["x", "w", "b"], ["y"], strides=[3, 2], output_shape=[10, 8]
    )
    x = floats(1, 1, 3, 3)
    model = model_of([node], {"x": [1, 1, 3, 3]}, ["y"], w=floats(1, 2, 3, 3), b=floats(2))
    (expected,) = run(model.SerializeToString(), x)
    (ours,) = computed(model, tmp_path / "net.onnx", x=x)
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)


def test_rows_of_zeros_stay_so(tmp_path: Path) -> None:
    node = onnx.helper.make_node("LpNormalization", ["x"], ["y"], axis=-1)
    x = np.array([[3, 4], [0, 0]], np.float32)
    (ours,) = computed(model_of([node], {"x": [2, 2]}, ["y"]), tmp_path / "net.onnx", x=x)
    np.testing.assert_allclose(ours, [[0.6, 0.8], [0, 0]], rtol=1e-6)


def test_the_largest_of_regions(tmp_path: Path) -> None:
    node = onnx.helper.make_node(
        "MaxRoiPool", ["x", "rois"], ["y"], pooled_shape=[2, 2], spatial_scale=0.5
    )
    x = floats(2, 3, 6, 8)
    rois = np.float32([[0, 0, 0, 7, 7], [1, 2, 4, 15, 11]])
    model = model_of([node], {"x": [2, 3, 6, 8]}, ["y"], rois=rois)
    (expected,) = run(model.SerializeToString(), x)
    (ours,) = computed(model, tmp_path / "net.onnx", x=x)
    np.testing.assert_allclose(ours, expected, rtol=1e-6)
