#!/usr/bin/env python3
"""Reads logs of MLLOG anew and compares what `rehearse figure steps FOLDER --json` says of them: check_steps.py FOLDER <JSON

Its own way to everything: json for the lines, statistics for the numbers, a list for what a first step needs.
"""
import json
import math
import os
import re
import statistics
import sys

STUDY = {
    "UNET3D": {"step_end", "load_batch_mem", "all_compute", "sample_load", "sample_preproc"},
    "DLRM": {"step_end", "load_batch_mem", "all_compute", "batch_load", "batch_preproc"},
}
RATES = {
    "load_batch_mem": "load_throughput",
    "all_compute": "compute_throughput",
    "step_end": "step_throughput",
    "batch_load": "storage_throughput",
    "sample_load": "storage_throughput",
}


def read(folder, said):
    pools = {}
    study = said["as_study"]
    needed = STUDY[said["workload"]] if study else {"step_end"}
    for run in sorted(os.listdir(folder)):
        gpus, batch = (int(re.search(rf"_(\d+){unit}(_|$)", run).group(1)) for unit in "gb")
        pool = pools.setdefault((gpus, batch), {})
        for name in os.listdir(os.path.join(folder, run)):
            with open(os.path.join(folder, run, name), encoding="ascii") as log:
                take(log, said["workload"] == "UNET3D", study, needed, batch, pool)
    return pools


def take(log, skips_first, study, needed, batch, pool):
    epoch, seen = 0, set()
    for line in log:
        entry = json.loads(line[line.index("{"):])
        key = entry["key"]
        if key in ("epoch_start", "training_start"):
            epoch = entry.get("metadata", {}).get("epoch_num", 0)
            seen = set()
        elif not (skips_first and epoch == 1):
            if not needed <= seen:
                seen.add(key)
                continue
            seconds = entry["value"]["duration"] / 1e9
            seconds = round(seconds, 6) if study else seconds
            pool.setdefault(key, []).append(seconds)
            if key in RATES:
                pool.setdefault(RATES[key], []).append((1 if key == "sample_load" else batch) / seconds)


def percentile(values, p):
    place = p * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (place - below) * (values[above] - values[below])


def expected(values):
    q1, median, q3 = statistics.quantiles(values)
    return {"count": len(values), "mean": statistics.fmean(values), "stdev": statistics.stdev(values), "least": min(values),
            "q1": q1, "median": median, "q3": q3, "most": max(values)}


def fitted(values):
    values = sorted(values)
    low, high = percentile(values, 0.01), percentile(values, 0.99)
    kept = [v for v in values if low <= v <= high]
    return {"p1": low, "p99": high, "count": len(kept), "mu": statistics.fmean(kept), "sigma": statistics.pstdev(kept)}


def compare(where, found, right):
    for key, value in right.items():
        if not math.isclose(found[key], value, rel_tol=1e-9, abs_tol=1e-12):
            sys.exit(f"{where}: {key} is {found[key]}, should be {value}")
    return len(right)


said = json.load(sys.stdin)
pools = read(sys.argv[1], said)
count = 0
assert len(pools) == len(said["configurations"])
for configuration in said["configurations"]:
    pool = pools[configuration["gpus"], configuration["batch"]]
    where = f"{configuration['gpus']} GPUs, batch {configuration['batch']}"
    shown = {**configuration["seconds"], **configuration["samples_per_second"]}
    assert set(shown) == set(pool)
    for name, found in shown.items():
        count += compare(f"{where}, {name}", found, expected(pool[name]))
    count += compare(f"{where}, compute_fit", configuration["compute_fit"], fitted(pool["all_compute"]))
print(count, "numbers agree")
