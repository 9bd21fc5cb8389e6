#!/usr/bin/env python3
"""Checks rules that a text search can check: see CONTRIBUTING.md, section "Source rules"."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_LINES = 800

# (pattern, where it is forbidden, where it is allowed all the same, message)
RULES = [
    (r"\b(throw\b|try\s*\{|catch\s*\()", ("mlxn/", "metal/"), ("metal/msl/stdlib/",),
     "the library reports failure by Result, not by exceptions"),
    (r"(?<![\w.>:])(?:std::)?(abort|exit|_exit|quick_exit|terminate|assert)\s*\(", ("mlxn/", "metal/"),
     ("metal/msl/stdlib/",), "the library never ends the process"),
    (r"\bgetenv\s*\(", ("mlxn/", "metal/", "apps/", "bench/"), ("mlxn/base/settings.cpp", "apps/metal/xcrun.cpp"),
     "only mlxn/base/settings.cpp reads the environment, and xcrun its PATH"),
    (r"\bmsl::(Shape|Tier)\b|\bedge_pipeline\b|\bplain_levels\b", ("metal/rt/",), (),
     "tiers, shapes and levels are the CPU executor's"),
    (r"std::(format|expected)\b", ("mlxn/", "metal/", "apps/", "bench/", "tests/"), (),
     "not in the standard library of GCC 12"),
]

def op_names():
    """Names of ops as words: every op has its arguments in a file of its own."""
    stems = {path.name.removesuffix("_args.h") for path in (ROOT / "mlxn/ops").glob("*/*_args.h")}
    names = "|".join(sorted(stem.replace("_", "_?") for stem in stems))
    return rf"(?i)(?<![a-z])k?({names}|elem(wise)?_?(add|mul)|sdpa)(?![a-z])"


# (pattern, where it is forbidden, message): in comments and strings as well
TEXT_RULES = [(op_names(), ("mlxn/core/",), "the core knows no op by name")]
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.S)


def blank(match):
    """Keeps line breaks, so that line numbers stay right."""
    return re.sub(r"[^\n]", " ", match[0])


def findings(name, pattern, text, message):
    for match in re.finditer(pattern, text):
        yield f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match[0].strip()}: {message}"


def problems_of(name):
    text = (ROOT / name).read_text(errors="replace")
    lines = text.count("\n")
    if lines > MAX_LINES:
        yield f"{name}: {lines} lines, expected at most {MAX_LINES}"
    if name.endswith((".h", ".hpp")) and not name.startswith("metal/msl/stdlib/"):
        if "#pragma once" not in text:
            yield f"{name}: no #pragma once"
    code = COMMENT_OR_STRING.sub(blank, text)
    for pattern, folders, exceptions, message in RULES:
        if not name.startswith(folders) or name.startswith(exceptions):
            continue
        yield from findings(name, pattern, code, message)
    for pattern, folders, message in TEXT_RULES:
        if name.startswith(folders):
            yield from findings(name, pattern, text, message)


def missing_levels():
    """Levels of processors that built-in kernels are not compiled for: machines would run slower code, and nothing else would tell."""
    known = re.findall(r'\{"(x86-64[\w-]*)", \d', (ROOT / "metal/exec/cpu/target_levels.cpp").read_text())
    built = re.search(r"set\(MLXN_AOT_LEVELS([^)]*?)CACHE", (ROOT / "mlxn/ops/CMakeLists.txt").read_text())
    if not known or not built:
        return ["check_rules: levels of processors are not where they were"]
    missing = set(known) - set(built[1].split()) - {"x86-64-v2"}  # has nothing that kernels gain by
    return [f"mlxn/ops/CMakeLists.txt: kernels are not compiled for {level}" for level in sorted(missing)]


def main():
    files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.h", "*.hpp", "*.cpp", "*.c"],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    files = [f for f in files if (ROOT / f).is_file()]
    problems = [p for name in files for p in problems_of(name)] + missing_levels()
    print("\n".join(problems), end="\n" if problems else "")
    print(f"source rules: {len(files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
