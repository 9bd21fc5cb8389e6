#!/usr/bin/env python3
"""Measures a model with mlxn and with llama.cpp in turns, and what the machine gives at that moment.

  bench/peers.py MODEL... --llama-bench PATH [--rounds 3] [-t 2] [-p 512] [-n 64] [-d 0] [--output FILE.json]

Prints a Markdown table: for each model and test the best of all rounds of both, their ratio, how far a side's rounds lie
apart (worst over best), and how much of the rate at which memory was read that decoding took (weights read for each token;
the best of the rounds). Above it: read rate and barrier of each round, since figures of different minutes do not compare.
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def fail(message):
    sys.exit(f"peers: {message}")


def output_of(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        fail(f"{command[0]}: {error.strerror}")
    if done.returncode:
        fail(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stderr.strip()}")
    return json.loads(done.stdout)


def name_of(entry):
    name = f"tg{entry['n_gen']}" if entry["n_gen"] else f"pp{entry['n_prompt']}"
    return f"{name} @ d{entry['n_depth']}" if entry.get("n_depth") else name


def measure(options, model):
    """Rounds of {side: {test: tokens in a second}}, the limits of each, and the bytes of the weights."""
    common = ["-m", model, "-t", options.threads, "-p", options.prompt, "-n", options.generate, "-d", options.depth, "-r", 1,
              "-o", "json"]
    sides = {"mlxn": [options.mlxn, "bench", *(["--exact"] if options.exact else []), *common],
             "llama.cpp": [options.llama_bench, *common]}
    rounds, limits, size = [], [], 0
    for number in range(options.rounds):
        print(f"{model}: round {number + 1} of {options.rounds}", file=sys.stderr)
        limits.append(output_of([options.limits, str(options.threads)]))
        figures = {}
        for side, command in sides.items():
            entries = output_of([str(word) for word in command])
            figures[side] = {name_of(entry): entry["avg_ts"] for entry in entries}
            size = entries[0]["model_size"]
        rounds.append(figures)
    return rounds, limits, size


def rows_of(model, rounds, limits, size):
    read = max(limit["read_gb_s"] for limit in limits)
    for test in rounds[0]["mlxn"]:
        best, spread = {}, {}
        for side in ("mlxn", "llama.cpp"):
            values = [figures[side][test] for figures in rounds]
            best[side], spread[side] = max(values), min(values) / max(values)
        share = best["mlxn"] * size * 1e-9 / read if test.startswith("tg") else None
        yield {"model": pathlib.Path(model).name, "test": test, "mlxn": best["mlxn"], "llama.cpp": best["llama.cpp"],
               "ratio": best["mlxn"] / best["llama.cpp"], "spread": spread, "share_of_read_rate": share}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL", help="GGUF file; bench/shape_model.py makes some")
    parser.add_argument("--llama-bench", required=True, help="llama.cpp's program, built for this machine")
    parser.add_argument("--mlxn", default=ROOT / "build/release/bin/mlxn")
    parser.add_argument("--limits", default=ROOT / "build/release/bin/mlxn_limits")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("-p", "--prompt", type=int, default=512)
    parser.add_argument("-n", "--generate", type=int, default=64)
    parser.add_argument("-d", "--depth", type=int, default=0, help="tokens in front")
    parser.add_argument("--exact", action="store_true", help="mlxn's exact products")
    parser.add_argument("--output", help="JSON file for all figures")
    options = parser.parse_args()
    if options.rounds < 1:
        fail(f"{options.rounds} rounds, expected at least 1")
    table, record = [], []
    for model in options.models:
        rounds, limits, size = measure(options, model)
        table += rows_of(model, rounds, limits, size)
        record.append({"model": model, "bytes": size, "rounds": rounds, "limits": limits})
    for entry in record:
        moments = ", ".join(f"{m['read_gb_s']:.0f} GB/s and {m['barrier_ns']:.0f} ns" for m in entry["limits"])
        print(f"{pathlib.Path(entry['model']).name}: memory read and barrier of {options.threads} threads, by round: {moments}")
    print("\n| model | test | mlxn (t/s) | llama.cpp (t/s) | ratio | worst/best | of read rate |\n|---|---|---|---|---|---|---|")
    for row in table:
        share = "" if row["share_of_read_rate"] is None else f"{row['share_of_read_rate']:.0%}"
        print(f"| {row['model']} | {row['test']} | {row['mlxn']:.1f} | {row['llama.cpp']:.1f} | {row['ratio']:.2f}x | "
              f"{row['spread']['mlxn']:.2f}, {row['spread']['llama.cpp']:.2f} | {share} |")
    if options.output:
        pathlib.Path(options.output).write_text(json.dumps({"table": table, "record": record}, indent=1) + "\n")


if __name__ == "__main__":
    main()
