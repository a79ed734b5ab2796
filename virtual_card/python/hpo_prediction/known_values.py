# SPDX-License-Identifier: MIT
"""What is known of the values of tensors on a virtual card, where no kernel computes anything.

A small tensor that the program copied to the card, or filled there, has known values. What the program makes of known values by the functions
named below is computed once more on the CPU, so it is known, too. A tensor that is changed in another way is not known any more: PyTorch
counts the changes of each tensor.

Some results that are not known get values that the program can go on with: indices that were chosen among N are spread evenly over the N, and
questions get the answers that `_suppose` lists.
"""
import ctypes
import functools
import importlib
import operator
import os
import sys
import threading

from . import lines
from .initial_values import LARGE
from .made_up_numbers import MadeUpNumber, MadeUpWhole

SURE, EVEN, GUESS = range(3)  # how well values are known: as on a real card; as if choices were even; made up. The worst of several counts
MOST_ELEMENTS = 1 << 20  # of a tensor whose values are kept
MOST_SHOWN = 1 << 28  # of one that shows the same values again and again
FALL = 0.97  # of a number that is read again at the same line: it stands for a loss
END = 1e8  # of scores: beyond it no model's result lies
MARK = "_hpo_known"
MADE_UP = MARK + "_made_up"  # of a tensor on the CPU
READ = MARK + "_read"  # what was made up for a tensor's number

MADE = {"tensor", "as_tensor", "arange", "zeros", "ones", "full", "eye", "linspace", "empty"}  # out of nothing
MADE_LIKE = {"zeros_like", "ones_like", "full_like", "empty_like", "new_zeros", "new_ones", "new_full", "new_tensor", "new_empty"}
COPIED = {"to", "cuda", "cpu", "type", "type_as", "int", "long", "short", "char", "byte", "bool", "float", "double", "half", "bfloat16"}
QUESTIONS = {"isnan": False, "isinf": False, "isposinf": False, "isneginf": False, "isfinite": True, "isin": False}
COMPARED = {"eq": "eq", "ne": "ne", "not_equal": "ne", "lt": "lt", "less": "lt", "le": "le", "less_equal": "le", "gt": "gt", "greater": "gt",
            "ge": "ge", "greater_equal": "ge", **{f"__{each}__": each for each in ("eq", "ne", "lt", "le", "gt", "ge")}}
AND = {"logical_and", "bitwise_and", "__and__", "__rand__", "all"}
OR = {"logical_or", "bitwise_or", "__or__", "__ror__", "any"}
WITH_INDICES = {"max", "min", "sort", "topk", "median", "nanmedian", "mode", "kthvalue", "cummax", "cummin"}  # in the second place
COUNTS = {"bincount", "histc", "sum", "count_nonzero", "scatter_add", "index_add"}
EXTREMES = {"max", "min", "amax", "amin", "aminmax", "topk", "sort", "msort", "median", "kthvalue"}
WHOLE = {"any", "all", "logical_not", "__invert__", "bitwise_not", "max", "min", "amax", "amin"} | (AND | OR)  # for any number of equal values
PURE = set(
    "view reshape view_as reshape_as flatten unflatten ravel squeeze unsqueeze transpose t permute movedim swapaxes expand expand_as broadcast_to "
    "repeat tile unbind select narrow index_select gather take take_along_dim flip roll contiguous clone __deepcopy__ detach diag diagonal tril triu "
    "cat concat stack hstack vstack __getitem__ add sub subtract mul multiply div divide true_divide floor_divide remainder fmod pow neg abs sign clamp clip "
    "floor ceil round sqrt square maximum minimum where masked_fill logical_not logical_xor bitwise_not bitwise_xor bitwise_left_shift "
    "bitwise_right_shift isclose sum prod mean amax amin aminmax count_nonzero cumsum cumprod diff argsort msort argmax argmin nonzero argwhere "
    "unique unique_consecutive bincount histc scatter scatter_add index_add index_fill index_put masked_select searchsorted bucketize "
    "repeat_interleave one_hot pad __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__ __rfloordiv__ __mod__ "
    "__rmod__ __pow__ __neg__ __abs__ __invert__ __xor__ __lshift__ __rshift__".split()
) | MADE | MADE_LIKE | COPIED | set(QUESTIONS) | set(COMPARED) | AND | OR | WITH_INDICES
CHOSEN = {"multinomial", "randint", "randperm"}  # not the same twice, so never computed
SUPPOSED = MADE | MADE_LIKE | COPIED | CHOSEN | set(QUESTIONS) | set(COMPARED) | AND | OR | WITH_INDICES | {
    "argmax", "argmin", "argsort", "bucketize", "searchsorted", "where"}
METHODS = {"split", "chunk"}  # of tensors
VIEWS = {"expand", "expand_as", "broadcast_to", "unsqueeze", "detach"}  # cost nothing, however large they are
BLANK = {"empty", "new_empty", "empty_like"}  # known once something was written
LIKE = {"expand_as": "expand", "view_as": "view", "reshape_as": "reshape"}  # of the second argument only the shape counts
MADE_RANDOM = {"rand", "randn", "resize_", "unfold"}  # of no known values
CHANGED = set(
    "fill_ zero_ copy_ add_ sub_ mul_ div_ clamp_ masked_fill_ masked_scatter_ index_fill_ index_copy_ index_add_ index_put_ scatter_ "
    "scatter_add_ logical_and_ logical_or_ logical_not_ bitwise_and_ bitwise_or_ __setitem__ __iadd__ __isub__ __imul__ __itruediv__ __iand__ __ior__ __ixor__".split()
)
REPLACED = {"fill_", "zero_", "copy_"}  # whatever was there before


class Shared:
    """What a tensor and its views share."""

    __slots__ = ("level", "version", "filled", "blank", "counted")

    def __init__(self, level, version, filled, blank=False):
        self.level = level
        self.version = version  # of the tensor that the values are of; None: they are not known any more
        self.filled = filled  # by one value, perhaps for a kernel to write into
        self.blank = blank  # nothing was written yet
        self.counted = False  # how often each was chosen, as if choices were even


class Known:
    """The values of a tensor."""

    __slots__ = ("host", "shared", "chosen")

    def __init__(self, host, shared, chosen=None):
        self.host = host  # on the CPU. Its views share its memory where those of the tensor do
        self.shared = shared
        self.chosen = chosen  # of a mask "is it this one?": it stands for all elements, as the first two of a tensor do, or for none

    @property
    def level(self):
        return self.shared.level

    def __deepcopy__(self, _):
        return None  # a copy of the tensor gets its own


class Unknown(Exception):
    """Something has no known values."""


class KnownValues:
    def __init__(self, torch):
        self.torch = torch
        self.plain = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer) if hasattr(torch.nn, "Buffer") else (torch.Tensor, torch.nn.Parameter)
        self.library = lines.library_of(torch)
        self.lbfgs = os.path.join(self.library, "optim", "lbfgs.py")
        self.inside = threading.local()  # computing: values on the CPU
        self.compared = {}  # how often numbers were compared, by line

    def rests(self):
        """The program is compiled or traced, so there are no values; or this package computes some."""
        return self.torch.compiler.is_compiling() or self.torch._C._get_tracing_state() is not None or getattr(self.inside, "computing", False)

    def on_card(self, value):
        return type(value) in self.plain and value.is_cuda

    @staticmethod
    def _most(tensor):
        """So many elements are kept. Large weights have no values yet (initial_values.py)."""
        return LARGE - 1 if tensor.is_floating_point() else MOST_ELEMENTS

    @staticmethod
    def version(tensor):
        try:
            return tensor._version
        except RuntimeError:
            return 0  # one of inference mode, where changes are not counted: `watch` forgets it when it is changed

    def of(self, tensor, blank=False):
        """The Known of a tensor, or None. With `blank` also that of one into which nothing was written yet."""
        known = getattr(tensor, MARK, None)
        if known is None or known.shared.version != self.version(tensor) or (known.shared.blank and not blank):
            return None
        return known

    def forget(self, tensor):
        known = getattr(tensor, MARK, None)
        if known is not None:
            known.shared.version = None

    def keep(self, tensor, host, level, filled=False, blank=False):
        if host.untyped_storage().nbytes() > self._most(tensor) * host.element_size() or host.numel() > MOST_SHOWN:
            return
        setattr(tensor, MARK, Known(host, Shared(level, self.version(tensor), filled, blank)))

    def keep_equal(self, tensor, value, level=GUESS):
        """All elements are `value`."""
        self.keep(tensor, self.torch.tensor(value, dtype=tensor.dtype, device="cpu").expand(tensor.shape), level)

    # Made-up values that the program read, or copied to the CPU.

    def is_made_up(self, value):
        """True for a number or a tensor on the CPU, and for a list with one of them."""
        if isinstance(value, (list, tuple)):
            return any(map(self.is_made_up, value))
        version = getattr(value, MADE_UP, None)
        return isinstance(value, (MadeUpNumber, MadeUpWhole)) or (version is not None and version == self.version(value))

    def mark_made_up(self, tensor):
        if not tensor.is_cuda:
            setattr(tensor, MADE_UP, self.version(tensor))
        known = self.of(tensor) if tensor.is_cuda else None
        if known is not None:
            known.shared.level = GUESS

    def pass_on(self, arguments, result):
        """Called after a function of PURE: what is made of made-up values is made up, too."""
        if self.is_made_up(arguments):
            for each in result if isinstance(result, (tuple, list)) else (result,):
                if type(each) in self.plain:
                    self.mark_made_up(each)

    # What a function makes of known values.

    def _host(self, value, used, views=False):
        """An argument with its tensors on the CPU. Notes in `used` what is known of those that were on the card. With `views` a part of
        what is still to be written counts."""
        if isinstance(value, self.torch.Tensor):
            if not value.is_cuda:
                return value
            known = self.of(value, blank=views) if type(value) in self.plain else None
            if known is None:
                raise Unknown
            used.append((value, known))
            return known.host
        if type(value) in (tuple, list):
            return type(value)(self._host(each, used, views) for each in value)
        if isinstance(value, slice):
            return slice(*(self._host(each, used) for each in (value.start, value.stop, value.step)))
        return value

    def _without_device(self, options):
        return {**{name: value for name, value in options.items() if name != "pin_memory"}, "device": "cpu"}

    def _copied(self, result, source):
        """`to` and its like: the source may be on the CPU."""
        if source.is_cuda:
            used = []
            host = self._host(source, used)
            return host.to(result.dtype), used
        if type(source) not in self.plain or source.numel() > self._most(source):
            raise Unknown
        return source.detach().to(result.dtype, copy=True), []

    def _computed(self, name, function, arguments, options, result):
        """The result on the CPU, and the known tensors that it is made of."""
        if name in COPIED:
            return self._copied(result, arguments[0])
        if name in MADE:
            used = []
            arguments, options = self._host(arguments, used), {key: self._host(each, used) for key, each in options.items()}
            made = function(*arguments, **self._without_device(options))
            if name in BLANK:
                made.zero_()
            return made.clone() if name == "as_tensor" else made, used  # the program may change what it was made of
        if name in MADE_LIKE:
            used = []
            like = self.torch.empty((), dtype=arguments[0].dtype, device="cpu").expand(arguments[0].shape)
            others, options = self._host(arguments[1:], used), {key: self._host(each, used) for key, each in options.items()}
            made = function(like, *others, **self._without_device(options))
            return made.zero_() if name in BLANK else made, used
        used = []
        if name in LIKE and len(arguments) == 2:
            return getattr(self._host(arguments[0], used), LIKE[name])(arguments[1].shape), used
        if name == "__deepcopy__":
            return self._host(arguments[0], used).clone(), used
        host = self._host(arguments, used, views=True)
        named = {key: self._host(each, used) for key, each in options.items()}
        if not used:
            raise Unknown
        if any(known.host.numel() > MOST_ELEMENTS for _, known in used) and name not in VIEWS:
            if name not in WHOLE:
                raise Unknown
            host = [each[(slice(0, 1),) * each.dim()] if isinstance(each, self.torch.Tensor) else each for each in host]
            return function(*host, **named).expand(result.shape), used  # of equal values one is enough
        return function(*host, **named), used

    def _keep_result(self, result, host, used, filled):
        """Keeps what was computed for a result, or for each of several."""
        if isinstance(result, (tuple, list)):
            for each, of_each in zip(result, host):
                self._keep_result(each, of_each, used, filled)
            return
        if not self.on_card(result) or host.shape != result.shape:
            return
        host = host.to(result.dtype)
        level = max((known.level for _, known in used), default=SURE)
        for source, known in used:
            if result is source:
                return
            same = result.untyped_storage()._cdata == source.untyped_storage()._cdata
            same_host = host.untyped_storage()._cdata == known.host.untyped_storage()._cdata
            if same and same_host:
                setattr(result, MARK, Known(host, known.shared, known.chosen))
                return
            if same:
                return  # a change of one would not be seen in the other
            if same_host:
                host = host.clone()
        if not any(known.shared.blank for _, known in used):
            self.keep(result, host, level, filled)

    def _mark_counts(self, name, result, used):
        """The largest of even counts is the least that it can be, and no value to go by."""
        known = self.of(result)
        if known is None or known.level != EVEN:
            return
        if name in COUNTS or any(each.shared.counted for _, each in used):
            known.shared.counted = True
        if name in EXTREMES and known.shared.counted and name not in COUNTS:
            known.shared.level = GUESS

    def learn(self, name, function, arguments, options, result):
        """Called after a function of PURE or CHOSEN. Its result may be known."""
        first = result[0] if isinstance(result, (tuple, list)) and len(result) > 0 else result
        if not self.on_card(first) or options.get("out") is not None:
            return
        self.inside.computing = True
        try:
            with self.torch.no_grad():
                try:
                    if name in CHOSEN:
                        raise Unknown
                    if first.numel() > self._most(first) and name not in WHOLE | VIEWS:
                        raise Unknown
                    host, used = self._computed(name, function, arguments, options, result)
                    if name in BLANK:
                        self.keep(result, host, SURE, filled=True, blank=True)
                    else:
                        self._keep_result(result, host, used, name in MADE | MADE_LIKE)
                        self._mark_counts(name, first, used)
                except Unknown:
                    self._suppose(name, arguments, options, result)
        except Exception:  # noqa: BLE001 - what the CPU refuses is not known; the program is not to fail for it
            pass
        finally:
            self.inside.computing = False

    def learn_out(self, name, function, arguments, options, before):
        """The same where the result was written into options["out"], of which `before` was known."""
        out = options["out"]
        if before is None or name in CHOSEN:
            return
        self.inside.computing = True
        try:
            with self.torch.no_grad():
                host, used = self._computed(name, function, arguments, {key: each for key, each in options.items() if key != "out"}, out)
                if host.shape == out.shape:
                    before.host.copy_(host)
                    before.shared.level = max([before.level, *(known.level for _, known in used)])
                    before.shared.version = self.version(out)
                    before.shared.blank = False
        except Exception:  # noqa: BLE001 - as above
            pass
        finally:
            self.inside.computing = False

    def compute(self, function, arguments, options):
        """How well the answer of a function is known that makes no tensor, and the answer; GUESS and None if it is not."""
        self.inside.computing = True
        try:
            used = []
            host = self._host(arguments, used)
            return max(known.level for _, known in used), function(*host, **options)
        except Exception:  # noqa: BLE001 - as above
            return GUESS, None
        finally:
            self.inside.computing = False

    def prepare_change(self, target, arguments, options):
        """Called before a function of CHANGED: what is known of its first argument, and of the others. Its change is counted for views, too."""
        used = []
        try:
            others = self._host(arguments, used), {key: self._host(each, used) for key, each in options.items()}
        except Unknown:
            others = None
        before = target.detach().clone() if not target.is_cuda and others is not None and target.numel() <= MOST_ELEMENTS else None
        return self.of(target, blank=True), others, max((each.level for _, each in used), default=SURE), before

    def change(self, name, function, target, prepared):
        """Called after a function of CHANGED."""
        known, others, level, before = prepared
        if others is None or (not target.is_cuda and before is None):
            return
        self.inside.computing = True
        try:
            with self.torch.no_grad():
                if not target.is_cuda:  # the program's own: it is changed once, with the values that are known
                    target.detach().copy_(before)
                    function(target.detach(), *others[0], **others[1])
                    return
                if known is None:
                    if name not in REPLACED or target.numel() > self._most(target):
                        return
                    known = Known(self.torch.empty(target.shape, dtype=target.dtype, device="cpu"), Shared(SURE, None, name != "copy_"))
                    setattr(target, MARK, known)
                known.shared.version = known.chosen = None
                known.shared.blank = False
                function(known.host, *others[0], **others[1])
            known.shared.level = max(known.level, level)
            known.shared.version = self.version(target)
        except Exception:  # noqa: BLE001 - as above
            pass
        finally:
            self.inside.computing = False

    # What is supposed where nothing is known.

    def _number(self, value):
        """A number that stands for one that is compared, and whether there is one."""
        if not isinstance(value, self.torch.Tensor):
            return value, True
        if not value.is_cuda:
            return value.item(), True
        known = self.of(value)
        if known is not None:
            return known.host.item(), True
        return None, False

    def _end(self, value):
        """1 or -1 if a value, or each of a tensor, is so large or so small that it stands for no result: "nothing found yet". Else 0."""
        if isinstance(value, self.torch.Tensor):
            known = self.of(value) if value.is_cuda else None
            host = value if not value.is_cuda else None if known is None else known.host
            if host is None or host.numel() == 0 or host.dtype == self.torch.bool or host.is_complex():
                return 0
            low, high = (each.item() for each in host.aminmax())
        else:
            low = high = value
        return 1 if low >= END else -1 if high <= -END else 0

    def _compare(self, which, left, right, result):
        if left is right:
            self.keep_equal(result, which in ("eq", "le", "ge"))
        elif result.numel() == 1 and result.dim() == 0:
            pair = [self._number(left), self._number(right)]
            missing = [each for each, (_, known) in zip((left, right), pair) if not known]
            if len(missing) != 1:
                return
            line = lines.calling(self.library)
            times = self.compared[line] = self.compared.get(line, -1) + 1
            made_up = FALL**times if missing[0].is_floating_point() else 1
            numbers = [number if known else made_up for number, known in pair]
            descends = which == "gt" and numbers[1] < 0 and lines.calls_from(self.lbfgs)  # else it ends before its line search
            self.keep_equal(result, not descends and getattr(operator, which)(*numbers))
        elif which not in ("eq", "ne") and (end := self._end(right) or -self._end(left)) != 0:
            self.keep_equal(result, (which in ("gt", "ge")) == (end < 0))
        elif which in ("eq", "ne") and not (isinstance(right, self.torch.Tensor) and right.numel() != 1):
            self.keep_equal(result, which == "ne")
            number, is_known = self._number(right)
            if which == "eq" and is_known and self.on_card(left):
                seen, version = getattr(left, MARK + "_masks", ([], self.version(left)))
                setattr(left, MARK + "_masks", (seen, version))
                if version == self.version(left):
                    if number not in seen:
                        seen.append(number)
                    getattr(result, MARK).chosen = seen.index(number) < 2

    def _take_one(self, arguments, result):
        """The result of `where` with a condition that is the same for all elements: it is one of the two, which may be known."""
        condition = self.of(arguments[0]) if len(arguments) == 3 and self.on_card(arguments[0]) else None
        if condition is None or condition.host.numel() == 0 or bool(condition.host.all()) != bool(condition.host.any()):
            return
        taken = arguments[1 if bool(condition.host.all()) else 2]
        if not isinstance(taken, self.torch.Tensor):
            self.keep_equal(result, taken, condition.level)
        elif (known := self.of(taken)) is not None:
            host = known.host.to(result.dtype).expand(result.shape)
            self.keep(result, host if result.numel() > MOST_ELEMENTS else host.clone(), max(condition.level, known.level))

    def _choose(self, name, arguments, options, result):
        """Indices of which nobody knows what they are."""
        among = arguments[0]
        if name == "randint":
            numbers = [each for each in arguments if isinstance(each, int)]
            low = options.get("low", numbers[0] if len(numbers) > 1 else 0)
            high = options.get("high", numbers[-1] if numbers else 1)
            return self._keep_spread(result, -1, high - low, low)
        if name == "randperm":
            return self.keep(result, self.torch.arange(result.numel(), dtype=result.dtype, device="cpu"), EVEN)
        if name in ("bucketize", "searchsorted"):
            bounds = arguments[1] if name == "bucketize" else among
            return self._keep_spread(result, -1, bounds.shape[-1] + 1)
        if name == "multinomial":
            return self._keep_spread(result, -1, among.shape[-1])
        usual = 1 if name == "kthvalue" else 2 if name == "topk" else 0
        found = [each for each in arguments[1 + (usual > 0):] if isinstance(each, int) and not isinstance(each, bool)]
        dim = options.get("dim", found[0] if found else None if name in ("argmax", "argmin") else -1)
        size = among.numel() if dim is None else among.shape[dim] if among.dim() else 1
        if name in ("argmax", "argmin"):
            return self._keep_spread(result, -1, size)
        return self._keep_spread(result if name == "argsort" else result[1], dim, size)

    def _keep_spread(self, result, dim, size, low=0):
        """Indices below `size`, each as often as the others, and no two equal ones along `dim` if there are as many."""
        count = result.numel()
        if count > MOST_ELEMENTS or size <= 0:
            return
        flat = self.torch.arange(count, device="cpu")
        flat = flat % size if count >= size else flat * (size // count) + size // count // 2
        if result.dim() > 1:
            shape = [*result.shape]
            shape.append(shape.pop(dim))
            flat = flat.reshape(shape).movedim(-1, dim)
        self.keep(result, (flat.reshape(result.shape) + low).to(result.dtype).contiguous(), EVEN)

    def _suppose(self, name, arguments, options, result):
        if name in CHOSEN or name in ("argmax", "argmin", "argsort", "bucketize", "searchsorted"):
            self._choose(name, arguments, options, result)
        elif name in WITH_INDICES:
            if isinstance(result, tuple):
                self._choose(name, arguments, options, result)
        elif name in QUESTIONS:
            self.keep_equal(result, QUESTIONS[name])
        elif name == "where":
            self._take_one(arguments, result)
        elif name in COMPARED:
            self._compare(COMPARED[name], arguments[0], arguments[1] if len(arguments) > 1 else options["other"], result)
        elif name in AND | OR and result.dtype == self.torch.bool:
            known = [self.of(each) for each in arguments if self.on_card(each)]
            hosts = [each.host for each in known if each is not None]
            if not hosts:
                if name in ("any", "all"):  # "is anything wrong?", "is all well?"
                    self.keep_equal(result, name == "all")
                return
            self.keep(result, hosts[0].bool().expand(result.shape), GUESS)


def _overrides(torch, arguments):
    """The arguments as torch.overrides takes them, if one is of a class of the program's that overrides PyTorch's functions; else None. Such a
    class compares the function that it is given with those that it finds in PyTorch, so with the replaced ones. PyTorch itself gives it the
    replaced methods of tensors, but not the functions of modules."""
    among = (*arguments[0], *arguments[1:]) if arguments and type(arguments[0]) in (list, tuple) else arguments
    if not torch.overrides.has_torch_function(among):
        return None
    found = torch.overrides._get_overloaded_args(among)
    return None if not found or type(found[0]).__module__.startswith("torch.") else among


def _make_no_sequence(tensors):
    """A class in Python with __getitem__ is a sequence to CPython's C interface. PyTorch's tensors are none, and PyTorch asks: of a sequence
    without dimensions in a list it would ask the length."""
    sequence_methods, item = 13, 3  # places in PyTypeObject (tp_as_sequence) and PySequenceMethods (sq_item), the same since Python 3.3
    word = ctypes.sizeof(ctypes.c_void_p)

    def slots(kind):
        return ctypes.c_void_p.from_address(id(kind) + sequence_methods * word).value

    if sys.implementation.name != "cpython" or not slots(list) or slots(int):
        return

    def clear(kind):
        if methods := slots(kind):
            ctypes.c_void_p.from_address(methods + item * word).value = None
        for each in type.__subclasses__(kind):
            clear(each)

    def clear_new(cls, **options):
        super(tensors, cls).__init_subclass__(**options)
        clear(cls)

    clear(tensors)
    tensors.__init_subclass__ = classmethod(clear_new)


def replace(torch, owner, name, made):
    function = getattr(owner, name, None)
    if function is None or not callable(function) or isinstance(function, type):
        return
    ask = made(function)
    if owner is torch.Tensor:
        setattr(owner, name, functools.wraps(function)(ask))
        if name == "__getitem__":
            _make_no_sequence(owner)
        return

    @functools.wraps(function)
    def wrapped(*arguments, **options):
        if torch.compiler.is_compiling():
            return function(*arguments, **options)
        among = _overrides(torch, arguments)
        if among is not None:
            return torch.overrides.handle_torch_function(wrapped, among, *arguments, **options)
        return ask(*arguments, **options)

    setattr(owner, name, wrapped)
    # torch.jit.script knows functions by their identity.
    scripted = torch.jit._builtins._find_builtin(function)
    dispatched = torch._jit_internal.boolean_dispatched
    if scripted is not None:
        torch.jit._builtins._register_builtin(wrapped, scripted)
    elif function in dispatched:
        dispatched[wrapped] = dispatched[function]
    else:
        setattr(wrapped, "__script_if_tracing_wrapper", True)
        setattr(wrapped, "__original_fn", function)


def watch(torch, known, around):
    """Puts a watch on the functions whose results may be known. `around`: functions by name. Each is called before the function of that name
    with its arguments, and gives what is to be called afterwards with the result, or with None if it failed."""

    def pure(name):
        before = around.get(name)
        of_known = name not in SUPPOSED  # nothing is known of its result if nothing is of its arguments

        def made(function):
            def ask(*arguments, **options):
                if known.rests():
                    return function(*arguments, **options)
                after = before(arguments, options) if before is not None else None
                out = options.get("out")
                out_before = known.of(out, blank=True) if known.on_card(out) else None
                result = None
                try:
                    result = function(*arguments, **options)
                except BaseException:
                    del arguments, options, out, out_before  # a traceback must not keep what the program gives up
                    raise
                finally:
                    if after is not None:
                        after(result)
                if known.on_card(out):
                    known.learn_out(name, function, arguments, options, out_before)
                elif not of_known or options or any(hasattr(each, MARK) or type(each) in (list, tuple) for each in arguments):
                    known.learn(name, function, arguments, options, result)
                known.pass_on(arguments, result)
                return result

            return ask

        return made

    def sized(name):
        before = around[name]

        def made(function):
            def ask(*arguments, **options):
                if not known.rests():
                    before(arguments, options)
                return function(*arguments, **options)

            return ask

        return made

    def changed(name):
        before = around["copy_" if name == "copy_" else "changed"]

        def made(function):
            def ask(tensor, *arguments, **options):
                if known.rests() or type(tensor) not in known.plain:
                    return function(tensor, *arguments, **options)
                made_up = known.is_made_up(arguments if name in REPLACED else (tensor, *arguments))
                reads = not tensor.is_cuda and any(map(known.on_card, arguments))
                if not tensor.is_cuda and not reads:
                    result = function(tensor, *arguments, **options)
                    if made_up:
                        known.mark_made_up(tensor)
                    return result
                prepared = known.prepare_change(tensor, arguments, options)
                after = before(arguments, options) if reads else None
                result = None
                try:
                    result = function(tensor, *arguments, **options)
                except BaseException:
                    del tensor, arguments, options
                    raise
                finally:
                    if after is not None:
                        after(result)
                known.change(name, function, tensor, prepared)
                if made_up:
                    known.mark_made_up(tensor)
                return result

            return ask

        return made

    def changed_unseen(function):
        def ask(tensor, *arguments, **options):
            result = function(tensor, *arguments, **options)
            if type(tensor) in known.plain and tensor.is_inference():
                known.forget(tensor)
            return result

        return ask

    def kept_scale(function):
        """No gradient is infinite, so the scale of a GradScaler stays."""

        def ask(*tensors_and_factors):
            kept = [(each, each_known) for each in tensors_and_factors if known.on_card(each) and (each_known := known.of(each)) is not None]
            result = function(*tensors_and_factors)
            for each, each_known in kept:
                each_known.shared.version = known.version(each)
            return result

        return ask

    def data_ptr(function):
        def ask(tensor):
            present = getattr(tensor, MARK, None)
            if present is not None and present.shared.filled:
                known.forget(tensor)  # a kernel that PyTorch does not know may write there
            return function(tensor)

        return ask

    # It remembers the functions that `with torch.device(...)` is for.
    importlib.import_module("torch.utils._device")._device_constructors()
    for name in METHODS:
        replace(torch, torch.Tensor, name, pure(name))
    for name in MADE_RANDOM:
        for owner in (torch, torch.Tensor):
            replace(torch, owner, name, sized(name))
    for name in PURE | CHOSEN:
        for owner in (torch, torch.Tensor, torch.nn.functional):
            if owner is not torch.nn.functional or name in ("one_hot", "pad"):
                replace(torch, owner, name, pure(name))
    for name in CHANGED:
        replace(torch, torch.Tensor, name, changed(name))
    for name in dir(torch.Tensor):
        if name.endswith("_") and not name.startswith("_") and name not in CHANGED | MADE_RANDOM:
            replace(torch, torch.Tensor, name, changed_unseen)
    replace(torch, torch.Tensor, "data_ptr", data_ptr)
    replace(torch, torch, "_amp_update_scale_", kept_scale)
    allowed = torch.nn.parameter.UninitializedTensorMixin._allowed_methods  # of parameters that have no size yet
    allowed += [getattr(torch.Tensor, each.__name__) for each in allowed if hasattr(torch.Tensor, each.__name__)]
    state_of = torch._utils._get_obj_state

    def without_mark(value):
        """What the program saves of a tensor is what it would save without this package."""
        state = state_of(value)
        return {key: each for key, each in state.items() if not key.startswith(MARK)} if isinstance(state, dict) else state

    torch._utils._get_obj_state = without_mark
