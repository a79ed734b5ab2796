# SPDX-License-Identifier: MIT
"""Which lines of a program read how large the card is. Such a program may take another amount on another card."""
import functools

from . import lines


def watch(torch, noted):
    library = lines.library_of(torch)

    def watched(function):
        @functools.wraps(function)
        def ask(*arguments, **options):
            if not lines.calls_from((library,)):  # PyTorch's own questions are no decisions of the program
                noted.setdefault(lines.calling(library))
            return function(*arguments, **options)

        return ask

    for owner in (torch.cuda, torch.cuda.memory):
        owner.mem_get_info = watched(owner.mem_get_info)
    torch.cuda.get_device_properties = watched(torch.cuda.get_device_properties)
