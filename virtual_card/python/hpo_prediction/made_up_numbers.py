# SPDX-License-Identifier: MIT
"""Numbers that the program made of made-up values.

A made-up float tells when a whole number is made of it, because that number may become a size, and nobody knows which. A made-up whole number
stays one while the program counts with it. Whoever takes it for a size asks for its note.
"""
from . import count_use
from .lines import OWN

ARITHMETIC = [f"__{side}{name}__" for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow") for side in ("", "r")]
BITS = [f"__{side}{name}__" for name in ("and", "or", "xor", "lshift", "rshift") for side in ("", "r")]
SIGNS = ("__neg__", "__pos__", "__abs__")
PARTS = ("__trunc__", "__floor__", "__ceil__")


class _EqualTo(type):
    """`type(x) == float` and tables by type, as those of YAML and of copy, take a made-up number for the float or int that it is."""

    def __eq__(cls, other):
        return cls is other or other is cls.__mro__[1]

    def __hash__(cls):
        return hash(cls.__mro__[1])


class MadeUpNumber(float, metaclass=_EqualTo):
    """What is computed of it is made up, too. Saved, or sent to another process, it is a float."""

    __slots__ = ("note",)

    def __new__(cls, value, note):
        """`note` is called when a whole number is made of it."""
        number = super().__new__(cls, value)
        number.note = note
        return number

    def __reduce__(self):
        return float, (float(self),)

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def __round__(self, digits=None):
        if digits is not None:
            return MadeUpNumber(super().__round__(digits), self.note)
        self.note()
        return super().__round__()


class MadeUpWhole(int, metaclass=_EqualTo):
    """What is computed of it is made up, too. Saved, or sent to another process, it is an int. So is what int() makes of it (count_use.py)."""

    def __new__(cls, value, note):
        """`note` is to be called when it is taken for a size."""
        number = super().__new__(cls, value)
        number.note = note
        return number

    def __reduce__(self):
        return int, (int.__int__(self),)

    def __int__(self):
        if count_use.becomes_size(OWN):
            self.note()
        return int.__int__(self)

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def __round__(self, *digits):
        return MadeUpWhole(super().__round__(*digits), self.note)


def made_up(value, note):
    """A number that tells what it is made of. What is neither a float nor an int stays what it is."""
    if isinstance(value, float):
        return MadeUpNumber(value, note)
    return MadeUpWhole(value, note) if isinstance(value, int) and not isinstance(value, bool) else value


def size_note(value):
    """What to call where an argument is taken for a size, or for several: the note of a made-up whole number in it; else None."""
    if isinstance(value, MadeUpWhole):
        return value.note
    if isinstance(value, slice):
        return size_note((value.start, value.stop, value.step))
    return next(filter(None, map(size_note, value)), None) if type(value) in (list, tuple) else None


def _computes(name):
    of_float = getattr(float, name)

    def compute(self, *others):
        return made_up(of_float(self, *others), self.note)

    return compute


def _computes_whole(name):
    of_int, of_float = getattr(int, name), getattr(float, name, None)

    def compute(self, *others):
        if others and isinstance(others[0], float):
            return made_up(of_float(float(self), *others), self.note)
        return made_up(of_int(self, *others), self.note)

    return compute


def _makes_whole(name):
    of_float = getattr(float, name)

    def make(self):
        self.note()
        return of_float(self)

    return make


for _name in (*ARITHMETIC, *SIGNS):
    setattr(MadeUpNumber, _name, _computes(_name))
for _name in ("__int__", *PARTS):
    setattr(MadeUpNumber, _name, _makes_whole(_name))
for _name in (*ARITHMETIC, *BITS, *SIGNS, *PARTS):
    setattr(MadeUpWhole, _name, _computes_whole(_name))
