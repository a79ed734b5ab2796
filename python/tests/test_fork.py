# SPDX-License-Identifier: MIT
"""Copies of a process for attempts, and their keepers."""

import json
import os
import pathlib
import platform
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

from hpo._forking import _request
from studies import environment

NEWS = struct.Struct("<iiqq")
NAMES = ("stdout", "stderr", "reports", "answers", "news", "life")

# A program that makes a copy for each request. `run` is what a copy does.
PROGRAM = """
import ctypes, gc, os, random, select, signal, subprocess, sys, threading, time
from hpo._forking import _fork
from hpo._trial import _channel
{before}
def run():
{run}
copies = _fork.Copies(sys.argv[1], run, lambda: None, again={again})
print("ready", flush=True)
while not os.path.exists(sys.argv[1] + ".end"):
    if select.select([copies, sys.stdin], [], [], 0.2)[0] == [copies]:
        copies.serve()
    copies.reap()
copies.close()
{after}
"""


def exists(process):
    """True if the process is there and no zombie."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(what, seconds=20):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


UNTIL_CLOSED = "os.read(int(os.environ['HPO_ANSWER_FD']), 1)\n"  # a copy that ends only after close("answers")


class Copy:
    """A request for a copy, and its pipes."""

    def __init__(self, path, environment_of_copy=(), pieces=False):
        self.begun = time.monotonic_ns()
        pipes = {name: os.pipe() for name in NAMES}
        self.ends = {name: pipe[1 if name in ("answers", "life") else 0] for name, pipe in pipes.items()}
        theirs = {name: pipe[0 if name in ("answers", "life") else 1] for name, pipe in pipes.items()}
        text = json.dumps({"environment": {"HPO_TRIAL": "0", "HPO_PARAMS": "{}", **dict(environment_of_copy)}}).encode()
        data = struct.pack("<i", len(text)) + text
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(path)
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("6i", *(theirs[name] for name in NAMES)))]
            sent = connection.sendmsg([data[:1] if pieces else data], rights)
            for at in range(sent, len(data), 9):
                connection.sendall(data[at : at + 9])
                time.sleep(0.001)
        for each in theirs.values():
            os.close(each)
        self.child, self.keeper, _, _ = self.news()

    def news(self):
        """What the keeper says next. Nothing if it has gone."""
        told = os.read(self.ends["news"], NEWS.size)
        return NEWS.unpack(told) if told else (None, None, None, None)

    def read(self, name):
        """All that the copy and its children write there."""
        parts = []
        while part := os.read(self.ends[name], 65536):
            parts.append(part)
        return b"".join(parts).decode()

    def close(self, name):
        os.close(self.ends.pop(name))

    def end(self):
        """The status of the copy, and its peak in bytes. Then all pipes are closed."""
        child, status, peak, ended_at = self.news()
        assert child in (self.child, None), (child, self.child)
        if child is not None and os.WIFEXITED(status) and peak >= 0:  # it ended by itself
            assert self.begun <= ended_at <= time.monotonic_ns(), (self.begun, ended_at)
        assert self.news() == (None, None, None, None)
        for name in list(self.ends):
            self.close(name)
        return status, peak


class Forks(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="hpo-fork-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.path = str(self.folder / "forks")

    again = False

    def start(self, run, before="", after="", **more):
        program = PROGRAM.format(again=self.again, before=textwrap.dedent(before), run=textwrap.indent(textwrap.dedent(run), "    "), after=textwrap.dedent(after))
        self.errors = open(self.folder / "errors", "w+", encoding="utf-8")
        self.addCleanup(self.errors.close)
        self.program = subprocess.Popen(
            [sys.executable, "-c", program, self.path], env=environment(**more), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors, text=True, cwd=self.folder,
        )
        self.addCleanup(self.stop)
        self.assertEqual(self.program.stdout.readline(), "ready\n")

    def stop(self):
        if self.program.poll() is None:
            pathlib.Path(self.path + ".end").touch()
            self.program.communicate(timeout=30)
        self.program.stdout.close()
        self.program.stdin.close()
        return self.program.returncode

    def written(self, name):
        """The numbers in a file, once it is there."""
        path = self.folder / name
        self.assertTrue(wait_until(lambda: path.exists() and path.read_text().endswith("\n")), name)
        return [int(word) for word in path.read_text().split()]

    def test_the_copy_has_its_pipes_its_environment_and_nothing_else_of_its_keeper(self):
        self.start(
            """
            print("out")
            print("err", file=sys.stderr)
            _channel.channel.say({"step": 1, "value": 2})
            answer = _channel.channel.request({"suggest": 1})
            mine = sorted(os.readlink(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{each}"))
            print(answer, os.environ["CUDA_VISIBLE_DEVICES"], os.environ.get("OTHER"), os.environ.get("HPO_OLD"), os.getsid(0) == os.getpid())
            print(os.read(0, 1), signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, len([each for each in mine if "pipe" in each]))
            print(sum("socket" in each for each in mine), held.read())
            os.system("echo from a child of the copy")
            return 5
            """,
            before="""
            open("held", "w").write("held")
            held = open("held")
            signal.signal(signal.SIGTERM, lambda *_: None)
            """,
            HPO_OLD="1",
        )
        copy = Copy(self.path, {"CUDA_VISIBLE_DEVICES": "7", "OTHER": "x", "HPO_FRONT": "/x"}, pieces=True)
        os.write(copy.ends["answers"], b'{"value": 3}\n')
        self.assertEqual(
            copy.read("stdout").splitlines(),
            ["out", "{'value': 3} 7 None None True", "b'' True 4", "0 held", "from a child of the copy"],
        )
        self.assertEqual(copy.read("stderr"), "err\n")
        self.assertEqual([json.loads(line) for line in copy.read("reports").splitlines()], [{"step": 1, "value": 2}, {"suggest": 1}])
        self.assertEqual(os.waitstatus_to_exitcode(copy.end()[0]), 5)
        self.assertEqual(self.stop(), 0)

    def test_its_peak_is_what_it_has_grown_by(self):
        self.start(
            "grown = bytearray(int(os.environ['HPO_BYTES']))\ngrown[:] = bytes(len(grown))\nreturn 0",
            before="held = bytearray(200 << 20)\nheld[:] = bytes(len(held))",
        )
        peaks = []
        for size in (0, 64 << 20):
            status, peak = Copy(self.path, {"HPO_BYTES": str(size)}).end()
            self.assertEqual(status, 0)
            peaks.append(peak >> 20)
        self.assertLess(peaks[0], 20)
        self.assertLess(abs(peaks[1] - 128), 20)  # the array, and the zeros that it is made of

    def test_all_that_came_from_a_copy_ends_with_it(self):
        self.start("""
            def forever():
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                with open("pids", "a") as file:
                    file.write(f"{os.getpid()} ")
                while True:
                    time.sleep(1)
            for kind in ("child", "session", "daemon", "grandchild"):
                if os.fork() == 0:
                    if kind == "session":
                        os.setsid()
                    if kind == "daemon":
                        os.setsid()
                        if os.fork() != 0:
                            os._exit(0)
                    if kind == "grandchild" and os.fork() != 0:
                        forever()
                    forever()
            while len(open("pids").read().split()) < 5 if os.path.exists("pids") else True:
                time.sleep(0.01)
            with open("pids", "a") as file:
                file.write("\\n")
            return 0
        """)
        copy = Copy(self.path)
        pids = self.written("pids")
        ended = time.monotonic()
        self.assertEqual(copy.end()[0], 0)
        self.assertLess(time.monotonic() - ended, 10)
        self.assertEqual(len(pids), 5)
        self.assertEqual([each for each in pids if exists(each)], [])
        if self.again:
            self.assertEqual(self.stop(), 0)
        self.assertTrue(wait_until(lambda: not exists(copy.keeper)))

    FOREVER = """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        other = os.fork()
        if other > 0:
            with open("pids", "w") as file:
                file.write(f"{os.getpid()} {other}\\n")
        while True:
            time.sleep(1)
    """

    def test_if_nobody_holds_the_other_end_all_ends(self):
        self.start(self.FOREVER)
        copy = Copy(self.path)
        pids = self.written("pids")
        copy.close("life")
        status, peak = copy.end()
        self.assertEqual(os.waitstatus_to_exitcode(status), -signal.SIGKILL)
        self.assertGreaterEqual(peak, 0)
        self.assertEqual([each for each in pids if exists(each)], [])
        if self.again:
            self.assertEqual(self.stop(), 0)
        self.assertTrue(wait_until(lambda: not exists(copy.keeper)))

    def test_if_the_keeper_is_killed_the_copy_ends(self):
        self.start(self.FOREVER)
        copy = Copy(self.path)
        pids = self.written("pids")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # it does not mind these
            os.kill(copy.keeper, number)
        os.kill(copy.keeper, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not exists(copy.child)))
        self.assertEqual(copy.news(), (None, None, None, None))
        for each in pids:
            if exists(each):
                os.kill(each, signal.SIGKILL)  # of a killed keeper, only the copy itself ends

    def test_if_the_program_is_killed_all_ends(self):
        self.start(self.FOREVER)
        copy = Copy(self.path)
        pids = self.written("pids")
        self.program.kill()
        self.program.wait()
        status, peak = copy.end()
        self.assertEqual([os.waitstatus_to_exitcode(status), peak], [-signal.SIGKILL, -1])  # -1: the keeper sent the signal
        self.assertEqual([each for each in pids if exists(each)], [])

    def test_a_keeper_that_was_stopped_goes_on_when_the_program_ends(self):
        self.start(self.FOREVER)
        copy = Copy(self.path)
        pids = self.written("pids")
        os.kill(copy.keeper, signal.SIGSTOP)
        self.program.kill()
        self.program.wait()
        status, peak = copy.end()
        self.assertEqual([os.waitstatus_to_exitcode(status), peak], [-signal.SIGKILL, -1])
        self.assertEqual([each for each in pids if exists(each)], [])
        self.assertTrue(wait_until(lambda: not exists(copy.keeper)))

    def test_a_signal_ends_the_copy_and_is_told(self):
        self.start("os.kill(os.getpid(), signal.SIGSEGV)")
        self.assertEqual(os.WTERMSIG(Copy(self.path).end()[0]), signal.SIGSEGV)

    def test_an_exception_before_the_objective_is_shown(self):
        self.start("raise KeyError('here')")
        copy = Copy(self.path)
        self.assertIn("KeyError: 'here'", copy.read("stderr"))
        self.assertEqual(os.waitstatus_to_exitcode(copy.end()[0]), 1)

    def test_a_thousand_copies_leave_no_descriptor_and_no_zombie(self):
        self.start("return 0")
        process = pathlib.Path(f"/proc/{self.program.pid}")
        Copy(self.path).end()
        before = len(list((process / "fd").iterdir()))
        mine = len(os.listdir("/proc/self/fd"))
        for _ in range(1000):
            self.assertEqual(Copy(self.path).end()[0], 0)
        self.assertTrue(wait_until(lambda: len(list((process / "fd").iterdir())) <= before))
        self.assertEqual(len(os.listdir("/proc/self/fd")), mine)
        children = process / "task" / str(self.program.pid) / "children"
        # Keepers that take further requests are still there.
        self.assertTrue(wait_until(lambda: all(map(exists, children.read_text().split())) if self.again else children.read_text() == ""))
        self.assertLess(len(children.read_text().split()), 50)  # each of a thousand copies would leave one if keepers were not taken again

    def test_whoever_asks_sees_the_end_if_ctrl_c_comes_before_the_fork(self):
        self.start("return 0", before="""
            from hpo._forking import _large_pages
            kept, serve = [], _fork.Copies.serve
            def join():
                raise KeyboardInterrupt
            def serve_and_keep(copies):
                try:
                    serve(copies)
                except KeyboardInterrupt as error:
                    kept.append(error)  # with its frames and what they hold
            _large_pages.join, _fork.Copies.serve = join, serve_and_keep
        """)
        copy = Copy(self.path)
        self.assertIsNone(copy.keeper)
        self.assertEqual([copy.read(name) for name in ("stdout", "stderr", "reports")], ["", "", ""])
        self.assertEqual(Copy(self.path).end()[0], 0)

    def test_what_is_no_request_is_dropped(self):
        self.start("return 0")
        held = os.pipe()
        for data, descriptors in ((b"", 0), (b"\x05\0\0\0{}", 6), (b"\x02\0\0\0{}", 6), (b"\xff\xff\xff\x7f{}", 6), (b"\x02\0\0\0[]", 6), (b"\x02\0\0\0{}", 2)):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.connect(self.path)
                if data:
                    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f"{descriptors}i", *[held[1]] * descriptors))]
                    connection.sendmsg([data], rights)
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(10)
                self.assertEqual(connection.recv(1), b"")
        self.assertEqual(Copy(self.path).end()[0], 0)
        process = pathlib.Path(f"/proc/{self.program.pid}/fd")
        self.assertNotIn(os.readlink(f"/proc/self/fd/{held[1]}"), [os.readlink(each) for each in process.iterdir()])
        os.close(held[0])
        os.close(held[1])

    def test_a_handler_for_sigchld_of_the_program_may_take_the_keepers(self):
        self.start(
            "return 0",
            before="""
            def take(*_):
                try:
                    while os.waitpid(-1, os.WNOHANG)[0]:
                        pass
                except ChildProcessError:
                    pass
            signal.signal(signal.SIGCHLD, take)
            """,
        )
        for _ in range(20):
            self.assertEqual(Copy(self.path).end()[0], 0)

    def test_threads_of_libraries_are_named_and_those_that_survive_a_fork_count_for_nothing(self):
        program = """
            import _thread, ctypes, os, threading, time
            from hpo._forking import _fork, _thread_stacks

            named = []

            def work(name):
                ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
                named.append(name)
                time.sleep(60)

            def start(name):
                count = len(named) + 1
                _thread.start_new_thread(work, (name,))  # a thread that the module threading does not know
                while len(named) < count:
                    time.sleep(0.001)

            copy = os.fork()
            if copy == 0:
                os._exit(0 if _fork.why_not() == "" else 1)
            assert os.waitpid(copy, 0)[1] == 0
            start(b"jemalloc_bg_thd")
            for name in ("tqdm_monitor", "MLflowTelemetryConsumer-0"):
                threading.Thread(target=time.sleep, args=(60,), name=name, daemon=True).start()
            assert _fork.why_not() == "", _fork.why_not()
            start(b"pool of a lib")
            assert _fork.why_not_with_names() == "1 thread of a library runs (pool of a lib)", _fork.why_not_with_names()
            found = []
            _thread_stacks.libraries_below_wait = lambda task: found
            for found, why_not in (
                (["libarrow.so.2600"], ""),
                (["libarrow.so.2600", "libother.so"], "1 thread of a library runs (pool of a lib of libother.so)"),
            ):
                assert _fork.why_not_with_names() == why_not, _fork.why_not_with_names()
        """
        run = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], env=environment(), capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)

    @unittest.skipUnless(platform.machine() == "x86_64", "the stacks of other processors are not read")
    def test_the_library_whose_code_an_idle_thread_runs_is_found(self):
        program = """
            import _thread, os
            from hpo._forking import _thread_stacks
            lock, before = _thread.allocate_lock(), set(os.listdir("/proc/self/task"))
            lock.acquire()
            _thread.start_new_thread(lock.acquire, ())
            (task,) = set(os.listdir("/proc/self/task")) - before
            while not _thread_stacks.libraries_below_wait(task):  # it has not come to wait yet
                pass
            print(_thread_stacks.libraries_below_wait(task))
            assert all("python" in each for each in _thread_stacks.libraries_below_wait(task))
            assert _thread_stacks.libraries_below_wait(str(os.getpid())) == []  # this thread runs
            assert _thread_stacks.libraries_below_wait("1073741823") == []
        """
        run = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], env=environment(), capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_threads_that_only_wait_for_the_forking_one_count_for_nothing(self):
        program = """
            import concurrent.futures, threading
            from hpo._forking import _fork, _turns_of_threads
            turns, study = _turns_of_threads.Turns(), object()
            assert turns.take(study) == 0
            waiting = threading.Thread(target=lambda: (turns.take(study), turns.give_back()))
            waiting.start()
            while not _turns_of_threads._waiting:
                pass
            assert _fork.why_not() == "", _fork.why_not()
            assert turns.take(object()) is None and turns.take(study) is None  # of this thread: it would wait for itself
            turns.give_back()
            waiting.join()
            told = []
            thread = threading.Thread(target=lambda: told.append(_fork.why_not()))  # the main thread waits in join
            thread.start()
            thread.join()
            assert told == [""], told
            busy, together = threading.Event(), threading.Barrier(2)
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                pool.submit(together.wait)
                pool.submit(together.wait).result()  # now both threads are there
                assert pool.submit(_fork.why_not).result() == ""  # the other one is idle
                pool.submit(busy.wait)
                told = pool.submit(_fork.why_not_with_names).result()
                busy.set()
                assert "ThreadPoolExecutor" in told, told
        """
        run = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], env=environment(), capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_why_a_process_cannot_be_copied(self):
        program = """
            import sys, threading, types
            from hpo._forking import _fork
            assert _fork.why_not() == "", _fork.why_not()
            cuda = types.SimpleNamespace(is_initialized=lambda: True)
            sys.modules["torch"] = types.SimpleNamespace(cuda=cuda)
            assert _fork.why_not() == "CUDA is initialised"
            cuda.is_initialized = lambda: False
            assert _fork.why_not() == ""
            end = threading.Event()
            first = threading.Thread(target=end.wait, name="first")
            first.start()
            assert _fork.why_not() == "1 thread runs besides the one that calls optimize", _fork.why_not()
            assert _fork.why_not_with_names() == _fork.why_not() + " (first)", _fork.why_not_with_names()
            threading.Thread(target=end.wait, name="second").start()
            told = _fork.why_not_with_names()
            assert told in [f"2 threads run besides the one that calls optimize ({names})" for names in ("first, second", "second, first")], told
            end.set()
        """
        run = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], env=environment(), capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)


class ForksOfOneKeeper(Forks):
    """The same with keepers that take one request after another."""

    again = True

    def test_one_keeper_takes_one_request_after_another_until_the_program_is_renewed(self):
        self.start(UNTIL_CLOSED + "return 0", before="signal.signal(signal.SIGUSR1, lambda *_: copies.renew())")

        def end(copy):
            copy.close("answers")
            return copy.end()

        first, second = Copy(self.path), Copy(self.path)
        self.assertNotEqual(first.keeper, second.keeper)
        keepers = {first.keeper, second.keeper}
        end(first)
        end(second)
        used = set()

        def comes_back():
            copy = Copy(self.path)
            is_known = copy.keeper in keepers
            used.add(copy.keeper)
            end(copy)
            return is_known

        self.assertTrue(wait_until(comes_back))  # a keeper that is slow to come back is not waited for
        self.program.send_signal(signal.SIGUSR1)
        for keeper in keepers | used:
            self.assertTrue(wait_until(lambda: not exists(keeper)))
        copy = Copy(self.path)
        self.assertNotIn(copy.keeper, keepers | used)
        end(copy)
        os.kill(copy.keeper, signal.SIGKILL)  # the program waits a moment for it, and then makes another one
        self.assertEqual(end(Copy(self.path))[0], 0)
        self.assertEqual(self.stop(), 0)
        self.assertFalse(exists(copy.keeper))

    @staticmethod
    def children(process):
        path = pathlib.Path(f"/proc/{process}/task/{process}/children")
        return [int(each) for each in path.read_text().split() if exists(int(each))]

    def ahead(self, keeper):
        """The copy that the keeper has forked ahead, once it waits for its request."""
        found = []

        def waits():
            found[:] = self.children(keeper)
            return found and os.getsid(found[0]) == found[0]

        self.assertTrue(wait_until(waits))
        return found[0]

    def test_the_next_copy_is_forked_ahead_after_an_attempt_and_has_nothing_of_it(self):
        self.start("print(os.getpid(), os.environ['HPO_X'], os.environ.get('HPO_Y'))\nsys.stdin.read()\nos.read(int(os.environ['HPO_ANSWER_FD']), 1)\nreturn 0")
        first = Copy(self.path, {"HPO_X": "1", "HPO_Y": "2"})
        self.assertEqual(self.children(first.keeper), [first.child])  # none while an attempt runs
        pipes = {os.readlink(f"/proc/{os.getpid()}/fd/{end}") for end in first.ends.values()}
        os.write(first.ends["answers"], b"x")
        first.end()
        spare = self.ahead(first.keeper)
        held = {os.readlink(f"/proc/{spare}/fd/{each}") for each in os.listdir(f"/proc/{spare}/fd")}
        self.assertEqual(pipes & held, set())
        second = Copy(self.path, {"HPO_X": "3"})
        self.assertEqual(second.child, spare)
        self.assertEqual(self.children(second.keeper), [spare])
        os.write(second.ends["answers"], b"x")
        self.assertEqual(second.read("stdout"), f"{spare} 3 None\n")
        self.assertEqual(os.waitstatus_to_exitcode(second.end()[0]), 0)

    def test_a_keeper_that_is_forked_ahead_has_a_copy_that_waits(self):
        self.start("print(random.random())\n" + UNTIL_CLOSED + "return 0", before="random.seed(3)\nsignal.signal(signal.SIGUSR1, lambda *_: copies.fork_ahead())")
        first = Copy(self.path)
        first.close("answers")
        number = first.read("stdout")
        first.end()
        waiting = {first.keeper: self.ahead(first.keeper)}
        self.program.send_signal(signal.SIGUSR1)
        self.assertTrue(wait_until(lambda: len(self.children(self.program.pid)) == 2))
        other = (set(self.children(self.program.pid)) - {first.keeper}).pop()
        waiting[other] = self.ahead(other)
        copies = [Copy(self.path), Copy(self.path)]
        self.assertEqual({copy.keeper: copy.child for copy in copies}, waiting)
        for copy in copies:
            copy.close("answers")
        self.assertEqual({copy.read("stdout") for copy in copies}, {number})
        for copy in copies:
            self.assertEqual(copy.end()[0], 0)
        self.assertEqual(self.stop(), 0)
        self.assertFalse(any(map(exists, waiting)))

    def test_a_copy_that_waits_ends_with_its_keeper_and_with_the_program(self):
        for kill in ("keeper", "program", "nothing", "renewed"):
            with self.subTest(kill):
                self.start("return 0", before="signal.signal(signal.SIGUSR1, lambda *_: copies.renew())")
                copy = Copy(self.path)
                copy.end()
                spare = self.ahead(copy.keeper)
                if kill == "keeper":
                    os.kill(copy.keeper, signal.SIGKILL)
                elif kill == "program":
                    self.program.kill()
                elif kill == "renewed":
                    self.program.send_signal(signal.SIGUSR1)
                else:
                    self.assertEqual(self.stop(), 0)
                self.assertTrue(wait_until(lambda: not exists(spare) and not exists(copy.keeper)))
                self.stop()
                pathlib.Path(self.path + ".end").unlink(missing_ok=True)

    def test_a_request_that_was_read_at_once_counts_as_passed_on(self):
        ours, its = socket.socketpair()
        null = os.open("/dev/null", os.O_RDONLY)

        class ReadAtOnce:
            sendall = ours.sendall

            def sendmsg(self, *what):
                sent = ours.sendmsg(*what)
                got = _request.receive(its)
                got.close()
                its.close()
                return sent

        _request.send(ReadAtOnce(), _request.Request(b'{"environment": {}}', [null] * 6))
        os.close(null)
        ours.close()

    def test_a_copy_that_was_killed_while_it_waits_is_replaced(self):
        self.start("return 0")
        copy = Copy(self.path)
        copy.end()
        spare = self.ahead(copy.keeper)
        os.kill(spare, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not exists(spare)))
        other = Copy(self.path)
        self.assertEqual(other.keeper, copy.keeper)
        self.assertNotEqual(other.child, spare)
        self.assertEqual(os.waitstatus_to_exitcode(other.end()[0]), 0)


if __name__ == "__main__":
    unittest.main()
