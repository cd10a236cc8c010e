"""Reads QR codes as a phone does: from the pixels that a browser has drawn."""

from base64 import b64decode
from functools import cache
from importlib import import_module
from typing import Any

from playwright.async_api import Locator

from integration_base_tests.skipping import missing

# Twice as large as it is shown, like the screens of people who have phones. As text: a list of a million numbers takes
# the driver of the browser more than a minute.
_PIXELS = """async (image) => {
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.width * 2;
  canvas.height = image.height * 2;
  const paper = canvas.getContext("2d");
  paper.drawImage(image, 0, 0, canvas.width, canvas.height);
  const { data } = paper.getImageData(0, 0, canvas.width, canvas.height);
  let grey = "";
  for (let at = 0; at < data.length; at += 4) grey += String.fromCharCode(data[at] * (data[at + 3] / 255));
  return [canvas.width, canvas.height, btoa(grey)];
}"""


@cache
def _qr_reader() -> Any:
    try:
        return import_module("zxingcpp")
    except ModuleNotFoundError:
        missing("zxing-cpp (make install)")
        raise


async def read_qr_code(image: Locator) -> str:
    """Return what the QR code in an ``<img>`` says. Raises LookupError when a reader finds none."""
    width, height, grey = await image.evaluate(_PIXELS)
    reader = _qr_reader()
    only = reader.BarcodeFormats([reader.BarcodeFormat.QRCode])
    codes = reader.read_barcodes(memoryview(b64decode(grey)).cast("B", (height, width)), formats=only)
    if len(codes) != 1:
        raise LookupError(f"{len(codes)} codes")
    return str(codes[0].text)
