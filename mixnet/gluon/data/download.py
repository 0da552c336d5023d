"""Dataset files: read from a local folder, or downloaded to it and verified."""

from __future__ import annotations

import os
import shutil
import tarfile
import zipfile
from collections.abc import Sequence
from typing import IO

from mixnet.base import MXNetError
from mixnet.gluon import utils


def fetch(root: str, name: str, sha1: str, url: str) -> str:
    """The path of a file in ``root``, which is downloaded unless it exists with this hash.

    Args:
        name: the name of the file.
        sha1: its hash.
        url: the URL of the file.

    Raises:
        MXNetError: it cannot be downloaded; the message says where to put it manually.
    """
    path = os.path.join(root, name)
    if os.path.exists(path) and utils.check_sha1(path, sha1):
        return path
    wrong = f" The existing file does not have the hash {sha1}." if os.path.exists(path) else ""
    try:
        utils.download(url, path=path, overwrite=bool(wrong), sha1_hash=sha1)
    except Exception as error:
        raise MXNetError(
            f"{name} could not be downloaded from {url}: {error}.{wrong} Download it another way "
            f"and put it at {path}; MXNET_GLUON_REPO names another server."
        ) from error
    return path


def extract(archive: str, root: str, names: Sequence[str]) -> None:
    """Extract the files with these names from a .zip or .tar.gz archive into ``root``, without folders.

    Raises:
        MXNetError: a file is not in the archive.
    """
    remaining = set(names)
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                base = os.path.basename(info.filename)
                if base in remaining:
                    with packed.open(info) as source:
                        _write(source, os.path.join(root, base))
                    remaining.discard(base)
    else:
        with tarfile.open(archive) as tar:
            for member in tar:
                base = os.path.basename(member.name)
                content = tar.extractfile(member) if base in remaining else None
                if content is not None:
                    _write(content, os.path.join(root, base))
                    remaining.discard(base)
    if remaining:
        raise MXNetError(f"{archive} does not contain {', '.join(sorted(remaining))}.")


def _write(source: IO[bytes], path: str) -> None:
    part = f"{path}.part"
    with open(part, "wb") as target:
        shutil.copyfileobj(source, target)
    os.replace(part, path)
