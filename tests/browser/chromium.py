"""A headless Chromium that opens pages of `report`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium.webdriver import Chrome
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

ARGUMENTS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"),
)


class Browser(Chrome):
    """A browser that opens pages of `report`."""

    def show(self, page: Path) -> None:
        """Open a page and wait until its scripts have begun everything."""
        self.get(page.as_uri())
        self.until("document.documentElement.dataset.ready === 'yes'")

    def until(self, condition: str) -> None:
        """Wait until a condition in JavaScript holds."""
        script = f"""const done = arguments[0]; const begin = performance.now();
            const look = () => ({condition}) ? done(true) : performance.now() - begin > 9000 ? done(false)
                : setTimeout(look, 20); look();"""
        assert self.execute_async_script(script), f"never came true: {condition}"

    def tell(self, expression: str) -> object:
        """The value of an expression in JavaScript."""
        return self.execute_script(f"return {expression}")

    def number(self, expression: str) -> float:
        """The same where it is a number."""
        value = self.tell(expression)
        assert isinstance(value, int | float), value
        return float(value)

    def complaints(self) -> list[str]:
        """What the console has."""
        return [str(one["message"]) for one in self.get_log("browser")]  # type: ignore[no-untyped-call]


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """A browser with a profile of its own."""
    options = Options()
    for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium") or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Browser(options=options, service=Service(shutil.which("chromedriver") or ""))
    driver.set_script_timeout(20)
    try:
        yield driver
    finally:
        driver.quit()
