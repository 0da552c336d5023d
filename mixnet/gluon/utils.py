"""Splitting batches over contexts, clipping gradients, downloads, hook handles."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import os
import re
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mixnet import config
from mixnet import ndarray as ndarray
from mixnet.base import AttributeTypeError, AttributeValueError, CheckError, MXNetError, open_file
from mixnet.context import Context
from mixnet.ndarray.create import array
from mixnet.ndarray.indexing import rows_at_once
from mixnet.ndarray.ndarray import NDArray
from mixnet.numpy.creation import array as np_array
from mixnet.util import is_np_array, is_np_shape

__all__ = [
    "check_sha1",
    "clip_global_norm",
    "download",
    "replace_file",
    "split_and_load",
    "split_data",
]


def split_data(
    data: NDArray, num_slice: int, batch_axis: int = 0, even_split: bool = True
) -> list[NDArray]:
    """Split a batch into ``num_slice`` parts; the first ones may have one sample more.

    Args:
        data: any shape.
        num_slice: parts.
        batch_axis: axis of the samples.
        even_split: reject a batch that does not divide evenly.

    Raises:
        ValueError: it does not divide evenly.
    """
    parts = _bounds(data.shape, num_slice, batch_axis, even_split)
    if batch_axis == 0 and data.shape[0] >= num_slice:
        return [data[begin:end] for begin, end in parts]  # views
    return [data.slice_axis(axis=batch_axis, begin=b, end=e) for b, e in parts]


def _bounds(
    shape: tuple[int, ...], num_slice: int, batch_axis: int, even_split: bool
) -> list[tuple[int, int]]:
    """Of each part of a batch the first sample, and the sample after the last."""
    size = shape[batch_axis]
    if even_split and size % num_slice:
        raise AttributeValueError(
            f"split_data: {size} samples (axis {batch_axis} of {shape}) do not divide into "
            f"{num_slice} parts. Use a batch size that does, or pass even_split=False."
        )
    each, extra = divmod(size, num_slice)
    bounds = np.cumsum([0] + [each + 1] * extra + [each] * (num_slice - extra)).tolist()
    return list(itertools.pairwise(bounds))


def split_and_load(
    data: Any,
    ctx_list: Sequence[Context],
    batch_axis: int = 0,
    even_split: bool = True,
) -> list[NDArray]:
    """Split a batch into one part for each context, and move it there.

    Args:
        data: an array or numbers.
        ctx_list: contexts.
        batch_axis: axis of the samples.
        even_split: reject a batch that does not divide evenly.

    Raises:
        ValueError: it does not divide evenly.
    """
    if not isinstance(ctx_list, (list, tuple)):
        raise AttributeTypeError(
            f"split_and_load: ctx_list must be a list of contexts, such as [mx.cpu()], not "
            f"{ctx_list!r:.60}."
        )
    if not isinstance(data, NDArray):
        make = np_array if is_np_array() else array
        data = make(data, ctx=ctx_list[0])
    if len(ctx_list) == 1:
        return [data.as_in_context(ctx_list[0])]
    if batch_axis == 0:
        at_once = _split_at_once(data, ctx_list, even_split)
        if at_once is not None:
            return at_once
    parts = split_data(data, len(ctx_list), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(parts, ctx_list, strict=True)]


def _split_at_once(
    data: NDArray, ctx_list: Sequence[Context], even_split: bool
) -> list[NDArray] | None:
    """``split_and_load`` of a computed batch on CPUs, without operations; None if it needs them."""
    if data.shape[0] < len(ctx_list) or not all(isinstance(each, Context) for each in ctx_list):
        return None
    bounds = _bounds(data.shape, len(ctx_list), 0, even_split)
    parts: dict[int, NDArray] = {}
    # Parts on its own context last: they would record an operation even where the others need one.
    for place in sorted(range(len(ctx_list)), key=lambda i: ctx_list[i] is data.context):
        part = rows_at_once(data, *bounds[place], ctx_list[place])
        if part is None:
            return None
        parts[place] = part
    return [parts[place] for place in range(len(ctx_list))]


def clip_global_norm(
    arrays: Sequence[NDArray], max_norm: float, check_isfinite: bool = True
) -> Any:
    """Scale arrays in place so that their joint Euclidean norm is at most ``max_norm``.

    Args:
        arrays: gradients.
        max_norm: bound.
        check_isfinite: warn about nan and infinity, which blocks until the norm is computed.

    Returns:
        The original norm, a number; with ``check_isfinite`` false an array, without blocking.

    Raises:
        CheckError: there are no arrays.
        UserWarning: (as a warning) the norm is not finite.
    """
    if len(arrays) == 0:
        raise CheckError("clip_global_norm takes a non-empty list of arrays.")
    context = arrays[0].context
    squares = [(each.as_in_context(context) ** 2).sum() for each in arrays]
    norm = sum(squares[1:], squares[0]).sqrt()
    if check_isfinite:
        number = np.float32(norm.asnumpy().reshape(-1)[0])
        if not np.isfinite(number):
            warnings.warn(
                "the gradients contain nan or inf: the result of clip_global_norm is undefined.",
                stacklevel=2,
            )
    scale = (max_norm / (norm + 1e-8)).clip(0.0, 1.0)
    for each in arrays:
        each *= scale.as_in_context(each.context).astype(each.dtype, copy=False)
    if check_isfinite:
        return number
    return norm.reshape((1,)) if norm.shape == () and not is_np_array() else norm


def shape_is_known(shape: Sequence[int] | None) -> bool:
    """Whether a shape has no unknown dimensions: 0, or -1 under NumPy's rules.

    Raises:
        CheckError: a dimension is negative and not NumPy's -1.
    """
    if shape is None:
        return False
    unknown = -1 if is_np_shape() else 0
    if len(shape) == 0:  # a scalar with NumPy's shapes, an unknown shape with MXNet's
        return is_np_shape()
    for extent in shape:
        if extent == unknown:
            return False
        if extent < unknown:
            raise CheckError(f"shape {tuple(shape)}: an extent must be at least {unknown}.")
    return True


# ---- hooks ---------------------------------------------------------------------------------------


class HookHandle:
    """Removes a hook: ``handle.detach()``, or at the end of ``with handle:``."""

    def __init__(self) -> None:
        self._hooks_dict_ref: Any = None
        self._id: int | None = None

    def attach(self, hooks_dict: Any, hook: Callable[..., Any]) -> None:
        """Add a hook to an ordered dict of hooks.

        Args:
            hooks_dict: an ``OrderedDict``.
            hook: the function to call.

        Raises:
            CheckError: the handle already holds a hook.
        """
        if self._hooks_dict_ref:
            raise CheckError("This handle already holds a hook; make another HookHandle.")
        self._id = id(hook)
        hooks_dict[self._id] = hook
        self._hooks_dict_ref = weakref.ref(hooks_dict)

    def detach(self) -> None:
        """Remove the hook."""
        hooks = self._hooks_dict_ref() if self._hooks_dict_ref else None
        if hooks is not None and self._id in hooks:
            del hooks[self._id]

    def __getstate__(self) -> tuple[Any, int | None]:
        return (self._hooks_dict_ref() if self._hooks_dict_ref else None, self._id)

    def __setstate__(self, state: tuple[Any, int | None]) -> None:
        hooks, self._id = state
        self._hooks_dict_ref = None if hooks is None else weakref.ref(hooks)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, ptype: object, value: object, trace: object) -> None:
        self.detach()


# ---- downloads -----------------------------------------------------------------------------------

_CHUNK = 1 << 20


def check_sha1(filename: str, sha1_hash: str) -> bool:
    """Whether the content of a file has this SHA-1 hash, in hexadecimal digits.

    Args:
        filename: path of the file.
        sha1_hash: hexadecimal digits.
    """
    digest = hashlib.sha1()
    with open_file(filename, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest() == sha1_hash


def replace_file(src: str, dst: str) -> None:
    """Rename a file atomically, replacing ``dst``.

    Args:
        src: path of the file that takes its place.
    """
    os.replace(src, dst)


class DownloadError(MXNetError, ConnectionError):
    """A file cannot be downloaded."""


def _target(url: str, path: str | None) -> str:
    """The path of a download: ``path`` or, in a folder, the last part of the URL."""
    if path is None:
        path = url.split("/")[-1]
        if not path:
            raise CheckError(f"download: {url} does not end in a file name; give path.")
        return path
    path = os.path.expanduser(path)
    return os.path.join(path, url.split("/")[-1]) if os.path.isdir(path) else path


def _fetch_checked(url: str, part: str, verify_ssl: bool, sha1_hash: str | None) -> None:
    _fetch(url, part, verify_ssl)
    if sha1_hash and not check_sha1(part, sha1_hash):
        os.unlink(part)
        raise OSError(
            f"the content does not have the SHA-1 {sha1_hash}: the server has a different "
            f"file, or the download was damaged"
        )


def download(
    url: str,
    path: str | None = None,
    overwrite: bool = False,
    sha1_hash: str | None = None,
    retries: int = 5,
    verify_ssl: bool = True,
) -> str:
    """Download a file unless it already exists; returns its path.

    An interrupted download is resumed: the partial file is ``NAME.part``, next to the file. The file
    appears when it is complete and, if there is a hash, verified.

    Args:
        url: address.
        path: path or folder; by default the last part of the URL in the current folder.
        overwrite: download it even if it exists.
        sha1_hash: SHA-1 of the content; a file with another hash is downloaded again.
        retries: number of attempts, at least one.
        verify_ssl: check the server's certificate.

    Returns:
        The path.

    Raises:
        AttributeValueError: ``url`` is not an address.
        CheckError: no file name follows from the URL, or ``retries`` is negative.
        DownloadError: it cannot be downloaded; the message says where to put the file manually.
    """
    if not isinstance(url, str) or not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", url):
        raise AttributeValueError(
            f"download: {url!r:.80} is not a URL, such as https://example.org/data.zip."
        )
    path = _target(url, path)
    if retries < 0:
        raise CheckError("download: retries must be a number of attempts, at least 0.")
    if not verify_ssl:
        warnings.warn(
            "verify_ssl=False: the server's certificate is not checked, so any server could be "
            "answering.",
            stacklevel=2,
        )
    if not overwrite and os.path.exists(path) and (not sha1_hash or check_sha1(path, sha1_hash)):
        return path
    from mixnet.files.whole_file import put_in_place  # as needed: it takes time to import

    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    part = f"{path}.part"
    attempts = max(retries, 1)
    for attempt in itertools.count(1):
        try:
            print(f"Downloading {path} from {url}...")
            _fetch_checked(url, part, verify_ssl, sha1_hash)
            put_in_place(part, path)
            break
        except Exception as error:  # that of a connection that breaks off is no OSError
            from http.client import HTTPException  # a tenth of the import time of gluon

            if attempt == attempts:
                if not isinstance(error, (OSError, HTTPException)):
                    raise
                raise DownloadError(
                    f"download: {url} cannot be downloaded: {error}. Download it another way and put it "
                    f"at {os.path.abspath(path)}."
                ) from error
            left = attempts - attempt
            print(
                f"download failed due to {error!r}, retrying, {left} "
                f"attempt{'s' if left > 1 else ''} left"
            )
            time.sleep(min(0.05 * 2**attempt, 5))
    return path


def _fetch(url: str, part: str, verify_ssl: bool) -> None:
    """Download into a file, resuming at its end if the server supports that."""
    have = os.path.getsize(part) if os.path.exists(part) else 0
    if importlib.util.find_spec("requests") is not None and url.startswith("http"):
        _fetch_by_requests(url, part, verify_ssl, have)
    else:
        _fetch_by_urllib(url, part, verify_ssl, have)


def _fetch_by_requests(url: str, part: str, verify_ssl: bool, have: int) -> None:
    """Download with ``requests``, which MXNet uses and programs configure for proxies or replace in tests."""
    import requests

    headers = {"Range": f"bytes={have}-"} if have else {}
    answer = requests.get(url, stream=True, verify=verify_ssl, headers=headers, timeout=60)
    if answer.status_code == 416 and have:  # complete already, or a part of another file
        os.unlink(part)
        return _fetch_by_requests(url, part, verify_ssl, 0)
    if answer.status_code not in (200, 206):
        raise OSError(f"the server answers {answer.status_code} {answer.reason or ''}".strip())
    if hasattr(answer.raw, "enforce_content_length"):
        answer.raw.enforce_content_length = False  # it is checked below, when the data is written
    count = 0
    with open(part, "ab" if have and answer.status_code == 206 else "wb") as file:
        for chunk in answer.iter_content(_CHUNK):
            file.write(chunk)
            count += len(chunk)
    expected = answer.headers.get("Content-Length")
    coded = answer.headers.get("Content-Encoding")
    if expected is not None and not coded and count < int(expected):
        raise OSError(f"the connection broke off after {count} of {expected} bytes")


def _fetch_by_urllib(url: str, part: str, verify_ssl: bool, have: int) -> None:
    import ssl  # with urllib, a tenth of the import time of gluon
    import urllib.error
    import urllib.request

    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    context = None if verify_ssl else ssl._create_unverified_context()
    try:
        answer = urllib.request.urlopen(request, timeout=60, context=context)
    except urllib.error.HTTPError as error:
        if error.code == 416 and have:  # complete already, or a part of another file
            os.unlink(part)
            return _fetch_by_urllib(url, part, verify_ssl, 0)
        raise
    with answer:
        resumed = have and answer.status == 206
        expected = answer.headers.get("Content-Length")
        count = 0
        with open(part, "ab" if resumed else "wb") as file:
            while chunk := answer.read(_CHUNK):
                file.write(chunk)
                count += len(chunk)
        if expected is not None and count < int(expected):
            raise OSError(f"the connection broke off after {count} of {expected} bytes")


def _indent(s_: str, numSpaces: int) -> str:
    """The text with all lines except the first indented."""
    first, *others = s_.split("\n")
    return "\n".join([first, *(" " * numSpaces + line for line in others)])


def _brief_print_list(lst: Sequence[Any], limit: int = 7) -> str:
    """The items in quotes, without those in the middle if there are more than ``limit``."""
    named = [f"'{each}'" for each in lst]
    if len(named) > limit:
        first = limit // 2
        named = [*named[:first], "...", *named[first - limit :]]
    return ", ".join(named)


def _get_repo_url() -> str:
    """The server of Gluon's data sets and weights, from the setting MXNET_GLUON_REPO."""
    url: str = config.get("MXNET_GLUON_REPO")
    return url if url.endswith("/") else url + "/"


def _get_repo_file_url(namespace: str, filename: str) -> str:
    """The URL of one of these files."""
    return f"{_get_repo_url()}{namespace}/{filename}"
