# SPDX-License-Identifier: MIT
"""What a program reads from a virtual card. Nothing is computed there, so a plausible value is made up, and the line is noted.

A number that falls from 1 stands for a loss. Nothing is NaN, and nothing is infinite. Every other "is it so?" is answered by yes, and a whole
number is 1. What is copied in larger pieces is zeros.
"""
import ctypes
import functools
import os
import threading

from . import lines

LARGEST_NUMBER = 8  # bytes
FALL = 0.97  # of a number that is read again at the same line
READS = ctypes.CFUNCTYPE(None, ctypes.c_size_t)


class Asked:
    """The lines that read something, and how often."""

    def __init__(self):
        self.lines = {}
        self.whole_numbers = set()  # of these lines
        self.lock = threading.Lock()

    def note(self, line):
        with self.lock:
            times = self.lines.get(line, 0)
            self.lines[line] = times + 1
            return times


class Answers:
    def __init__(self, torch, asked, sizes):
        self.asked = asked
        self.sizes = sizes
        self.library = lines.library_of(torch)
        self.scaler = tuple(os.path.join(self.library, *each) + os.sep for each in (("amp",), ("cuda", "amp")))
        self.inside = threading.local()  # answering: what the card is asked meanwhile is not the program's question

    def number(self, tensor, function, *arguments):
        """The answer to item() and its like."""
        line = lines.calling(self.library)
        times = self.asked.note(line)
        known = getattr(tensor, "_hpo_answer", None)
        self.inside.answering = True
        try:
            value = function(tensor, *arguments)  # also checks that there is one element
        finally:
            self.inside.answering = False
        if known is not None:
            return type(value)(known)
        if lines.calls_from(self.scaler):
            return value  # "how many were infinite?": none
        if isinstance(value, float):
            return FALL**times
        if isinstance(value, complex):
            return complex(FALL**times)
        if not isinstance(value, bool):
            self.asked.whole_numbers.add(line)
        return type(value)(1)

    def on_read(self, size):
        """Called by the virtual card for each copy to the host."""
        if getattr(self.inside, "answering", False):
            return
        self.asked.note(lines.calling(self.library))
        if size <= LARGEST_NUMBER:
            self.sizes.note_read()


def answer(torch, asked, sizes):
    answers = Answers(torch, asked, sizes)
    tensors = torch.Tensor

    def on_card(value):
        return isinstance(value, tensors) and value.is_cuda

    def replace(owner, name, made):
        function = getattr(owner, name)
        setattr(owner, name, functools.wraps(function)(made(function)))

    def read(function):
        def ask(tensor, *arguments):
            if tensor.is_cuda and tensor.numel() == 1:
                return answers.number(tensor, function, *arguments)
            return function(tensor, *arguments)

        return ask

    def copied(function):
        def cpu(tensor, *arguments, **options):
            if not (tensor.is_cuda and tensor.numel() == 1):
                return function(tensor, *arguments, **options)
            answers.inside.answering = True  # the program reads a number, which is no size that PyTorch asks for
            try:
                copy = function(tensor, *arguments, **options)
            finally:
                answers.inside.answering = False
            if tensor.is_floating_point():
                copy.detach().fill_(tensor.item())
            else:
                asked.note(lines.calling(answers.library))
            return copy

        return cpu

    def marked(answer_of):
        """A question whose result keeps its answer, if the arguments tell one."""

        def made(function):
            def ask(*arguments, **options):
                result = function(*arguments, **options)
                if on_card(result) and not torch.compiler.is_compiling():
                    known = answer_of(arguments)
                    if known is not None:
                        result._hpo_answer = known
                return result

            return ask

        return made

    def begins(truth):
        """A question of which the answer is known, such as isnan."""
        return marked(lambda _: truth)

    def passed_on(change):
        """A question about answers, such as any."""

        def answer_of(arguments):
            known = [each for each in (getattr(value, "_hpo_answer", None) for value in arguments) if each is not None]
            return change(known) if known else None

        return marked(answer_of)

    for name in ("item", "__bool__", "__int__", "__float__", "__index__", "__complex__"):
        replace(tensors, name, read)
    replace(tensors, "cpu", copied)
    for owner in (torch, tensors):
        for name, truth in {"isnan": False, "isinf": False, "isfinite": True}.items():
            replace(owner, name, begins(truth))
        for name in ("any", "logical_or"):
            replace(owner, name, passed_on(any))
        for name in ("all", "logical_and"):
            replace(owner, name, passed_on(all))
        replace(owner, "logical_not", passed_on(lambda known: not known[0]))
    replace(tensors, "__or__", passed_on(any))
    replace(tensors, "__and__", passed_on(all))
    replace(tensors, "__invert__", passed_on(lambda known: not known[0]))

    asked.listener = READS(answers.on_read)
    ctypes.CDLL(None).hpo_virtual_card_on_read(asked.listener)
