# SPDX-License-Identifier: MIT
"""The loop in which a program runs its trials, as hpo-tune says."""

from __future__ import annotations

import collections
import json
import os
import pickle
import select
import signal
import socket
import sys
import threading
import time
from typing import Any, Callable, Deque, Dict, List, NoReturn, Optional

from . import _connection, _endings, _in_program
from .._forking import _fork, _imports, _request, _reseed, _trial_copy
from ._connection import Connection
from .._errors import HpoError
from .._json import finite

_TRIALS_UNTIL_COST_IS_KNOWN = 30
_TRIALS_UNTIL_FORKED_AHEAD = 5
_FORK_SECONDS = 0.1  # an objective that takes longer does not gain from a fork ahead


class Refused(HpoError):
    """hpo-tune does not run this call of optimize. ``busy``: another process of the program is connected. ``by_optuna``: Optuna should."""

    def __init__(self, message: str, busy: bool, by_optuna: bool) -> None:
        super().__init__(message)
        self.busy = busy
        self.by_optuna = by_optuna


class InTrial(Exception):
    """The traceback of an exception that was raised in the process of a trial. It is the cause of the exception that optimize raises."""

    def __str__(self) -> str:
        return "\n" + str(self.args[0])


class Handler:
    """What the loop asks of the one who has called it. The methods run in the program, except for ``run_trial``."""

    def opened(self, told: Dict[str, Any]) -> None:
        """hpo-tune has opened the study."""

    def run_trial(self, words: _endings.Words) -> int:
        """Runs the objective once, in the process of a trial. Returns the exit status."""
        raise NotImplementedError

    def run_here(self, words: _endings.Words) -> int:
        """Runs the objective once, in the program. Returns the exit status that a process would have had."""
        raise NotImplementedError

    def before_fork(self) -> None:
        """A copy of the process is about to be made."""

    def stays_as_it_is(self) -> bool:
        """True if nothing between two trials changes what an objective sees."""
        return True

    def finished(self, told: Dict[str, Any], raises: bool) -> Dict[str, float]:
        """A trial has ended. Returns constraints that were computed and stored now, by name. ``raises``: its exception ends optimize."""
        return {}

    def begin(self, number: int, again: bool) -> Dict[str, Any]:
        """The study's own sampler begins a trial. Returns the parameters that it proposes; ``again``: those that it has proposed last."""
        raise NotImplementedError

    def draw(self, told: Dict[str, Any]) -> Any:
        """The study's own sampler draws a parameter."""
        raise NotImplementedError

    def judge(self, number: int) -> bool:
        """Whether the study's own pruner ends a trial after its latest report."""
        raise NotImplementedError

    def wants_to_stop(self) -> bool:
        """A callback has called study.stop()."""
        return False


class Loop:
    """One call of optimize, from its opening to its end."""

    def __init__(self, connection: Connection, opening: Dict[str, Any], handler: Handler) -> None:
        self._connection = connection
        self._opening = opening
        self.handler = handler
        self._raised: Dict[int, BaseException] = {}  # by trial
        self._error: Optional[BaseException] = None  # what optimize raises at its end
        self._stop_said = False
        self._begun = time.monotonic()
        self._took = 0.0  # seconds of the objective itself, in all trials
        self._finished_trials = 0
        self._ran_here = False  # trials run in the program
        self._interrupts = 0
        self._ended: Optional[Dict[str, Any]] = None
        self._is_refused = False
        self._heard: Deque[Dict[str, Any]] = collections.deque()  # what is still to be answered, should a callback be interrupted
        self._wants_seen = False  # hpo-tune waits for the callbacks of a trial
        self._poller = select.poll()
        self.words_path = connection.path + ".said"
        self._words: Optional[socket.socket] = None
        self._copies: Optional[_fork.Copies] = None
        self._trying: Optional[_imports.Attempt] = None

    def run(self) -> None:
        try:
            self._open()
            self._listen()
            while self._ended is None:
                self._turn()
        finally:
            self._end_trying(finish=False)
            if self._words is not None:
                self._words.close()
                _request.remove(self.words_path)
            if self._copies is not None:
                self._copies.close()
        self._raise_the_end(self._ended)

    def say(self, said: Dict[str, Any]) -> None:
        self._connection.say(said)

    def answer_of_hpo(self) -> Dict[str, Any]:
        """Waits for the answer to a trial that runs in the program. What hpo-tune asks meanwhile is answered."""
        while True:
            while self._heard:
                message = self._heard.popleft()
                if message.get("op") == "answer":
                    answer: Dict[str, Any] = message["answer"]
                    return answer
                self._answer(message)
            self._heard.extend(self._connection.hear())

    def has_raised(self, number: int, error: BaseException) -> None:
        """The trial that runs in the program has raised this."""
        self._raised[number] = error

    def is_over(self) -> bool:
        """True if hpo-tune has said how the call ended, or that it does not run it."""
        return self._ended is not None or self._is_refused

    def _open(self) -> None:
        if self._opening["forks"]:
            path = f"{self._connection.path}.{os.getpid()}"
            self._copies = _fork.Copies(path, self._run_trial, self.handler.before_fork, self.handler.stays_as_it_is())
            self._opening["fork_socket"] = path
        self._connection.say({**self._opening, "says_ready": True})
        heard: List[Dict[str, Any]] = []
        while not any(each.get("op") in ("opened", "refused", "leave") for each in heard):
            heard += self._connection.hear()
        if any(each.get("op") == "leave" for each in heard):
            leave()
        for message in heard:
            if message.get("op") == "refused":
                self._is_refused = True
                busy = bool(message.get("busy", "message" not in message))
                raise Refused(str(message.get("message", "hpo-tune refuses it")), busy, message.get("by_optuna") is True)
            if message.get("op") == "opened":
                self._wants_seen = message.get("wants_seen") is True
                ready = {"op": "ready"}  # the study has the trials that the program had
                try:
                    self.handler.opened(message)
                except Exception as error:  # hpo-tune then ends the call
                    self._error = error
                    ready["error"] = str(error) if isinstance(error, HpoError) else _endings.text_of(error)
                self._connection.say(ready)
        self._heard.extend(each for each in heard if each.get("op") != "opened")

    def _listen(self) -> None:
        self._words = _request.listening(self.words_path, socket.SOCK_DGRAM)
        self._poller.register(self._connection, select.POLLIN)
        self._poller.register(self._words, select.POLLIN)
        if self._copies is not None:
            self._copies.close_in_copy = [self._connection.fileno(), self._words.fileno()]
            self._poller.register(self._copies, select.POLLIN)

    def _run_trial(self) -> int:
        words = _endings.Words(self.words_path, int(os.environ["HPO_TRIAL"]))
        try:
            return self.handler.run_trial(words)
        finally:
            imported = _imports.imported_by_trial()
            if imported:
                words.imported(imported)

    def _import(self, names: List[str]) -> None:
        """Tries modules that a trial has imported, if nothing else is being tried."""
        names = _imports.untried(names)
        if names and self._trying is None and self._copies is not None:
            self._trying = _imports.Attempt(names, _fork.why_not, self._copies.descriptors())
            self._copies.renew()
            self._poller.register(self._trying, select.POLLIN)

    def _end_trying(self, finish: bool) -> None:
        if self._trying is not None:
            self._poller.unregister(self._trying)
            trying, self._trying = self._trying, None
            if not finish:
                trying.close()
            elif trying.finish() and self._copies is not None:
                self._copies.renew()

    def _turn(self) -> None:
        """Waits for something, and deals with it."""
        try:
            # The end of a keeper wakes nobody, so it is looked for again after a while.
            wait = 0 if self._heard else 200 if self._copies is not None and self._copies.has_keepers() else None
            ready = [each for each, _ in self._poller.poll(wait)]
            if self._words is not None and self._words.fileno() in ready:
                self._hear_words()
            if self._connection.fileno() in ready:
                self._heard.extend(self._connection.hear())
            while self._heard:
                self._answer(self._heard.popleft())
            if self._copies is not None:
                self._copies.reap()
                if self._trying is not None and (self._trying.fileno() in ready or self._trying.is_late()):
                    self._end_trying(self._trying.fileno() in ready)
                if self._copies.fileno() in ready:  # last, so that callbacks see a trial's end before the next one begins
                    self._copies.serve()
        except KeyboardInterrupt as interrupt:
            self._interrupt(interrupt)

    def _interrupt(self, interrupt: KeyboardInterrupt) -> None:
        """Ctrl-C reaches hpo-tune, too. It ends its trials, keeps what they have said, and then says that all has ended."""
        self._interrupts += 1
        if self._interrupts > 1:
            raise interrupt
        self._end_with(interrupt)

    def _answer(self, message: Dict[str, Any]) -> None:
        op = message.get("op")
        if op == "finished":
            constraints: Dict[str, float] = {}
            try:
                constraints = self._finished(message)
            except KeyboardInterrupt as interrupt:
                self._interrupt(interrupt)
            finally:  # hpo-tune waits for it
                if self._wants_seen:
                    self._connection.say({"op": "seen", "trial": message["trial"], "constraints": finite(constraints)})
        elif op == "begin":
            again = message.get("again") is True
            self._by_policy(message, "proposed", lambda: {"params": self.handler.begin(message["trial"], again)}, {"params": {}})
        elif op == "draw":
            self._by_policy(message, "drawn", lambda: {"value": self.handler.draw(message)}, {})
        elif op == "judge":
            self._by_policy(message, "judged", lambda: {"prune": self.handler.judge(message["trial"])}, {})
        elif op == "run":
            self._ran_here = True
            _in_program.run(self, message)
        elif op == "ended":
            self._ended = message

    def _by_policy(self, message: Dict[str, Any], op: str, ask: Callable[[], Dict[str, Any]], without: Dict[str, Any]) -> None:
        told = {**without, "error": "interrupted"}
        try:
            told = ask()
            if self.handler.wants_to_stop():  # the sampler has no other proposal
                self.stop()
        except Exception as error:
            told = {**without, "error": _endings.text_of(error)}
            if op == "drawn":  # the objective gets it where it asks
                _endings.leave_exception(self.words_path, message["trial"], error)
            else:
                self._end_with(error)
        finally:
            self._connection.say({"op": op, "trial": message["trial"], **told})

    def _finished(self, message: Dict[str, Any]) -> Dict[str, float]:
        self._hear_words()  # an exception was told before its process ended
        raised = self._raised.pop(message["trial"], None)
        if self._error is not None:
            return {}
        self._finished_trials += 1
        if self._finished_trials == _TRIALS_UNTIL_FORKED_AHEAD and self._took < _FORK_SECONDS * self._finished_trials and self._copies is not None:
            self._copies.fork_ahead()
        self._note_cost_of_processes()
        ends = raised is not None and message.get("ends_study") is True
        constraints: Dict[str, float] = {}
        try:
            constraints = self.handler.finished(message, ends)
        except Exception as error:  # of a callback or a sampler
            self._end_with(raised if ends and raised is not None else error)
            return constraints
        if ends and raised is not None:
            self._end_with(raised)
        elif self.handler.wants_to_stop():
            self.stop()
        return constraints

    def _note_cost_of_processes(self) -> None:
        """Says once that most of the time goes into hpo's own work, if it does."""
        seconds = time.monotonic() - self._begun
        cheap = self._finished_trials == _TRIALS_UNTIL_COST_IS_KNOWN and seconds < _TRIALS_UNTIL_COST_IS_KNOWN
        if not cheap or self._took >= seconds / 2 or self._ran_here:
            return
        where = (
            "a process for each trial"
            if self.handler.stays_as_it_is()
            else "a process for each trial, and into callbacks or the study's own sampler, which read the study from its file"
        )
        print(
            f"hpo: {self._finished_trials} trials took {seconds:.1f} s, of which their objective took {self._took:.2f} s: most of the time "
            f"goes into {where}. --isolation none runs trials in the program",
            file=sys.stderr,
        )

    def _hear_words(self) -> None:
        while self._words is not None:
            try:
                got = self._words.recv(1 << 17)
            except BlockingIOError:
                return
            head, _, data = got.partition(b"\n")
            try:
                said = json.loads(head)
                if said.get("stop"):
                    self.stop()
                self._took += said.get("took", 0.0)
                if "imported" in said:
                    self._import(said["imported"].split())
                if data:
                    error = pickle.loads(data)
                    if error.__cause__ is None and not error.__suppress_context__:
                        error.__cause__ = InTrial(said["traceback"])
                    self._raised[said["trial"]] = error
            except Exception as problem:
                print(f"hpo: what a trial has raised cannot be read: {problem}", file=sys.stderr)

    def _end_with(self, error: BaseException) -> None:
        if self._error is None:
            self._error = error
        self.stop()

    def stop(self) -> None:
        """No further trial is wanted."""
        if not self._stop_said:
            self._stop_said = True
            self._connection.say({"op": "stop"})

    def _raise_the_end(self, ended: Optional[Dict[str, Any]]) -> None:
        if self._error is not None:
            raise self._error
        why = ended.get("why") if ended is not None else "error"
        if why == "interrupted":
            raise KeyboardInterrupt
        if why in ("breaker", "error"):
            raise HpoError(str((ended or {}).get("message") or "hpo-tune has ended the study"))


def leave() -> NoReturn:
    """Ends the program where it is, because hpo-tune only looks at it."""
    _trial_copy.Outputs().flush()
    os._exit(0)


def why_not_fork() -> str:
    """Why the trials of this process cannot be copies of it. Empty if they can."""
    return _fork.why_not_with_names()


def run(connection: Connection, opening: Dict[str, Any], handler: Handler) -> None:
    """Runs one call of optimize to its end. Raises Refused, what a trial or a callback has raised, KeyboardInterrupt or HpoError."""
    before: Any = None
    ours = opening["forks"] and threading.current_thread() is threading.main_thread()
    if ours:  # the ends of keepers are no concern of the program
        before = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    loop = Loop(connection, opening, handler)
    try:
        loop.run()
    finally:
        if not loop.is_over():
            _connection.disconnect()  # what hpo-tune says next would be about a call that is gone
        if ours and before is not None:
            signal.signal(signal.SIGCHLD, before)


def tell_reached(path: str) -> NoReturn:
    """Tells hpo-tune that the program has come to ``optimize`` again, and ends the process."""
    with open(path, "wb"):
        pass
    os._exit(0)


def run_one_attempt(handler: Handler) -> NoReturn:
    """Runs the objective once in this process, which hpo-tune has started for one attempt of a trial, and ends the process."""
    status = 1
    outputs = _trial_copy.Outputs()
    try:
        words_path = os.environ.pop("HPO_FRONT") + ".said"  # the program that was started first listens there
        _trial_copy.begin_trial(_reseed.state_of_random())
        status = handler.run_trial(_endings.Words(words_path, int(os.environ["HPO_TRIAL"])))
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        outputs.flush()
        os._exit(status)
