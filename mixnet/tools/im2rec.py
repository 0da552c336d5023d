"""``python -m mixnet.tools.im2rec``: list the images of a folder, or pack a list into a record file."""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from mixnet.files.reading import lines_of, opened
from mixnet.files.whole_file import write_whole
from mixnet.recordio import IRHeader, MXIndexedRecordIO, pack, pack_img

_SEED = 100  # of the order of lists, as MXNet's tool has it
Item = TypeVar("Item")
Result = TypeVar("Result")


class Entry(NamedTuple):
    """A line of a list: number, path below the root, labels."""

    number: int
    path: str
    labels: list[float]


# ---- lists --------------------------------------------------------------------------------------


def list_images(root: str, recursive: bool, exts: Sequence[str]) -> Iterator[Entry]:
    """The images below a folder, in the order of their names.

    Args:
        root: the folder.
        recursive: go through folders below it, each a class of its own; else take the files in the
            folder alone, with label 0.
        exts: endings of names, in small letters.
    """
    number = 0
    if not recursive:
        for name in sorted(os.listdir(root)):
            if os.path.isfile(os.path.join(root, name)) and _ends(name, exts):
                yield Entry(number, name, [0.0])
                number += 1
        return
    classes: dict[str, int] = {}
    for folder, below, names in os.walk(root, followlinks=True):
        below.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and _ends(name, exts):
                label = classes.setdefault(folder, len(classes))
                yield Entry(number, os.path.relpath(path, root), [float(label)])
                number += 1
    for folder, label in sorted(classes.items(), key=lambda each: each[1]):
        print(os.path.relpath(folder, root), label)


def _ends(name: str, exts: Sequence[str]) -> bool:
    return os.path.splitext(name)[1].lower() in exts


def write_list(path: str, entries: Iterable[Entry]) -> None:
    """Write lines of number, labels and path, with tabs in between."""
    lines = []
    for each in entries:
        labels = "".join(f"{label:f}\t" for label in each.labels)
        lines.append(f"{each.number}\t{labels}{each.path}\n")
    write_whole(path, "".join(lines).encode())


def make_lists(args: argparse.Namespace) -> None:
    """Write the lists that the arguments ask for: chunks, each cut into train, test and val."""
    entries = list(list_images(args.root, args.recursive, args.exts))
    if args.shuffle:
        random.Random(_SEED).shuffle(entries)
    size = -(-len(entries) // args.chunks)
    for i in range(args.chunks):
        chunk = entries[i * size : (i + 1) * size]
        name = f"{args.prefix}_{i}" if args.chunks > 1 else args.prefix
        test, train = int(size * args.test_ratio), int(size * args.train_ratio)
        if args.train_ratio == 1.0:
            write_list(f"{name}.lst", chunk)
            continue
        if args.test_ratio:
            write_list(f"{name}_test.lst", chunk[:test])
        if args.train_ratio + args.test_ratio < 1.0:
            write_list(f"{name}_val.lst", chunk[test + train :])
        write_list(f"{name}_train.lst", chunk[test : test + train])


def read_list(path: str) -> Iterator[Entry]:
    """The lines of a list; others are reported and left out."""
    for _, line in lines_of(opened(path), path):
        parts = [each.strip() for each in line.strip().split("\t")]
        if parts == [""]:
            continue
        if len(parts) < 3:
            print(
                f"lst should have at least has three parts, but only has {len(parts)} parts "
                f"for {parts}"
            )
            continue
        try:
            labels = [float(each) for each in parts[1:-1]]
            yield Entry(int(parts[0]), parts[-1], labels)
        except ValueError as error:
            print(f"Parsing lst met error for {parts}, detail: {error}")


# ---- records ------------------------------------------------------------------------------------


def encode(args: argparse.Namespace, entry: Entry) -> bytes | None:
    """The record of an image; None, and a line that says why, if it cannot be read."""
    import cv2

    path = os.path.join(args.root, entry.path)
    several = args.pack_label and len(entry.labels) > 1
    header = IRHeader(0, entry.labels if several else entry.labels[0], entry.number, 0)
    if args.pass_through:
        try:
            with open(path, "rb") as file:
                return pack(header, file.read())
        except OSError as error:
            print(f"pack_img error: {entry.path} {error}")
            return None
    image = cv2.imread(path, args.color)
    if image is None:
        print(f"imread read blank (None) image for file: {path}")
        return None
    height, width = image.shape[:2]
    if args.center_crop and height != width:
        side = min(height, width)
        top, left = (height - side) // 2, (width - side) // 2
        image = image[top : top + side, left : left + side]
        height = width = side
    if args.resize:
        size = (args.resize, height * args.resize // width)
        if height <= width:
            size = (width * args.resize // height, args.resize)
        image = cv2.resize(image, size)
    return pack_img(header, image, quality=args.quality, img_fmt=args.encoding)


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[tuple[Item, Result]]:
    """``work`` of each item, by several threads; the results in the order of the items."""
    if threads < 2:
        for item in items:
            yield item, work(item)
        return
    with ThreadPoolExecutor(threads) as pool:
        # A few ahead of the writer, so that memory holds few images.
        ahead: deque[Any] = deque()
        for item in items:
            ahead.append((item, pool.submit(work, item)))
            if len(ahead) > 4 * threads:
                first, future = ahead.popleft()
                yield first, future.result()
        for first, future in ahead:
            yield first, future.result()


def make_records(args: argparse.Namespace, path: str) -> tuple[int, int]:
    """Write the record file of a list, and its index.

    Returns:
        How many images it has, and how many could not be read.
    """
    folder = os.path.dirname(os.path.abspath(path))
    print("Creating .rec file from", path, "in", folder)
    name = os.path.splitext(os.path.join(folder, os.path.basename(path)))[0]
    writer = MXIndexedRecordIO(name + ".idx", name + ".rec", "w")
    written = lost = 0
    start = time.time()
    try:
        encoded = in_order(lambda entry: encode(args, entry), read_list(path), args.num_thread)
        for entry, record in encoded:
            if record is None:
                lost += 1
                continue
            if written % 1000 == 0:
                print("time:", time.time() - start, " count:", written)
                start = time.time()
            writer.write_idx(entry.number, record)
            written += 1
    finally:
        writer.close()
    if lost:
        print(f"{lost} of {written + lost} images could not be read and are left out.")
    return written, lost


# ---- the command --------------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    """The arguments of the command."""
    arguments = argparse.ArgumentParser(
        prog="im2rec",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        description="Make a list of the images in a folder, or a record file of such a list.",
    )
    arguments.add_argument(
        "prefix", help="path of the lists and record files, without an extension"
    )
    arguments.add_argument("root", help="folder of the images")
    lists = arguments.add_argument_group("Options for creating image lists")
    lists.add_argument(
        "--list", action="store_true", help="make lists; otherwise, record files from them"
    )
    lists.add_argument(
        "--exts", nargs="+", default=[".jpeg", ".jpg", ".png"], help="extensions of image files"
    )
    lists.add_argument("--chunks", type=int, default=1, help="number of lists")
    lists.add_argument("--train-ratio", type=float, default=1.0, help="share for training")
    lists.add_argument("--test-ratio", type=float, default=0, help="share for testing")
    lists.add_argument(
        "--recursive", action="store_true", help="include subfolders; each is a class"
    )
    lists.add_argument(
        "--no-shuffle", dest="shuffle", action="store_false", help="keep the order of the names"
    )
    records = arguments.add_argument_group("Options for creating database")
    records.add_argument("--pass-through", action="store_true", help="pack the files as they are")
    records.add_argument("--resize", type=int, default=0, help="shorter side; 0 leaves it as it is")
    records.add_argument("--center-crop", action="store_true", help="cut out a square")
    records.add_argument(
        "--quality",
        type=int,
        default=95,
        help="1 to 100 for JPEG; compression level 1 to 9 for PNG",
    )
    records.add_argument("--num-thread", type=int, default=1, help="threads that encode")
    records.add_argument(
        "--color", type=int, default=1, choices=[-1, 0, 1],
        help="1 for colour, 0 for grey, -1 unchanged, with transparency",
    )  # fmt: skip
    records.add_argument(
        "--encoding", default=".jpg", choices=[".jpg", ".png"], help="format of the images"
    )
    records.add_argument("--pack-label", action="store_true", help="pack all labels of an image")
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: its arguments; those of the process by default.

    Returns:
        0, or 1 if there is nothing to do.
    """
    args = parser().parse_args(argv)
    args.prefix, args.root = os.path.abspath(args.prefix), os.path.abspath(args.root)
    if not os.path.isdir(args.root):
        print(f"There is no folder {args.root}", file=sys.stderr)
        return 1
    if args.list:
        make_lists(args)
        return 0
    folder, name = os.path.split(args.prefix)
    lists = [
        os.path.join(folder, each)
        for each in sorted(os.listdir(folder) if os.path.isdir(folder) else [])
        if each.startswith(name) and each.endswith(".lst")
    ]
    if not lists:
        print("Did not find and list file with prefix", args.prefix)
        return 1
    for each in lists:
        make_records(args, each)
    return 0


if __name__ == "__main__":
    sys.exit(main())
