"""The style sheet of a shop's colour: a file of its own, because pages for shoppers have no styles inside. Pure."""

_WHITE, _BLACK = "#ffffff", "#000000"


def style_of(color: str) -> str:
    """Return the style sheet that gives buttons this colour, like #1a2b3c, with text that everybody can read on it."""
    text = max(_WHITE, _BLACK, key=lambda each: _contrast(color, each))
    hovered = f"color-mix(in srgb, {color} 85%, {text})"
    return f":root:root:root {{ --button: {color}; --button-hovered: {hovered}; --on-button: {text}; }}\n"


def _contrast(one: str, other: str) -> float:
    """Return how well two colours stand apart, from 1 to 21 (WCAG 2.2, contrast ratio)."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: str) -> float:
    """Return the relative luminance of a colour, from 0 to 1 (WCAG 2.2)."""
    red, green, blue = (_linear(int(color[start : start + 2], 16) / 255) for start in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
