# SPDX-License-Identifier: MIT
"""Programs that behave badly, by name."""
import os
import subprocess
import sys
import time


def no_gpu():
    print("nothing to do here")


def no_torch_but_fails():
    raise ValueError("wrong configuration")


def endless():
    import torch

    torch.zeros(1000, device="cuda")
    while True:
        time.sleep(0.1)


def ends_early():
    import torch

    torch.zeros(1 << 20, device="cuda")
    sys.exit(3)


def fails_on_the_card():
    import torch

    torch.zeros(1 << 20, device="cuda")
    raise RuntimeError("labels out of range")


def catches_out_of_memory():
    import torch

    model = torch.nn.Linear(100, 100).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    size = 1 << 40
    while True:
        try:
            torch.empty(size, dtype=torch.uint8, device="cuda")
            break
        except torch.OutOfMemoryError:
            size //= 2
    for _ in range(5):
        model(torch.zeros(10, 100, device="cuda")).sum().backward()
        optimizer.step()


def asserts_a_value():
    import torch

    model = torch.nn.Linear(10, 10).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    shares = torch.softmax(model(torch.zeros(32, 10, device="cuda")), 1)
    assert abs(shares.sum().item() - 32) < 1e-2
    shares.sum().backward()
    optimizer.step()


def catches_and_gives_up():
    import torch

    model = torch.nn.Linear(100, 100).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    try:
        model(torch.zeros(1 << 34, 100, device="cuda")).sum().backward()
        optimizer.step()
    except torch.OutOfMemoryError:
        print("it does not fit")


def catches_another_error():
    import torch

    model = torch.nn.Linear(100, 100).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        try:
            loss = model(torch.zeros(10, 100, device="cuda")).sum()
            if loss.item() > 0.5:
                raise ValueError("a loss is bad")
            loss.backward()
            optimizer.step()
        except ValueError as error:
            print("left out:", error)


def asks_for_values():
    import torch

    model = torch.nn.Linear(100, 100).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(5):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(torch.zeros(10, 100, device="cuda")).sum()
        if torch.isnan(loss) or torch.isinf(loss).any().item() or not torch.isfinite(loss):
            raise RuntimeError("the loss is not finite")
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
        scaler.step(optimizer)
        scaler.update()


def critic_first():
    import torch

    torch.optim.Adam(torch.nn.Linear(10, 10).parameters()).step()  # on the CPU, which does not count
    small = torch.nn.Linear(10, 10).cuda()
    large = torch.nn.Linear(4096, 4096).cuda()
    often = torch.optim.Adam(small.parameters())
    seldom = torch.optim.Adam(large.parameters())
    for step in range(20):
        small(torch.zeros(1, 10, device="cuda")).sum().backward()
        often.step()
        if step % 5 == 4:
            large(torch.zeros(1, 4096, device="cuda")).sum().backward()
            seldom.step()


def takes_some():
    import torch

    torch.zeros(1 << 20, device="cuda")
    time.sleep(3)


def two_processes():
    children = [subprocess.Popen([sys.executable, __file__, "takes_some"]) for _ in range(2)]
    for each in children:
        each.wait()


def prints_much():
    for _ in range(1000):
        print("x" * 100000)


def leaves_a_child():
    subprocess.Popen(["sleep", "1000"])
    import torch

    torch.zeros(1 << 20, device="cuda")


def crashes():
    import torch

    torch.zeros(1 << 20, device="cuda")
    os.kill(os.getpid(), 11)


def deletes_the_folder():
    import shutil

    import torch

    torch.zeros(1 << 20, device="cuda")
    shutil.rmtree(os.environ["HPO_PREDICTION_FOLDER"], ignore_errors=True)


def forks_after_cuda():
    import torch

    torch.zeros(1 << 20, device="cuda")
    child = os.fork()
    if child == 0:
        try:
            torch.zeros(1, device="cuda")
        except RuntimeError:
            os._exit(7)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    sys.exit(0 if os.WEXITSTATUS(status) == 7 else 9)


def trains(steps=5, width=100):
    import torch

    model = torch.nn.Linear(width, width).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        model(torch.zeros(10, width, device="cuda")).sum().backward()
        optimizer.step()


def trains_in_threads():
    import threading

    import torch

    torch.zeros(1, device="cuda")
    threads = [threading.Thread(target=trains, args=(50,)) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def endless_first_step():
    import torch

    x = torch.zeros(1000, 1000, device="cuda")
    while True:
        x = x * 1.01


def asks_whether_torch_is_there():
    import importlib.util

    assert importlib.util.find_spec("torch") is not None
    import torch

    loss = torch.ones(1, device="cuda").sum()
    loss.cpu()
    trains()


def fails_with_odd_text():
    import torch

    torch.zeros(1 << 20, device="cuda")
    open(b"no\xffsuch", encoding="utf-8")


def looks_at_the_card():
    import torch

    free, _ = torch.cuda.mem_get_info()
    torch.zeros(free // 100, dtype=torch.uint8, device="cuda")
    trains()


def writes_here():
    with open("kept.txt", "a+", encoding="utf-8") as file:
        file.seek(0)
        print("found", file.read())
        file.write("more")
    os.mkdir("made")
    trains()


def ignores_signals():
    import signal

    import torch

    torch.zeros(1 << 20, device="cuda")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(0.1)


def leaves_a_daemon():
    subprocess.Popen(["sleep", "1001"], start_new_session=True)
    trains()


def own_hook():
    sys.excepthook = lambda *_: print("a crash reporter says nothing")
    trains(1)
    raise KeyError("missing")


def ends_at_once():
    import torch

    torch.zeros(1 << 20, device="cuda")
    os._exit(0)


def replaces_itself():
    os.execv(sys.executable, [sys.executable, __file__, "trains"])


def sets_its_path():
    subprocess.run([sys.executable, __file__, "trains"], check=True, env={**os.environ, "PYTHONPATH": "/tmp"})


def trains_in_a_child():
    subprocess.run([sys.executable, __file__, "trains"], check=True)


def trains_in_a_spawned_child():
    import multiprocessing

    import torch

    torch.zeros(1)
    child = multiprocessing.get_context("spawn").Process(target=trains)
    child.start()
    child.join()
    sys.exit(child.exitcode)


def fails_in_a_hook():
    import torch

    x = torch.zeros(100, device="cuda", requires_grad=True)
    x.register_hook(lambda grad: 1 / 0)
    (x * 2).sum().backward()


def ends_with_words():
    import torch

    torch.zeros(1 << 20, device="cuda")
    sys.exit("the data is\nnot there")


def is_interrupted():
    import torch

    torch.zeros(1 << 20, device="cuda")
    raise KeyboardInterrupt


def recurses():
    import torch

    torch.zeros(1 << 20, device="cuda")
    sys.setrecursionlimit(500)

    def again():
        again()

    again()


def prints_escapes():
    import torch

    torch.zeros(1 << 20, device="cuda")
    sys.stdout.buffer.write(b"\x1b[31m\xff\xfe\x00\n")
    raise RuntimeError("\x1b[2J\xe4\u6f22\nsecond line")


def changes_folder():
    os.chdir("/")
    trains()


def hides_the_card():
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import torch

    print("on the CPU" if not torch.cuda.is_available() else "on a card")


def wants_another_card():
    import torch

    torch.zeros(1, device="cuda:3")


def transforms():
    import torch

    torch.fft.fft(torch.zeros(1000, device="cuda"))


def decomposes():
    import torch

    torch.linalg.svd(torch.zeros(100, 100, device="cuda"))


def recurrent():
    import torch

    torch.nn.LSTM(10, 10).cuda()(torch.zeros(3, 2, 10, device="cuda"))


def recurrent_without_cudnn():
    import torch

    torch.backends.cudnn.enabled = False
    recurrent()
    trains()


def fails_after_data():
    import torch

    x = torch.randn(100, device="cuda")
    x[x > 0].sum()
    torch.repeat_interleave(torch.ones(3, device="cuda"), (x[:3] * 2).long())
    raise AssertionError("a row is missing")


def sparse():
    import torch

    a = torch.eye(100, device="cuda").to_sparse_csr()
    a @ torch.zeros(100, 10, device="cuda")


def compiles_while_it_runs():
    import torch

    torch.ones(1000, device="cuda").prod()  # NVRTC compiles its kernel
    trains()


def limits_itself():
    import torch

    torch.cuda.set_per_process_memory_fraction(0.001)
    torch.zeros(1 << 30, device="cuda")


def records_itself():
    import torch

    torch.cuda.memory._record_memory_history(max_entries=10)
    trains()


def resets_peaks():
    import torch

    torch.zeros(1 << 28, dtype=torch.uint8, device="cuda")
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    trains()


def never_steps():
    import torch

    with torch.no_grad():
        torch.nn.Linear(1000, 1000).cuda()(torch.zeros(10, 1000, device="cuda"))


def takes_beside_pytorch():
    import ctypes

    import torch

    torch.zeros(1, device="cuda")
    address = ctypes.c_void_p()
    ctypes.CDLL(None).cudaMalloc(ctypes.byref(address), ctypes.c_size_t(64 << 20))
    trains()


def reads_its_input():
    input("go on? ")


def wrong_pointer():
    import ctypes

    import torch

    torch.zeros(1, device="cuda")
    host = (ctypes.c_char * 100)()
    to_device = 1
    sys.exit(ctypes.CDLL(None).cudaMemcpy(host, host, ctypes.c_size_t(100), to_device))


def deletes_itself():
    import shutil
    import tempfile

    copy = os.path.join(tempfile.mkdtemp(), "again.py")
    shutil.copy(__file__, copy)
    os.execv(sys.executable, [sys.executable, copy, "deletes_its_folder"])


def deletes_its_folder():
    import shutil

    if os.path.basename(__file__) == "again.py":  # only the copy
        shutil.rmtree(os.path.dirname(os.path.abspath(__file__)))
    trains()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
