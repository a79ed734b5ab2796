"""PyTorch's own reader of memory snapshots opens ours without a warning, and finds the same peaks.

    pytorch_viewer.py SNAPSHOT_SAMPLE _memory_viz.py
"""
import importlib.util
import pickle
import subprocess
import sys
import tempfile
import warnings


def main():
    sample, viewer = sys.argv[1:]
    specification = importlib.util.spec_from_file_location("memory_viz", viewer)
    viz = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(viz)
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        lines = subprocess.run([sample, folder], check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()
        for line in lines:
            file, peak, reserved = line.split()
            with open(file, "rb") as opened:
                snapshot = pickle.load(opened)
            assert f"total_reserved: {viz.Bytes(int(reserved))}\n" in viz.segsum(snapshot), file
            assert "OOM" not in viz.trace(snapshot), file
            assert len(viz.trace_plot(snapshot)) > 1000 and len(viz.segment_plot(snapshot)) > 1000, file
            live = highest = 0
            for event in snapshot["device_traces"][0]:
                live += {"alloc": event["size"], "free_completed": -event["size"]}.get(event["action"], 0)
                highest = max(highest, live)
            assert highest == int(peak), (file, highest, peak)
    print(len(lines), "snapshots")
    return 0 if len(lines) == 20 else 1


if __name__ == "__main__":
    sys.exit(main())
