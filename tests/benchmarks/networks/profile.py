"""Where a network's time goes in mixnet: ``python -m tests.benchmarks.networks.profile NETWORK``.

XLA's own profiler times every instruction of the compiled programs; what a row is called comes
from the scopes in which the instruction was traced (the operator of the graph) and from its
opcode. Needs a process of its own: the programs are dumped as text while they are compiled.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

STEPS = 5
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = .*", re.MULTILINE)
_SCOPES = re.compile(r'op_name="([^"]*)"')
_OPCODE = re.compile(r"\s([a-z][\w\-]*)\(")
_TARGET = re.compile(r'custom_call_target="([^"]*)"')


def rows_of(directory: Path, shapes: bool) -> dict[tuple[str, str], str]:
    """What each instruction of each dumped program is called, by module and instruction."""
    result = {}
    for path in directory.glob("*after_optimizations.txt"):
        text = path.read_text()
        module = re.search(r"^HloModule ([\w.\-]+)", text)
        for line in _INSTRUCTION.finditer(text):
            scopes = _SCOPES.search(line.group())
            opcode = _OPCODE.search(line.group().split(" = ", 1)[1])
            target = _TARGET.search(line.group())
            parts = scopes.group(1).split("/") if scopes else []
            scope = parts[1] if len(parts) > 1 else ""
            operator = _operator(scope)
            kind = target.group(1) if target else opcode.group(1) if opcode else ""
            key = (module.group(1) if module else "", line.group(1))
            shape = line.group().split(" = ", 1)[1].split(" ")[0] if shapes else ""
            result[key] = (
                f"{operator or '(XLA)'} | {kind} {line.group(1) if shapes else ''} {shape}"
            )
    return result


def _operator(scope: str) -> str:
    """``pooling_backward_gradient`` of ``net0_backward10_pooling2_backward_gradient``."""
    return re.sub(r"\d+", "", re.sub(r"^.*\d_backward\d+_|^[a-z]+\d+_", "", scope))


def times(directory: Path) -> Counter[tuple[str, str]]:
    """Nanoseconds of each instruction of a trace, by module and instruction."""
    from jax.profiler import ProfileData

    spent: Counter[tuple[str, str]] = Counter()
    for path in directory.rglob("*.xplane.pb"):
        for plane in ProfileData.from_file(str(path)).planes:
            for line in plane.lines:
                for event in line.events:
                    stats = dict(event.stats)
                    if "hlo_op" in stats:
                        key = (str(stats.get("hlo_module", "")), str(stats["hlo_op"]))
                        spent[key] += int(event.duration_ns)
    return spent


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("network")
    parser.add_argument("--mode", choices=("training", "inference"), default="training")
    parser.add_argument("--variant", choices=("hybridized", "imperative"), default="hybridized")
    parser.add_argument("--warm", type=int, default=5, help="steps before the trace")
    parser.add_argument("--top", type=int, default=25)
    parser.add_argument("--shapes", action="store_true", help="a row for every instruction")
    parser.add_argument("--dump", help="keep the programs' text in this folder")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        programs, trace = Path(chosen.dump or Path(name, "hlo")), Path(name, "trace")
        os.environ["XLA_FLAGS"] = (
            os.environ.get("XLA_FLAGS", "") + f" --xla_dump_to={programs} --xla_dump_hlo_as_text"
        )
        os.environ["MIXNET_CACHE_DIR"] = str(Path(name, "cache"))  # so that all are compiled
        report(chosen, programs, trace)


def report(chosen: Any, programs: Path, trace: Path) -> None:
    """Run the network and print where its time went."""
    import jax

    import mixnet as mx
    from tests.benchmarks.networks.case import case
    from tests.benchmarks.networks.in_gluon import Contender

    contender = Contender(mx, case(chosen.network), chosen.variant, None)
    step = contender.train if chosen.mode == "training" else contender.predict
    for _ in range(chosen.warm):
        step()
    contender.finish()
    with jax.profiler.trace(str(trace)):
        begun = time.perf_counter()
        for _ in range(STEPS):
            step()
        contender.finish()
        seconds = (time.perf_counter() - begun) / STEPS
    spent = times(trace)
    names = rows_of(programs, chosen.shapes)
    table: Counter[str] = Counter()
    for key, ns in spent.items():
        instruction = key[1].split("__")[0] if "__onednn" in key[1] else key[1]
        table[names.get((key[0], instruction), "? | " + re.sub(r"\d+", "", key[1]))] += ns
    total = sum(table.values())
    print(f"{chosen.network} {chosen.mode}: {seconds * 1e3:.1f} ms a step;")
    print(f"instructions, all threads together: {total / STEPS / 1e6:.1f} ms a step\n")
    for name, ns in table.most_common(chosen.top):
        print(f"{ns / STEPS / 1e6:9.2f} ms {100 * ns / total:5.1f}%  {name}")


if __name__ == "__main__":
    main()
