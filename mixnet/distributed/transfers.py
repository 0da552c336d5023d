"""Who sends how many bytes to whom in one step: around a ring, along a tree, through parameter servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mixnet import config
from mixnet.array_like import is_array_like
from mixnet.base import AttributeKindError, AttributeTypeError, AttributeValueError
from mixnet.distributed.buckets import bucket_length, buckets
from mixnet.distributed.placement import Placement
from mixnet.units import how_many, size_text

KINDS = ("ring", "tree", "server")
_MOST = 256  # workers, and servers


@dataclass(frozen=True)
class Gradient:
    """One array that all workers push.

    Args:
        key: in the store.
        shape: of the array.
        dtype: of the array.
    """

    key: int | str
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


@dataclass(frozen=True)
class Transfer:
    """Bytes that one node sends to another.

    Args:
        step: number from 0; transfers of one step happen at the same time, steps one after another.
        source: name of the sender, such as ``worker 0``.
        target: name of the receiver, such as ``server 1``.
        bytes: without headers.
        bucket: number of the bucket; for servers, 0.
        does: ``add`` (the receiver adds), ``copy``, ``push`` or ``pull``.
    """

    step: int
    source: str
    target: str
    bytes: int
    bucket: int
    does: str


@dataclass(frozen=True)
class Topology:
    """The transfers of one step. ``mx.widgets.ScalingView(..., topology=...)`` draws them.

    Args:
        kind: ``ring``, ``tree`` or ``server``.
        workers: how many there are.
        servers: how many there are; 0 unless ``kind`` is ``server``.
        gradients: the arrays that are summed or pushed.
        buckets: for each message, the keys in it and its bytes, including padding.
        bound: elements from which an array is spread over all servers.
        transfers: in the order of steps.
    """

    kind: str
    workers: int
    servers: int
    gradients: tuple[Gradient, ...]
    buckets: tuple[tuple[tuple[int | str, ...], int], ...]
    bound: int
    transfers: tuple[Transfer, ...]

    @property
    def nodes(self) -> list[str]:
        """Names of all workers, then of all servers."""
        return [f"worker {i}" for i in range(self.workers)] + [
            f"server {i}" for i in range(self.servers)
        ]

    @property
    def steps(self) -> int:
        """How many steps follow each other."""
        return max((each.step for each in self.transfers), default=-1) + 1

    def sent(self, node: str) -> int:
        """Bytes that a node sends."""
        return sum(each.bytes for each in self.transfers if each.source == node)

    def received(self, node: str) -> int:
        """Bytes that a node receives."""
        return sum(each.bytes for each in self.transfers if each.target == node)

    def links(self) -> dict[tuple[str, str], int]:
        """Bytes of each pair of sender and receiver."""
        total: dict[tuple[str, str], int] = {}
        for each in self.transfers:
            pair = each.source, each.target
            total[pair] = total.get(pair, 0) + each.bytes
        return total

    def to_dict(self) -> dict[str, Any]:
        """The data with which ``ScalingView`` draws this, also for other numbers of workers and servers."""
        arrays = [
            {"bytes": each.nbytes, "rows": each.shape[0] if each.shape else 1,
             "large": bool(each.shape) and each.nbytes >= self.bound * each.dtype.itemsize}
            for each in self.gradients
        ]  # fmt: skip
        messages = [
            {"keys": len(keys), "first": str(keys[0]), "bytes": size} for keys, size in self.buckets
        ]
        return {
            "kind": self.kind,
            "workers": self.workers,
            "servers": self.servers,
            "buckets": messages,
            "arrays": arrays,
            "steps": self.steps,
            "links": [[source, target, size] for (source, target), size in self.links().items()],
        }

    def __repr__(self) -> str:
        links = self.links()
        gradients = size_text(sum(each.nbytes for each in self.gradients))
        parts = [self.kind, how_many(self.workers, "worker")]
        if self.kind == "server":
            parts += [how_many(self.servers, "server"), f"{gradients} of gradients"]
        else:
            padded = size_text(sum(size for _, size in self.buckets))
            buckets = how_many(len(self.buckets), "bucket")
            parts.append(f"{gradients} of gradients in {buckets} of {padded}")
        lines = [", ".join([*parts, how_many(self.steps, "step")])]
        for node in self.nodes:
            to = ", ".join(
                f"{size_text(size)} to {target}"
                for (source, target), size in links.items()
                if source == node
            )
            lines.append(f"{node} sends {size_text(self.sent(node))}{f': {to}' if to else ''}")
        return "\n".join(lines)


def topology(
    gradients: object,
    workers: int = 4,
    kind: str = "ring",
    servers: int = 2,
    *,
    in_one: bool = False,
) -> Topology:
    """Who sends how many bytes to whom in one training step.

    - ``ring``: what ``dist_sync`` does, except with short messages: among more than two workers,
      buckets that a worker sends to all others in 64 kB go to each of them at once. Each bucket is
      cut into as many chunks as there are workers. Each worker passes one chunk at a time to the
      next worker, which adds its own; after n - 1 steps each worker has the sum of one chunk, and
      n - 1 more steps pass the sums around.
    - ``tree``: a binary tree, to compare with. Each worker sends the sum of its subtree to its
      parent; the total returns the same way.
    - ``server``: what ``dist_async`` does. Each worker pushes its gradients to the servers and
      pulls values of the same size.

    Args:
        gradients: an initialized network, of which all parameters with a gradient count; or a
            mapping from key to array; or a number of bytes, meaning one float32 array
            with rows of 4 bytes.
        workers: 1 to 256.
        kind: ``ring``, ``tree`` or ``server``.
        servers: 1 to 256; used only for ``server``.
        in_one: whether one message holds all gradients of a dtype, as in the single program that
            a step becomes after ``MIXNET_JOINT_STEP_AFTER`` steps; otherwise the store's buckets
            of up to 4 MB, which are padded.

    Raises:
        AttributeTypeError: ``gradients`` is of another type.
        AttributeValueError: a number or ``kind`` is not one of these.
    """
    if kind not in KINDS:
        raise AttributeValueError(f"topology: kind={kind!r}: expected one of {', '.join(KINDS)}.")
    for name, number in (("workers", workers), ("servers", servers)):
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= _MOST:
            raise AttributeKindError(
                f"topology: {name}={number!r}: expected a whole number from 1 to {_MOST}."
            )
    arrays = _gradients_of(gradients)
    bound = int(config.get("MXNET_KVSTORE_BIGARRAY_BOUND"))
    messages = _messages(arrays, in_one)
    if kind == "server":
        transfers = list(_through_servers(arrays, workers, servers, bound))
    else:
        transfers = list(_all_reduces([size for _, size in messages], workers, kind))
    count = servers if kind == "server" else 0
    return Topology(kind, workers, count, tuple(arrays), tuple(messages), bound, tuple(transfers))


def _gradients_of(source: Any) -> list[Gradient]:
    if isinstance(source, (int, float)) and not isinstance(source, bool):
        if not 0 < source < 1e15:
            raise AttributeValueError(
                f"topology: gradients={source!r}: expected bytes above 0 and below 1e15, or a "
                "network."
            )
        return [Gradient("gradients", (max(1, round(source / 4)),), np.dtype(np.float32))]
    if callable(getattr(source, "collect_params", None)):
        parameters = source.collect_params()  # numbered as by a Trainer
        ordered = [parameters[name] for name in sorted(parameters.keys())]
        source = {
            i: each.grad() for i, each in enumerate(ordered) if getattr(each, "grad_req", "write") != "null"
        }  # fmt: skip
    if not isinstance(source, Mapping) or not all(map(is_array_like, source.values())):
        raise AttributeTypeError(
            "topology: gradients must be a network, a mapping from keys to arrays, or a number of "
            f"bytes, not {type(source).__name__}."
        )
    if not source:
        raise AttributeValueError("topology: there are no gradients: no parameter has one.")
    return [
        Gradient(key, tuple(source[key].shape), np.dtype(source[key].dtype))
        for key in sorted(source)
    ]


def _messages(arrays: Sequence[Gradient], in_one: bool) -> list[tuple[tuple[int | str, ...], int]]:
    if in_one:
        by_dtype: dict[np.dtype, list[Gradient]] = {}
        for each in arrays:
            by_dtype.setdefault(each.dtype, []).append(each)
        return [
            (tuple(each.key for each in some), sum(each.nbytes for each in some))
            for some in by_dtype.values()
        ]
    messages = []
    for bucket in buckets(arrays):
        some = [arrays[i] for i in bucket]
        sizes = [each.nbytes // each.dtype.itemsize for each in some]
        length = bucket_length(sizes, some[0].dtype.itemsize)
        messages.append((tuple(each.key for each in some), length * some[0].dtype.itemsize))
    return messages


def _all_reduces(sizes: Sequence[int], workers: int, kind: str) -> Iterator[Transfer]:
    step = 0
    for bucket, size in enumerate(sizes):
        of_bucket = _ring(size, workers) if kind == "ring" else _tree(size, workers)
        last = step
        for at, source, target, count, does in of_bucket:
            last = max(last, step + at + 1)
            yield Transfer(step + at, f"worker {source}", f"worker {target}", count, bucket, does)
        step = last


def _ring(size: int, n: int) -> Iterator[tuple[int, int, int, int, str]]:
    """Step, source, target, bytes and action of each transfer of one all-reduce."""
    for step in range(2 * (n - 1)):
        for worker in range(n):
            chunk = (worker - step) % n
            count = size * (chunk + 1) // n - size * chunk // n
            yield step, worker, (worker + 1) % n, count, "add" if step < n - 1 else "copy"


def _tree(size: int, n: int) -> Iterator[tuple[int, int, int, int, str]]:
    """The same along a binary tree, in which the parent of worker i is worker (i - 1) // 2."""
    depth = n.bit_length() - 1  # of the deepest worker; worker i is at depth log2(i + 1)
    for step in range(depth):
        for worker in range(2 ** (depth - step) - 1, min(n, 2 ** (depth - step + 1) - 1)):
            yield step, worker, (worker - 1) // 2, size, "add"
    for step in range(depth):
        for worker in range(2 ** (step + 1) - 1, min(n, 2 ** (step + 2) - 1)):
            yield depth + step, (worker - 1) // 2, worker, size, "copy"


def _through_servers(
    arrays: Sequence[Gradient], workers: int, servers: int, bound: int
) -> Iterator[Transfer]:
    """A push, then a pull: each is one message to each server that keeps something."""
    placement = Placement(servers, bound)
    for each in arrays:
        placement.place(each.shape, each.dtype.itemsize)
    for step, does in enumerate(("push", "pull")):
        for worker in range(workers):
            for server, size in enumerate(placement.loads):
                ends = f"worker {worker}", f"server {server}"
                source, target = ends if does == "push" else ends[::-1]
                if size:
                    yield Transfer(step, source, target, size, 0, does)
