"""What the classifiers of images have in common: arguments, and training with ``Module``."""

from __future__ import annotations

import argparse
import logging
import math
from functools import cache

import mixnet as mx


def add_fit_args(parser: argparse.ArgumentParser) -> None:
    """The arguments of :func:`fit`; their names are those of MXNet's own training scripts."""
    group = parser.add_argument_group("training")
    group.add_argument("--gpus", help="numbers, such as 0,1; the CPU if omitted")
    group.add_argument("--cpus", type=int, default=1, help="CPU devices to train on")
    group.add_argument(
        "--kv-store",
        default="device",
        help="local, device, or dist_sync in processes that mixnet-launch started",
    )
    group.add_argument("--gc-type", default="none", help="compression of gradients: 2bit or none")
    group.add_argument("--gc-threshold", type=float, default=0.5)
    group.add_argument("--num-epochs", type=int, default=10)
    group.add_argument(
        "--batch-size", type=int, default=64, help="samples, over all devices of a process"
    )
    group.add_argument("--optimizer", default="sgd")
    group.add_argument("--lr", type=float, default=0.05)
    group.add_argument("--lr-factor", type=float, default=0.1)
    group.add_argument(
        "--lr-step-epochs", default="", help="epochs after which it falls, such as 5,8"
    )
    group.add_argument("--mom", type=float, default=0.9)
    group.add_argument("--wd", type=float, default=1e-4)
    group.add_argument("--initializer", choices=("xavier", "msra", "normal"), default="xavier")
    group.add_argument("--disp-batches", type=int, default=20)
    group.add_argument("--top-k", type=int, default=0)
    group.add_argument("--model-prefix", help="path prefix of checkpoints")
    group.add_argument("--load-epoch", type=int, help="the checkpoint to continue from")
    group.add_argument("--monitor", type=int, default=0, help="print norms after this many batches")
    group.add_argument("--seed", type=int, default=0)


@cache
def store(kind: str) -> mx.kv.KVStore:
    """The store, which joins the job if there is one; made once."""
    return mx.kv.create(kind)


def own_part(arrays: tuple, kind: str) -> tuple:
    """This worker's share of data for training: all have the same number of samples."""
    kv = store(kind)
    length = len(arrays[0]) // kv.num_workers
    return tuple(each[kv.rank :: kv.num_workers][:length] for each in arrays)


def contexts(args: argparse.Namespace) -> list[mx.Context]:
    """The devices to train on."""
    if args.gpus:
        return [mx.gpu(int(number)) for number in args.gpus.split(",")]
    return [mx.cpu(number) for number in range(args.cpus)]


def schedule(
    args: argparse.Namespace, batches: int
) -> tuple[float, mx.lr_scheduler.LRScheduler | None]:
    """The learning rate to begin with, and how it falls from there."""
    epochs = [int(each) for each in args.lr_step_epochs.split(",") if each]
    begin = args.load_epoch or 0
    rate = args.lr * args.lr_factor ** sum(epoch <= begin for epoch in epochs)
    steps = [batches * (epoch - begin) for epoch in epochs if epoch > begin]
    if not steps:
        return rate, None
    return rate, mx.lr_scheduler.MultiFactorScheduler(steps, args.lr_factor, base_lr=rate)


def initializer(name: str) -> mx.init.Initializer:
    """First values of the parameters."""
    if name == "msra":
        return mx.init.MSRAPrelu("in", 0)
    if name == "normal":
        return mx.init.Normal(0.1)
    return mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2)


def fit(
    args: argparse.Namespace,
    network: mx.sym.Symbol,
    train: mx.io.DataIter,
    val: mx.io.DataIter,
    count: int,
) -> float:
    """Train, report, and return the accuracy on ``val``, between 0 and 1.

    Args:
        network: ends in ``SoftmaxOutput`` named ``softmax``.
        count: samples of an epoch.
    """
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    mx.random.seed(args.seed)
    kv = store(args.kv_store)
    if args.gc_type != "none":
        kv.set_gradient_compression({"type": args.gc_type, "threshold": args.gc_threshold})
    rate, falling = schedule(args, math.ceil(count / args.batch_size))
    params: dict[str, object] = {"learning_rate": rate, "wd": args.wd, "lr_scheduler": falling}
    if args.optimizer in ("sgd", "nag", "signum", "lbsgd"):
        params["momentum"] = args.mom
    arg_params = aux_params = None
    if args.load_epoch is not None:
        _, arg_params, aux_params = mx.model.load_checkpoint(args.model_prefix, args.load_epoch)
    metrics = [mx.metric.Accuracy()]
    if args.top_k:
        metrics.append(mx.metric.TopKAccuracy(top_k=args.top_k))
    # All workers have the same parameters: one of them writes.
    is_writer = args.model_prefix and kv.rank == 0
    saving = mx.callback.do_checkpoint(args.model_prefix) if is_writer else None
    model = mx.mod.Module(network, context=contexts(args))
    model.fit(
        train,
        eval_data=val,
        eval_metric=metrics,
        begin_epoch=args.load_epoch or 0,
        num_epoch=args.num_epochs,
        kvstore=kv,
        optimizer=args.optimizer,
        optimizer_params=params,
        initializer=initializer(args.initializer),
        arg_params=arg_params,
        aux_params=aux_params,
        batch_end_callback=mx.callback.Speedometer(args.batch_size, args.disp_batches),
        epoch_end_callback=saving,
        monitor=mx.mon.Monitor(args.monitor, pattern=".*weight") if args.monitor else None,
        allow_missing=True,
    )
    return dict(model.score(val, mx.metric.Accuracy()))["accuracy"]
