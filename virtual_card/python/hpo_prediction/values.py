# SPDX-License-Identifier: MIT
"""What a program reads from a virtual card. What is known is read as it is. For the rest a plausible value is made up, and the line is noted.

A number that falls from 1 stands for a loss. Nothing is NaN, nothing is infinite, and nothing is wrong. Every other "is it so?" is answered by
yes, and a whole number is 1. What is copied in larger pieces is zeros.
"""
import contextlib
import ctypes
import functools
import os
import threading

from . import count_use, lines
from .count_use import SIZED
from .known_values import COPIED, EVEN, FALL, GUESS, READ, SURE, replace, watch
from .made_up_numbers import MadeUpNumber, MadeUpWhole, made_up, size_note

LARGEST_NUMBER = 8  # bytes
READS = ctypes.CFUNCTYPE(None, ctypes.c_size_t)


class Asked:
    """The lines that read something made up, and how often."""

    def __init__(self):
        self.lines = {}
        self.whole_numbers = set()  # of these lines
        self.lock = threading.Lock()
        self.inside = threading.local()  # paused: what is read decides nothing

    @contextlib.contextmanager
    def paused(self):
        before = getattr(self.inside, "paused", False)
        self.inside.paused = True
        try:
            yield
        finally:
            self.inside.paused = before

    def note(self, line, whole_number=False):
        if getattr(self.inside, "paused", False):
            return 0
        with self.lock:
            times = self.lines.get(line, 0)
            self.lines[line] = times + 1
            if whole_number:
                self.whole_numbers.add(line)
            return times


class Answers:
    def __init__(self, torch, asked, sizes, known):
        self.torch = torch
        self.asked = asked
        self.sizes = sizes
        self.known = known
        self.library = lines.library_of(torch)
        self.scaler = tuple(os.path.join(self.library, *each) + os.sep for each in (("amp",), ("cuda", "amp")))
        self.inside = known.inside  # answering: what the card is asked meanwhile is no size that PyTorch asks for

    def within(self, work, *arguments, **options):
        before = getattr(self.inside, "answering", False)
        self.inside.answering = True
        try:
            return work(*arguments, **options)
        finally:
            self.inside.answering = before

    def made_up(self, tensor, name, value):
        """`value` as the answer of tensor.item() and its like, which are named, where the tensor's value is made up."""
        if name == "__int__" and (tensor.is_floating_point() or count_use.becomes_size(self.library)):
            self.sizes.note_made_up()
        return self.made_up_numbers(value) if name in ("item", "tolist") else value

    def made_up_numbers(self, value):
        """`value`, a number or a list of such, as numbers that tell that they are made up."""
        if isinstance(value, list):
            return [self.made_up_numbers(each) for each in value]
        return made_up(value, self.sizes.note_made_up)

    def number(self, tensor, name, function, *arguments):
        """The answer to item() and its like."""
        known = self.known.of(tensor)
        value = self.within(function, tensor, *arguments)  # also checks that there is one element
        if known is not None and known.level == SURE:
            return value
        is_scalers = lines.calls_from(self.scaler)  # "how many were infinite?": none
        is_whole = isinstance(value, int) and not isinstance(value, bool) and not is_scalers
        line = lines.calling(self.library)
        times = self.asked.note(line, is_whole and name != "item")  # a MadeUpWhole tells when it becomes a size
        if known is None and not is_scalers:
            value = self.same_again(tensor, line, type(value)(1 if isinstance(value, int) else FALL**times))
        if is_scalers:
            return value
        is_even = known is not None and known.level == EVEN
        if is_even:
            if is_whole and name == "__int__" and count_use.becomes_size(self.library):
                self.sizes.note_spread()
            return made_up(value, self.sizes.note_spread) if is_whole and name == "item" else value
        return self.made_up(tensor, name, value)

    def same_again(self, tensor, line, value):
        """`value`, or what the same line has read of the same tensor before: `loss.item() != loss.item()`."""
        version = self.known.version(tensor)
        read = getattr(tensor, READ, None)
        if read is None or read[:2] != (line, version):
            read = (line, version, value)
            setattr(tensor, READ, read)
        return read[2]

    def on_read(self, size):
        """Called by the virtual card for each copy to the host."""
        if getattr(self.inside, "answering", False):
            return
        self.asked.note(lines.calling(self.library))
        if size <= LARGEST_NUMBER:
            self.sizes.note_read()

    def around_copy(self, arguments, options):
        """A copy to the host is what the program wants to see, no size that PyTorch asks for."""
        return self._around_read(arguments, copies=True)

    def around_change(self, arguments, options):
        """A tensor of the program's on the CPU is changed by one of the card's. What is known of it is applied later (known_values.py)."""
        return self._around_read(arguments, copies=False)

    def _around_read(self, arguments, copies):
        source = next((each for each in arguments if self.known.on_card(each)), None)
        if source is None:
            return None
        before = getattr(self.inside, "answering", False)
        self.inside.answering = True

        def after(result):
            self.inside.answering = before
            if not isinstance(result, self.torch.Tensor) or result.is_cuda:
                return
            known = self.known.of(source)
            if not before and (known is None or known.level != SURE):
                self.asked.note(lines.calling(self.library))
            if copies and known is not None:
                with self.torch.no_grad():
                    result.detach().copy_(known.host)
            elif copies and source.numel() == 1 and source.is_floating_point():
                result.detach().fill_(FALL ** (self.asked.lines.get(lines.calling(self.library), 1) - 1))
            if known is None or known.level == GUESS:
                self.known.mark_made_up(result)

        return after

    def around_range(self, arguments, options):
        """torch.arange: its length follows from its numbers."""
        number = next((each for each in (*arguments, *options.values()) if isinstance(each, (MadeUpNumber, MadeUpWhole))), None)
        if number is not None:
            number.note()

    def around_sized(self, arguments, options):
        """The result is as large as the arguments say."""
        note = size_note((*arguments, *options.values()))
        if note is not None:
            note()

    def around_filled(self, arguments, options):
        """torch.full and its like, and torch.randint: the size is a tuple, beside numbers that are none."""
        self.around_sized([each for each in (*arguments, *options.values()) if isinstance(each, (list, tuple))], {})

    def around_part(self, arguments, options):
        """x[...]: slices say how much is taken, and masks do. Whole numbers only say which."""
        chosen = arguments[1] if len(arguments) > 1 else None
        parts = [each for each in (chosen if isinstance(chosen, tuple) else [chosen]) if not isinstance(each, int)]
        self.around_sized([each for each in parts if isinstance(each, slice)], {})
        if self.known.on_card(arguments[0]) and any(isinstance(each, self.torch.Tensor) and self.known.is_made_up(each) for each in parts):
            self.sizes.note_made_up()

    def around_bincount(self, arguments, options):
        """Its result is as long as the largest number says, and at least `minlength`."""
        return self._around_largest(first_of(arguments, options, "input"), options.get("minlength", arguments[2] if len(arguments) > 2 else 0))

    def around_one_hot(self, arguments, options):
        if options.get("num_classes", arguments[1] if len(arguments) > 1 else -1) >= 0:
            return None
        return self._around_largest(first_of(arguments, options, "input"), 0)

    def _around_largest(self, numbers, least):
        if not self.known.on_card(numbers):
            return None
        known = self.known.of(numbers)
        if known is not None and known.level < GUESS and known.host.numel() > 0:
            return self.sizes.expect(int(known.host.max()), even=known.level == EVEN)
        return self.sizes.expect(least - 1, below=True) if least > 0 else None

    def around_mask(self, arguments, options):
        """torch.masked_select."""
        mask = options.get("mask", arguments[1] if len(arguments) > 1 else None)
        known = self.known.of(mask) if self.known.on_card(mask) else None
        if known is None:
            return None
        among = first_of(arguments, options, "input")
        return self.sizes.expect_mask(known.host.expand(self.torch.broadcast_shapes(among.shape, mask.shape)), known)


def first_of(arguments, options, name):
    """The first argument of a call, which may be given by its name. None if there is none: PyTorch then says so."""
    return arguments[0] if arguments else options.get(name)


def answer(torch, asked, sizes, known):
    answers = Answers(torch, asked, sizes, known)
    tensors = torch.Tensor
    around = {name: answers.around_copy for name in COPIED | {"tensor", "as_tensor", "copy_"}}
    around["histc"] = answers.around_copy  # it reads the least and the largest number, and its size is given
    around["changed"] = answers.around_change
    around.update(dict.fromkeys(SIZED, answers.around_sized), full=answers.around_filled, new_full=answers.around_filled)
    around.update(randint=answers.around_filled, __getitem__=answers.around_part, arange=answers.around_range, bincount=answers.around_bincount, one_hot=answers.around_one_hot, masked_select=answers.around_mask)
    watch(torch, known, around)

    def read(name, function):
        def ask(tensor, *arguments):
            if known.rests():
                return function(tensor, *arguments)
            if tensor.is_cuda and tensor.numel() == 1:
                return answers.number(tensor, name, function, *arguments)
            value = function(tensor, *arguments)
            return answers.made_up(tensor, name, value) if known.is_made_up(tensor) else value

        return ask

    def listed(function):
        def tolist(tensor):
            if tensor.is_cuda:
                return tensor.cpu().tolist()
            value = function(tensor)
            return answers.made_up(tensor, "tolist", value) if not known.rests() and known.is_made_up(tensor) else value

        return tolist

    def looked_at(function):
        """No size that the program works with depends on what it shows or saves."""

        def look(*arguments, **options):
            if known.rests():
                return function(*arguments, **options)
            with asked.paused():
                return answers.within(function, *arguments, **options)

        return look

    def same(function):
        """equal() and allclose()."""

        def compare(*arguments, **options):
            if known.rests() or not known.on_card(first_of(arguments, options, "input")):
                return function(*arguments, **options)
            result = answers.within(function, *arguments, **options)
            level, found = known.compute(function, arguments, options)
            if level != SURE:
                asked.note(lines.calling(answers.library))
            return result if found is None else found

        return compare

    for name in ("item", "__bool__", "__int__", "__float__", "__index__", "__complex__"):
        replace(torch, tensors, name, functools.partial(read, name))
    replace(torch, tensors, "tolist", listed)
    torch.serialization.add_safe_globals([float])  # which made-up numbers are saved as
    for owner, names in {
        tensors: ("__repr__",),
        torch: ("save",),
        torch.UntypedStorage: ("cpu", "copy_", "tolist"),
    }.items():
        for name in names:
            replace(torch, owner, name, looked_at)
    for owner in (torch, tensors):
        for name in ("equal", "allclose"):
            replace(torch, owner, name, same)

    asked.listener = READS(answers.on_read)
    ctypes.CDLL(None).hpo_virtual_card_on_read(asked.listener)
