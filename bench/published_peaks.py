#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds peaks of memory that Liger-Kernel's authors measured on their GPUs against what a virtual card gives.

    published_peaks.py HPO_TUNE LIGER_KERNEL [--kernels NAME ...] [--providers NAME ...] [--values]

HPO_TUNE is the program hpo-tune, LIGER_KERNEL a clone of github.com/linkedin/Liger-Kernel with its history. Run it with a Python that
has PyTorch for CUDA, Triton and transformers; no GPU is needed. The commits of 2024 need transformers 4.46, since later ones lack names
that they import. Each published value is repeated by the benchmark script of the commit that brought it. The script runs unchanged,
but for `utils.run_benchmarks`: the replacement leaves out the measurements of speed, and runs the script's own measurement of memory
for the settings that are published. Prints a table; --values prints each value, too.
"""
import argparse
import collections
import csv
import io
import itertools
import json
import pathlib
import re
import runpy
import subprocess
import sys
import tarfile
import tempfile

CARDS = {
    "NVIDIA A100-SXM4-80GB": "A100-80GB",
    "NVIDIA H100 80GB HBM3": "H100-80GB",
    "NVIDIA H100 PCIe": "H100-80GB",  # the nearest: it has fewer multiprocessors
    "NVIDIA GeForce RTX 4090": "RTX-4090",
    "NVIDIA GeForce RTX 3090": "RTX-3090",
    "NVIDIA B200": "B200",
}
DATA = "benchmark/data/all_benchmark_data.csv"
EQUAL_MIB = 0.02
MARK = "published_peaks: "


def setting(kernel, provider, mode, config, x):
    return json.dumps([kernel, provider, mode or "", config, float(x)])


def measure(folder, script, wanted_file):
    """Runs one benchmark script on the virtual card that is there, and prints the peaks of the wanted settings."""
    folder = pathlib.Path(folder)
    sys.path[:0] = [str(folder / "benchmark/scripts"), str(folder / "src")]
    import utils

    wanted = set(json.loads(pathlib.Path(wanted_file).read_text()))

    def run_benchmarks(*, bench_test_fn, kernel_name, metric_name, x_values, kernel_providers, extra_benchmark_configs, **others):
        modes = others.get("kernel_operation_modes", [None])
        for config, mode, provider, x in itertools.product(extra_benchmark_configs, modes, kernel_providers, x_values):
            key = setting(kernel_name, provider, mode, json.dumps(config, cls=utils.CustomEncoder), x)
            if metric_name != "memory" or key not in wanted:
                continue
            try:
                result = bench_test_fn(utils.SingleBenchmarkRunInput(x, provider, mode, config)).y_50
            except Exception as error:  # one setting that fails leaves the others
                result = f"{type(error).__name__}: {error}"
            print(MARK + json.dumps([key, result]), flush=True)

    utils.run_benchmarks = run_benchmarks
    sys.argv = [script]
    runpy.run_path(str(folder / script), run_name="__main__")


def git(repository, *words):
    return subprocess.run(["git", "-C", repository, *words], check=True, stdout=subprocess.PIPE).stdout


def published_rows(repository, commit):
    rows = csv.DictReader(io.StringIO(git(repository, "show", f"{commit}:{DATA}").decode()))
    return {tuple(row.values()): row for row in rows if row["metric_name"] == "memory"}


def published_by_commit(repository):
    """The rows of memory that are published now, by the commit that brought them."""
    left = published_rows(repository, "HEAD")
    for commit in git(repository, "log", "--reverse", "--format=%h", "--", DATA).decode().split():
        yield commit, [left.pop(row) for row in published_rows(repository, commit) if row in left]


def export(repository, commit, folder):
    archive = git(repository, "archive", commit, "benchmark", "src")
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder)
    installed = folder / "src/liger_kernel-0.dist-info"  # the scripts ask for the version that is installed
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: liger-kernel\nVersion: 0\n")


def script_of(folder, kernel):
    names = re.compile(rf'kernel_name"?[:=]\s*"{kernel}"')
    found = [each for each in sorted(folder.glob("benchmark/scripts/benchmark_*.py")) if names.search(each.read_text())]
    return str(found[0].relative_to(folder)) if found else None


def predict(hpo_tune, folder, script, card, keys):
    """What the settings take on the virtual card: MiB, or what went wrong. Settings that the script did not reach are missing."""
    wanted, printed = folder / "wanted.json", folder / "printed.txt"
    wanted.write_text(json.dumps(keys))
    printed.unlink(missing_ok=True)
    own = [sys.executable, str(pathlib.Path(__file__).resolve()), "--measure", str(folder), script, str(wanted)]
    # A script that fails is told by hpo-tune itself, and its settings are counted as not run.
    subprocess.run([hpo_tune, "estimate", "--card", card, "--output", str(printed), "--", *own], check=False, stdout=subprocess.DEVNULL)
    lines = printed.read_text().splitlines() if printed.exists() else []
    return dict(json.loads(line.removeprefix(MARK)) for line in lines if line.startswith(MARK))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hpo_tune")
    parser.add_argument("liger_kernel")
    parser.add_argument("--kernels", nargs="+", help="only these, such as swiglu cross_entropy")
    parser.add_argument("--providers", nargs="+", help="only these, such as huggingface torch liger")
    parser.add_argument("--values", action="store_true")
    options = parser.parse_args()
    print("| kernel | provider | GPU | commit | values | equal | largest difference, MiB | not run |\n|---|---|---|---|---:|---:|---:|---:|")
    for commit, rows in published_by_commit(options.liger_kernel):
        groups = collections.defaultdict(dict)
        for row in rows:
            kernel, provider, gpu = row["kernel_name"], row["kernel_provider"], row["gpu_name"]
            if kernel in (options.kernels or [kernel]) and provider in (options.providers or [provider]) and gpu in CARDS:
                key = setting(kernel, provider, row["kernel_operation_mode"], row["extra_benchmark_config_str"], row["x_value"])
                groups[kernel, provider, gpu][key] = float(row["y_value_50"])
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            if groups:
                export(options.liger_kernel, commit, folder)
            for (kernel, provider, gpu), published in groups.items():
                script = script_of(folder, kernel)
                peaks = predict(options.hpo_tune, folder, script, CARDS[gpu], list(published)) if script else {}
                results = {key: peaks.get(key, "not reached") for key in published}
                differences = [peak - published[key] for key, peak in results.items() if isinstance(peak, float)]
                equal = sum(abs(each) <= EQUAL_MIB for each in differences)
                largest = f"{max(differences, key=abs):.2f}" if differences else ""
                cells = [kernel, provider, gpu.removeprefix("NVIDIA "), commit, len(published), equal, largest, len(published) - len(differences)]
                print("| " + " | ".join(map(str, cells)) + " |", flush=True)
                for key, peak in results.items():
                    if options.values or not isinstance(peak, float):
                        print(f"{key}: published {published[key]:.2f} MiB, predicted {peak}", file=sys.stderr)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(*sys.argv[2:])
    else:
        main()
