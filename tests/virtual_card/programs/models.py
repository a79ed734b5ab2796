# SPDX-License-Identifier: MIT
"""Trainings of the usual kinds, by name: each makes some steps."""
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn


def train(model, batch, loss_of, steps=4, make=torch.optim.AdamW, scaler=None, dtype=None):
    optimizer = make([each for each in model.parameters() if each.requires_grad], lr=1e-3)
    for _ in range(steps):
        with torch.autocast("cuda", dtype=dtype, enabled=dtype is not None):
            loss = loss_of(model, batch())
        optimizer.zero_grad()
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        print(f"loss {loss.item():.3f}", flush=True)


class Residual(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(after)
        self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(after)
        self.short = nn.Conv2d(before, after, 1, stride, bias=False) if stride != 1 or before != after else nn.Identity()

    def forward(self, x):
        y = self.second_norm(self.second(F.relu(self.first_norm(self.first(x)))))
        return F.relu(y + self.short(x))


def resnet(dtype=None, channels_last=False):
    widths = [64, 64, 128, 128, 256, 256, 512, 512]
    blocks = [Residual(a, b, 1 if a == b else 2) for a, b in zip([64, *widths], widths)]
    model = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), nn.MaxPool2d(3, 2, 1), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))
    kind = torch.channels_last if channels_last else torch.contiguous_format
    model = model.cuda().to(memory_format=kind)

    def batch():
        return torch.randn(16, 3, 224, 224).cuda(non_blocking=True).to(memory_format=kind), torch.randint(0, 1000, (16,)).cuda()

    train(model, batch, lambda model, pair: F.cross_entropy(model(pair[0]), pair[1]), make=torch.optim.SGD, dtype=dtype)


def resnet_bf16():
    resnet(torch.bfloat16, channels_last=True)


class Lora(nn.Module):
    def __init__(self, inner, rank=8):
        super().__init__()
        self.inner = inner
        for each in inner.parameters():
            each.requires_grad = False
        self.down = nn.Linear(inner.in_features, rank, bias=False)
        self.up = nn.Linear(rank, inner.out_features, bias=False)

    def forward(self, x):
        return self.inner(x) + 2 * self.up(self.down(x))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.parts = nn.ModuleDict({name: nn.Linear(width, width) for name in ("query", "key", "value", "out")})
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, mask):
        b, t, w = x.shape
        q, k, v = (self.parts[name](x).view(b, t, self.heads, -1).transpose(1, 2) for name in ("query", "key", "value"))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=0.1 if self.training else 0.0)
        x = self.first(x + F.dropout(self.parts["out"](y.transpose(1, 2).reshape(b, t, w)), 0.1, self.training))
        return self.second(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    def __init__(self, words=30000, width=384, layers=4, heads=6, again=False):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(512, width)
        self.layers = nn.ModuleList([Layer(width, heads) for _ in range(layers)])
        self.head = nn.Linear(width, 3)
        self.again = again

    def forward(self, ids, mask):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        mask = mask[:, None, None, :]
        for each in self.layers:
            if self.again:
                x = torch.utils.checkpoint.checkpoint(each, x, mask, use_reentrant=False)
            else:
                x = each(x, mask)
        return self.head(x[:, 0])


def sentences():
    ids = torch.randint(0, 30000, (16, 128))
    return ids.cuda(), (ids != 0).cuda(), torch.randint(0, 3, (16,)).cuda()


def sentence_loss(model, batch):
    return F.cross_entropy(model(batch[0], batch[1]), batch[2])


def bert_lora(**options):
    model = Bert(**options)
    for layer in model.layers:
        for name in ("query", "value"):
            layer.parts[name] = Lora(layer.parts[name])
    for name, each in model.named_parameters():
        each.requires_grad = "down" in name or "up" in name or "head" in name
    train(model.cuda(), sentences, sentence_loss, dtype=torch.bfloat16)


def bert_checkpointed():
    train(Bert(again=True).cuda(), sentences, sentence_loss)


def bert_fp16():
    train(Bert().cuda(), sentences, sentence_loss, dtype=torch.float16, scaler=torch.amp.GradScaler("cuda"))


class Sentences(torch.utils.data.Dataset):
    def __len__(self):
        return 200

    def __getitem__(self, index):
        ids = torch.randint(0, 30000, (128,))
        return ids, ids != 0, index % 3


def loader():
    data = torch.utils.data.DataLoader(Sentences(), batch_size=16, num_workers=2, pin_memory=True)
    batches = iter(data)
    train(Bert().cuda(), lambda: [each.cuda(non_blocking=True) for each in next(batches)], sentence_loss)


def compiled():
    train(torch.compile(Bert().cuda()), sentences, sentence_loss)


def graphed():
    model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), capturable=True)
    x = torch.randn(64, 512, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            optimizer.zero_grad(set_to_none=True)
            model(x).square().mean().backward()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        model(x).square().mean().backward()
    for _ in range(4):
        graph.replay()
        optimizer.step()


def selects():
    """Memory that depends on what is computed."""
    model = nn.Linear(1000, 1000).cuda()

    def loss(model, x):
        logits = model(x)
        chosen = x[:, 0] > 0
        return logits[chosen].logsumexp(1).mean() + logits.detach().unique().mean()

    train(model, lambda: torch.randn(512, 1000, device="cuda"), loss)


def lbfgs(history):
    """Its state grows until it has kept so many iterations."""
    weights = nn.Parameter(torch.randn(1024, 1024, device="cuda"))
    optimizer = torch.optim.LBFGS([weights], history_size=int(history), max_iter=4, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = weights.square().sum()
        loss.backward()
        return loss

    for _ in range(20):
        optimizer.step(closure)


def products():
    """Of vectors, of each type that PyTorch has them for."""

    def loss(model, x):
        for kind in (torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128):
            torch.vdot(x[0].to(kind), x[1].to(kind))
            torch.dot(x[0].to(kind), x[1].to(kind))
        return torch.dot(model(x)[0], x[0]) + x[0] @ model(x)[1] + torch.inner(x[0], x[1])

    train(nn.Linear(64, 64).cuda(), lambda: torch.randn(8, 64, device="cuda"), loss)


def distributed():
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl")
    model = nn.parallel.DistributedDataParallel(Bert().cuda(), device_ids=[rank])
    train(model, sentences, sentence_loss)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
