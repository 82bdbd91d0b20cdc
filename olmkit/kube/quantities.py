"""Resource quantities such as `500m`, `1.5Gi`, `1e3`, and their canonical form.

Kubernetes accepts many spellings of a quantity and writes one of them: the largest suffix that
leaves an integer, in the family (binary, decimal, exponent) of the spelling. Amounts are exact;
below a billionth they are rounded up.
"""

from __future__ import annotations

import re
from fractions import Fraction

_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_FORM = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+))"
    r"(?:(?P<exponent>[eE][+-]?\d{1,4})|(?P<suffix>Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]?))",
    re.ASCII,
)
# Kubernetes rounds up below this; no amount is more precise.
_FINEST = 10**9


def canonical(text: str) -> str:
    """Return `text` as Kubernetes writes it; `ValueError` if it is not a quantity."""
    match = _FORM.fullmatch(text.strip())
    if match is None or len(text) > 100:
        raise ValueError(f"`{text[:100]}` is not a quantity")
    number, exponent, suffix = match["number"], match["exponent"], match["suffix"]
    if exponent:
        return _decimal(Fraction(number) * Fraction(10) ** int(exponent[1:]), exponential=True)
    if suffix in _BINARY:
        amount = Fraction(number) * 2 ** _BINARY[suffix]
        # Kubernetes writes small binary amounts in the decimal family.
        return _decimal(amount) if abs(amount) < 1024 else _binary(amount)
    return _decimal(Fraction(number) * Fraction(10) ** _DECIMAL[suffix])


def _binary(amount: Fraction) -> str:
    whole = _away_from_zero(amount)
    suffix = ""
    for candidate, power in _BINARY.items():
        if whole % 2**power:
            break
        suffix = candidate
    return f"{whole // 2 ** _BINARY[suffix]}{suffix}" if suffix else str(whole)


def _decimal(amount: Fraction, *, exponential: bool = False) -> str:
    whole = _away_from_zero(amount * _FINEST)
    if whole == 0:
        return "0"
    power = -9
    while whole % 1000 == 0 and (exponential or power < max(_DECIMAL_SUFFIX)):
        whole //= 1000
        power += 3
    if exponential:
        return f"{whole}e{power}" if power else str(whole)
    return f"{whole}{_DECIMAL_SUFFIX[power]}"


def _away_from_zero(amount: Fraction) -> int:
    return (
        -(-amount.numerator // amount.denominator)
        if amount > 0
        else (amount.numerator // amount.denominator)
    )
