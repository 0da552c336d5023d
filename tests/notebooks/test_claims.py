"""Claims of lessons about their figures hold for the stored figures."""

from __future__ import annotations

import base64
import io
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx

nbformat = pytest.importorskip("nbformat", reason="pip install '.[lab]' to read notebooks")
FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells(stem: str) -> list[Any]:
    return list(nbformat.read(FOLDER / f"{stem}.ipynb", as_version=4).cells)


def printed(cell: Any) -> str:
    """The text of a cell's outputs."""
    parts = [
        each.get("text") or each.get("data", {}).get("text/plain", "")
        for each in cell.get("outputs", [])
    ]
    return "\n".join(parts)


def the(stem: str, words: str) -> Any:
    """The only cell of a notebook with these words in its source."""
    (result,) = [cell for cell in cells(stem) if words in cell.source]
    return result


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_training_graphs_show_their_gradients(path: Path) -> None:
    for cell in cells(path.stem):
        if cell.cell_type == "code" and re.search(r"^GraphView\(.*train=True", cell.source, re.M):
            assert "forward and backward" in printed(cell), cell.source


def test_lesson_6_says_the_lower_bound_that_the_plan_prints() -> None:
    text = the("06_memory_planning", "That is the **lower bound**").source
    (megabytes,) = re.findall(r"needs most: (\S+ MB)", text)
    plan = next(cell for cell in cells("06_memory_planning") if "at least" in printed(cell))
    assert f"at least {megabytes}" in printed(plan)


def test_lesson_6_counts_the_peak_as_the_view_does() -> None:
    (stated,) = re.findall(
        r"at most (\S+) MB", printed(the("06_memory_planning", "at most {log.peak()"))
    )
    view = next(cell for cell in cells("06_memory_planning") if "live memory" in printed(cell))
    (shown,) = re.findall(r"peak (\S+) MB", printed(view))
    assert float(stated) == pytest.approx(float(shown), rel=0.01)


def test_lesson_8_says_that_networks_are_nearly_chains() -> None:
    shown = printed(the("08_graph_passes", "{count / deep:.2f} side by side"))
    ratios = [float(each) for each in re.findall(r"(\S+) side by side", shown)]
    assert len(ratios) == 5 and max(ratios) < 1.5 and min(ratios) == 1


def test_lesson_12_measures_what_it_says() -> None:
    shown = printed(the("12_data_pipelines", "both at once take"))
    assert re.search(r"both at once take \d+% of the time", shown)


def test_lesson_4_says_what_the_compiler_made_of_its_network() -> None:
    shown = printed(the("04_hybridize", "print(f\"{group['kind']:13}"))
    fusions = [line for line in shown.splitlines() if line.startswith("fusion")]
    names = ("net_dense0_fwd", "net_batchnorm0_fwd", "net_relu0", "net__plus0")
    one_loop = [f"net/{each}" for each in names]
    whole = printed(the("04_hybridize", "whole = mx.stages(step)"))
    assert all(each in whole for each in one_loop), "one name for one operation"
    assert any(all(each in line for each in one_loop) for line in fusions)
    times = dict(re.findall(r"^(\w+) +(\S+) ms$", printed(the("04_hybridize", "times = {")), re.M))
    shown = next(printed(cell) for cell in cells("04_hybridize") if "of block net" in printed(cell))
    (run,) = re.findall(r"runs in (\S+) µs", shown)
    assert float(times["compile"]) > 2000 * float(run) / 1e3  # "thousands of times as long"


def test_lesson_13_is_quicker_after_its_fix() -> None:
    shown = printed(the("13_debugging", "took_now, flushes"))
    ((before, after),) = re.findall(r"(\d+) ms before, (\d+) ms now", shown)
    assert int(after) < 0.9 * int(before)
    assert "the same numbers: True" in shown


def test_lesson_15_models_two_devices_on_a_slow_link_as_slower_than_one() -> None:
    space: dict[str, Any] = {}
    source = the("15_several_devices", "def speedup(").source
    exec(source[: source.index("\n\n\nn = ")], space)
    assert (
        space["speedup"](2, gigabytes_per_second=1)
        < 1
        < space["speedup"](2, gigabytes_per_second=10)
    )
    assert space["speedup"](1) == 1


def test_lesson_17_knows_the_defaults() -> None:
    text = the("17_from_other_frameworks", "Gluon's `BatchNorm` adds").source
    assert "adds 1e-5 by default" in text and "`mx.sym.BatchNorm` adds 1e-3" in text
    assert mx.gluon.nn.BatchNorm()._kwargs["eps"] == 1e-5
    data = mx.nd.array([[-1.0], [1.0]])
    one, zero = mx.nd.ones(1), mx.nd.zeros(1)
    with mx.autograd.train_mode():
        out = mx.nd.BatchNorm(data, one, zero, zero, one, fix_gamma=False)
    assert float(out[1].asscalar()) == pytest.approx(1 / (1 + 1e-3) ** 0.5, rel=1e-6)


def test_lesson_18_gets_the_same_weights_in_all_ways() -> None:
    for words in ("largest difference:", "the run that nobody killed"):
        *_, last = printed(the("18_many_machines", words)).split()
        assert 0 <= float(last) < 1e-5, words
    assert printed(the("18_many_machines", "goes_on =")).count("begins at step 20") == 2


def test_lesson_18_says_what_the_model_says_of_ten_machines() -> None:
    text = the("18_many_machines", "## Ten machines, in 2015").source
    (paper,) = re.findall(r"(\S+) seconds for a pass", text)
    expected = float(paper.replace(",", ""))
    after = next(
        cell for cell in cells("18_many_machines") if "The model says" in cell.source
    ).source
    (seconds,) = re.findall(r"The model says (\S+) seconds", after)
    predicted = 1_281_167 / mx.widgets.ScalingView.ten_machines().predict(10)
    assert float(seconds.replace(",", "")) == pytest.approx(predicted, abs=5)
    assert expected == 1400 < predicted


def test_lesson_19_steps_as_the_trainer_does_and_learns() -> None:
    shown = printed(the("19_gluon", "by_hand = {name"))
    (separately,) = re.findall(r"trainer's: (\S+)", shown)
    assert float(separately) < 1e-6
    (before, after) = re.findall(
        r"before (\d+)%, after (\S+)%", printed(the("19_gluon", "before = accuracy"))
    )[0]
    assert float(before) < 30 and float(after) > 90
    curves = dict(
        re.findall(r"^(\w+).* after 6 +(\S+)$", printed(the("19_gluon", "starts = {")), re.M)
    )
    # Ten classes that occur about equally often: a model of their frequencies has the loss ln 10.
    assert float(curves["zeros"]) == pytest.approx(2.30, abs=0.01)
    assert float(curves["Xavier"]) < 0.5 and float(curves["normal"]) > 100


def test_lesson_20_says_what_its_walks_do() -> None:
    assert printed(the("20_optimizers", "by_hand(0.2, 0.8)")).startswith(
        "momentum by hand is mixnet's: True"
    )
    assert "Adam's did: True" in printed(the("20_optimizers", "store.set_optimizer"))
    compiled = printed(the("20_optimizers", "reset_counters"))
    first, then = re.findall(r"learning rates, programs compiled: (\d+)", compiled)
    assert int(first) > 0 and int(then) == 0
    assert "4,810 weights" in printed(the("20_optimizers", '"Nesterov": ('))
    after = re.findall(r"correct (\S+)%", printed(the("20_optimizers", '"Nesterov": (')))
    assert len(after) == 6 and min(map(float, after)) > 90


def test_lesson_20_needs_its_warm_up() -> None:
    shown = printed(the("20_optimizers", "STEPS = 8"))
    correct = {
        name.strip(): int(part) for name, part in re.findall(r"^(.+) loss .* (\d+)%$", shown, re.M)
    }
    assert correct["constant"] < 20  # it guesses
    assert correct["warm-up, then cosine"] == max(correct.values()) > 85


def test_lesson_21_learns_by_heart_and_its_remedies_help() -> None:
    shown = printed(the("21_overfitting", "nonsense ="))
    learned, read = map(int, re.findall(r"(\d+)% of", shown))
    assert learned == 100 and read < 20
    (early, late) = re.findall(
        r"labels learned +\d+%.* what they are +(\d+)%",
        printed(the("21_overfitting", "stopped = network()")),
    )
    assert int(early) > 50 > 10 > int(late)
    rows = re.findall(
        r"^(.+?) +validation .* test (\S+)%(?:, training loss (\S+))?$",
        printed(the("21_overfitting", "remedies = {")),
        re.M,
    )
    (_, plain, memorized), *others = rows
    assert len(others) == 4 and all(float(test) > float(plain) for _, test, _ in others)
    assert all(float(loss) > 5 * float(memorized) for _, _, loss in others if loss)


def test_lesson_22_loops_in_one_node() -> None:
    shown = printed(the("22_control_flow", "class Unrolled"))
    counts = [
        tuple(map(int, each))
        for each in re.findall(r"(\d+) columns: +(\d+) nodes unrolled, (\d+) with", shown)
    ]
    assert shown.count("same numbers: True") == 3
    assert len({rolled for _, _, rolled in counts}) == 1
    assert all(unrolled > columns for columns, unrolled, _ in counts)
    shown = printed(the("22_control_flow", "operators of the symbol"))
    assert "computes the same: True" in shown and shown.count("['null', 'null', '_foreach']") == 2


def test_lesson_22_learns_floods_and_saves_work() -> None:
    (keep,) = re.findall(r"learned (\S+),", printed(the("22_control_flow", "class Trail")))
    assert float(keep) == pytest.approx(0.8, abs=0.005)
    holes = dict(re.findall(r"(\d): (\d+)%", printed(the("22_control_flow", "dry = ("))))
    assert int(holes["8"]) < 100 and any(int(holes[each]) > 0 for each in "12357")
    assert min(int(holes[each]) for each in "0689") > max(int(holes[each]) for each in "12357")
    shown = printed(the("22_control_flow", "class Thoughtful"))
    small, large, both = map(float, re.findall(r": (\S+)% correct", shown))
    (requested,) = re.findall(r"asked for (\d+)%", shown)
    assert small < both and abs(both - large) < 2 and int(requested) < 50


def test_lesson_23_needs_both_parts_of_its_loss() -> None:
    (before, after, low, high) = map(
        float,
        re.findall(
            r"(?:rebuilding|divergence) (\S+) to ([\d.]+)",
            printed(the("23_generative", "history = train")),
        )[0]
        + re.findall(
            r"divergence (\S+) to ([\d.]+)", printed(the("23_generative", "history = train"))
        )[0],
    )
    assert after < before and low < high
    rows = re.findall(
        r"^(.+?) +(\d+)% sure(?:.*deviation (\S+))?$",
        printed(the("23_generative", "nets = {")),
        re.M,
    )
    real, *generated = rows
    sure = [int(each) for _, each, _ in generated]
    assert int(real[1]) > max(sure) and max(sure) - min(sure) <= 5
    kinds = [
        float(each) for each in re.findall(r"(\S+) kinds", printed(the("23_generative", "kinds =")))
    ]
    assert kinds[1] > kinds[0] > kinds[2] + 1
    assert float(generated[2][2]) > 2 * float(generated[0][2])


def test_lesson_24_says_what_loaded_features_are_worth() -> None:
    rows = dict(
        re.findall(r"^(.+?) +(\S+)% correct, on", printed(the("24_fine_tuning", "ways = (")), re.M)
    )
    scratch, head, full, slow = (
        float(rows[each])
        for each in ("from scratch", "head only", "all at the full rate", "all, features slowly")
    )
    assert min(head, slow) > full > scratch
    shown = printed(the("24_fine_tuning", "def moved"))
    reads = dict(re.findall(r"^(.+?) +layers .* reads (\S+)% of", shown, re.M))
    assert float(reads["head only"]) >= float(reads["all, features slowly"]) > 85
    assert float(reads["all at the full rate"]) < 60
    assert "head only             layers changed by 0%, 0%, 0%" in shown
    views = re.findall(r"learns: (\d+) operations", printed(the("24_fine_tuning", "head_only =")))
    assert int(views[1]) < int(views[0])


def test_lesson_25_touches_only_what_occurs() -> None:
    shown = printed(the("25_sparse", "present ="))
    (words, rows, every) = re.findall(r"batch: (\d+); rows of the gradient: (\d+) of (\S+)", shown)[
        0
    ]
    assert words == rows and int(rows) < int(every.replace(",", "")) / 4
    (lazy, eager) = map(
        int,
        re.findall(r"lazy (\d+), ordinary (\d+)", printed(the("25_sparse", "eager, eager_rows")))[
            0
        ],
    )
    assert lazy < eager / 3
    (read,) = re.findall(r"(\S+)% of \d+ docstrings", printed(the("25_sparse", "def write_libsvm")))
    assert float(read) > 90
    (dense, csr) = re.findall(
        r"dense (\S+) MB, csr (\S+) MB", printed(the("25_sparse", "little ="))
    )[0]
    assert float(csr) < float(dense) / 5
    (looked, actual) = re.findall(
        r"(\d+) words looked up, (\d+)", printed(the("25_sparse", "table = nn"))
    )[0]
    assert f"pulled {actual} rows" in printed(the("25_sparse", "table = nn")) and actual < looked


def test_lesson_11_shows_its_photograph_as_it_is() -> None:
    (cell,) = [each for each in cells("11_attention") if "course.photograph" in each.source]
    (actual,) = [each.data["image/jpeg"] for each in cell.outputs if "image/jpeg" in each.data]
    image = pytest.importorskip("PIL.Image")
    grey = np.asarray(image.open(io.BytesIO(base64.b64decode(actual))).convert("L"))
    height = len(grey)
    sky, trees = grey[height // 20 : height // 4], grey[-height // 8 : -height // 20]
    assert sky.mean() > trees.mean() + 50


def test_lesson_26_learns_the_rule_of_its_stories() -> None:
    shown = printed(the("26_transformer", "curve = train(net)"))
    (bigram, before, after, perfect) = map(
        float,
        re.findall(r"bigram (\S+), transformer (\S+) to (\S+), perfect (\S+)$", shown, re.M)[0],
    )
    assert perfect == round(math.log(8 * 7 * 6 * 8), 1)
    assert before > 2 * bigram and perfect < after < perfect + 2 < bigram / 5
    (separately, from_there) = map(
        float,
        re.findall(
            r"at most (\S+) before the change, by up to (\S+)",
            printed(the("26_transformer", "changed = test_ids")),
        )[0],
    )
    assert separately < 1e-6 < 1e-2 < from_there
    (daring, sure) = re.findall(
        r"(\d+) of 100 follow the rule, (\d+) of",
        printed(the("26_transformer", "possible, read =")),
    )
    assert 40 < int(daring[0]) < int(sure[0]) and int(sure[0]) > 80
    assert all(int(unread) > int(right) / 2 for right, unread in (daring, sure))
    (first, second) = map(
        float,
        re.findall(
            r"first sentence (\S+), second sentence (\S+)$",
            printed(the("26_transformer", "chosen = next")),
            re.M,
        )[0],
    )
    assert second < first / 10


def test_lesson_26_says_what_its_heads_and_positions_are_for() -> None:
    shown = printed(the("26_transformer", "def without_head"))
    weights = re.findall(r"by block (\d), head (\d): (\d+)%", shown)
    (alike,) = map(int, re.findall(r"weights everywhere: (\d+)%", shown))
    assert len(weights) == 8 and {block for block, _, _ in weights} == {"2"}
    assert len({head for _, head, _ in weights}) > 1, "several heads share the names"
    assert all(int(weight) > 2 * alike for *_, weight in weights)
    (whole,) = map(float, re.findall(r"with all heads (\S+);", shown))
    losses = [float(each) for each in re.findall(r"\[(.+)\]", shown)[0].split()]
    (none,) = map(float, re.findall(r"all four of block 2: (\S+)$", shown, re.M))
    assert len(losses) == 8 and min(losses) > whole
    assert min(losses[:4]) > 2 * whole and max(losses[4:]) < 1.5 * whole
    assert none - whole > sum(losses[4:]) - 4 * whole, "heads stand in for each other"
    rows = re.findall(
        r"loss of a story (\S+), second sentence right in (\d+)%",
        printed(the("26_transformer", "without = new(")),
    )
    (placed, right), (unplaced, fewer) = ((float(loss), int(part)) for loss, part in rows)
    assert placed < unplaced < 96 / 2 and right > 90 > 60 > fewer
    growth = [
        float(each)
        for each in re.findall(r"(\S+) times", printed(the("26_transformer", "needs = {}")))
    ]
    assert growth[:-1] == sorted(growth[:-1]) and growth[0] < 3
    assert all(3.75 < each <= 4 for each in growth[-2:])
