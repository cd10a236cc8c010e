"""The address of the gateway's payment page as a QR image, for the phone of a shopper who ordered on a computer."""

from io import BytesIO

import segno

_DOT = 8  # pixels: the code of a payment link is about 400 wide, which phones can scan from a screen and from paper
_QUIET = 4  # dots of quiet zone around the code, which scanners need


_LONGEST = 2331  # bytes in the largest code at this level of error correction


def fits_qr_code(address: str) -> bool:
    """Return True if there is a QR code for the address."""
    return len(address.encode()) <= _LONGEST


def qr_png(address: str) -> bytes:
    """Return a PNG for where SVG is not supported, such as e-mail: black on white, at least 300 pixels wide.

    Raises `ValueError` as `qr_svg` does.
    """
    image = BytesIO()
    _code(address).save(image, kind="png", scale=_DOT, border=_QUIET, dark="#000", light="#fff")
    return image.getvalue()


def qr_svg(address: str) -> bytes:
    """Return an SVG that scales without loss, dark on white with the quiet zone that scanners need.

    White stays white in dark mode: many phones cannot read an inverted code.

    Raises `ValueError` when the address is too long for a QR code (`fits_qr_code`).
    """
    image = BytesIO()
    _code(address).save(
        image,
        kind="svg",
        scale=_DOT,
        border=_QUIET,
        dark="#000",
        light="#fff",
        omitsize=True,
        svgclass=None,
        lineclass=None,
    )
    return image.getvalue()


def _code(address: str) -> segno.QRCode:
    return segno.make(address, error="m", micro=False, boost_error=False)
