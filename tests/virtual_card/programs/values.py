# SPDX-License-Identifier: MIT
"""Programs that ask for values, by name. Each holds what it gets against what a card would give, and takes optimizer steps."""
import copy
import io
import json
import math
import pickle
import sys

import torch
import torch.nn.functional as F
from torch import nn

GRAPHS, CLASSES = 32, 10


def steps(check, count=3, width=16):
    model = nn.Linear(width, CLASSES).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(count):
        scores = model(torch.randn(64, width).cuda())
        check(scores)
        scores.sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def graphs():
    """A classifier of graphs: how many there are is read from the numbers of their nodes' graphs."""
    batch = torch.arange(GRAPHS).repeat_interleave(5)
    edges = torch.stack([torch.arange(100), torch.arange(100).flip(0)])

    def check(scores):
        of, pairs = batch.cuda(), edges.to("cuda")
        scores + 1  # whatever runs on the card meanwhile
        count = int(of.max()) + 1
        assert count == GRAPHS and int(of.max().item() + 1) == GRAPHS and of.unique().numel() == GRAPHS
        pooled = torch.zeros(count, CLASSES, device="cuda").index_add(0, of, torch.zeros(160, CLASSES, device="cuda"))
        assert pooled.shape == (GRAPHS, CLASSES)
        assert of.bincount().tolist() == [5] * GRAPHS and torch.bincount(of).shape == (GRAPHS,)
        assert pairs[:, pairs[0] < pairs[1]].shape == (2, 50)  # edges of one direction
        assert F.one_hot(of).shape == (160, GRAPHS)
        lengths = of.bincount()
        assert torch.repeat_interleave(torch.ones(GRAPHS, 3, device="cuda"), lengths, dim=0).shape == (160, 3)
        assert torch.masked_select(torch.zeros(160, device="cuda"), of == 3).shape == (5,)

    steps(check)


def classes():
    """Metrics of a classifier: which classes there are in the labels, and in what the model says."""

    def check(scores):
        labels = torch.randint(0, CLASSES, (64,)).cuda()
        said = scores.argmax(1)
        assert len(torch.unique(labels)) <= CLASSES and len(torch.unique(said.flatten(), dim=None)) <= CLASSES
        table = torch.bincount(labels * CLASSES + said, minlength=CLASSES**2).reshape(CLASSES, CLASSES)
        assert int(table.sum()) == 64
        assert torch.equal(labels, labels.clone()) and not torch.equal(labels, labels + 1)
        assert (labels >= 0).all() and not (labels > CLASSES - 1).any()
        assert torch.zeros(said.max().item() + 1, device="cuda").shape == (CLASSES,)
        top = scores.topk(3, 1)[1]
        assert top.shape == (64, 3) and all(len(set(row)) == 3 for row in top.tolist())

    steps(check)


def changes():
    """What is known goes when it is changed, and comes back when it is replaced."""

    def check(scores):
        ones = torch.tensor([1, 1, 1]).cuda()
        ones[1] = 5
        ones.view(3)[2] += 6
        assert ones.tolist() == [1, 5, 7] and ones.cpu().tolist() == [1, 5, 7]
        again = copy.deepcopy(ones)
        assert again.sum().item() == 13
        ones.zero_()
        assert ones.tolist() == [0, 0, 0] and again.tolist() == [1, 5, 7]
        held = torch.zeros(2, device="cpu")
        held.copy_(torch.tensor([2.0, 3.0]).cuda())
        assert held.tolist() == [2, 3]
        file = io.BytesIO()
        torch.save(again, file)
        file.seek(0)
        assert torch.load(file, weights_only=True, map_location="cpu").shape == (3,)
        counts = torch.zeros(1, dtype=torch.int64, device="cuda")
        counts += scores.argmax(1).sum() * 0
        counts.random_()
        assert counts.item() == 1  # not known, so made up
        with torch.inference_mode():
            assert int(torch.tensor([3, 4]).cuda().max()) == 4
        assert torch.bincount(input=again).shape == (8,) and F.one_hot(input=again).shape == (3, 8)
        assert torch.equal(input=again, other=again)
        assert torch.masked_select(input=again, mask=again > 1).tolist() == [5, 7]

    steps(check)


def questions():
    """Nothing is wrong, and nothing has ended."""

    def check(scores):
        if (scores[:, 1:] < -1).any() or torch.any(scores > 1e4) or scores.isnan().any():
            raise AssertionError("a score is bad")
        assert (scores > -1e9).all() and torch.isfinite(scores).all()
        ended = torch.zeros(64, dtype=torch.bool, device="cuda")
        ended = ended | (scores.argmax(1) == CLASSES + 1) | torch.isin(scores, torch.tensor([1.5]).cuda()).any(1)
        assert not ended.all() and not ended.any()
        assert not torch.all((scores.round() == 3).any(1))
        loss = scores.square().mean()
        assert loss.item() == loss.item() and not loss != loss
        assert loss < float("inf") and not loss > 100 and not (loss - loss.detach()).abs() < 1e-6

    steps(check)


def generates():
    """Sequences go on until the most tokens are made: their ends are not known."""

    def check(scores):
        unfinished, tokens, end = torch.ones(8, dtype=torch.long, device="cuda"), torch.randint(0, 100, (8, 5)).cuda(), torch.tensor([2]).cuda()
        while True:
            logits = torch.randn(8, 100, device="cuda")
            chosen = torch.multinomial(logits.softmax(-1), 1).squeeze(1) if tokens.shape[1] % 2 else logits.argmax(-1)
            chosen = chosen * unfinished + 0 * (1 - unfinished)
            tokens = torch.cat([tokens, chosen[:, None]], dim=-1)
            full = torch.full((8,), tokens.shape[1] >= 21, device="cuda", dtype=torch.bool)
            unfinished = unfinished & ~(full | torch.isin(tokens[:, -1], end))
            if unfinished.max() == 0:
                break
        assert tokens.shape == (8, 21)

    steps(check)


def searches_beams():
    """A search goes on while a beam may become better than the worst sequence that has ended, and none has ended yet."""

    def check(scores):
        ended, worst, length = torch.zeros(4, 1, dtype=torch.bool, device="cuda"), torch.full((4, 3), -1e9, device="cuda"), 0
        may_improve = torch.ones(4, 1, dtype=torch.bool, device="cuda")
        while True:
            length += 1
            running = torch.randn(4, 3, device="cuda").log_softmax(-1)
            worst = torch.cat([worst, running + ended.float() * -1e9], dim=1).topk(3)[0]
            least = torch.where(ended, worst.min(dim=1, keepdim=True)[0], -1.0e9)
            may_improve = may_improve & torch.any(running[:, :1] / length > least, dim=-1, keepdim=True)
            assert not torch.any(running < -1e9) and torch.all(1e9 > running)
            full = torch.full((4, 1), length >= 15, device="cuda", dtype=torch.bool)
            ended = ended | (full & may_improve)
            if not (torch.any(may_improve) & ~torch.all(full)):
                break
        assert length == 15

    steps(check)


def stops_early():
    """It stops if its loss is not better three times."""
    best, waited = float("inf"), 0

    def check(scores):
        nonlocal best, waited
        loss = scores.square().mean()
        waited = 0 if loss < best else waited + 1
        best = min(best, loss.item())
        if waited > 0 or not torch.isfinite(loss):
            raise RuntimeError("the loss does not fall")

    steps(check)


def looks():
    """No size depends on what is shown, saved or compared."""
    kept = nn.Linear(2, 1).cuda()

    def check(scores):
        print(scores[0, :2], scores.argmax(), f"{scores.mean()}", scores[0, :2].to("cpu"), scores[0, :4].bfloat16().cpu(), scores[0, :2].tolist())
        torch.equal(scores, scores + 1)
        torch.allclose(scores, scores * 1.0001)
        torch.save(kept.state_dict(), io.BytesIO())
        held = torch.empty(2)
        held[:] = scores[0, :2]

    steps(check)


def experts(like):
    """Each token goes to 2 of 16 experts: together they compute 2 rows for each token."""
    experts, chosen, tokens, width = 16, 2, 1024, 64
    weights = nn.Parameter(torch.randn(experts, width, width, device="cuda"))
    gate = nn.Linear(width, experts).cuda()
    optimizer = torch.optim.SGD([weights, *gate.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(tokens, width, device="cuda")
        top, of = gate(x).softmax(-1).topk(chosen)
        out = torch.zeros_like(x)
        masks = F.one_hot(of, num_classes=experts).permute(2, 1, 0)
        rows = 0
        for each in range(experts):
            if like == "masks":
                rows_of, place = torch.where(of == each)
            elif like == "one_hot":
                place, rows_of = torch.where(masks[each])
            else:  # balanced by hand
                rows_of = torch.arange(each * tokens * chosen // experts, (each + 1) * tokens * chosen // experts, device="cuda") % tokens
                place = torch.zeros_like(rows_of)
            rows += len(rows_of)
            if len(rows_of):
                out = out.index_add(0, rows_of, (x[rows_of] @ weights[each]) * top[rows_of, place, None])
        assert rows == tokens * chosen
        out.pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def lengths():
    """Texts of several lengths: a mask of their ends, and the longest of them."""
    ends = torch.tensor([3, 5, 2, 7])

    def check(scores):
        of = ends.cuda(non_blocking=True)
        inside = torch.arange(10, device="cuda")[None] < of[:, None]
        texts = torch.randn(4, 10, 8, device="cuda")
        assert texts[inside].shape == (17, 8) and texts[:, : of.max()].shape == (4, 7, 8) and torch.zeros(of.max(), device="cuda").shape == (7,)
        labels = torch.full((4, 10), -100, device="cuda").masked_fill(inside, 1)
        assert (labels != -100).sum().item() == 17 and labels[labels != -100].shape == (17,)
        cells = of.split([1, 3])[1].sum()
        assert torch.where(inside[0])[0].tolist() == [0, 1, 2] and cells.item() == 14

    steps(check)


def groups():
    """Rows are sorted into groups by a number that the card computes."""

    def check(scores):
        group = (scores[:, 0] * 4).long()
        assert sum(scores[group == each].shape[0] for each in range(8)) == 2 * 64
        assert scores[(scores[:, 1] * 2).long() == 1].shape[0] == 64 and scores[group == 1].shape[0] == 64

    steps(check)


def masks():
    """Rows are chosen by a question of which nobody knows the answer."""
    steps(lambda scores: scores[scores[:, 0] > 0.5].sum())


def logs():
    """Numbers that are only shown, saved and compared are floats as on a card."""
    best, history, total = float("inf"), [], torch.zeros(())

    def check(scores):
        nonlocal best
        loss = scores.square().mean().item()
        accuracy = (scores.argmax(1) == 0).float().mean().item()
        print(loss, f"{loss:.3f} {accuracy:5.1%}", "%.2f" % loss, round(loss, 3), math.exp(loss), loss // 1, divmod(loss, 0.5))
        best = min(best, loss)
        history.append(loss)
        total.add_(scores.mean().cpu())
        assert sum(history) / len(history) > 0 and type(loss) == float and isinstance(-loss, float)
        assert json.loads(json.dumps({"loss": loss})) == {"loss": loss} and copy.deepcopy(loss) == loss
        assert type(pickle.loads(pickle.dumps(loss))) is float and type(float(scores.mean())) is float
        right = (scores.argmax(1).float() > scores.mean(1)).sum().item()
        assert type(right) == int and type(right / 64) == float and f"{right:d} {sum([right, 1]) / 64:.2f} {round(right)}"
        assert json.loads(json.dumps([right, -right % 3])) == [right, -right % 3] and type(pickle.loads(pickle.dumps(right))) is int
        assert scores[right].shape == (CLASSES,) and list(range(9))[right] == right and torch.full((3,), right).shape == (3,)
        assert torch.tensor([loss, 1.0]).shape == (2,) and (loss * scores).shape == scores.shape
        file = io.BytesIO()
        torch.save({"loss": loss}, file)
        file.seek(0)
        assert torch.load(file, weights_only=True) == {"loss": loss}

    steps(check)


def scalars():
    """A list of tensors without dimensions makes a tensor: they are no sequences, and those of a class of the program's are none either."""

    class Own(torch.Tensor):
        pass

    def check(scores):
        loss = scores.square().mean()
        own = torch.zeros(()).as_subclass(Own)
        assert torch.tensor([loss, loss * 2]).shape == (2,) and torch.tensor([torch.tensor(1), torch.tensor(2)]).dtype == torch.int64
        assert torch.Tensor([torch.tensor(1.0), torch.tensor(2.0)]).tolist() == [1, 2] and torch.tensor([own, own]).shape == (2,)
        assert [int(each) for each in reversed(torch.arange(3))] == [2, 1, 0] and 2 in torch.arange(3) and list(torch.arange(2))[1] == 1

    steps(check)


def written():
    """An empty tensor is known once something is written into it, and not before. So is one of inference mode, and not after a change that is
    not seen."""

    def check(scores):
        count = torch.empty(1, dtype=torch.int64, device="cuda")
        assert count.item() == 1 and (count + 1).item() == 1  # made up
        sizes = torch.tensor([1, 2, 3, 4]).cuda()
        ends = sizes.new_empty(5)
        ends[:1] = 0
        torch.cumsum(sizes, 0, out=ends[1:])
        assert ends.tolist() == [0, 1, 3, 6, 10] and torch.empty(3, device="cuda").fill_(2).sum().item() == 6
        with torch.inference_mode():
            inside = torch.arange(6, device="cuda") < 4
            assert torch.zeros(6, device="cuda")[inside].shape == (4,) and inside.nonzero().shape == (4, 1)
            assert torch.zeros(6, 8, device="cuda")[inside[:, None].expand(6, 8)].shape == (32,)
            sizes = torch.ones(3, dtype=torch.int64, device="cuda")
            sizes.random_()
            assert sizes[0].item() == 1  # made up
            sizes.zero_()
            assert sizes.tolist() == [0, 0, 0]
        images = torch.zeros(8, 10, 4, requires_grad=True, device="cuda")
        places = (torch.arange(10, device="cuda") < 3)[None, :, None].expand_as(images)
        images.masked_scatter(places, torch.zeros(8 * 3 * 4, requires_grad=True, device="cuda")).sum().backward()

    steps(check)


def scaled():
    """The scale of a GradScaler stays, because no gradient is infinite. The search for NaN finds none."""
    model = nn.Linear(16, CLASSES).cuda()
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler()
    for _ in range(3):
        with torch.autograd.set_detect_anomaly(True), torch.autocast("cuda"):
            loss = model(torch.randn(64, 16, device="cuda")).square().mean()
            scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == 65536


def counts(how):
    """A count that goes through int() becomes a size, or only a share."""

    def check(scores):
        above = scores[:, 0] > 0.5
        if how == "largest":
            rows = int(torch.bincount(scores.argmax(1), minlength=CLASSES).max())
        elif how == "host":
            rows = int((scores[:, 0].cpu() > 0.5).sum())
        else:
            rows = (int(above.sum()) if how == "tensor" else int(above.sum().item())) // 2 + 1
        torch.empty(rows, 1024, device="cuda")

    def shares(scores):
        right, total = 0, 64
        right += int((scores.argmax(1) == 3).sum())
        right += int((scores[:, 0] > 0.5).sum().item())
        right += int((scores[:, 0].cpu() > 0.5).sum())
        torch.histc(scores[:, 0], 10).tolist()
        print(f"{right / total:.2f} {right:5d}", [0] * 3)

    steps(shares if how == "share" else check)


SIZES = {
    "int": lambda score: int(score.item() * 100),
    "round": lambda score: round(2 - score.item()),
    "floor": lambda score: math.floor(max(score.item(), 0.5) + 3),
    "ceil": lambda score: math.ceil(sum([score.item(), 1.0]) / 2),
    "tensor": lambda score: int(score * 100),
    "copied": lambda score: int(score.cpu().mul(100).item()),
    "listed": lambda score: int(100 * score[None].tolist()[0]),
    "back": lambda score: int(torch.tensor([score.item(), 2.0]).cuda().max().item()),
    "range": lambda score: len(torch.arange(0, score.item() * 10)),
    "mean_of_guesses": lambda score: int(4 - (score > 0.5).float().mean().item()),
    "counted": lambda score: (score > 0.5).sum().item() * 2 + 1,
    "part": lambda score: len(torch.zeros(9, device="cuda")[: (score > 0.5).sum().item()]),
    "expanded": lambda score: len(torch.zeros(1, device="cuda").expand((score[None] > 0.5).long().cpu().tolist()[0])),
    "mask_on_host": lambda score: len(torch.zeros(9, device="cuda")[(torch.zeros(9, device="cuda") + score).cpu() > 0.5]),
    "added": lambda score: math.trunc(torch.zeros(1).add_(score.cpu()).item() + 1),
}


def sized(how):
    """The size of a tensor is made of a score that the card computes."""

    def check(scores):
        kept = scores[scores[:, 0] > 0.5]  # as many as can be
        score = scores.abs().max()
        torch.empty(SIZES[how](score), 1024, 256, device="cuda")
        assert kept.shape[1] == CLASSES

    steps(check)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
