#!/usr/bin/env python3
"""Measures models with mlxn and with llama.cpp in turns, and what the machine gives at that moment.

  bench/peers.py MODEL... --llama-bench PATH [--rounds 3] [-t 2] [-p 512] [-n 64] [-d 0] [--output FILE.json] [--plots FOLDER]

Prints a Markdown table: for each model and test the best of all rounds of both, their ratio, how far a side's rounds lie
apart (worst over best), and how much of the rate at which memory was read that decoding took (weights read for each token;
the best of the rounds). Above it: read rate and barrier of each round, since figures of different minutes do not compare.

-t and -d take lists, as in `-t 2,1 -d 0,512,2048,4096`. Each model is measured with the first of both; the first model with
each of the others as well. --plots writes the ratios as SVG files: by-format.svg (models as large as the first one),
by-size.svg (models in the first one's format), by-depth.svg and by-threads.svg (the first model); a plot of which there would
be one value only is left out. `--from FILE.json` takes the figures of an earlier run instead of measuring.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import plots

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIDES = ("mlxn", "llama.cpp")


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


def settings(models, threads, depths):
    """(model, threads, depth) of each measurement, the first model's first."""
    first = [(models[0], threads[0], depths[0])]
    first += [(models[0], threads[0], depth) for depth in depths[1:]]
    first += [(models[0], count, depths[0]) for count in threads[1:]]
    return first + [(model, threads[0], depths[0]) for model in models[1:]]


def measure(options, model, threads, depth):
    """What one setting gave: rounds of {side: {test: tokens in a second}}, the limits of each, and what the model is."""
    common = ["-m", model, "-t", threads, "-p", options.prompt, "-n", options.generate, "-d", depth, "-r", 1, "-o", "json"]
    commands = {"mlxn": [options.mlxn, "bench", *(["--exact"] if options.exact else []), *common],
                "llama.cpp": [options.llama_bench, *common]}
    record = {"model": str(model), "threads": threads, "depth": depth, "rounds": [], "limits": []}
    for number in range(options.rounds):
        print(f"{model}, {threads} threads, depth {depth}: round {number + 1} of {options.rounds}", file=sys.stderr)
        record["limits"].append(output_of([options.limits, str(threads)]))
        figures = {}
        for side, command in commands.items():
            entries = output_of([str(word) for word in command])
            figures[side] = {name_of(entry): entry["avg_ts"] for entry in entries}
            if side == "mlxn":
                record |= {"bytes": entries[0]["model_size"], "parameters": entries[0]["model_n_params"],
                           "format": entries[0]["model_type"].split()[-1]}
        record["rounds"].append(figures)
    return record


def rows_of(record):
    """The table's rows of one setting: the best of the rounds, and what follows from them."""
    read = max(limit["read_gb_s"] for limit in record["limits"])
    for test in record["rounds"][0]["mlxn"]:
        best, spread = {}, {}
        for side in SIDES:
            values = [figures[side][test] for figures in record["rounds"]]
            best[side], spread[side] = max(values), min(values) / max(values)
        share = best["mlxn"] * record["bytes"] * 1e-9 / read if test.startswith("tg") else None
        yield {"model": pathlib.Path(record["model"]).name, "test": test, "threads": record["threads"], "depth": record["depth"],
               **best, "ratio": best["mlxn"] / best["llama.cpp"], "spread": spread, "share_of_read_rate": share}


def ratios_of(record):
    """Of reading a prompt and of answering; None for what was not measured."""
    found = {row["test"][:2]: row["ratio"] for row in rows_of(record)}
    return [found.get("pp"), found.get("tg")]


def size_name(parameters):
    return f"{parameters / 1e9:.1f}B" if parameters >= 1e9 else f"{parameters / 1e6:.0f}M"


def series(records):
    """{file: (title, [(label, ratios)])} of what the records allow to compare; the first one is what others differ from."""
    def groups(key, label, in_order):
        same = {"format", "parameters", "threads", "depth"} - {key}
        alike = [record for record in records if all(record[k] == records[0][k] for k in same)]
        if in_order:
            alike.sort(key=lambda record: record[key])
        return [(label(record), ratios_of(record)) for record in alike]

    # A file of several formats is named after the most frequent one: the file's own name tells more.
    found = {
        "by-format.svg": ("by format", groups("format", lambda r: pathlib.Path(r["model"]).stem, False)),
        "by-size.svg": ("by size of the model", groups("parameters", lambda r: size_name(r["parameters"]), True)),
        "by-depth.svg": ("by tokens in front", groups("depth", lambda r: str(r["depth"]), True)),
        "by-threads.svg": ("by threads", groups("threads", lambda r: str(r["threads"]), True)),
    }
    return {name: plot for name, plot in found.items() if len(plot[1]) > 1}


def what_stays(records, name):
    """What all bars of a plot have in common."""
    base = records[0]
    words = {"by-format.svg": size_name(base["parameters"]), "by-size.svg": base["format"]}
    parts = [words.get(name, f"{size_name(base['parameters'])} {base['format']}")]
    if name != "by-threads.svg":
        parts.append(f"{base['threads']} threads" if base["threads"] > 1 else "1 thread")
    if name != "by-depth.svg" and base["depth"]:
        parts.append(f"{base['depth']} tokens in front")
    return ", ".join(parts)


def write_plots(folder, records):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    names = ["reading a prompt", "answering"]
    for name, (title, groups) in series(records).items():
        text = plots.bars(f"Speed relative to llama.cpp, {title}", what_stays(records, name), groups, names, line=1)
        (folder / name).write_text(text)
        print(f"{folder / name}", file=sys.stderr)


def print_table(records):
    for record in records:
        moments = ", ".join(f"{m['read_gb_s']:.0f} GB/s and {m['barrier_ns']:.0f} ns" for m in record["limits"])
        print(f"{pathlib.Path(record['model']).name}: memory read and barrier of {record['threads']} threads, by round: {moments}")
    print("\n| model | threads | test | mlxn (t/s) | llama.cpp (t/s) | ratio | worst/best | of read rate |\n"
          "|---|---|---|---|---|---|---|---|")
    for record in records:
        for row in rows_of(record):
            share = "" if row["share_of_read_rate"] is None else f"{row['share_of_read_rate']:.0%}"
            print(f"| {row['model']} | {row['threads']} | {row['test']} | {row['mlxn']:.1f} | {row['llama.cpp']:.1f} | "
                  f"{row['ratio']:.2f}x | {row['spread']['mlxn']:.2f}, {row['spread']['llama.cpp']:.2f} | {share} |")


def numbers(least):
    def parse(text):
        values = [int(word) for word in text.split(",")]
        if min(values) < least:
            raise argparse.ArgumentTypeError(f"{min(values)}, expected at least {least}")
        return values
    return parse


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="GGUF file; bench/shape_model.py makes some")
    parser.add_argument("--llama-bench", help="llama.cpp's program, built for this machine")
    parser.add_argument("--mlxn", default=ROOT / "build/release/bin/mlxn")
    parser.add_argument("--limits", default=ROOT / "build/release/bin/mlxn_limits")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-t", "--threads", type=numbers(1), default=[2])
    parser.add_argument("-p", "--prompt", type=int, default=512)
    parser.add_argument("-n", "--generate", type=int, default=64)
    parser.add_argument("-d", "--depth", type=numbers(0), default=[0], help="tokens in front")
    parser.add_argument("--exact", action="store_true", help="mlxn's exact products")
    parser.add_argument("--output", help="JSON file for all figures")
    parser.add_argument("--plots", metavar="FOLDER", help="for SVG files")
    parser.add_argument("--from", dest="earlier", metavar="FILE.json", help="--output of an earlier run")
    options = parser.parse_args()
    if options.rounds < 1:
        fail(f"{options.rounds} rounds, expected at least 1")
    if options.earlier:
        records = json.loads(pathlib.Path(options.earlier).read_text())["record"]
    elif options.models and options.llama_bench:
        records = [measure(options, *setting) for setting in settings(options.models, options.threads, options.depth)]
    else:
        fail("expected models and --llama-bench, or --from")
    print_table(records)
    if options.output:
        table = [row for record in records for row in rows_of(record)]
        pathlib.Path(options.output).write_text(json.dumps({"table": table, "record": records}, indent=1) + "\n")
    if options.plots:
        write_plots(options.plots, records)


if __name__ == "__main__":
    main()
