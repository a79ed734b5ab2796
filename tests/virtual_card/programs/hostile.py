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


globals()[sys.argv[1]]()
