# SPDX-License-Identifier: MIT
"""Runs `hpo-tune estimate -- python ...` on programs that nobody changed for it, and holds what it says against what is known.

    programs_test.py HPO_TUNE HPO_ANALYZE PYTHON...      PYTHON: with PyTorch for CUDA; several versions may be given

HPO_PLUGIN_PATH names the trainers for CUDA.
"""
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

TUNE, ANALYZE, *PYTHONS = sys.argv[1:]
PYTHON = PYTHONS[0]
ROOT = pathlib.Path(__file__).resolve().parent
PROGRAMS = ROOT / "programs"
SECTIONS = ROOT.parent.parent / "build" / "data" / "debian_sections"  # scripts/test makes it
GPT = ROOT.parent.parent / "examples" / "050_small_gpt.py"
failed = []


def check(true, what):
    print("ok  " if true else "FAIL", what, flush=True)
    if not true:
        failed.append(what)


def run(words, variables=None):
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env={**os.environ, **(variables or {})})
    return done.returncode, done.stdout, done.stderr


def estimate(program, options=(), before=(), variables=None):
    """The exit status, the JSON or None, and what went to standard error."""
    script = [str(PROGRAMS / program[0]), *program[1:]]
    status, out, error = run([TUNE, "estimate", "--json", *options, "--", PYTHON, *before, *script], variables)
    told = json.loads(out) if out else None
    if told is not None and "failed" in told:
        check(status == (7 if told["failed"] else 0), f"{' '.join(program)}: the status says whether the program failed ({status})")
    return status, told, error


def replay_of(path):
    return json.loads(run([ANALYZE, "snapshot", str(path), "--json"])[1])


def holds_together(name, told, path):
    """PyTorch's counters are the model's replay of the recording."""
    replay = replay_of(path)
    check(replay["replay"]["exact"], f"{name}: the model gives each request PyTorch's address")
    check(replay["allocated_peak_bytes"] == told["pytorch_max_memory_allocated"], f"{name}: PyTorch's allocated peak is the model's")
    check(replay["reserved_peak_bytes"] == told["pytorch_max_memory_reserved"], f"{name}: PyTorch's reserved peak is the model's")


def trains(program, folder, options=(), before=(), variables=None):
    """A program that makes two steps and fits."""
    name = " ".join(program)
    path = folder / (name.replace(" ", "_") + ".pickle")
    status, told, error = estimate(program, ["--snapshot", str(path), *options], before, variables)
    check(status == 0 and told["fits"] is True and told["steps"] == 2, f"{name}: two steps, and it fits ({error or told['not_known_because']})")
    holds_together(name, told, path)
    lines = [each["line"] for each in told["lines"][:3]]
    check(any(each.startswith("programs/") for each in lines), f"{name}: a line of the program holds much ({lines})")
    return told


def test_transformer(folder):
    plain = trains(["transformer.py", "8"], folder)
    again = trains(["transformer.py", "8"], folder)
    check(plain["lines"] == again["lines"] and plain["by_step"] == again["by_step"], "two runs take the same")
    check(trains(["transformer.py", "8", "bf16"], folder)["allocated_bytes"] != plain["allocated_bytes"], "bf16 takes something else")
    check(trains(["transformer.py", "8", "checkpoint"], folder)["allocated_bytes"] < plain["allocated_bytes"], "checkpointing takes less")
    check(trains(["transformer.py", "8", "sgd"], folder)["allocated_bytes"] < plain["allocated_bytes"], "SGD takes less")
    check(len(plain["by_step"]) == 2 and plain["by_step"][1]["allocated_bytes"] == plain["allocated_bytes"], "the second step has the optimizer's state")
    check([each["line"] for each in plain["asked"]] == ["programs/transformer.py:53 main"], f"the line that reads the loss is told ({plain['asked']})")

    least = plain["least_device_bytes"]
    context = ["--context", str(plain["context_bytes"])]
    _, told, _ = estimate(["transformer.py", "8"], [*context, "--device-memory", str(least)])
    check(told["fits"] is True, "it fits a card of the least size that was said")
    _, told, _ = estimate(["transformer.py", "8"], [*context, "--device-memory", str(least - (2 << 20))])
    check(told["fits"] is False, "it does not fit a card of 2 MiB less")
    check(told["fails_at"]["line"].startswith("programs/transformer.py:"), f"the line that fails is one of the program ({told['fails_at']})")
    check(told["least_device_bytes"] == least and told["by_step"] == plain["by_step"], "what it would have needed is known from a second run")
    _, told, _ = estimate(["transformer.py", "8"], ["--card", "RTX-4090"])
    check(told["fits"] is True and told["card"] == "RTX-4090", "it runs on a card of another architecture")

    _, table, _ = estimate(["transformer.py", "{BATCH}"], ["--device-memory", "1GiB", "--per", "BATCH=8,64,many"])
    check([each.get("fits") for each in table["rows"]] == [True, False, None], "--per: each value is tried")
    check("invalid literal" in table["rows"][2]["error"], "--per: a value that fails says why")
    check(table["largest_that_fits"] == "8", "--per: the largest that fits")
    check(table["rows"][0]["allocated_bytes"] == plain["allocated_bytes"], "--per: a row is what the value alone says")


def test_models(folder):
    names = ("resnet", "resnet_bf16", "bert_lora", "bert_checkpointed", "bert_fp16", "loader", "graphed", "selects", "products")
    told = {name: trains(["models.py", name], folder) for name in names}
    check(told["resnet"]["not_modelled"] == ["cuDNN's workspace"], "cuDNN's workspaces are said not to be counted")
    first = 4 * (16 * 3 * 224 * 224 + 16 * 64 * 112 * 112 + 64 * 3 * 7 * 7)  # of its convolutions it reads and writes most
    seen = told["resnet"]["convolution_workspace_seen_bytes"]
    check(seen == [0, first * 3 // 2], f"what people saw of such workspaces is told ({seen}, {first})")
    check(told["bert_lora"]["convolution_workspace_seen_bytes"] is None, "without a convolution there is none")
    assumed = [each["assumed"] for each in told["selects"]["depends_on_data"]]
    check(assumed == ["counted as if every element was chosen"], f"a size that depends on data is told ({assumed})")
    kept = {history: estimate(["models.py", "lbfgs", str(history)])[1] for history in (5, 10)}
    check(all(told["fits"] is True and told["not_modelled"] == [] for told in kept.values()), f"LBFGS runs ({kept[5]['not_known_because']})")
    more = kept[10]["allocated_bytes"] - kept[5]["allocated_bytes"]
    vector = 4 * 1024 * 1024
    check(more // vector == (10 - 5) * 2, f"LBFGS takes a full history of two vectors each ({more / vector})")
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    told = trains(["models.py", "distributed"], folder, ["--cards", "2"], launcher)
    check(told["processes"] == 2, "two ranks use two cards")
    _, told, _ = estimate(["models.py", "distributed"], ["--cards", "1"], launcher)
    check(told is None or told["fits"] is not True, "two ranks on one card are not said to fit it")
    if run([PYTHON, "-c", "import triton"])[0] == 0:
        trains(["models.py", "compiled"], folder)
    else:
        print("--   no Triton: torch.compile is not tried")


def test_fragmentation(_):
    card = ["--device-memory", "7.25GiB", "--context", "400MiB"]
    _, told, _ = estimate([str(GPT), "12"], card)
    check(told["fits"] is False and told["fails_at"]["requested_bytes"] == 750 << 20, f"GPT, usual segments: out of memory ({told['fails_at']})")
    check(told["allocated_bytes"] + (400 << 20) < 7.25 * (1 << 30), "GPT: what is allocated at the peak would fit")
    check(told["worth_setting"] == "expandable_segments:True", f"GPT: expandable segments are proposed ({told['worth_setting']})")
    foreseen = next(each for each in told["settings_table"] if each["settings"] == "expandable_segments:True")
    _, told, _ = estimate([str(GPT), "12"], card, variables={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})
    check(told["fits"] is True, "GPT, expandable segments: it fits the same card")
    check(told["reserved_bytes"] == foreseen["reserved_peak_bytes"], "GPT: they take what was foreseen")
    least = foreseen["least_capacity_bytes"] + told["context_bytes"] + told["beside_pytorch_bytes"]
    check(told["least_device_bytes"] == least, "GPT: the least card with the setting is what was foreseen")
    check(told["worth_setting"] is None and told["settings_table"] == [], "GPT: nothing is proposed where it fits")


# What is said of each hostile program: the error, or parts of the JSON.
TRAINS = {"fits": True, "steps": 2}
HOSTILE = {
    "no_gpu": "it ended with status 0; the last that it printed: nothing to do here",
    "no_torch_but_fails": "the last that it printed: ValueError: wrong configuration",
    "prints_much": "it ended with status 0",
    "crashes": "it crashed: SIGSEGV ended it",
    "deletes_the_folder": "",
    "ends_at_once": {"fits": True, "steps": 0, "allocated_bytes": 4 << 20},
    "hides_the_card": "the last that it printed: on the CPU",
    "wants_another_card": "invalid device ordinal, at programs/hostile.py",
    "limits_itself": "OutOfMemoryError",
    "reads_its_input": "EOFError",
    "ends_early": {"fits": None, "steps": 0},
    "fails_on_the_card": {"fits": None, "error": "RuntimeError: labels out of range"},
    "asserts_a_value": {"fits": None, "failed": None},  # its value is the card's own
    "catches_and_gives_up": {"fits": None, "caught_out_of_memory": 1, "steps": 0},
    "catches_another_error": {"fits": None, "not_known_because": "it ended without a step of its optimizer; it may have caught an error"},
    "catches_out_of_memory": {**TRAINS, "adapts_to_card": True, "smallest_card": None},
    "asks_whether_torch_is_there": TRAINS,
    "fails_with_odd_text": {"fits": None, "allocated_bytes": 4 << 20},
    "looks_at_the_card": {**TRAINS, "adapts_to_card": True, "smallest_card": None},
    "asks_for_values": TRAINS,
    "critic_first": {"fits": True},
    "two_processes": {"fits": None, "processes": 2},
    "leaves_a_child": {"fits": True},
    "leaves_a_daemon": TRAINS,
    "forks_after_cuda": {"fits": True},
    "trains_in_threads": TRAINS,
    "own_hook": {"fits": None, "steps": 1, "error": "KeyError: 'missing'"},
    "replaces_itself": TRAINS,
    "trains_in_a_child": TRAINS,
    "sets_its_path": TRAINS,
    "trains_in_a_spawned_child": TRAINS,
    "fails_in_a_hook": {"fits": None, "error": "ZeroDivisionError: division by zero"},
    "ends_with_words": {"fits": None, "not_known_because": "the program failed, with status 1"},
    "is_interrupted": {"fits": None},
    "recurses": {"fits": None, "error": "RecursionError: maximum recursion depth exceeded"},
    "prints_escapes": {"fits": None, "error": "RuntimeError: \x1b[2J\xe4\u6f22"},
    "changes_folder": TRAINS,
    "transforms": {"fits": None, "not_modelled": ["cufftCreate"]},
    "decomposes": {"fits": None, "not_modelled": ["cusolverDnSgesvdj_bufferSize"]},
    "recurrent": {"fits": None, "failed": None, "try": "torch.backends.cudnn.enabled = False"},  # the card's own limit
    "recurrent_without_cudnn": {"fits": True, "try": None},
    "sparse": {"fits": None, "not_modelled": ["cusparseCreateCsr", "cusparseGetErrorString"]},
    "fails_after_data": {"fits": None, "failed": "the program failed: AssertionError: a row is missing, at programs/hostile.py:{line} fails_after_data"},
    "records_itself": TRAINS,
    "compiles_while_it_runs": TRAINS,
    "resets_peaks": {**TRAINS, "allocated_bytes": 1 << 28},
    "never_steps": {"fits": True, "steps": 0},
    "takes_beside_pytorch": {**TRAINS, "beside_pytorch_bytes": 64 << 20},
    "wrong_pointer": {"fits": None, "not_known_because": "the program failed, with status 1"},
    "deletes_itself": TRAINS,
}
ENDLESS = {"endless": "20", "endless_first_step": "10", "ignores_signals": "10"}  # seconds until they are ended


def hostile(name):
    wanted = HOSTILE[name]
    status, told, error = estimate(["hostile.py", name])
    if isinstance(wanted, str):
        failed_itself = "it ended with status 0" not in error and "it ended with status" in error or "the program failed" in error or "it crashed" in error
        return (
            status == (7 if failed_itself else 1) and told is None and wanted in error and error.count("\n") == 1,
            f"{name}: one clear error ({status} {error[:200]!r})",
        )
    seen = told and {key: re.sub(r":\d+ ", ":{line} ", told[key]) if key == "failed" and told[key] else told[key] for key in wanted}
    return seen == wanted, f"{name}: {wanted} ({seen}, {error[:200]!r})"


def endless(name):
    begin = time.monotonic()
    _, told, error = estimate(["hostile.py", name], ["--time-limit", ENDLESS[name]])
    why = told["not_known_because"] if told else error
    return time.monotonic() - begin < 120 and "--time-limit" in why, f"{name}: it is ended by the limit ({why[:200]!r})"


def test_hostile(_):
    # Much of the time goes into importing torch. The endless ones mostly sleep, so they run beside the others.
    with ThreadPoolExecutor(1) as third, ThreadPoolExecutor(2) as both:
        ended = third.map(endless, ENDLESS)
        for result in both.map(hostile, HOSTILE):
            check(*result)
        for result in ended:
            check(*result)
    left = run(["pgrep", "-f", "^sleep 100[01]$|hostile.py"])[1]
    check(left == "", f"no process is left ({left!r})")


# Programs of programs/values.py, and what is assumed in each: (bound, part of the text).
VALUES = {
    "graphs": [],
    "classes": [("", "spread evenly")] * 3,
    "changes": [],
    "questions": [],
    "generates": [],
    "searches_beams": [],
    "stops_early": [],
    "looks": [],
    "lengths": [],
    "groups": [("most", "every element"), ("", "first two"), ("most", "every element")],
    "masks": [("most", "every element")],
    "logs": [],
    "scalars": [],
    "written": [],
    "scaled": [],
    "counts share": [],
}
COUNTS = ("tensor", "item", "host", "largest")  # ways in which a count that goes through int() becomes a size
# Ways in which a program makes a size of a made-up number (SIZES of programs/values.py).
SIZED = ("int", "round", "floor", "ceil", "tensor", "copied", "listed", "back", "range", "mean_of_guesses", "added", "counted", "part", "expanded",
         "mask_on_host")


def values(name):
    _, told, error = estimate(["values.py", *name.split()])
    if told is None:
        return False, f"values of {name}: {error[:300]!r}"
    bounds = [("least" if each["at_least"] else "most" if each["at_most"] else "", each["assumed"]) for each in told["depends_on_data"]]
    as_said = len(bounds) == len(VALUES[name]) and all(bound == b and part in text for (bound, part), (b, text) in zip(VALUES[name], bounds))
    return told["fits"] is True and told["steps"] == 2 and as_said, f"values of {name}: it trains and fits ({told['failed']}, {bounds})"


def sized(how, program="sized"):
    _, told, error = estimate(["values.py", program, how])
    if told is None:
        return False, f"a size by {how}: {error[:300]!r}"
    why = told["not_known_because"] or ""
    as_said = told["fits"] is None and why.startswith("it depends on made-up values at programs/values.py") and told["smallest_card"] is None
    return as_said and told["at_least"] and told["at_most"], f"a size by {how} is not known ({told['fits']}, {why}, {told['failed']})"


def test_values(_):
    with ThreadPoolExecutor(2) as both:
        for result in [*both.map(values, VALUES), *both.map(sized, SIZED), *both.map(lambda how: sized(how, "counts"), COUNTS)]:
            check(*result)
    _, told, _ = estimate(["values.py", "sized", "int"], ["--device-memory", "660MiB", "--context", "600MiB"])
    check(told["fits"] is None, "where a size is not known, a card on which the run ends for memory is none that is too small")
    text = run([TUNE, "estimate", "--card", "RTX-4090", "--", PYTHON, str(PROGRAMS / "values.py"), "sized", "int"])[1]
    check("it needs a card of about" in text and "fits     not known" in text, f"and the figures are about right at best ({text[:600]!r})")
    by_hand = estimate(["values.py", "experts", "balanced"])[1]
    for how in ("masks", "one_hot"):
        told = estimate(["values.py", "experts", how])[1]
        check(told["fits"] is True and not told["at_least"] and not told["at_most"], f"experts chosen by {how} fit")
        off = told["allocated_bytes"] / by_hand["allocated_bytes"]
        check(0.95 < off < 1.05, f"experts chosen by {how} take what balanced ones take ({off:.3f})")
    text = run([TUNE, "estimate", "--card", "RTX-4090", "--", PYTHON, str(PROGRAMS / "values.py"), "masks"])[1]
    check("it needs a card of at most" in text and "at least" not in text, f"an upper bound is called one ({text[:600]!r})")


def test_architectures(_):
    _, told, _ = estimate(["hostile.py", "trains"], ["--card", "P100-16GB"])
    check(told["fits"] is False and told["lacks_kernels"], "a card for which PyTorch has no kernels is none that fits")
    _, told, _ = estimate(["hostile.py", "trains"], ["--card", "RTX-4090"])
    check(told["fits"] is True and not told["lacks_kernels"] and told["worth_setting"] is None, "on a newer one of the same major version it runs")


def test_scratch(folder):
    """What a program writes in the current folder is gone afterwards."""
    kept = folder / "kept.txt"
    kept.write_text("mine", encoding="utf-8")
    words = [TUNE, "estimate", "--json", "--output", str(folder / "printed.txt")]
    program = ["--", PYTHON, str(PROGRAMS / "hostile.py"), "writes_here"]

    def ask(*options):
        return json.loads(subprocess.run([*words, *options, *program], capture_output=True, text=True, timeout=300, cwd=folder).stdout)

    told = ask()
    check(told["fits"] is True and "found mine" in (folder / "printed.txt").read_text(encoding="utf-8"), "a program reads its folder")
    left = kept.read_text(encoding="utf-8") == "mine" and not (folder / "made").exists()
    check(left or told["wrote_in_place"], f"what it writes is gone, or it is said that it is there ({told['wrote_in_place']})")
    if left:
        told = ask("--in-place")
        check(kept.read_text(encoding="utf-8") == "minemore" and told["wrote_in_place"], "--in-place lets it write")


def test_rehearsal(folder):
    """A study of the trainers for CUDA, where HPO_PLUGIN_PATH names them."""
    script = str(ROOT.parent.parent / "scripts" / "lua" / "text_sections.lua")
    small = [f"--set={each}" for each in (f"data={SECTIONS}", "train_examples=300", "validation_examples=100", "epochs=1")]
    words = [TUNE, "run", script, "--card", "800MiB", "--guard", "unlimited", "--trials", "6", *small, "--json"]
    status, out, error = run([*words, "--rehearse", "--store", str(folder / "rehearsal.db")])
    check(status == 0, f"a rehearsal runs ({error[-300:]!r})")
    told = json.loads(out)
    check(told["trials"] == 6, "it tries each trial")
    check(told["attempts_out_of_memory"] > 0 and told["fit_shrunk"] != [], f"it says which trials are shrunk ({told})")
    check(told["do_not_fit"] == [] and told["ended_otherwise"] == [], f"the others fit ({told})")
    _, out, _ = run([ANALYZE, "oom", "--store", str(folder / "rehearsal.db"), "--json"])
    check('"capacity"' in out, "the post-mortem says that the card was too small")
    status, _, error = run([*words, "--rehearse", "--store", str(folder / "rehearsal.db")])
    check(status == 2 and "needs a store of its own" in error, "a rehearsal takes no store that is there")
    status, _, error = run(words)
    check(status == 2 and "nothing is trained on a card that is not there" in error, f"a study is not run on such a card ({error!r})")
    words = [TUNE, "run", script, "--card", "800MiB", "--guard", "calibrated", "--trials", "6", *small, "--json"]
    status, out, error = run([*words, "--rehearse"])
    check(status == 0, f"a rehearsal with a guard runs ({error[-300:]!r})")
    told = json.loads(out)
    check(told["attempts_out_of_memory"] == 0 and told["fit_shrunk"] != [], f"the guard shrinks what would not fit ({told})")


def test_trainers(folder):
    """What the trainers for CUDA see of a card, and what holds them back."""
    script = str(ROOT.parent.parent / "scripts" / "lua" / "text_sections.lua")
    status, out, _ = run([TUNE, "doctor", "--card", "T4"])
    check(status == 0 and "cuda:0: T4, 14.56 GiB free of 14.56 GiB" in out, f"doctor sees the card ({out[:300]!r})")
    small = [f"--set=data={SECTIONS}", "--set=train_examples=300", "--set=validation_examples=100", "--set=epochs=1"]
    small += ["--guard", "unlimited", "--trials", "5", "--json"]
    other = [TUNE, "run", script, "--card", "800MiB", "--cards", "2", "--device", "cuda:1", "--rehearse", *small]
    status, out, error = run(other)
    check(status == 0 and json.loads(out)["fit_shrunk"] != [], f"a study uses the second of two cards ({error[-200:]!r})")
    with ThreadPoolExecutor(2) as both:  # two studies, each on a card of its own that the other does not see
        ended = list(both.map(lambda number: run([*other, "--seed", str(number)]), (1, 2)))
    check(all(status == 0 for status, _, _ in ended), "two rehearsals at once do not disturb each other")
    capped = [TUNE, "run", script, "--card", "A100-80GB", "--device-memory", "200MiB", "--rehearse", *small]
    status, out, error = run([*capped, "--store", str(folder / "capped.db")])
    check(status == 0 and json.loads(out)["attempts_out_of_memory"] > 0, f"a trial is held to --device-memory ({error[-200:]!r})")
    _, out, _ = run([ANALYZE, "oom", "--store", str(folder / "capped.db"), "--json"])
    check('"limit"' in out, "the post-mortem says that it was the limit, not the card")
    expandable = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    status, out, error = run([TUNE, "run", script, "--card", "800MiB", "--rehearse", *small], expandable)
    told = json.loads(out)
    check(status == 0 and told["fit_shrunk"] != [] and told["do_not_fit"] == [], f"recovery works with expandable segments ({told})")
    by_source = {}
    for source in ("dry_run", "virtual_card"):
        words = [TUNE, "estimate", script, "--card", "RTX-3090", "--guard", source, *small[:4], "--fix", "train.batch_size=32", "--json"]
        status, out, error = run(words)
        told = by_source[source] = json.loads(out)
        check(status == 0 and told["source"] == source, f"{source} predicts ({error[-200:]!r})")
        check(error.count("hpo virtual card:") == 1, "it is said once that the card is virtual")
    off = by_source["dry_run"]["need_bytes"] / by_source["virtual_card"]["need_bytes"]
    check(0.97 < off < 1.05, f"a dry run and a virtual card agree ({off:.4f})")
    status, out, error = run([TUNE, "trace", script, "--card", "RTX-3090", "--train", *small[:4], "--json"])
    check(status == 0, f"a training is traced on a card ({error[-200:]!r})")


STUDY = """local hpo = require "hpo"
return hpo.study {{
  name = "sizes",
  trainer = hpo.command {{ "{python}", "{program}", "--batch", "{{batch}}", "--length", "{{length}}", "--width", "{{width}}" }},
  space = function(trial)
    trial:categorical("batch", {{ 4, 8, 16, 32, 64 }})
    trial:categorical("length", {{ 64, 128, 192, 256, 384, 512 }})
    trial:categorical("width", {{ 128, 192, 256, 320, 384, 512, 640, 768 }})
    trial:float("lr", 1e-5, 1e-2, {{ log = true }})
  end,
  objective = {{ metric = "loss", direction = "minimize" }},
}}
"""


def predictions_in(store):
    """What was predicted for each batch, length and width, in bytes, without the guard's margin and the context."""
    predictions = {}
    with sqlite3.connect(store) as file:
        for trial, predicted, parts in file.execute("SELECT trial_id, predicted_bytes, estimate_parts FROM hpo_attempts").fetchall():
            sizes = []
            for name in ("batch", "length", "width"):
                query = "SELECT param_value, distribution_json FROM trial_params WHERE trial_id = ? AND param_name = ?"
                index, distribution = file.execute(query, (trial, name)).fetchone()
                sizes.append(json.loads(distribution)["attributes"]["choices"][int(index)])
            parts = dict(json.loads(parts))
            predictions[tuple(sizes)] = predicted - parts["margin"] - parts["CUDA context"]
    return predictions


def bytes_alone(sizes):
    """What the program's own run on a card takes, without the context."""
    words = [word for name, size in zip(("--batch", "--length", "--width"), sizes) for word in (name, str(size))]
    told = estimate(["sizes.py", *words], ["--card", "RTX-4090"])[1]
    return told["reserved_bytes"] + told["beside_pytorch_bytes"]


def test_study_of_a_program(folder):
    """A program's peaks are predicted from a few recordings, before any trial has run."""
    script = folder / "study.lua"
    script.write_text(STUDY.format(python=PYTHON, program=PROGRAMS / "sizes.py"), encoding="utf-8")
    device = ["--device", "cuda", "--compute-capability", "8.9", "--store", str(folder / "none.db")]
    whole, own = {}, {}
    for batch, length, width in ((8, 128, 256), (32, 256, 512)):
        own[batch] = bytes_alone((batch, length, width)) + (600 << 20)
        fixed = [each for pair in (("batch", batch), ("length", length), ("width", width)) for each in ("--fix", "{}={}".format(*pair))]
        status, out, error = run([TUNE, "estimate", str(script), *device, *fixed, "--json"])
        check(status == 0, f"one configuration of a program is predicted ({error[-200:]!r})")
        whole[batch] = json.loads(out)["need_bytes"]
    check(whole == own, f"a recorded configuration takes what the program's own run takes ({whole}, {own})")
    status, out, error = run([TUNE, "estimate", str(script), *device, "--device-memory", "4GiB"])
    recordings = re.search(r"from (\d+) recordings of the program", out)
    check(status == 0 and recordings and int(recordings[1]) <= 6, f"six recordings tell the whole space ({out[-300:]!r} {error[-200:]!r})")
    status, out, error = run(
        [TUNE, "run", str(script), "--card", "4GiB", "--rehearse", "--trials", "8", "--workers", "2", "--seed", "3", "--json"],
    )
    told = json.loads(out)
    check(status == 0 and len(told["fit_at_once"]) == 8, f"each trial fits at once, from the first on ({told} {error[-300:]!r})")
    check(told["attempts_out_of_memory"] == 0 and "predicted" in error, "and none was launched that does not")
    rehearsed = folder / "rehearsed.db"
    words = ["--store", str(rehearsed), "--card", "RTX-4090", "--rehearse", "--trials", "16", "--workers", "2", "--seed", "3", "--json"]
    status, out, error = run([TUNE, "run", str(script), *words])
    # Peaks are seen from outside, so a busy machine may miss one, and the guard then reserves less.
    check(status == 0 and json.loads(out)["do_not_fit"] == [], f"each trial of a card fits ({out[-300:]!r} {error[-300:]!r})")
    off = {sizes: predicted / bytes_alone(sizes) - 1 for sizes, predicted in predictions_in(rehearsed).items()}
    check(len(off) > 8 and max(map(abs, off.values())) <= 0.01, f"each prediction is the program's own run, to 1 % ({off})")
    kept = ["--store", str(folder / "kept.db")]
    words = [TUNE, "estimate", str(script), *device[:4], *kept, "--device-memory", "4GiB"]
    run([TUNE, "run", str(script), *kept, "--card", "4GiB", "--rehearse", "--trials", "1", "--seed", "3", "--json"])  # makes the store
    out = run(words)[1] + run(words)[1]
    check(re.search(r"recordings of the program on a virtual card, \d of them of an earlier run", out), f"kept recordings are used again ({out[-400:]!r})")


OBJECTIVE = """import os
import pathlib
import time

import torch
from torch import nn


def objective(trial):
    batch = trial.suggest_categorical("batch", [16, 32, 64, 128])
    width = trial.suggest_int("width", 512, 2048, step=256)
    model = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=trial.suggest_float("lr", 1e-5, 1e-2, log=True))
    if trial.number > 1 and batch < 64 and "HPO_PREDICTION_FOLDER" not in os.environ:  # there are two of these, and each waits for the other
        begun = pathlib.Path(__file__).parent / "begun"
        begun.mkdir(exist_ok=True)
        (begun / str(trial.number)).touch()
        until = time.monotonic() + 60
        while len(list(begun.iterdir())) < 2 and time.monotonic() < until:
            time.sleep(0.05)
    for step in range(3):
        loss = model(torch.zeros(128 * batch, width, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        trial.report(width / batch, step)
    return width / batch
"""


def test_study_of_an_objective(folder):
    """An objective of Optuna asks for its parameters while it runs. What the first trial asked for is known before the others."""
    (folder / "train.py").write_text(OBJECTIVE, encoding="utf-8")
    options = ["--card", "3GiB", "--rehearse", "--trials", "6", "--workers", "2", "--seed", "3", "--json", "--progress", "plain"]
    status, out, error = run([TUNE, "run", f"{folder / 'train.py'}:objective", "--python", PYTHON, *options])
    told = json.loads(out) if out else {}
    check(status == 0 and len(told.get("fit_at_once", [])) == 6, f"each trial of an objective fits at once ({told} {error[-600:]!r})")
    check(told.get("attempts_out_of_memory") == 0 and told.get("most_at_once") == 2, "and two of them run at the same time")
    check("learned from its trials" not in error, "a virtual card tells their memory")


SHARE = """local hpo = require "hpo"
return hpo.study {{
  name = "share",
  trainer = hpo.command {{ "{python}", "{program}", "{how}", "{{second}}" }},
  plan = {{ cap_bytes = 900 * 2^20 }},
  space = function(trial) trial:categorical("second", {{ 250, 400 }}) end,
  objective = {{ metric = "loss", direction = "minimize" }},
  sampler = "random", guard = "unlimited", recovery = "fail",
}}
"""


def test_share(folder):
    """PyTorch frees what it has cached before it takes more than its share, and raises its own error if that is not enough."""
    script = folder / "share.lua"
    sources = {"PYTHONPATH": str(ROOT.parent.parent / "python")}
    for how in ("environment", "module"):
        script.write_text(SHARE.format(python=PYTHON, program=PROGRAMS / "share.py", how=how), encoding="utf-8")
        store = str(folder / f"{how}.db")
        words = [TUNE, "run", str(script), "--card", "4GiB", "--rehearse", "--trials", "1", "--json"]
        status, out, error = run([*words, "--fix", "second=250"], sources)
        check(status == 0 and json.loads(out)["attempts_out_of_memory"] == 0, f"{how}: what was cached makes room ({out} {error[-300:]!r})")
        run([*words, "--store", store, "--fix", "second=400"], sources)
        told = json.loads(run([ANALYZE, "failures", "--store", store, "--json"])[1] or '{"failures": []}')["failures"]
        check(len(told) == 1 and "limit" in told[0]["failure"], f"{how}: more than the share is refused ({told})")
        check("allowed" in told[0]["message"], f"{how}: by PyTorch itself ({told[0]['message']})")


def test_other_versions(folder):
    """The same with the other versions of PyTorch that were given."""
    global PYTHON
    for python in PYTHONS[1:]:
        PYTHON = python
        for levers in ([], [], ["bf16"], ["checkpoint"], ["sgd"]):
            told = trains(["transformer.py", "8", *levers], folder)
            print("    ", told["torch"], *levers, told["reserved_bytes"])


def main():
    if not SECTIONS.exists():
        print("--   no texts of Debian's sections: rehearsals are not tried; scripts/test makes them")
    rehearsals = (test_rehearsal, test_trainers) if SECTIONS.exists() else ()

    def one_after_another(tests):
        for test in tests:
            with tempfile.TemporaryDirectory() as scratch:
                test(pathlib.Path(scratch))

    one_after_another([test_hostile, test_values, test_architectures, test_scratch])
    with ThreadPoolExecutor(2) as both:
        groups = (test_models, test_fragmentation, test_transformer, *rehearsals), (test_study_of_a_program, test_study_of_an_objective, test_share)
        for _ in both.map(one_after_another, groups):
            pass
    one_after_another([test_other_versions])
    print("all is well" if not failed else f"{len(failed)} failed")
    return 1 if failed else 0


sys.exit(main())
