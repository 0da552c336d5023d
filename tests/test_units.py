"""Numbers for people: one rule, the same in Python and in the page."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mixnet import units

ROOT = Path(__file__).parents[1]
FORMAT = ROOT / "widgets" / "src" / "core" / "format.js"
NUMBERS = [
    0,
    1,
    9.994,
    9.996,
    12,
    640,
    999.4,
    999.6,
    1000,
    1536,
    999_499,
    999_501,
    16_070_000,
    22_259_450_000,
    5.5e13,
    0.5,
    1.4552e-5,
    0.012345,
    2.22e-14,
    3.2e-10,
    0.9999,
    -0.0002,
    -0.066,
]
TIMES = [*NUMBERS, 59.94, 59.96, 90, 3599.4, 3599.6, 5400, 86_399, 100_000, -75]
TIME_SPANS = [(0, 0.02), (0, 4), (3, 48), (100, 7000), (0, 400_000), (5, 5)]
SPANS = [(0, 97), (0, 1), (0, 1280), (0.0339, 2.2), (12345, 12399), (0, 16_070_000), (5, 5)]


def test_sizes_are_powers_of_a_thousand() -> None:
    sizes = [0, 640, 999.6, 1536, 999_501, 16_070_000, 22_259_450_000]
    assert [units.size_text(size) for size in sizes] == [
        "0 B",
        "640 B",
        "1 kB",
        "1.54 kB",
        "1 MB",
        "16.1 MB",
        "22.3 GB",
    ]


def test_times_counts_and_shares() -> None:
    assert [units.time_text(t) for t in (0, 3.2e-10, 1.23e-5, 0.0045, 0.9999, 59.94)] == [
        "0 s",
        "0.32 ns",
        "12.3 µs",
        "4.5 ms",
        "1 s",
        "59.9 s",
    ]
    assert [units.count_text(n) for n in (12, 999.6, 86_500_000)] == ["12", "1 k", "86.5 M"]
    assert units.count_text(3100, "FLOP") == "3.1 kFLOP" and units.count_text(9, "FLOP") == "9 FLOP"
    assert [units.how_many(n, "piece") for n in (0, 1, 2)] == ["0 pieces", "1 piece", "2 pieces"]
    assert [units.signed_share(x) for x in (0.0125, -0.5)] == ["+1.2%", "-50%"]
    assert units.share_text(-0.0004) == "0%" and units.signed_share(-0.0004) == "0%"
    assert [units.share_text(x) for x in (0.125, 2.22e-16, 1)] == ["12.5%", "0%", "100%"]


def test_long_times_have_two_units() -> None:
    times = [59.96, 90, 3599.4, 3599.6, 5400, 86_399, 100_000, 86_400 * 1200, -75]
    assert [units.time_text(t) for t in times] == [
        "1 min",
        "1 min 30 s",
        "59 min 59 s",
        "1 h",
        "1 h 30 min",
        "24 h",
        "1 d 4 h",
        "1,200 d",
        "-1 min 15 s",
    ]
    assert units.time_text(float("inf")) == "inf s"


def test_ticks_of_times_are_round_on_a_clock() -> None:
    spans = [0.02, 4, 45, 280, 6000, 50_000, 400_000, 3e7]
    assert [[units.time_text(t) for t in units.time_ticks(0, span, 4)][1:3] for span in spans] == [
        ["5 ms", "10 ms"],
        ["1 s", "2 s"],
        ["15 s", "30 s"],
        ["2 min", "4 min"],
        ["30 min", "1 h"],
        ["6 h", "12 h"],
        ["2 d", "4 d"],
        ["100 d", "200 d"],
    ]


def test_plurals_are_formed() -> None:
    nouns = ("box", "match", "pass", "query", "array")
    assert [units.how_many(1, each) for each in nouns] == [f"1 {each}" for each in nouns]
    plurals = ["2 boxes", "2 matches", "2 passes", "2 queries", "2 arrays"]
    assert [units.how_many(2, each) for each in nouns] == plurals
    assert units.how_many(1200, "row") == "1,200 rows"


def test_views_write_plurals_and_shares_by_these_rules_only() -> None:
    """No plural that is decided in place, and no percent sign after a space, in what readers see."""
    python = [
        *(ROOT / "mixnet" / "widgets").rglob("*.py"),
        *(ROOT / "mixnet/visualization").rglob("*.py"),
    ]
    pages = [*(ROOT / "widgets" / "src").rglob("*.js"), ROOT / "mixnet/export/page/page.js"]
    by_hand = re.compile(
        r"""\? ?(""|''|"s") ?: ?("s"|'s'|"")|if \w[^{}]* == 1 else '(s|es)'|'s' \* \("""
    )
    verb = re.compile(r"\w+\{'s' if \w+ == 1")  # "1 piece that runs"
    spaced = re.compile(r"[0-9})] %(?=[`\"'<.,;:)]|$)", re.M)
    for path in [*python, *pages]:
        text = path.read_text(encoding="utf-8")
        assert not spaced.search(text), path
        if path != FORMAT:
            assert not by_hand.search(verb.sub("", text)), (path, by_hand.search(text))


@pytest.mark.parametrize(("low", "high"), SPANS)
def test_ticks_are_round_and_inside(low: float, high: float) -> None:
    actual = units.ticks(low, high)
    assert 1 <= len(actual) <= 7 and all(low - 1e-9 <= t <= high * (1 + 1e-9) for t in actual)
    steps = {f"{b - a:.6e}".split("e")[0] for a, b in itertools.pairwise(actual)}
    assert steps <= {"1.000000", "2.000000", "5.000000"} and len(steps) <= 1


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node 20 or newer")
def test_the_page_writes_the_same() -> None:
    script = f"""
      import {{ bytes, count, digits, percent, seconds, signedPercent, ticks }} from "{FORMAT.as_uri()}";
      import {{ timeTexts, timeTicks }} from "{FORMAT.as_uri()}";
      const numbers = {json.dumps(NUMBERS)}, spans = {json.dumps(SPANS)};
      const writers = [bytes, count, percent, signedPercent, digits];
      console.log(JSON.stringify([...writers.map((f) => numbers.map(f)),
        {json.dumps(TIMES)}.map(seconds), spans.map(([a, b]) => ticks(a, b)),
        {json.dumps(TIME_SPANS)}.map(([a, b]) => timeTicks(a, b)),
        [timeTexts([0, 60]), timeTexts([7200, 7200.5, 7201])]]));
    """
    run = subprocess.run(
        ["node", "--input-type=module", "-e", script],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    *texts, times, marks, time_marks, along = json.loads(run.stdout)
    functions = [
        units.size_text,
        units.count_text,
        units.share_text,
        units.signed_share,
        units.digits,
    ]
    for function, written in zip(functions, texts, strict=True):
        assert written == [function(number) for number in NUMBERS], function.__name__
    for actual, (low, high) in zip(marks, SPANS, strict=True):
        assert actual == pytest.approx(units.ticks(low, high))
    assert times == [units.time_text(time) for time in TIMES]
    for actual, (low, high) in zip(time_marks, TIME_SPANS, strict=True):
        assert actual == pytest.approx(units.time_ticks(low, high))
    assert along == [["0 s", "1 min"], ["2 h", "+500 ms", "+1 s"]]
