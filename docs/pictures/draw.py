"""Draw the pictures of the concept pages: ``python docs/pictures/draw.py`` writes ``docs/pictures/*.svg``.

A test fails when they are not what this gives, or when a file in them has gone.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from boxes import Arrow, Box, draw

import mixnet as mx
from mixnet.widgets.svg import Svg

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

PICTURES = {
    "ops": ("an operator is declared once; its functions, shapes, gradient and reference follow", [
        [Box("op", "@op(\"FullyConnected\")", "a pure function of JAX arrays: arrays, then typed attributes", "nn/dense.py", 1)],
        [Box("registry", "Op", "signature, attributes, documentation", "op.py", 2)],
        [Box("nd", "mx.nd  mx.np  mx.npx", "recorded on arrays", kind=0), Box("sym", "mx.sym", "composed in symbols", kind=0),
         Box("shape", "shapes, dtypes", "jax.eval_shape, cached", "derive.py", 3),
         Box("grad", "gradient", "jax.vjp, or set_gradient", "backward.py", 4), Box("doc", "help(), reference", "from the docstring", kind=5)],
    ], [("op", "registry"), ("registry", "nd"), ("registry", "sym"), ("registry", "shape"), ("registry", "grad"), ("registry", "doc")]),
    "graph": ("arrays, traces, tapes and symbol files all consist of nodes of one type", [
        [Box("nd", "pending arrays", "recorded"), Box("trace", "hybridized blocks", "traced"),
         Box("sym", "symbols", "composed"), Box("json", "symbol file", "MXNet's JSON", "symbol_json.py", 6)],
        [Box("node", "Node", "operator, attributes, inputs; immutable", "node.py", 1)],
        [Box("graph", "Graph", "heads and variables", "graph.py", 2), Box("sub", "SubGraph", "loop body, branch", "subgraph.py", 2)],
        [Box("passes", "passes", "return a new graph", kind=3), Box("lower", "runtime", "lowers it to a JAX function", kind=3), Box("dict", "to_dict()", "plain data, for views", kind=5)],
    ], [("nd", "node"), ("trace", "node"), ("sym", "node"), ("json", "node"), ("node", "graph"), ("node", "sub"), ("graph", "passes"), ("graph", "lower"), ("graph", "dict")]),
    "passes": ("a traced graph and a recorded segment go through their lists of passes", None, None),
    "engine": ("tasks are pushed with their reads and writes, wait in the variables' queues, and run on a pool of workers", [
        [Box("push", "push(work, reads, writes)", "returns at once", "engine.py", 0)],
        [Box("task", "Task", "waits for all its variables", "task.py", 1), Box("var", "Var", "queue: readers together, a writer alone", "variable.py", 1)],
        [Box("compute", "compute workers", "of each device", "threaded.py", 2), Box("copy", "copy workers", kind=2), Box("io", "I/O workers", kind=2), Box("comm", "communication", kind=2)],
        [Box("line", "timeline", "what ran when, where, after what", "timeline.py", 5)],
    ], [("push", "task"), ("var", "task", ""), ("task", "compute", "ready"), ("task", "copy"), ("task", "io"), ("task", "comm"), ("compute", "line"), ("copy", "line"), ("io", "line"), ("comm", "line")]),
    "runtime": ("an operation is appended to a segment; when a value is needed, the segment becomes a cached program", [
        [Box("record", "record", "shapes are known, nothing runs", "record/record.py", 0), Box("segment", "Segment", "pending operations of a device", "record/segment.py", 1)],
        [Box("key", "seen before?", "keyed by structure, not values", "programs/executable_cache.py", 6)],
        [Box("known", "already compiled", kind=7), Box("lower", "passes, lower", "graph to JAX function, compiled", "compile/lower.py", 3), Box("disk", "or from disk", "the user's cache folder", "compile/disk_cache.py", 7)],
        [Box("run", "the program runs", "on a worker of the engine", "programs/donation.py", 2), Box("value", "Value", "a jax.Array, or an error", "value/value.py", 4)],
    ], [("record", "segment"), ("segment", "key", "value needed"), ("key", "known", "yes"), ("key", "lower", "no"), ("lower", "disk"), ("known", "run"), ("lower", "run"), ("disk", "run"), ("run", "value")]),
    "autograd": ("inside record(), operations put nodes on the tape; backward runs the gradient pass over them and records the result", [
        [Box("mark", "x.attach_grad()", "a variable of the tape", "tape.py", 0), Box("scope", "autograd.record()", "operations put nodes on the tape", "scope.py", 0), Box("fun", "Function", "forward and backward in Python", "function.py", 0)],
        [Box("tape", "Tape", "nodes below the heads", "tape.py", 1)],
        [Box("pass", "differentiate", "a pass: the gradient as a graph", kind=3)],
        [Box("rec", "recorded", "like any other operations", kind=2), Box("grad", "x.grad", "one program for all", kind=4)],
    ], [("mark", "tape"), ("scope", "tape"), ("fun", "tape"), ("tape", "pass", "backward()"), ("pass", "rec"), ("rec", "grad", "read")]),
    "ndarray": ("a handle points to a value, computed or pending; views share the storage of their base", [
        [Box("a", "a", "NDArray: the handle", "ndarray.py", 0), Box("v", "a[1:3]", "a view: base, offset, shape", "link.py", 0), Box("s", "sparse array", "values and positions", "sparse_array.py", 0)],
        [Box("val", "Value", "spec: shape, dtype, device", kind=1), Box("new", "a += 1", "a new version; the old one stays readable", "operators.py", 6)],
        [Box("pend", "pending", "output of a segment", kind=3), Box("dev", "jax.Array", "on the device", kind=2), Box("host", "asnumpy()", "waits, copies", kind=5)],
    ], [("a", "val"), ("v", "a", "shares", True), ("s", "val", "several"), ("new", "val", ""), ("val", "pend"), ("pend", "dev", ""), ("dev", "host", "")]),
    "numpy": ("mx.np functions are defined once for arrays and symbols; NumPy's own functions dispatch to them", [
        [Box("sym", "mx.sym.np.mean(x)", "the same function", kind=0), Box("np", "mx.np.mean(x)", "by topic", "reduce.py", 0), Box("onp", "numpy.mean(x)", "NumPy's protocols", "dispatch.py", 6)],
        [Box("call", "call(name, *arrays)", "on arrays or symbols", "call.py", 1), Box("fall", "on the host", "what MXNet leaves to NumPy", "fallback.py", 7)],
        [Box("op", "operators _npi_*, _np_*", "of mixnet/ops", kind=2)],
        [Box("nd", "mx.np.ndarray", "NumPy semantics on the same storage", "ndarray.py", 4)],
    ], [("np", "call"), ("sym", "call"), ("onp", "np", ""), ("onp", "fall", "no such"), ("call", "op"), ("op", "nd")]),
    "numpy_extension": ("extensions of NumPy's interface", [
        [Box("npx", "mx.npx.relu(x)", "operators by name", "__init__.py", 0), Box("img", "mx.npx.image", "images", "image.py", 0), Box("rand", "mx.npx.random", "draws, the seed", "random.py", 0),
         Box("save", "mx.npx.save, load", "files of arrays", "utils.py", 0)],
        [Box("op", "operators _npx_*", "of mixnet/ops", kind=1), Box("file", ".params", "MXNet's format", kind=7)],
        [Box("nd", "mx.np.ndarray", kind=4)],
    ], [("npx", "op"), ("img", "op"), ("rand", "op"), ("save", "file"), ("op", "nd"), ("file", "nd")]),
    "symbol": ("a symbol is composed, its shapes are inferred; it is saved, or bound to arrays to run", [
        [Box("var", "mx.sym.var(\"data\")", "a future input", "symbol.py", 0), Box("op", "mx.sym.Convolution(...)", "composes, computes nothing", "namespace.py", 0)],
        [Box("sym", "Symbol", "heads of a graph", "symbol.py", 1)],
        [Box("inf", "infer_shape, infer_type", "forwards and backwards", kind=3), Box("json", "save, load", "MXNet's JSON", kind=6), Box("bind", "bind, simple_bind", "with arrays", "binding.py", 2), Box("mem", "memory_plan", "from shapes alone", "memory.py", 5)],
        [Box("run", "forward, backward", "recorded as one operation each", "executor.py", 4)],
    ], [("var", "sym"), ("op", "sym"), ("sym", "inf"), ("sym", "json"), ("sym", "bind"), ("sym", "mem"), ("bind", "run")]),
    "gluon": ("a network is a class; hybridize turns its forward into one graph; the trainer updates all parameters", [
        [Box("data", "DataLoader", "prefetched batches", "data/dataloader.py", 0), Box("block", "HybridBlock", "children and parameters", "block/hybrid.py", 0), Box("param", "Parameter", "created when its shape is known", "parameter/parameter.py", 0)],
        [Box("imp", "called on arrays", "operations one by one", kind=1), Box("comp", "composed on symbols", "after hybridize()", "block/compose.py", 2), Box("trace", "traced", "where forward is overridden", "trace.py", 2)],
        [Box("loss", "loss", "one number per sample", "loss", 3)],
        [Box("tr", "Trainer.step", "one program for all", "trainer.py", 4)],
    ], [("data", "imp"), ("block", "imp"), ("block", "comp"), ("block", "trace"), ("imp", "loss"), ("comp", "loss"), ("trace", "loss"), ("loss", "tr", "backward()"), ("tr", "param", "new values", True)]),
    "module": ("fit passes batches to the executors of a module, one per device, and updates the parameters", [
        [Box("iter", "DataIter", "batches of mx.io", kind=6), Box("sym", "Symbol", kind=6)],
        [Box("mod", "Module", "bind, init_params, init_optimizer", "module.py", 0), Box("bucket", "BucketingModule", "one per length", "bucketing_module.py", 0)],
        [Box("group", "executor group", "slices of the batch, one per device", "executor_group.py", 1)],
        [Box("fwd", "forward, backward", "recorded, nothing runs", kind=3)],
        [Box("upd", "update", "pushes one program", kind=4), Box("met", "metric", "summed on the device", kind=5)],
    ], [("iter", "mod", "fit"), ("sym", "mod"), ("sym", "bucket"), ("mod", "group"), ("bucket", "group"), ("group", "fwd"), ("fwd", "upd"), ("fwd", "met")]),
    "model": ("checkpoints and updates, shared by Module and FeedForward", [
        [Box("ff", "FeedForward", "fit, predict, score", "feed_forward.py", 0), Box("mod", "Module", kind=6)],
        [Box("upd", "updates", "with or without a KVStore", "update.py", 1), Box("end", "BatchEndParam", "argument of callbacks", "batch_end.py", 5)],
        [Box("kv", "KVStore", kind=2), Box("opt", "updater", "an optimizer and its states", kind=4)],
    ], [("ff", "upd"), ("mod", "upd"), ("ff", "end"), ("upd", "kv", "several devices"), ("upd", "opt", "one device")]),
    "io": ("records are read, decoded and written into batches by I/O tasks of the engine", [
        [Box("src", "source", "next rows, in order or shuffled", "source.py", 0), Box("file", "CSV, LibSVM, MNIST", kind=0, file="files.py")],
        [Box("load", "loader", "prefetches batches, as engine tasks", "loader.py", 1), Box("arr", "NDArrayIter", "arrays in memory", "ndarray_iter.py", 0)],
        [Box("batch", "DataBatch", "data, label, pad", "batch.py", 2)],
        [Box("user", "Module.fit, your loop", kind=4)],
    ], [("src", "load"), ("file", "load"), ("load", "batch", "without a copy"), ("arr", "batch"), ("batch", "user")]),
    "image": ("bytes are decoded to pixels, augmented, and written into a batch", [
        [Box("rec", "record file", "bytes, labels", "record_source.py", 0), Box("list", "files, lists", kind=0, file="iterator.py")],
        [Box("dec", "imdecode", "OpenCV", "host.py", 1)],
        [Box("aug", "augmenters", "resize, crop, mirror, colour", "augment.py", 3), Box("det", "with boxes", "changed together", "detection_augment.py", 3)],
        [Box("num", "numbers", "mean, scale, channels first", "record_augment.py", 2)],
        [Box("bat", "batch", "ImageRecordIter, ImageIter", "record_iterator.py", 4)],
    ], [("rec", "dec"), ("list", "dec"), ("dec", "aug"), ("dec", "det"), ("aug", "num"), ("det", "num"), ("num", "bat")]),
    "kvstore": ("devices push gradients of a key; the store sums them, updates its value, and devices pull it", [
        [Box("g0", "device 0", "gradient", kind=0), Box("g1", "device 1", "gradient", kind=0), Box("g2", "device 2", "gradient", kind=0)],
        [Box("comp", "sent", "in full, or compressed", "compression.py", 7)],
        [Box("sum", "sum", "XLA's all-reduce, or on the host", "device.py", 1)],
        [Box("upd", "updater", "the optimizer, if the store has one", "local.py", 3)],
        [Box("val", "value of the key", "pulled by every device", "kvstore.py", 4)],
    ], [("g0", "comp"), ("g1", "comp", "push"), ("g2", "comp"), ("comp", "sum"), ("sum", "upd"), ("upd", "val"), ("val", "g2", "pull", True)]),
    "distributed": ("processes register with the scheduler, learn the members, and sum buckets of arrays among themselves", [
        [Box("env", "environment", "DMLC_*, mpirun, srun, torchrun", "job.py", 6)],
        [Box("sch", "scheduler", "registers members, reports lost ones", "scheduler.py", 5)],
        [Box("m0", "rank 0", "a member of the job", "member.py", 1), Box("m1", "rank 1", "a member of the job", "member.py", 1)],
        [Box("buck", "exchange", "buckets in push order", "processes.py", 3)],
        [Box("v0", "sums of rank 0", "in its own store", kind=0), Box("v1", "sums of rank 1", "the same", kind=0)],
    ], [("env", "sch"), ("sch", "m0", "begin"), ("sch", "m1", "begin"), ("m0", "buck"), ("m1", "buck"), ("buck", "v0"), ("buck", "v1")]),
    "horovod": ("programs written for Horovod call the exchanges of all processes, or of a process set", [
        [Box("train", "trainer, optimizer", "average gradients before an update", "training.py", 3)],
        [Box("call", "allreduce, broadcast, ...", "of arrays and objects", "exchanges.py", 1)],
        [Box("all", "all processes", "global_process_set", "job.py", 0), Box("set", "process set", "some of them", "job.py", 0)],
        [Box("ex", "exchange", "in push order", kind=4)],
    ], [("train", "call"), ("call", "all"), ("call", "set", "process_set="), ("all", "ex"), ("set", "ex")]),
    "metric": ("update records the contribution of a batch; the sums stay on the device until get()", [
        [Box("pred", "label, prediction", "of every batch", kind=6)],
        [Box("meas", "measure", "a pure function of both", "accuracy.py", 0)],
        [Box("tot", "totals", "sum and count, on the device", "totals.py", 2)],
        [Box("get", "get()", "waits once", "evaluation.py", 4)],
    ], [("pred", "meas", "update"), ("meas", "tot", "recorded"), ("tot", "get", "read")]),
    "optimizer": ("a rule is a pure function; updaters hold states; a step of all parameters is one program", [
        [Box("rule", "rule", "weight, gradient, states to new values", "rule.py", 1), Box("cls", "Optimizer", "rates, decay, counts", "base.py", 0)],
        [Box("upd", "Updater", "one state per parameter", "updater.py", 2)],
        [Box("step", "recorded step", "rates are inputs: schedules compile nothing", kind=3), Box("file", "states in files", "read by a restricted unpickler", "state_file.py", 7)],
        [Box("w", "weights", "in the old ones' buffers", kind=4)],
    ], [("rule", "upd"), ("cls", "upd"), ("upd", "step"), ("upd", "file"), ("step", "w")]),
    "initializer": ("a parameter's name selects its initializer, unless it has its own", [
        [Box("desc", "InitDesc", "name and attributes of a parameter", "initializer.py", 0)],
        [Box("own", "its own", "init= of a layer, __init__ of a variable", kind=6), Box("end", "by ending", "weight, bias, gamma, running_mean, ...", "initializer.py", 1), Box("pat", "by pattern or file", "Mixed, Load", "by_name.py", 1)],
        [Box("rand", "random", "Xavier, Normal, Orthogonal", "random_numbers.py", 2), Box("const", "deterministic", "Zero, Constant, Bilinear", "constant.py", 3), Box("rnn", "packed", "FusedRNN", "fused_rnn.py", 3)],
        [Box("val", "values", kind=4)],
    ], [("desc", "own", "first"), ("desc", "end", "else"), ("desc", "pat", "if asked"), ("own", "rand"), ("own", "const"), ("own", "rnn"), ("end", "rand"), ("end", "const"), ("pat", "const"), ("rand", "val"), ("const", "val"), ("rnn", "val")]),
    "profiler": ("programs, operators and user-defined tasks become a table and a Chrome trace", [
        [Box("conf", "set_config, set_state", kind=0, file="control.py"), Box("own", "Task, Frame, Counter", "user-defined", "objects.py", 0)],
        [Box("ses", "session", "engine tasks, compilation, operators one by one", "session.py", 1)],
        [Box("tab", "table", "calls, time, bytes", "table.py", 4), Box("tr", "trace", "chrome://tracing, Perfetto", "trace.py", 5)],
    ], [("conf", "ses", "run"), ("own", "ses"), ("ses", "tab", "dumps()"), ("ses", "tr", "dump()")]),
    "rnn": ("cells on symbols are unrolled into a symbol, or fused into one operator", [
        [Box("cell", "RNNCell, LSTMCell, GRUCell", "one step", "cell.py", 0), Box("mod", "Dropout, Zoneout, Residual", "modify other cells", "modifier.py", 0), Box("fused", "FusedRNNCell", "the operator RNN", "fused.py", 2)],
        [Box("seq", "cells of cells", "Sequential, Bidirectional", "container.py", 1)],
        [Box("un", "unroll(length)", "a Symbol with nodes for each step", kind=3)],
        [Box("buck", "BucketSentenceIter", "sentences by length", "io.py", 6), Box("mod2", "BucketingModule", "trains it", kind=4)],
    ], [("cell", "seq"), ("mod", "seq"), ("fused", "seq", "unfuse()"), ("seq", "un"), ("un", "mod2"), ("buck", "mod2", "")]),
    "stages": ("a line of Python, its nodes, the graph after each pass, the program and its groups, linked", [
        [Box("line", "line of Python", kind=6), Box("node", "recorded nodes", "isolated: no side effects", "recording.py", 0)],
        [Box("graph", "graph after each pass", "with its changes", "graph_data.py", 1)],
        [Box("prog", "jaxpr, StableHLO, HLO", "each node a named scope", "program.py", 3)],
        [Box("grp", "groups", "what runs as one kernel", kind=2), Box("time", "times, bytes, FLOPs", kind=5)],
        [Box("text", "print, to_dict()", "and the stepper", "text.py", 4)],
    ], [("line", "node"), ("node", "graph"), ("graph", "prog"), ("prog", "grp"), ("prog", "time"), ("grp", "text"), ("time", "text")]),
    "visualization": ("a symbol as a picture, as a Graphviz graph, and as a table", [
        [Box("sym", "Symbol", kind=6)],
        [Box("draw", "mx.viz.draw", "SVG, no external program", "drawing.py", 0), Box("plot", "mx.viz.plot_network", "graphviz.Digraph", "network.py", 0), Box("sum", "mx.viz.print_summary, table", "layers, shapes, parameters", "summary.py", 0)],
        [Box("svg", "picture", "in the notebook, in a file", kind=4), Box("dot", "dot source", "rendered here too", kind=4), Box("txt", "text, rows", kind=4)],
    ], [("sym", "draw"), ("sym", "plot"), ("sym", "sum"), ("draw", "svg"), ("plot", "dot"), ("sum", "txt")]),
    "widgets": ("a view is a payload of plain data and a state; it is shown live, as a page, or as a picture", [
        [Box("obj", "array, graph, plan, trace", "live objects", kind=6)],
        [Box("pay", "payload + state", "JSON with a schema", "view.py", 1)],
        [Box("live", "live", "anywidget in a notebook", "live.py", 0), Box("page", "page, frozen notebook", "no kernel, no network", "page.py", 2), Box("svg", "picture, table", "without scripts", "svg.py", 3)],
        [Box("js", "the same bundle", kind=4, file="static")],
    ], [("obj", "pay", "constructor"), ("pay", "live"), ("pay", "page"), ("pay", "svg"), ("live", "js"), ("page", "js")]),
    "contrib": ("MXNet's contributed modules", [
        [Box("amp", "amp", "mixed precision", "amp", 0), Box("svrg", "svrg_optimization", "variance reduction", "svrg_optimization", 0), Box("text", "text", "vocabularies, embeddings", "text", 0), Box("io", "io", "a DataLoader for Module", "io.py", 0), Box("tb", "tensorboard", "metrics for TensorBoard", "tensorboard.py", 0)],
        [Box("pass", "passes, arrays, symbols", "casts before operators", kind=1), Box("mod", "Module", kind=1), Box("nd", "arrays", kind=1), Box("cb", "callbacks", kind=1)],
    ], [("amp", "pass"), ("svrg", "mod"), ("text", "nd"), ("io", "mod"), ("tb", "cb")]),
    "notebook": ("callbacks of Module.fit store metrics as tables", [
        [Box("fit", "Module.fit", kind=6)], [Box("log", "PandasLogger", "batch, evaluation, epoch", "callback.py", 0)], [Box("df", "train_df, eval_df, epoch_df", "pandas", kind=4)],
    ], [("fit", "log", "callback_args()"), ("log", "df")]),
    "onnx": ("tables convert a symbol's nodes to ONNX nodes, and back", [
        [Box("sym", "symbol, parameters", kind=6)],
        [Box("conv", "conversions", "one table per topic", "export/", 0), Box("prim", "primitives", "of an operator's JAX program", "export/primitives.py", 2)],
        [Box("file", "model.onnx", "checked, written atomically", kind=4)],
        [Box("read", "readers", "one table per topic", "load/", 0), Box("ref", "constants", "computed while reading", "load/constant.py", 2)],
        [Box("net", "symbol, SymbolBlock", kind=6)],
    ], [("sym", "conv"), ("sym", "prim"), ("conv", "file"), ("prim", "file"), ("file", "read"), ("file", "ref"), ("read", "net"), ("ref", "net")]),
    "export": ("a network becomes a StableHLO program that JAX runs, or a page that a browser runs", [
        [Box("net", "symbol, parameters", kind=6)],
        [Box("same", "graph for prediction", "inputs, arrays", "network.py", 1)],
        [Box("hlo", "jax.export", "all platforms at once", "stablehlo.py", 0), Box("page", "JAX's primitives", "as plain data", "page/program.py", 2)],
        [Box("file", "net.stablehlo", "with a checksum", "stablehlo_file.py", 4), Box("html", "net.html", "an interpreter, the parameters", "page/engine.js", 4)],
        [Box("block", "SymbolBlock", "its program is one operator", "program.py", 6), Box("person", "a browser", kind=6)],
    ], [("net", "same"), ("same", "hlo"), ("same", "page"), ("hlo", "file"), ("page", "html"), ("file", "block"), ("html", "person")]),
    "private_jax": ("one function for each private interface of JAX, and a test that shows what a new version breaks", [
        [Box("ops", "ops", "traces operators", kind=0), Box("runtime", "runtime", "compiles, calls, caches", kind=0), Box("jobs", "distributed", "joins processes", kind=0)],
        [Box("trace", "flat_tracer", file="tracing.py", kind=1), Box("call", "bare_call", file="programs.py", kind=1), Box("put", "batched_put", file="arrays.py", kind=1),
         Box("end", "leave_clients", file="ending.py", kind=1), Box("join", "connected_client", file="jobs.py", kind=1)],
        [Box("jax", "jax._src, jaxlib", "may change with every version", kind=5)],
    ], [("ops", "trace"), ("runtime", "call"), ("runtime", "put"), ("runtime", "end"), ("jobs", "join"), ("trace", "jax"), ("call", "jax"), ("put", "jax"), ("end", "jax"), ("join", "jax")]),
    "tools": ("a folder of images becomes a list, and the list a record file", [
        [Box("dir", "folder of images", "one subfolder per class", kind=6)],
        [Box("lst", "train.lst", "number, label, path", kind=1)],
        [Box("rec", "train.rec, train.idx", "resized, encoded", kind=2)],
        [Box("it", "ImageRecordIter", kind=4)],
    ], [("dir", "lst", "im2rec --list"), ("lst", "rec", "im2rec"), ("rec", "it")]),
    "test_utils": ("an operator is compared with expected values, finite differences, other dtypes and devices", [
        [Box("op", "operator, symbol, block", kind=6)],
        [Box("fwd", "check_symbolic_forward", kind=0, file="check_operator.py"), Box("num", "check_numeric_gradient", "finite differences", kind=0), Box("cons", "check_consistency", "dtypes, devices", kind=0)],
        [Box("cmp", "assert_almost_equal", "largest differences", "compare.py", 1), Box("tol", "tolerances", "of the coarser dtype", "tolerance.py", 2)],
    ], [("op", "fwd"), ("op", "num"), ("op", "cons"), ("fwd", "cmp"), ("num", "cmp"), ("cons", "cmp"), ("tol", "cmp", "", True)]),
    "runtime_rooms": ("the subfolders of the runtime: each imports those to its left", [
        [Box("value", "value", "values, specs, per-thread state", "value", 4)],
        [Box("devices", "devices", "sums and copies between devices", "devices", 2), Box("compile", "compile", "graph to program, programs on disk", "compile", 3)],
        [Box("interpret", "interpret", "programs on NumPy", "interpret", 6)],
        [Box("programs", "programs", "cached, interpreted or compiled", "programs", 7)],
        [Box("record", "record", "operations become segments", "record", 0)],
        [Box("trace", "trace", "graphs as one operator", "trace", 1)],
    ], [("value", "devices"), ("value", "compile"), ("compile", "interpret"), ("devices", "interpret"), ("interpret", "programs"), ("programs", "record"), ("record", "trace")]),
    "ops_rooms": ("the subfolders of the operators: each imports those to its left", [
        [Box("schema", "schema", "attributes, ranges, storage types", "schema", 4), Box("tracing", "tracing", "analysis of jaxprs", "tracing", 6)],
        [Box("registry", "op, registry", "Op, @op, OPERATORS", "registry.py", 1)],
        [Box("array", "array", "creating, reshaping, indexing", "array", 0), Box("control", "control", "loops, branches, Python", "control", 0), Box("update", "update", "optimizer rules", "update", 0)],
        [Box("math", "math", "arithmetic, reductions", "math", 0), Box("random", "random", "samples, densities", "random", 0), Box("vision", "vision", "images, boxes", "vision", 0)],
        [Box("nn", "nn", "layers of networks", "nn", 0), Box("numpy", "numpy", "NumPy's functions", "numpy", 0), Box("sparse", "sparse", "stored values", "sparse", 0)],
        [Box("quantized", "quantized", "8-bit networks", "quantized", 2), Box("lowering", "lowering", "other implementations", "lowering", 2)],
    ], [("schema", "registry"), ("registry", "array"), ("registry", "control"), ("registry", "update"), ("array", "math"), ("control", "random"), ("control", "vision"), ("math", "nn"), ("math", "numpy"), ("math", "sparse"), ("nn", "quantized"), ("nn", "lowering")]),
    "files": ("a file is opened, read within limits, and checked; it is written to a temporary file and then renamed", [
        [Box("path", "path", "from anywhere", kind=6)],
        [Box("read", "reading", "pread, lengths, depths", "reading.py", 0), Box("pix", "pixels", "OpenCV within limits", "pixels.py", 0)],
        [Box("data", "bytes, arrays", kind=4), Box("err", "FileFormatError", "which file, where, what to do", kind=5)],
        [Box("whole", "whole file", "temporary file, synced, renamed", "whole_file.py", 2)],
    ], [("path", "read"), ("path", "pix"), ("read", "data"), ("pix", "data"), ("read", "err"), ("pix", "err"), ("data", "whole", "saved")]),
    "process": ("the Python process: locks, interrupts, asyncio tasks, and source lines", [
        [Box("user", "user's threads, tasks", kind=6), Box("sig", "Ctrl-C", kind=6)],
        [Box("locks", "locks", "one order; no waits inside", "locks.py", 0), Box("int", "interrupt", "deferred in critical sections", "interrupt.py", 0), Box("tasks", "tasks", "one scope per asyncio task", "tasks.py", 0)],
        [Box("state", "state", "arrays, programs, the engine", kind=4), Box("src", "source", "the user's line of an operation", "source.py", 5)],
    ], [("user", "locks"), ("user", "tasks"), ("sig", "int"), ("locks", "state"), ("int", "state"), ("tasks", "state"), ("state", "src")]),
    "legacy": ("names of MXNet that exist only for compatibility lead to their replacements", [
        [Box("imp", "import mxnet.rtc, ...", "an MXNet program", kind=6)],
        [Box("paths", "paths", "old path: new module", "paths.py", 1), Box("own", "modules", "small, with an explanation", "library.py", 0)],
        [Box("new", "the new module", kind=4), Box("err", "an error", "that says what to use instead", kind=5)],
    ], [("imp", "paths"), ("imp", "own"), ("paths", "new"), ("own", "err")]),
}  # fmt: skip


def folder_picture(folder: str) -> str:
    """The picture of a folder of ``mixnet``."""
    if folder == "passes":
        return pipeline()
    label, columns, arrows = PICTURES[folder]
    assert columns is not None and arrows is not None
    return draw(folder.removesuffix("_rooms"), label, columns, [Arrow(*each) for each in arrows])


def pipeline() -> str:
    """The lists of passes, as ``mixnet/passes/pipeline.py`` has them."""
    from mixnet.passes.pipeline import PASSES

    starts = {
        "graph": ("traced, composed", "a block, a symbol"),
        "segment": ("recorded", "a future program"),
    }
    ends = {"graph": "differentiable graph", "segment": "to XLA"}
    longest = max(len(each) for each in PASSES.values())
    picture = Svg(190 + 104 * longest + 110, 24 + 76 * len(PASSES), PICTURES["passes"][0])
    for row, (purpose, passes) in enumerate(sorted(PASSES.items())):
        top = 14 + 76 * row
        picture.rect(12, top, 150, 52, "c6 s-line", radius=6)
        picture.text(87, top + 22, starts[purpose][0], anchor="middle", bold=True, size=13)
        picture.text(87, top + 39, starts[purpose][1], size=11, anchor="middle")
        for i, each in enumerate(passes):
            left = 190 + 104 * i
            picture.path(
                f"M{left - 28 if i == 0 else left - 18},{top + 26} L{left - 1},{top + 26}",
                arrow=True,
            )
            picture.rect(left, top + 4, 86, 44, f"c{(0, 3)[row]} s-line", radius=6)
            words = each.__name__.split("_")
            picture.text(left + 43, top + 22, words[0], anchor="middle", size=12)
            picture.text(left + 43, top + 38, " ".join(words[1:]), anchor="middle", size=12)
        left = 190 + 104 * len(passes)
        picture.path(f"M{left - 18},{top + 26} L{left + 3},{top + 26}", arrow=True)
        picture.text(left + 8, top + 30, ends[purpose], size=12)
    return str(picture)


def flow() -> str:
    """The way from a line of Python to arrays."""
    columns = [
        [Box("nd", "a * b + 1", "arrays, imperative"), Box("block", "net.hybridize()", "Gluon, traced"),
         Box("sym", "symbol.bind(...)", "symbols, declarative")],
        [Box("nodes", "nodes", "one graph", kind=1)],
        [Box("passes", "passes", "gradient, merge, ...", kind=2)],
        [Box("xla", "XLA", "compiled once", kind=2)],
        [Box("arrays", "arrays", "on CPUs and GPUs", kind=3)],
    ]  # fmt: skip
    arrows = [
        ("nd", "nodes"),
        ("block", "nodes"),
        ("sym", "nodes"),
        ("nodes", "passes"),
        ("passes", "xla"),
        ("xla", "arrays"),
    ]
    label = "user code is recorded as nodes, passes rewrite the graph, XLA compiles it, the engine runs it to produce arrays"
    return draw("", label, columns, [Arrow(*each) for each in arrows])


def gap(room: str, rooms: list[str]) -> str:
    """Room before a name that is not the first."""
    return "" if room == rooms[0] else ' dx="12"'


def layers() -> str:
    """The layers of the package, as the test of imports has them; names of folders are bold."""
    found = runpy.run_path(
        str(ROOT / "tests" / "architecture" / "test_architecture.py"), run_name="layers"
    )["LAYERS"]
    package = Path(mx.__file__).parent
    rows = [sorted(room for room in layer if room != "api") for layer in reversed(found)]
    picture = Svg(
        820,
        20 + 34 * len(rows),
        "layers of mixnet, from the user interface down to the foundations; imports point down",
    )
    for row, rooms in enumerate(rows):
        top = 12 + 34 * row
        picture.rect(60, top, 748, 28, f"c{row % 2 * 7 if row % 2 else 0} s-line", radius=4)
        parts = [
            f'<tspan class="{"f-fg" if folder else "f-dim"}" font-weight="{600 if folder else 400}"'
            f"{gap(room, rooms)}>{room}</tspan>"
            for room, folder in ((r, (package / r).is_dir()) for r in rooms)
        ]
        picture.add(f'<text x="72" y="{top + 19}" font-size="12">{"".join(parts)}</text>')
    picture.path(f"M34,{16 + 8} L34,{20 + 34 * len(rows) - 22}", arrow=True)
    picture.add(
        f'<text class="f-dim" font-size="12" transform="translate(24 {10 + 17 * len(rows)}) rotate(-90)" text-anchor="middle">imports point down</text>'
    )
    return str(picture)


def pictures() -> dict[str, str]:
    """All pictures by file name."""
    made = {f"{folder}.svg": folder_picture(folder) for folder in PICTURES}
    return {**made, "layers.svg": layers(), "flow.svg": flow()}


if __name__ == "__main__":
    for name, text in pictures().items():
        (HERE / name).write_text(text, encoding="utf-8")
    print(f"{len(pictures())} pictures in {HERE}")
