"""Freeze notebooks, or convert them to pages: ``python -m mixnet.widgets freeze NOTEBOOK...``."""

from __future__ import annotations

import argparse
import copy
import sys
from pathlib import Path

from mixnet.base import MXNetError
from mixnet.widgets.freeze import freeze_file, notebook_page, read


def main(arguments: list[str] | None = None) -> int:
    """The command line; 0 if all was written."""
    parser = argparse.ArgumentParser(prog="python -m mixnet.widgets")
    parts = parser.add_subparsers(dest="what", required=True)
    frozen = parts.add_parser("freeze", help="take live widgets out; pictures and data stay")
    frozen.add_argument("notebook", type=Path, nargs="+")
    paged = parts.add_parser("page", help="write NOTEBOOK.html: interactive, no kernel, no network")
    paged.add_argument("notebook", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    for path in options.notebook:
        try:
            if options.what == "freeze":
                print(freeze_file(path))
            else:
                target = path.with_suffix(".html")
                target.write_text(notebook_page(copy.deepcopy(read(path))), encoding="utf-8")
                print(target)
        except (OSError, MXNetError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
