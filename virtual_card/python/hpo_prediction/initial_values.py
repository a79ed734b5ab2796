# SPDX-License-Identifier: MIT
"""Weights that are built on the CPU keep the values that their memory has.

Nobody reads them: on a virtual card nothing is computed. Pages that nobody writes take no memory of this machine.
"""
import functools

LARGE = 1 << 16  # elements; what is smaller costs little, and may be more than a weight


def skip(torch):
    def unless_large(function):
        @functools.wraps(function)
        def fill(tensor, *arguments, **options):
            if (
                isinstance(tensor, torch.Tensor)
                and tensor.device.type == "cpu"
                and tensor.is_floating_point()
                and tensor.numel() >= LARGE
            ):
                return tensor
            return function(tensor, *arguments, **options)

        return fill

    for name in dir(torch.nn.init):
        if name.endswith("_") and not name.startswith("_"):
            setattr(torch.nn.init, name, unless_large(getattr(torch.nn.init, name)))
    for name in ("normal_", "uniform_"):
        setattr(torch.Tensor, name, unless_large(getattr(torch.Tensor, name)))
