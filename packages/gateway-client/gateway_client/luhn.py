"""The check digit of card numbers (ISO/IEC 7812-1)."""


def passes_luhn(text: str) -> bool:
    """Return True when the digits in ``text`` end with their check digit; other characters are ignored."""
    digits = [int(character) for character in reversed(text) if character.isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0
