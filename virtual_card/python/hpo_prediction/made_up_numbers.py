# SPDX-License-Identifier: MIT
"""A made-up number is a float that tells when a whole number is made of it: that number may become a size, and nobody knows which."""

ARITHMETIC = [f"__{side}{name}__" for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow") for side in ("", "r")]


class _EqualToFloat(type):
    """`type(x) == float` and tables by type, as those of YAML and of copy, take a made-up number for a float."""

    def __eq__(cls, other):
        return other is float or cls is other

    def __hash__(cls):
        return hash(float)


class MadeUpNumber(float, metaclass=_EqualToFloat):
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


def _computes(name):
    of_float = getattr(float, name)

    def compute(self, *others):
        result = of_float(self, *others)
        return MadeUpNumber(result, self.note) if isinstance(result, float) else result

    return compute


def _makes_whole(name):
    of_float = getattr(float, name)

    def make(self):
        self.note()
        return of_float(self)

    return make


for _name in (*ARITHMETIC, "__neg__", "__pos__", "__abs__"):
    setattr(MadeUpNumber, _name, _computes(_name))
for _name in ("__int__", "__trunc__", "__floor__", "__ceil__"):
    setattr(MadeUpNumber, _name, _makes_whole(_name))
