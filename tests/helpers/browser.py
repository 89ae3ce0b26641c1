"""A real Chromium for tests that look at a page as a person does."""

import os
import shutil
from contextlib import contextmanager

import pytest

PHONE = {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}
DESKTOP = {"viewport": {"width": 1366, "height": 900}}


@contextmanager
def chromium():
    """A running browser. Without one the test is skipped, except in CI, where it fails."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        stop = pytest.fail if os.environ.get("CI") else pytest.skip
        stop("no Chromium on this machine: run `make browser`")
    from playwright.sync_api import sync_playwright

    root = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses to run as root with its sandbox
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=root)
        yield browser
        browser.close()


def axe(page):
    """What axe-core finds that would keep people from reading the page as it is shown now: one line for each rule."""
    from axe_playwright_python.sync_playwright import Axe

    # No preloading: it would read style sheets once more, which browsers refuse to pages in a folder.
    found = Axe().run(page, options={"resultTypes": ["violations"], "preload": False}).response["violations"]
    return [f"{rule['id']}: {rule['help']}\n  {rule['nodes'][0]['html'][:300]}" for rule in found]


@contextmanager
def opened(browser, file, device):
    """The file in a window that is offline; whatever it asks for or complains about fails the test."""
    context = browser.new_context(**device, offline=True)
    context.set_default_timeout(5_000)
    page = context.new_page()
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(file.as_uri())
    yield page
    context.close()
    assert [url for url in asked if not url.startswith("data:")] == [file.as_uri()]
    assert complaints == []
