"""A real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

SCREENS = Path(__file__).parent.parent / "results" / "screens"
DESKTOP, PHONE = {"width": 1100, "height": 900}, {"width": 375, "height": 780}
LOOKS = [
    ("light", "desktop", DESKTOP),
    ("dark", "desktop", DESKTOP),
    ("light", "phone", PHONE),
    ("dark", "phone", PHONE),
]
PATIENCE = 240_000  # milliseconds: a busy machine may starve a browser, and that is no error
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str:
    """Its path; without it, browser tests are skipped, but fail where CI is set."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        missing = "Chromium is not installed: apt-get install chromium"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    return found


@contextmanager
def launched() -> Iterator[Any]:
    """A browser that ends with its test."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """A page of which everything that goes wrong is kept: errors, refused scripts, dialogs, foreign
    requests.
    """

    def __init__(
        self, browser: Any, own: str, viewport: dict[str, int] = DESKTOP, scheme: str = "light"
    ) -> None:
        self.context = browser.new_context(viewport=viewport, color_scheme=scheme)
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.trouble: list[str] = []
        self.page.on(
            "console", lambda m: self.trouble.append(m.text) if m.type == "error" else None
        )
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on(
            "dialog",
            lambda dialog: (self.trouble.append(f"dialog {dialog.message}"), dialog.dismiss()),
        )
        self.page.on(
            "request",
            lambda r: None if r.url.startswith((own, "data:")) else self.trouble.append(r.url),
        )

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def wait_for_charts(self, *names: str) -> None:
        for name in names:
            self.page.wait_for_selector(f'[data-chart="{name}"][data-drawn] svg')

    def wait_for_news(self) -> None:
        """Until the server's first event has come."""
        self.page.wait_for_selector("#connection:text-is('live')")

    def overflows(self) -> bool:
        """Whether the page is wider than its window."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))

    def screenshot(self, name: str) -> None:
        SCREENS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENS / f"{name}.png", full_page=True)
