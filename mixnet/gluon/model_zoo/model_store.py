"""Files of pretrained parameters: downloaded once, verified by hash, and cached in a folder."""

from __future__ import annotations

import logging
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mixnet import base as base
from mixnet.base import AttributeValueError
from mixnet.gluon.utils import _get_repo_url
from mixnet.gluon.utils import check_sha1 as check_sha1
from mixnet.gluon.utils import download as download
from mixnet.gluon.utils import replace_file as replace_file

if TYPE_CHECKING:
    from mixnet.context import Context
    from mixnet.gluon.block.block import Block

__all__ = ["get_model_file", "purge"]

# SHA-1 of the published parameter file of each network.
_model_sha1 = {
    "alexnet": "44335d1f0046b328243b32a26a4fbd62d9057b45",
    "densenet121": "f27dbf2dbd5ce9a80b102d89c7483342cd33cb31",
    "densenet161": "b6c8a95717e3e761bd88d145f4d0a214aaa515dc",
    "densenet169": "2603f878403c6aa5a71a124c4a3307143d6820e9",
    "densenet201": "1cdbc116bc3a1b65832b18cf53e1cb8e7da017eb",
    "inceptionv3": "ed47ec45a937b656fcc94dabde85495bbef5ba1f",
    "mobilenet0.25": "9f83e440996887baf91a6aff1cccc1c903a64274",
    "mobilenet0.5": "8e9d539cc66aa5efa71c4b6af983b936ab8701c3",
    "mobilenet0.75": "529b2c7f4934e6cb851155b22c96c9ab0a7c4dc2",
    "mobilenet1.0": "6b8c5106c730e8750bcd82ceb75220a3351157cd",
    "mobilenetv2_1.0": "36da4ff1867abccd32b29592d79fc753bca5a215",
    "mobilenetv2_0.75": "e2be7b72a79fe4a750d1dd415afedf01c3ea818d",
    "mobilenetv2_0.5": "aabd26cd335379fcb72ae6c8fac45a70eab11785",
    "mobilenetv2_0.25": "ae8f9392789b04822cbb1d98c27283fc5f8aa0a7",
    "resnet18_v1": "a0666292f0a30ff61f857b0b66efc0228eb6a54b",
    "resnet34_v1": "48216ba99a8b1005d75c0f3a0c422301a0473233",
    "resnet50_v1": "0aee57f96768c0a2d5b23a6ec91eb08dfb0a45ce",
    "resnet101_v1": "d988c13d6159779e907140a638c56f229634cb02",
    "resnet152_v1": "671c637a14387ab9e2654eafd0d493d86b1c8579",
    "resnet18_v2": "a81db45fd7b7a2d12ab97cd88ef0a5ac48b8f657",
    "resnet34_v2": "9d6b80bbc35169de6b6edecffdd6047c56fdd322",
    "resnet50_v2": "ecdde35339c1aadbec4f547857078e734a76fb49",
    "resnet101_v2": "18e93e4f48947e002547f50eabbcc9c83e516aa6",
    "resnet152_v2": "f2695542de38cf7e71ed58f02893d82bb409415e",
    "squeezenet1.0": "264ba4970a0cc87a4f15c96e25246a1307caf523",
    "squeezenet1.1": "33ba0f93753c83d86e1eb397f38a667eaf2e9376",
    "vgg11": "dd221b160977f36a53f464cb54648d227c707a05",
    "vgg11_bn": "ee79a8098a91fbe05b7a973fed2017a6117723a8",
    "vgg13": "6bc5de58a05a5e2e7f493e2d75a580d83efde38c",
    "vgg13_bn": "7d97a06c3c7a1aecc88b6e7385c2b373a249e95e",
    "vgg16": "e660d4569ccb679ec68f1fd3cce07a387252a90a",
    "vgg16_bn": "7f01cf050d357127a73826045c245041b0df7363",
    "vgg19": "ad2f660d101905472b83590b59708b71ea22b2e5",
    "vgg19_bn": "f360b758e856f1074a85abd5fd873ed1d98297c3",
}

# The default server of the archives; MXNET_GLUON_REPO names another one.
apache_repo_url = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"

FOLDER = os.path.join(base.data_dir(), "models")
"""Where the files are stored: ``models`` in ``MXNET_HOME``, by default ``~/.mxnet``."""


def short_hash(name: str) -> str:
    """The eight characters of the hash in the name of a network's file.

    Raises:
        ValueError: there are no pretrained parameters of that name.
    """
    if name not in _model_sha1:
        raise AttributeValueError(
            f"Pretrained model for {name} is not available. There are {', '.join(_model_sha1)}."
        )
    return _model_sha1[name][:8]


def get_model_file(name: str, root: str = FOLDER) -> str:
    """Path of the file of pretrained parameters, which is downloaded if it is missing or damaged.

    Args:
        name: of a network, as for ``get_model``.
        root: cache folder.

    Raises:
        ValueError: there are no pretrained parameters with that name, or the download is a different file.
        ConnectionError: it cannot be downloaded; the message says where to put it manually.
    """
    file = f"{name}-{short_hash(name)}"
    path = Path(root).expanduser() / f"{file}.params"
    expected = _model_sha1[name]
    if path.exists():
        if check_sha1(str(path), expected):
            return str(path)
        logging.warning("Mismatch in the content of model file detected. Downloading again.")
    else:
        logging.info("Model file not found. Downloading to %s.", path)
    path.parent.mkdir(parents=True, exist_ok=True)
    url = f"{_get_repo_url()}gluon/models/{file}.zip"
    archive = path.with_suffix(".zip")
    by_hand = (
        f"Get {url} in another way, and put the file {path.name} that is in it into {path.parent}; "
        f"or set MXNET_GLUON_REPO to a mirror, or MXNET_HOME to a folder that has it in models/."
    )
    try:
        download(url, path=str(archive), overwrite=True)
        with zipfile.ZipFile(archive) as packed:
            packed.extract(path.name, path.parent)
    except OSError as error:
        raise ConnectionError(
            f"The parameters of {name} could not be downloaded. {by_hand}"
        ) from error
    except (KeyError, zipfile.BadZipFile) as error:
        raise AttributeValueError(
            f"{url} is not an archive with {path.name} in it. {by_hand}"
        ) from error
    finally:
        archive.unlink(missing_ok=True)
    if check_sha1(str(path), expected):
        return str(path)
    raise AttributeValueError(
        f"{path} does not have the hash {expected}: the file is damaged. {by_hand}"
    )


def purge(root: str = FOLDER) -> None:
    """Remove all parameter files of a folder.

    Args:
        root: the folder.
    """
    folder = Path(root).expanduser()
    for path in folder.glob("*.params") if folder.is_dir() else ():
        path.unlink()


Network = TypeVar("Network", bound="Block")


def with_pretrained(
    net: Network,
    pretrained: bool,
    name: str,
    ctx: Context | Sequence[Context] | None,
    root: str,
) -> Network:
    """A network, filled with the pretrained parameters of a name if requested.

    Args:
        net: a network of that name.
        pretrained: whether to load the parameters.
        name: of the parameters.
        ctx: context or contexts of the parameters.
        root: folder of the files, which are downloaded there.
    """
    if pretrained:
        net.load_parameters(get_model_file(name, root=root), ctx=ctx)
    return net
