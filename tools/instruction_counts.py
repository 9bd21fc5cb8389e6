#!/usr/bin/env python3
"""Counts the instructions of the hot loops that the compiler makes of the kernels models spend their time in, so that a change
can be judged without a clock.

  instruction_counts.py record --mslc FILE   writes bench/results/instructions.json
  instruction_counts.py check --mslc FILE    status 1 if a count differs from the recorded one
  instruction_counts.py table                the recorded counts as Markdown

A hot loop is an innermost one of those that multiply vectors, with at least a quarter of the multiplications that the largest
of them has. Of each: all instructions, those that load, those that multiply (multiply-adds and dot products among them), and
those that load or store what the function keeps on its stack. Same compiler, same counts, on every machine; another release of
LLVM may give others, so its version is recorded too.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

from code_snapshot import END_OF_FUNCTION, ENTRY

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORD = ROOT / "bench/results/instructions.json"
KERNELS = {  # by file, the entry points whose whole name matches
    "mlxn/ops/matmul/packed_matmul.metal": "packed_matmul_(1|16)_.*",
    "mlxn/ops/matmul/packed_float_matmul.metal": "packed_float_matmul_(1|16)_.*",
    "mlxn/ops/attention/attention.metal": "attention_.*64_f16",
    "mlxn/ops/norm/rms_norm_quantise.metal": ".*",
    "mlxn/ops/activation/silu_mul_quantise.metal": ".*",
}
LEVELS = {
    "v3": ["--cpu", "x86-64-v3"],
    "v4": ["--cpu", "x86-64-v4"],
    "v4-vnni": ["--cpu", "x86-64-v4", "--features", "+avx512vnni"],
    "v4-dot": ["--cpu", "x86-64-v4", "--features", "+avx512bf16,+avx512vnni"],
}
COUNTS = ("instructions", "loads", "multiplies", "stack")

LABEL = re.compile(r"(\.LBB[0-9_]+):")
INSTRUCTION = re.compile(r"\t([a-z][a-z0-9]*)(?:\s+([^#\n]*))?")
JUMP = re.compile(r"j[a-z]+$")
# Of packed numbers: floats, doubles, and dot products of bytes, words and bfloats.
MULTIPLY = re.compile(r"v?(?:fn?m(?:add|sub)\d*p[sd]|mulp[sd]|pdpbusds?|pdpwssds?|dpbf16ps|pmaddwd|pmaddubsw|pmull[dq])$")
ONLY_READS = re.compile(r"(?:v?u?comis[sd]|cmp[bwlq]?|test[bwlq]?|bt[lq]?|vptest|vtestp[sd]|vptestn?m[bwdq])$")
STORES = re.compile(r"(?:v?mov|v?pextr|v?extract|vpmov|vcvtps2ph|set|vpscatter|vscatter|vpcompress|vcompress)")


class Block:
    def __init__(self):
        self.instructions, self.successors = [], []


def blocks_of(lines):
    """The function's blocks by number, in the order of the code; 0 is where it begins."""
    labels, blocks, targets = {}, [Block()], [[]]
    falls = [True]

    def start():
        blocks.append(Block())
        targets.append([])
        falls.append(True)

    for line in lines:
        label = LABEL.match(line)
        if label:
            if blocks[-1].instructions or label[1] in labels or len(blocks) == 1:
                start()
            labels[label[1]] = len(blocks) - 1
            continue
        match = INSTRUCTION.match(line)
        if not match:
            continue
        if not falls[-1] or targets[-1]:
            start()  # behind a jump
        name, operands = match[1], (match[2] or "").strip()
        blocks[-1].instructions.append((name, operands))
        if JUMP.match(name):
            targets[-1].append(operands)
            falls[-1] = name != "jmp"
        elif name.startswith("ret") or name == "ud2":
            falls[-1] = False
    for i, block in enumerate(blocks):
        block.successors = [labels[target] for target in targets[i] if target in labels]
        if falls[i] and i + 1 < len(blocks):
            block.successors.append(i + 1)
    return blocks


def dominators(blocks):
    """For each block that can be reached, the blocks that every way to it passes."""
    order, seen, stack = [], {0}, [(0, iter(blocks[0].successors))]
    while stack:
        at, rest = stack[-1]
        following = next((one for one in rest if one not in seen), None)
        if following is None:
            order.append(at)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(blocks[following].successors)))
    order.reverse()
    before = {i: [] for i in order}
    for i in order:
        for successor in blocks[i].successors:
            before[successor].append(i)
    found = {i: set(order) for i in order}
    found[0] = {0}
    changed = True
    while changed:
        changed = False
        for i in order[1:]:
            now = set.intersection(*(found[one] for one in before[i])) | {i}
            changed |= now != found[i]
            found[i] = now
    return found, before


def loops_of(blocks):
    """The blocks of each loop, in the order of the code."""
    over, before = dominators(blocks)
    loops = {}
    for i in over:
        for head in blocks[i].successors:
            if head not in over[i]:
                continue
            body = loops.setdefault(head, {head})
            new = [i]
            while new:
                one = new.pop()
                if one not in body:
                    body.add(one)
                    new += before[one]
    return [sorted(body) for _, body in sorted(loops.items())]


def memory_use(name, operands):
    """(whether it loads, whether it stores, whether that is on the stack)"""
    if "(" not in operands or name.startswith(("lea", "nop", "prefetch")):
        return False, False, False
    parts = re.split(r",\s*(?![^(]*\))", operands)
    stack = any(re.search(r"\(%rsp[,)]", part) for part in parts)
    if "(" not in parts[-1] or ONLY_READS.match(name):
        return True, False, stack
    if STORES.match(name):
        return False, True, stack
    return True, True, stack  # changes memory in place


def counts_of(instructions):
    counts = dict.fromkeys(COUNTS, 0)
    for name, operands in instructions:
        loads, _, stack = memory_use(name, operands)
        counts["instructions"] += 1
        counts["loads"] += loads
        counts["multiplies"] += MULTIPLY.match(name) is not None
        counts["stack"] += stack
    return counts


def hot_loops(code):
    """Counts of a function's hot loops, in the order of the code."""
    blocks = blocks_of(code.splitlines())
    counted = [(set(loop), counts_of([one for i in loop for one in blocks[i].instructions])) for loop in loops_of(blocks)]
    multiply = [(loop, counts) for loop, counts in counted if counts["multiplies"]]
    innermost = [counts for loop, counts in multiply if not any(other < loop for other, _ in multiply)]
    most = max((counts["multiplies"] for counts in innermost), default=0)
    return [counts for counts in innermost if 4 * counts["multiplies"] >= most]


def fail(message):
    sys.exit(f"instruction_counts: {message}")


def call(*command):
    done = subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True, timeout=600)
    if done.returncode:
        fail(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stderr.strip()}")
    return done.stdout


def count_all(mslc):
    """{"llvm": version, "kernels": {kernel: {level: loops}}}"""
    kernels, version = {}, ""
    for path, wanted in KERNELS.items():
        listed = [kernel["name"] for kernel in json.loads(call(mslc, "--list", "--json", "-I", ".", path))]
        names = [name for name in listed if re.fullmatch(wanted, name)]
        if not names:
            fail(f"{path} has no kernel {wanted}")
        chosen = [word for name in names for word in ("-e", name)]
        for level, options in LEVELS.items():
            code = call(mslc, "--emit", "asm", *options, "-I", ".", *chosen, path)
            version = re.search(r"clang version (\S+)", code)[1]
            for chunk in END_OF_FUNCTION.split(code):
                number = ENTRY.search(chunk)
                if number and (loops := hot_loops(chunk)):
                    kernels.setdefault(names[int(number[1])], {})[level] = loops
    return {"llvm": version, "kernels": kernels}


def text_of(counted):
    """One line for each loop."""
    lines = []
    for kernel, levels in sorted(counted["kernels"].items()):
        inner = ",\n".join(f'   "{level}": [' + ",\n    ".join(json.dumps(loop) for loop in loops) + "]"
                           for level, loops in levels.items())
        lines.append(f'  "{kernel}": {{\n{inner}}}')
    return f'{{"llvm": "{counted["llvm"]}", "kernels": {{\n' + ",\n".join(lines) + "\n}}\n"


def shown(loops):
    if loops is None:
        return "none"
    return "; ".join(f"{l['instructions']} ({l['loads']} loads, {l['multiplies']} multiplies, {l['stack']} on the stack)"
                     for l in loops)


def differences(recorded, counted):
    for kernel in sorted(recorded["kernels"].keys() | counted["kernels"].keys()):
        before, after = recorded["kernels"].get(kernel, {}), counted["kernels"].get(kernel, {})
        for level in LEVELS:
            if before.get(level) != after.get(level):
                yield f"{kernel}, {level}: {shown(before.get(level))}, now {shown(after.get(level))}"


def record(options):
    RECORD.write_text(text_of(count_all(options.mslc)))


def check(options):
    recorded, counted = json.loads(RECORD.read_text()), count_all(options.mslc)
    if recorded["llvm"] != counted["llvm"]:
        print(f"recorded with LLVM {recorded['llvm']}, this is {counted['llvm']}: nothing to compare")
        return 77  # for ctest: skipped
    found = list(differences(recorded, counted))
    for line in found:
        print(line)
    if found:
        print(f"{len(found)} counts differ from {RECORD.relative_to(ROOT)}; if that is meant, record them anew and commit the file:"
              f"\n  tools/instruction_counts.py record --mslc {options.mslc}")
    return 1 if found else 0


def table(options):
    recorded = json.loads(RECORD.read_text())
    print("| kernel | " + " | ".join(LEVELS) + " |\n|---|" + "---|" * len(LEVELS))
    for kernel, levels in sorted(recorded["kernels"].items()):
        cells = ["; ".join("/".join(str(loop[key]) for key in COUNTS) for loop in levels.get(level, [])) for level in LEVELS]
        print(f"| {kernel} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for run in (record, check, table):
        command = commands.add_parser(run.__name__)
        if run != table:
            command.add_argument("--mslc", type=lambda path: pathlib.Path(path).resolve(), required=True)
        command.set_defaults(run=run)
    options = parser.parse_args()
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
