"""Pages of networks, and notebooks as pages or frozen: ``python -m mixnet.widgets look net.onnx``."""

from __future__ import annotations

import argparse
import copy
import sys
from pathlib import Path

from mixnet.base import MXNetError
from mixnet.files.whole_file import write_whole
from mixnet.widgets.freeze import freeze_file, notebook_page, read
from mixnet.widgets.look import Look


def main(arguments: list[str] | None = None) -> int:
    """The command line; 0 if all was written."""
    parser = argparse.ArgumentParser(prog="python -m mixnet.widgets")
    parts = parser.add_subparsers(dest="what", required=True)
    frozen = parts.add_parser("freeze", help="remove live widgets; pictures and data stay")
    frozen.add_argument("notebook", type=Path, nargs="+")
    paged = parts.add_parser("page", help="write NOTEBOOK.html: interactive, no kernel, no network")
    paged.add_argument("notebook", type=Path, nargs="+")
    looked = parts.add_parser("look", help="write a page of mx.look: no kernel, no network")
    looked.add_argument("network", type=Path, help="an .onnx file, or a symbol's .json file")
    looked.add_argument(
        "shapes", nargs="*", type=_shape, metavar="NAME=2,3", help="shapes of inputs"
    )
    looked.add_argument("--out", type=Path, help="default: the network's name with .html")
    looked.add_argument("--train", action="store_true", help="with gradients")
    options = parser.parse_args(arguments)
    if options.what == "look":
        return _look(options)
    for path in options.notebook:
        try:
            if options.what == "freeze":
                print(freeze_file(path))
            else:
                target = path.with_suffix(".html")
                write_whole(target, notebook_page(copy.deepcopy(read(path))).encode())
                print(target)
        except (OSError, MXNetError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 1
    return 0


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    """``data=1,3,8,8`` as a name and a shape."""
    name, is_given, extents = text.partition("=")
    if not is_given:
        raise argparse.ArgumentTypeError(f"{text!r} has no '='; write it as data=1,3,224,224")
    try:
        return name, tuple(int(each) for each in extents.split(","))
    except ValueError:
        message = f"{extents!r} is not a shape; write it as data=1,3,224,224"
        raise argparse.ArgumentTypeError(message) from None


def _look(options: argparse.Namespace) -> int:
    path, target = options.network, options.out or options.network.with_suffix(".html")
    try:
        view = Look(path, train=options.train, **dict(options.shapes))
        view.to_html(target)
    except (OSError, MXNetError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{target}: {view.summary()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
