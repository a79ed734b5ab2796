# SPDX-License-Identifier: MIT
"""Whether a whole number that the program makes by int() becomes a size.

Python's int() gives a plain int, which tells nothing any more. So the source text of the function around it is read: the names that get the
number, or what is computed of it, are looked for in slices and in the calls whose arguments are sizes. What other functions do with it is not
seen.
"""
import ast
import functools
import itertools
import linecache
import sys

from . import lines

SIZED = set(  # functions of PyTorch with sizes among their arguments
    "empty zeros ones full rand randn eye arange linspace new_empty new_zeros new_ones new_full expand broadcast_to repeat tile narrow topk split "
    "chunk repeat_interleave pad randperm resize_ unfold".split()
)
SIZE_CALLS = SIZED | {"range", "interpolate"}


def _name(node):
    """"k" or "self.k"; "" for what is neither."""
    if isinstance(node, ast.Name):
        return node.id
    return f"{_name(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) and _name(node.value) else ""


def _names(node):
    return {name for each in ast.walk(node) if (name := _name(each))}


def _is_size_call(node):
    function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    module = isinstance(node.func, ast.Attribute) and _name(node.func.value).split(".")[-1] == "nn"
    return function in SIZE_CALLS or (module and function[:1].isupper())


def _sizes(scope):
    """The expressions of a function that are sizes."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Slice):
            yield from (each for each in (node.lower, node.upper, node.step) if each is not None)
        elif isinstance(node, ast.Call) and _is_size_call(node):
            yield from node.args
            yield from (each.value for each in node.keywords)


def _assigned(scope):
    """Pairs of what is assigned and the names that get it."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            yield node.value, set().union(*map(_names, node.targets))
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            yield node.value, _names(node.target)


@functools.lru_cache(maxsize=256)
def _becomes_size(file, line, place):
    """`place`: line, last line, column and last column of the call; None if this Python does not tell it."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return False
    scope = tree
    for node in ast.walk(tree):  # outer functions come before inner ones
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= line <= node.end_lineno:
            scope = node
    calls = [
        each
        for each in ast.walk(scope)
        if isinstance(each, ast.Call)
        and getattr(each.func, "id", "") == "int"
        and (each.lineno <= line <= each.end_lineno if place is None else (each.lineno, each.end_lineno, each.col_offset, each.end_col_offset) == place)
    ]

    def holds(expression, names):
        return any(each in calls for each in ast.walk(expression)) or not names.isdisjoint(_names(expression))

    names = set()
    assigned = list(_assigned(scope))
    for _ in range(len(assigned)):
        new = set().union(*(targets for value, targets in assigned if holds(value, names))) - names
        if not new:
            break
        names |= new
    return bool(calls) and any(holds(each, names) for each in _sizes(scope))


def becomes_size(library):
    """Called inside of int(), which the innermost line outside of `library` calls."""
    frame = lines.frame_calling(library)
    if frame is None:
        return False
    place = None
    if sys.version_info >= (3, 11):
        place = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    return _becomes_size(frame.f_code.co_filename, frame.f_lineno, place if place and None not in place else None)
