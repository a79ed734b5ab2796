# SPDX-License-Identifier: MIT
"""Operators whose result is as large as the data says. A virtual card has no data, so a size is assumed, and the line is noted."""
import threading
import warnings

from . import lines

EVERY = {"assumed": "counted as if every element was chosen", "at_least": False}
ONCE = {"assumed": "counted as if each element was repeated once", "at_least": True}
READ = {"assumed": "PyTorch read a number there, perhaps a size, and got 0", "at_least": True}


class SizesFromData:
    def __init__(self, torch):
        self.noted = {}  # of each line, what was assumed there
        self._library = lines.library_of(torch)
        self._lock = threading.Lock()
        self._operators = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a kernel is replaced is meant
            for operator, kernel in {
                "nonzero": self._nonzero,
                "repeat_interleave.Tensor": self._repeat_interleave_tensor,
                "_unique": self._unique_one,
                "_unique2": self._unique2,
                "unique_dim": self._unique_dim,
                "unique_consecutive": self._unique_consecutive,
            }.items():
                self._operators.impl(operator, self._made(torch, kernel), "CUDA")

    def _made(self, torch, function):
        def operator(*arguments, **options):
            return function(torch, *arguments, **options)

        return operator

    def _note(self, what):
        line = lines.calling(self._library)
        with self._lock:
            if line:  # autograd repeats what a line of the program did
                self.noted.setdefault(line, what)

    def note_read(self):
        """PyTorch itself read a single number."""
        self._note(READ)

    def _nonzero(self, torch, tensor):
        self._note(EVERY)
        dimensions = tensor.dim()
        return torch.empty((dimensions, tensor.numel()), dtype=torch.int64, device=tensor.device).t()

    def _repeat_interleave_tensor(self, torch, repeats, output_size=None):
        size = output_size
        if size is None:
            self._note(ONCE)
            size = repeats.numel()
        repeats.cumsum(0)  # PyTorch's kernel takes one, too
        return torch.empty(size, dtype=repeats.dtype, device=repeats.device)

    def _unique(self, torch, tensor, along, inverse, counts):
        self._note(EVERY)
        if along is None:
            found = tensor.reshape(-1).sort()[0]
            places, each = tensor.shape, found.shape
        else:
            found = tensor.clone()
            places = each = tensor.shape[along : along + 1 or None]
        index = dict(dtype=torch.int64, device=tensor.device)
        return found, torch.empty(places if inverse else 0, **index), torch.empty(each if counts else 0, **index)

    def _unique2(self, torch, tensor, sorted=True, return_inverse=False, return_counts=False):
        return self._unique(torch, tensor, None, return_inverse, return_counts)

    def _unique_one(self, torch, tensor, sorted=True, return_inverse=False):
        return self._unique(torch, tensor, None, return_inverse, False)[:2]

    def _unique_dim(self, torch, tensor, dim, sorted=True, return_inverse=False, return_counts=False):
        return self._unique(torch, tensor, dim % tensor.dim(), return_inverse, return_counts)

    def _unique_consecutive(self, torch, tensor, return_inverse=False, return_counts=False, dim=None):
        along = None if dim is None else dim % tensor.dim()
        return self._unique(torch, tensor, along, return_inverse, return_counts)
