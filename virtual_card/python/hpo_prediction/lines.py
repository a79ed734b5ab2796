# SPDX-License-Identifier: MIT
"""Which line of the program it was."""
import os
import sys

OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep


def _is_library(file, library):
    return file.startswith(library) or file.startswith(OWN) or file.startswith("<")


def library_of(torch):
    """The folder of PyTorch, as the files of frames begin."""
    return os.path.dirname(os.path.abspath(torch.__file__)) + os.sep


def text(file, line, function):
    return f"{os.sep.join(os.path.abspath(file).split(os.sep)[-2:])}:{line} {function}"


def of_traceback(trace, library):
    """The innermost line of a traceback outside PyTorch, as "folder/file.py:LINE function"; "" if there is none."""
    found = ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if not _is_library(code.co_filename, library):
            found = text(code.co_filename, trace.tb_lineno, code.co_name)
        trace = trace.tb_next
    return found


def frame_calling(library):
    """The innermost frame of this thread outside PyTorch; None if there is none."""
    frame = sys._getframe(1)
    while frame is not None and _is_library(frame.f_code.co_filename, library):
        frame = frame.f_back
    return frame


def calling(library):
    """Its line; "" if there is none."""
    frame = frame_calling(library)
    return "" if frame is None else text(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def calls_from(folders):
    """True if the innermost line outside this package is in one of the folders."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OWN):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(folders)
