"""Pages of made-up runs, opened in a browser that may not use the network."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field

import numpy as np
import pytest

from fabricated import make_clustering, make_framed_segmentation, make_recordings, make_segmentation
from homothety.datasets import MatrixSet
from homothety.report import write_report

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'homothety[browser]'")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
DESKTOP = {"viewport": {"width": 1200, "height": 900}}
PHONE = {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}


@pytest.fixture(scope="session")
def browser():
    """Return a browser of this machine, or skip where there is none."""
    path = os.environ.get("BROWSER_PATH") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"no browser is installed; looked for {', '.join(BROWSERS)}")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """Return the paths of pages about series, clusters, an image, long series of many dimensions, and frames."""
    folder = tmp_path_factory.mktemp("pages")
    recordings = {"series": make_recordings(), "long": make_recordings(n_recordings=12, n_steps=2900, n_dims=7)}
    for name, items in recordings.items():
        write_report(make_segmentation(items), folder / f"{name}.html", data=items)
    write_report(clustered := make_clustering(), folder / "clusters.html")
    image = MatrixSet(clustered.matrices_, None, "", (5, 3, 2), np.argwhere(np.ones((5, 3, 2))), np.diag([-2, 2, 4, 1]))
    write_report(clustered, folder / "image.html", data=image)
    write_report(make_framed_segmentation(recordings["series"]), folder / "frames.html", data=recordings["series"])
    return {path.stem: path for path in folder.iterdir()}


@dataclass
class Visit:
    """An open page, and what went wrong on it."""

    page: object
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def visit(browser, pages):
    """Return a function that opens a page; afterwards nothing may have gone wrong, nor the network been asked."""
    visits = []

    def opened(name, **options) -> Visit:
        context = browser.new_context(**(DESKTOP | options))
        one = Visit(context.new_page())
        one.page.on("console", lambda message: one.errors.append(message.text) if message.type != "log" else None)
        one.page.on("pageerror", lambda error: one.errors.append(str(error)))
        one.page.on("request", lambda request: one.requests.append(request.url))
        one.page.goto(pages[name].as_uri())
        visits.append((context, one, pages[name].as_uri()))
        return one

    yield opened
    for context, one, address in visits:
        context.close()
        assert one.errors == []
        assert {request for request in one.requests if not request.startswith("data:")} <= {address}
