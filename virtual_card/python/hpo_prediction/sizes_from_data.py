# SPDX-License-Identifier: MIT
"""Operators whose result is as large as the data says. Where the values are not known (known_values.py), a size is assumed, and the line is
noted."""
import math
import threading
import warnings

from . import lines
from .known_values import EVEN, GUESS

# `bound`: the program takes at most, or at least, what was counted; "" where it is neither, and "unknown" where nothing is known of the size.
EVERY = {"assumed": "counted as if every element was chosen", "bound": "most"}
ONCE = {"assumed": "counted as if each element was repeated once", "bound": "least"}
READ = {"assumed": "PyTorch read a number there, perhaps a size, and got 0", "bound": "least"}
SPREAD = {"assumed": "counted as if the choices there were spread evenly", "bound": ""}
OF_FIRST = {"assumed": "counted as if the first two of the masks there, which exclude each other, chose every element", "bound": ""}
BELOW = {"assumed": "counted as if no value was above the length that is given", "bound": ""}
MADE_UP = {"assumed": "counted with a whole number that was made of a made-up value, perhaps a size", "bound": "unknown"}


class SizesFromData:
    def __init__(self, torch, known):
        self.noted = {}  # by line and text, what was assumed there
        self._torch = torch
        self._known = known
        self._inside = known.inside  # expected: what PyTorch is about to read, with what is to be noted
        self._library = lines.library_of(torch)
        self._lock = threading.Lock()
        self._operators = torch.library.Library("aten", "IMPL")
        backward = {"masked_scatter_backward": self._masked_scatter_backward} if hasattr(torch.ops.aten, "masked_scatter_backward") else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a kernel is replaced is meant
            for operator, kernel in {
                "_local_scalar_dense": self._number,
                "nonzero": self._nonzero,
                "repeat_interleave.Tensor": self._repeat_interleave_tensor,
                "_unique": self._unique_one,
                "_unique2": self._unique2,
                "unique_dim": self._unique_dim,
                "unique_consecutive": self._unique_consecutive,
                **backward,
            }.items():
                self._operators.impl(operator, kernel, "CUDA")

    def _note(self, what):
        if what is None or getattr(self._inside, "answering", False):
            return
        line = lines.calling(self._library)
        with self._lock:
            if line:  # autograd repeats what a line of the program did
                self.noted[line, what["assumed"]] = what

    def note_read(self):
        """PyTorch itself read a single number."""
        self._note(READ)

    def note_made_up(self):
        """The program made a whole number of a made-up value, or PyTorch takes such a value for a size."""
        self._note(MADE_UP)

    def note_spread(self):
        """What was counted as if choices were spread evenly is taken for a size."""
        self._note(SPREAD)

    def _known_size(self, tensor):
        """The values of a tensor if a size may be taken of them; else None. Notes on what they rest."""
        known = self._known.of(tensor)
        if known is None or known.level == GUESS:
            return None
        self._note(SPREAD if known.level == EVEN else None)
        return known.host

    def _expect(self, value, what):
        """PyTorch is about to read a number, or a mask. Gives what is to be called afterwards."""
        self._note(what)
        before = getattr(self._inside, "answering", False)
        self._inside.expected, self._inside.answering = value, True

        def after(_):
            self._inside.expected, self._inside.answering = None, before

        return after

    def expect(self, number, even=False, below=False):
        return self._expect(number, SPREAD if even else BELOW if below else None)

    def expect_mask(self, host, known):
        if known.level == GUESS:
            return None
        return self._expect(int(host.count_nonzero()), SPREAD if known.level == EVEN else None)

    def _number(self, tensor):
        """item() and its like, which PyTorch also calls by itself."""
        known = self._known.of(tensor)
        if known is not None:
            self._note(SPREAD if known.level == EVEN and not known.host.is_floating_point() else None)
            return known.host.item()
        if tensor.dtype == self._torch.bool:
            return not self._torch.is_anomaly_enabled()  # programs ask whether all is well; the search for NaN asks whether something is not
        if tensor.is_floating_point() or tensor.is_complex():
            return self._torch.zeros((), dtype=tensor.dtype, device="cpu").item()
        expected = getattr(self._inside, "expected", None)
        if expected is not None:
            return expected
        number = self._on_card(tensor)
        if number == 0:
            self._note(READ)
        return number

    def _on_card(self, tensor):
        """What the card's memory holds: 0, unless a library wrote a number there, as NCCL does for DistributedDataParallel."""
        before = getattr(self._inside, "answering", False)
        self._inside.answering = True
        try:
            return self._torch.ops.aten.copy_(self._torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu"), tensor).item()
        finally:
            self._inside.answering = before

    def _chosen(self, tensor):
        """How many elements are not zero."""
        host = self._known_size(tensor)
        if host is not None:
            return int(host.count_nonzero())
        expected = getattr(self._inside, "expected", None)
        if expected is not None:
            return expected
        known = self._known.of(tensor)
        if known is not None and known.chosen is False:
            self._note(OF_FIRST)
            return 0
        self._note(EVERY)
        return tensor.numel()

    def _nonzero(self, tensor):
        return self._torch.empty((tensor.dim(), self._chosen(tensor)), dtype=self._torch.int64, device=tensor.device).t()

    def _masked_scatter_backward(self, gradient, mask, sizes):
        """As many elements are chosen as were written."""
        count = math.prod(sizes)
        before = getattr(self._inside, "expected", None)
        self._inside.expected = count
        try:
            chosen = gradient.masked_select(mask)
        finally:
            self._inside.expected = before
        if chosen.numel() < count:
            chosen = self._torch.cat([chosen, chosen.new_zeros(count - chosen.numel())])
        return chosen[:count].view(sizes)

    def _repeat_interleave_tensor(self, repeats, output_size=None):
        size = output_size
        if size is None:
            host = self._known_size(repeats)
            if host is None:
                self._note(ONCE)
            size = repeats.numel() if host is None else int(host.sum())
        repeats.cumsum(0)  # PyTorch's kernel takes one, too
        return self._torch.empty(size, dtype=repeats.dtype, device=repeats.device)

    def _unique(self, tensor, along, inverse, counts, of_known):
        """`of_known`: the same for values that are known."""
        host = self._known_size(tensor)
        if host is None:
            self._note(EVERY)
        if along is None:
            found = tensor.reshape(-1).sort()[0]
            places = tensor.shape
        else:
            found = tensor.clone()
            places = tensor.shape[along : along + 1 or None]
        if host is not None:
            shape = of_known(host).shape
            found = found.new_empty(shape)
        each = found.shape if along is None else found.shape[along : along + 1 or None]
        index = dict(dtype=self._torch.int64, device=tensor.device)
        empty = self._torch.empty
        return found, empty(places if inverse else 0, **index), empty(each if counts else 0, **index)

    def _unique2(self, tensor, sorted=True, return_inverse=False, return_counts=False):
        return self._unique(tensor, None, return_inverse, return_counts, lambda host: self._torch.unique(host))

    def _unique_one(self, tensor, sorted=True, return_inverse=False):
        return self._unique2(tensor, sorted, return_inverse)[:2]

    def _unique_dim(self, tensor, dim, sorted=True, return_inverse=False, return_counts=False):
        along = dim % tensor.dim()
        return self._unique(tensor, along, return_inverse, return_counts, lambda host: self._torch.unique(host, dim=along))

    def _unique_consecutive(self, tensor, return_inverse=False, return_counts=False, dim=None):
        along = None if dim is None else dim % tensor.dim()
        return self._unique(tensor, along, return_inverse, return_counts, lambda host: self._torch.unique_consecutive(host, dim=along))
