"""The style sheet of a shop's colour: a separate file, because the shopper's pages have no inline styles. Pure."""

_WHITE, _BLACK = "#ffffff", "#000000"


def render_stylesheet(color: str) -> str:
    """Return the style sheet that gives buttons this colour, like #1a2b3c, with text of a readable contrast."""
    text = max(_WHITE, _BLACK, key=lambda tone: _contrast(color, tone))
    hovered = f"color-mix(in srgb, {color} 85%, {text})"
    return f":root:root:root {{ --button: {color}; --button-hovered: {hovered}; --on-button: {text}; }}\n"


def _contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21 (WCAG 2.2)."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: str) -> float:
    """Return the relative luminance of a colour, from 0 to 1 (WCAG 2.2)."""
    red, green, blue = (_linear(int(color[start : start + 2], 16) / 255) for start in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
