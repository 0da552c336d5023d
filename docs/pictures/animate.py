"""Draw the animation of stepping through ``hybridize()``: ``python docs/pictures/animate.py``
writes ``docs/pictures/hybridize.webp``.

The frames are screenshots of the real view: a page of ``HybridizeStepper``, in which Chromium
chooses a line of the source and goes through the stages. It needs Chromium, Playwright and
Pillow (``pip install playwright pillow``).
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import mixnet as mx
from mixnet import nd
from mixnet.gluon import nn
from mixnet.widgets import HybridizeStepper

PATH = Path(__file__).parent / "hybridize.webp"
WIDTH, HEIGHT = 1080, 668
MOST = 1_000_000  # bytes
SECONDS = {"first": 2.0, "line": 2.2, "stage": 1.4, "last": 3.0}


class Net(nn.HybridBlock):
    """A network whose second line has two relus that are the same."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        with self.name_scope():
            self.hidden = nn.Dense(16, in_units=8)
            self.norm = nn.BatchNorm(in_channels=16)
            self.out = nn.Dense(4, in_units=16)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x = F.relu(self.norm(self.hidden(x)))
        return self.out(F.relu(x) + F.relu(x))


def stepper() -> HybridizeStepper:
    """The view that is stepped through."""
    net = Net(prefix="net_")
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return HybridizeStepper(net, nd.random.uniform(shape=(32, 8)))


def frames(page: Any) -> list[tuple[bytes, float]]:
    """Screenshots of the view, and how many seconds each is shown."""
    view = page.locator(".mx-static[data-ready] > div > .mx")
    view.wait_for(timeout=20_000)
    taken: list[tuple[bytes, float]] = []

    def take(seconds: float) -> None:
        page.mouse.move(0, 0)
        page.wait_for_timeout(300)
        taken.append((page.screenshot(), seconds))

    back, forward = (
        view.get_by_role("button", name=name) for name in ("back one stage", "step forward")
    )
    while back.is_enabled():
        back.click()
    take(SECONDS["first"])
    view.get_by_role("listbox", name="source lines").get_by_text("F.relu(x) + F.relu(x)").click()
    take(SECONDS["line"])
    while forward.is_enabled():
        forward.click()
        take(SECONDS["stage"])
    taken[-1] = taken[-1][0], SECONDS["last"]
    return taken


def main() -> int:
    """Write the file; 1 if it is too large."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    mx.random.seed(1)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        path = Path(folder) / "stepper.html"
        stepper().to_html(path)
        browser = play.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(path.as_uri())
        page.add_style_tag(content="h1 { display: none } body { margin: 0 }")
        taken = frames(page)
        browser.close()
    images = [Image.open(io.BytesIO(data)).convert("RGB") for data, _ in taken]
    times = [int(1000 * seconds) for _, seconds in taken]
    images[0].save(
        PATH, save_all=True, append_images=images[1:], duration=times, loop=0, quality=60, method=6
    )
    size = PATH.stat().st_size
    print(f"{PATH.name}: {len(images)} frames, {size / 1e3:.0f} kB")
    return int(size >= MOST)


if __name__ == "__main__":
    sys.exit(main())
