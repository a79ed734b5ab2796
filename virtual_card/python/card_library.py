# SPDX-License-Identifier: MIT
"""Loads the virtual card that is made for the program's PyTorch.

There is one library for each major version of CUDA. It must be loaded before PyTorch's own libraries, for all to see: then their calls find its
functions before NVIDIA's. So PyTorch's version is read from its file torch/version.py, without importing it.
"""
import ctypes
import importlib.machinery
import json
import mmap
import os
import re
import struct
import sys

FOLDER = os.environ.get("HPO_PREDICTION_FOLDER")
LIBRARIES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TRIED = ((2, 4), (2, 11))  # the first and the last version of PyTorch that were tried
MAJORS = ("12", "13")  # of CUDA

# The functions of those libraries of NVIDIA that the virtual card stands for. cuFile is none of them.
OF_NVIDIA = re.compile(r"(__cuda|cuda|cu(?!File)|nccl)[A-Z]|cublas|cudnn|cufft|cupti|cusolver|cusparse(?!Lt)")


class Unsuitable(Exception):
    """No virtual card is made for this PyTorch."""


def version_of(torch):
    """PyTorch's version, such as (2, 6), its full name and its version of CUDA, "" without one. `torch`: the folder where it is installed."""
    with open(os.path.join(torch, "version.py"), encoding="utf-8") as file:
        text = file.read()
    name = re.search(r"^__version__\s*=\s*['\"]([^'\"]+)", text, re.MULTILINE)
    cuda = re.search(r"^cuda\b[^=\n]*=\s*['\"]([^'\"]+)", text, re.MULTILINE)
    numbers = re.match(r"(\d+)\.(\d+)", name.group(1)) if name else None
    if numbers is None:
        raise Unsuitable(f"nobody can tell the version of the PyTorch in {torch}")
    return (int(numbers.group(1)), int(numbers.group(2))), name.group(1), cuda.group(1) if cuda else ""


def major_for(torch):
    """The major version of CUDA whose virtual card this PyTorch needs; "" if it is built without CUDA. Throws Unsuitable."""
    version, name, cuda = version_of(torch)
    if not cuda:
        return ""
    tried = "the virtual card is for PyTorch {}.{} and later, with CUDA {}".format(*TRIED[0], " or ".join(MAJORS))
    if version < TRIED[0]:
        raise Unsuitable(f"the program's PyTorch, {name}, is too old: {tried}")
    if cuda.split(".")[0] not in MAJORS:
        raise Unsuitable(f"the program's PyTorch, {name}, is for CUDA {cuda}: {tried}")
    return cuda.split(".")[0]


def dynamic_symbols(path):
    """The names that a shared library asks of others, and those that it has for others: two sets. Reads ELF files of 64 bits."""
    wanted, given = set(), set()
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        (table,) = struct.unpack_from("<Q", data, 40)
        size, count = struct.unpack_from("<HH", data, 58)
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + number * size) for number in range(count)]
        for _, kind, _, _, begin, length, names, _, _, _ in sections:
            if kind != 11:  # SHT_DYNSYM
                continue
            text = data[sections[names][4] : sections[names][4] + sections[names][5]]
            for at in range(begin + 24, begin + length, 24):
                place, _, _, section = struct.unpack_from("<IBBH", data, at)
                name = text[place : text.index(b"\0", place)].decode()
                (given if section else wanted).add(name)
    return wanted, given


def asked_of_nvidia(torch):
    """The functions that PyTorch's libraries ask of NVIDIA's, as far as the virtual card stands for them."""
    folder = os.path.join(torch, "lib")
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".so")]
    return {name for path in paths for name in dynamic_symbols(path)[0] if OF_NVIDIA.match(name)}


def tell_untried(torch, library):
    """Names what the virtual card may lack for a PyTorch that nobody tried: such a call would find NVIDIA's own function."""
    version, name, _ = version_of(torch)
    if version <= TRIED[1]:
        return
    facts = [{"untried": f"PyTorch {name} is newer than those that were tried, up to {TRIED[1][0]}.{TRIED[1][1]}"}]
    asked = sorted(asked_of_nvidia(torch) - dynamic_symbols(library)[1])
    facts += [{"not_modelled": f"{each} (PyTorch {name} asks for it)"} for each in asked]
    with open(os.path.join(FOLDER, "report"), "a", encoding="utf-8") as report:
        report.writelines(json.dumps(each) + "\n" for each in facts)


def refuse(why):
    """Ends the program. hpo-tune tells why."""
    with open(os.path.join(FOLDER, "refused"), "w", encoding="utf-8") as file:
        file.write(str(why))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


def link_for_triton(library):
    """Triton links what it compiles with a libcuda.so that it finds."""
    for name in ("libcuda.so", "libcuda.so.1"):
        try:
            os.symlink(library, os.path.join(FOLDER, name))
        except OSError:
            pass  # another process made it, or the program deleted the folder
    os.environ["TRITON_LIBCUDA_PATH"] = FOLDER


loaded = ""  # for which major version of CUDA


def load(torch):
    global loaded
    major = major_for(torch)
    if loaded and major and major != loaded:
        raise Unsuitable(f"two PyTorch are installed, for CUDA {loaded} and {major}; the program imports the one in {torch}")
    if loaded or not major:
        return
    library = os.path.join(LIBRARIES, f"libhpo_virtual_card_cuda{major}.so")
    for path in (library, os.path.join(LIBRARIES, "libhpo_virtual_card_nvml.so")):
        ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    loaded = major
    link_for_triton(library)


def folder_of(spec):
    return os.path.dirname(spec.origin) if spec is not None and spec.origin else ""


def load_for_installed():
    """When Python starts: a program is on the card from its first line on. Not every program that starts imports torch, so it is not held."""
    torch = folder_of(importlib.machinery.PathFinder.find_spec("torch"))
    try:
        if torch:
            load(torch)
    except (Unsuitable, OSError):
        pass  # said when it is imported


def load_for_imported(spec):
    """When the program imports torch, which was found by `spec`."""
    torch = folder_of(spec)
    if not torch:
        return
    try:
        load(torch)
        if loaded:
            tell_untried(torch, os.path.join(LIBRARIES, f"libhpo_virtual_card_cuda{loaded}.so"))
    except (Unsuitable, OSError) as error:
        refuse(error)
