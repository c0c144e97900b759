"""The picture of a report in the documentation: the top of the demo's page, as a browser draws it.

    python -m tools.picture            # writes docs/pictures/report.png

Needs the test extra, chromium and chromedriver.
"""

from __future__ import annotations

import base64
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from selenium import webdriver

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "report.png"
WIDTH = 1200
LAST = "#timelines .legend"
ZOOMS = 3
"""Times the timelines are zoomed in, so that names can be read."""
MARGIN = 4
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--disable-lcd-text",
)


FEWER_COLOURS = """
const [shot, done] = arguments, image = new Image();
image.onload = () => {
  const canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
  canvas.width = image.width; canvas.height = image.height;
  pen.drawImage(image, 0, 0);
  const pixels = pen.getImageData(0, 0, canvas.width, canvas.height);
  pixels.data.forEach((value, at, all) => {
    all[at] = Math.min(Math.round(value / 15) * 15, 255);
  });
  pen.putImageData(pixels, 0, 0);
  done(canvas.toDataURL("image/png").split(",")[1]);
};
image.src = `data:image/png;base64,${shot}`;
"""
"""Snaps the shades of smoothed edges together: half the bytes, and no eye sees it."""


def main() -> int:
    """Make the page, draw it, and keep its top."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        command = [sys.executable, "-m", "boundby", "demo", "--quiet", "-o", str(page)]
        subprocess.run(command, check=True)
        picture = packed(draw(page, Path(folder) / "profile"))
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_bytes(picture)
    print(f"wrote {PICTURE.relative_to(ROOT)}: {len(picture) // 1024} KiB")
    return 0


def draw(page: Path, profile: Path) -> bytes:
    """A PNG of the page down to its timelines, in light colours."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        size = {"width": WIDTH, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.get(page.as_uri())
        for _ in range(ZOOMS):
            driver.execute_script("document.querySelector('#timelines [data-do=in]').click()")
        bottom = driver.execute_async_script(
            "const [selector, done] = arguments, place = document.querySelector(selector);"
            "requestAnimationFrame(() => requestAnimationFrame(() => "
            "done(place.getBoundingClientRect().bottom)))",
            LAST,
        )
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": int(bottom) + MARGIN, "scale": 1}
        asked = {"clip": clip, "captureBeyondViewport": True}
        shot = driver.execute_cdp_cmd("Page.captureScreenshot", asked)["data"]
        driver.get("about:blank")
        return base64.b64decode(driver.execute_async_script(FEWER_COLOURS, shot))
    finally:
        driver.quit()


def packed(png: bytes) -> bytes:
    """The same PNG with its pixels deflated as well as zlib can: the browser is in a hurry."""
    kept, pixels, at = [png[:8]], b"", 8
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length
        if kind == b"IDAT":
            pixels += body
            continue
        if kind == b"IEND":
            kept.append(_chunk(b"IDAT", zlib.compress(zlib.decompress(pixels), 9)))
        kept.append(_chunk(kind, body))
    return b"".join(kept)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


if __name__ == "__main__":
    sys.exit(main())
