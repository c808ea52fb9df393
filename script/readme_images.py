"""Takes the pictures of the README from a running server: script/readme_images.py RUN_PAGE USER

The password is asked for, or read from standard input.

RUN_PAGE is the address of a run of quick-look that has escalated (README, "Then send one that should not be believed").
Needs the packages of requirements-dev.txt and an installed Chromium (VECTORSTEP_TEST_CHROMIUM, or the one on the path).
"""

import base64
import getpass
import os
import shutil
import sys
from pathlib import Path
from urllib.parse import urljoin

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
WIDTH = 1100


def sign_in(page: Page, address: str, user: str, password: str) -> None:
    page.goto(urljoin(address, "/ui/login"))
    page.fill("#id_username", user)
    page.fill("#id_password", password)
    page.click("text=Sign in")
    page.wait_for_url("**/ui/runs")


def shoot(page: Page, address: str, theme: str) -> None:
    """From the top of the page to the end of "How was this calculated?"."""
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light", reduced_motion="reduce")
    page.goto(address)
    box = page.locator("details[id^=how]").bounding_box()
    if box is None:
        sys.exit("error: that page has no Trust panel")
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": box["y"] + box["height"], "scale": 1}
    taken = page.context.new_cdp_session(page).send(
        "Page.captureScreenshot", {"format": "webp", "quality": 88, "clip": clip, "captureBeyondViewport": True}
    )
    (IMAGES / f"run-{theme}.webp").write_bytes(base64.b64decode(taken["data"]))


def main(address: str, user: str) -> None:
    chromium = os.environ.get("VECTORSTEP_TEST_CHROMIUM") or shutil.which("chromium")
    password = getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().strip()
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 1000}, device_scale_factor=1.5)
        sign_in(page, address, user, password)
        for theme in ("light", "dark"):
            shoot(page, address, theme)
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
