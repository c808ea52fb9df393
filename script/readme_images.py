"""Takes the pictures of the README from a running server: script/readme_images.py RUN_PAGE USER

The password is asked for, or read from standard input.

RUN_PAGE is the address of a run of quick-look that has escalated (README, "Then send one that should not be believed").
The others are of the demo (manage.py demo). Needs the packages of requirements-dev.txt and an installed Chromium
(VECTORSTEP_TEST_CHROMIUM, or the one on the path).
"""

import base64
import getpass
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urljoin

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
WIDTH = 1100
STEP = "demo-decide-refund"


def sign_in(page: Page, address: str, user: str, password: str) -> None:
    page.goto(urljoin(address, "/ui/login"))
    page.fill("#id_username", user)
    page.fill("#id_password", password)
    page.click("text=Sign in")
    page.wait_for_url("**/ui/")


def show_run(page: Page, address: str) -> str:
    page.goto(address)
    return "details[id^=how]"


def show_marking(page: Page, address: str) -> str:
    """The second step of a sitting: what the machine thought of the first stands beside it. The mark is undone."""
    page.goto(urljoin(address, f"/ui/marking-queue?step={STEP}"))
    page.click("[data-start]")
    page.click(".answer.incorrect")
    page.wait_for_selector(".facts-card")
    return ".aside"


def show_insights(page: Page, address: str) -> str:
    """The version before the last: the one that was too sure of itself."""
    page.goto(urljoin(address, f"/ui/insights/steps/{STEP}"))
    page.click(".records tr:nth-child(2) .key a")
    page.wait_for_selector("#reliability-chart .point")
    return "[aria-labelledby=right-title]"


PICTURES: dict[str, Callable[[Page, str], str]] = {"run": show_run, "marking": show_marking, "insights": show_insights}


def shoot(page: Page, name: str, address: str, theme: str) -> None:
    """From the top of the page to the end of what ``PICTURES`` names."""
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light", reduced_motion="reduce")
    box = page.locator(PICTURES[name](page, address)).bounding_box()
    if box is None:
        sys.exit(f"error: {page.url} does not show what the picture is of")
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": box["y"] + box["height"] + 1, "scale": 1}
    taken = page.context.new_cdp_session(page).send(
        "Page.captureScreenshot", {"format": "webp", "quality": 85, "clip": clip, "captureBeyondViewport": True}
    )
    (IMAGES / f"{name}-{theme}.webp").write_bytes(base64.b64decode(taken["data"]))
    if name == "marking":
        page.click(".facts-card button")


def main(address: str, user: str) -> None:
    chromium = os.environ.get("VECTORSTEP_TEST_CHROMIUM") or shutil.which("chromium")
    password = getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().strip()
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 1000}, device_scale_factor=1.5)
        sign_in(page, address, user, password)
        for name in PICTURES:
            for theme in ("light", "dark"):
                shoot(page, name, address, theme)
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
