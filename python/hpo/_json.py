# SPDX-License-Identifier: MIT
"""Lines of JSON as hpo reads and writes them."""

from __future__ import annotations

import json
import math
from typing import Any, Mapping

_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _plain(value: Any) -> Any:
    """What JSON can hold of a number or an array of another library."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


def line_of(said: Mapping[str, Any], longest: int) -> bytes:
    """What is said as one line of JSON. Raises TypeError or ValueError if hpo could not read it."""
    line = json.dumps(said, default=_plain).encode("ascii") + b"\n"
    if b"\\ud" in line:  # half a character, which Python makes of bytes that are no UTF-8
        try:
            json.dumps(said, default=_plain, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(f"a text that is no valid Unicode: {error.object[max(0, error.start - 20) : error.end]!r}") from None
    if len(line) > longest:
        raise ValueError(f"{len(line)} bytes in one line; hpo reads at most {longest}")
    return line


def as_read_again(value: Any) -> Any:
    """The value as it comes back from a database: arrays as lists. NaN and infinities stay. Raises TypeError for what JSON cannot hold."""
    return json.loads(json.dumps(value, default=_plain))


def is_whole_number_of_hpo(value: int) -> bool:
    """True for a whole number of 64 bits, with or without a sign. hpo would round a longer one."""
    return -(1 << 63) <= value < 1 << 64


def finite(value: Any) -> Any:
    """The value with NaN, infinities and whole numbers of more than 64 bits as texts, because hpo can read no such numbers."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if type(value) is int and not is_whole_number_of_hpo(value):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return next(word for word, number in _WORDS.items() if number == value or (value != value and number != number))
    if isinstance(value, Mapping):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    return value


def number_in(told: Any) -> float:
    """A number that hpo wrote, which writes NaN and infinities as texts."""
    return _WORDS[told] if isinstance(told, str) else float(told)
