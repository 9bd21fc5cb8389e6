#!/usr/bin/env python3
"""Checks which folder may include which, and the list of public headers. The rules are the table below; CONTRIBUTING.md
explains them."""

import fnmatch
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Folder -> what it may include besides itself. The longest matching prefix counts, on both sides.
# A name that ends in .h is that file alone.
RULES = {
    "mlxn/base": [],
    "mlxn/quant": ["mlxn/base"],
    "mlxn/core": ["mlxn/base", "metal/include"],
    "mlxn/ops": ["mlxn/core", "mlxn/quant", "mlxn/base"],
    "mlxn/io": ["mlxn/core", "mlxn/quant", "mlxn/base"],
    "mlxn/text": ["mlxn/base", "mlxn/io"],
    "mlxn/model": ["mlxn/ops", "mlxn/io", "mlxn/text", "mlxn/core", "mlxn/quant", "mlxn/base"],
    "mlxn/testing": ["mlxn", "metal/include"],
    "metal/include": [],
    "metal/rt": ["metal/include", "mlxn/base", "metal/msl/interface.h", "metal/msl/module.h",
                 "metal/msl/kernel_abi.h", "metal/msl/library_file.h"],
    "metal/msl": ["metal/msl", "mlxn/base"],
    "metal/msl/recipes": ["metal/msl/passes", "metal/msl/codegen", "metal/msl/interface.h",
                          "metal/msl/kernel_abi.h", "mlxn/base"],
    "metal/msl/passes": ["metal/msl/interface.h", "metal/msl/kernel_abi.h", "mlxn/base"],
    "metal/msl/codegen": ["metal/msl/interface.h", "mlxn/base"],
    "metal/msl/frontend": ["metal/msl/interface.h", "metal/msl/kernel_abi.h", "mlxn/base"],
    "metal/exec/host": ["metal/rt", "mlxn/base"],
    "metal/exec/null": ["metal/rt", "metal/exec/host", "metal/msl/interface.h", "mlxn/base"],
    "metal/exec/cpu": ["metal/rt", "metal/exec/host", "metal/msl/interface.h", "metal/msl/kernel_abi.h",
                       "mlxn/base"],
    "metal/exec/discrete": ["metal/rt", "metal/exec/host", "metal/exec/cpu", "metal/msl/interface.h",
                            "mlxn/base"],
    "metal/exec/cuda": ["metal/rt", "metal/msl/interface.h", "metal/msl/kernel_abi.h", "mlxn/base"],
    "metal/exec": ["metal/rt", "metal/exec", "mlxn/base"],
    "apps/mslc": ["mlxn", "metal/msl", "metal/include"],
    "apps/metal": ["mlxn", "metal/msl"],
    "apps": ["mlxn", "metal/include"],
    "bindings": ["mlxn"],
    "examples": ["mlxn", "metal/include"],
    "bench": ["mlxn", "metal"],
    "tests": ["mlxn", "metal", "tests", "bench"],
}

# Outside headers that only some folders may see.
RESTRICTED = [
    (re.compile(r"^(llvm|clang|llvm-c)/"), ("metal/msl", "metal/exec", "tests/passes")),
    (re.compile(r"^(cuda|cuda_runtime|nvrtc|nvml)[\w.]*\.h$"), ("metal/exec/cuda",)),
    (re.compile(r"^(Metal|Foundation)/"),
     ("metal/include", "metal/rt", "mlxn/core", "mlxn/testing", "apps", "bench", "tests", "examples")),
]

# What the preprocessor of our own compiler provides, not the host.
SKIPPED = ("metal/msl/stdlib/", "tests/install/")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def owner(path, names):
    """The rule a path belongs to: its longest prefix among names."""
    fitting = [n for n in names if path == n or path.startswith(n + "/")]
    return max(fitting, key=len, default=None)


def allowed(target, rule):
    if target.startswith(rule + "/") and owner(target, RULES) == rule:
        return True
    return any(target == name or target.startswith(name + "/") for name in RULES[rule])


def resolve(path, quote, name):
    """The repository path an include line means, or None when it is outside."""
    for base in ([path.parent] if quote == '"' else []) + [ROOT, ROOT / "metal/include"]:
        candidate = (base / name).resolve()
        if candidate.is_file() and candidate.is_relative_to(ROOT):
            return candidate.relative_to(ROOT).as_posix()
    return None


def problems_of(name):
    path = ROOT / name
    # Case tables lie beside their ops and belong to the harness.
    rule = "mlxn/testing" if name.endswith("_cases.cpp") else owner(name, RULES)
    text = path.read_text(errors="replace")
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        for pattern, folders in RESTRICTED:
            if pattern.match(match[2]) and not owner(name, folders):
                yield f"{name}:{line}: {match[2]} may be included from {', '.join(folders)} only"
        target = resolve(path, match[1], match[2])
        if target is None or rule is None:
            continue
        if not allowed(target, rule):
            may = ", ".join(RULES[rule]) or "nothing else"
            yield f"{name}:{line}: includes {target}; {rule} may include {may}"


def public_headers(files):
    """What cmake/install.cmake makes of its list, and all that the list speaks of."""
    public, named = set(), set()
    for line in (ROOT / "cmake/public_headers.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        pattern = line.removeprefix("-")
        found = {f for f in files if f.count("/") == pattern.count("/") and fnmatch.fnmatch(f, pattern)}
        if not found:
            yield f"cmake/public_headers.txt: there is no {pattern}"
        named |= found
        public = public - found if line.startswith("-") else public | found
    installed = ("mlxn/base/", "mlxn/core/", "mlxn/io/", "mlxn/model/", "mlxn/ops/", "mlxn/quant/", "mlxn/text/")
    for name in files:
        inside = "/internal/" in name
        if name.startswith(installed) and name.endswith(".h") and not inside and name not in named:
            yield f"{name}: not in cmake/public_headers.txt; public, or with a - in front, or in internal/"
    for name in sorted(public):
        if "/internal/" in name:
            yield f"{name}: internal, but in cmake/public_headers.txt"
        for match in INCLUDE.finditer((ROOT / name).read_text()):
            target = resolve(ROOT / name, match[1], match[2])
            if target and target not in public and not target.startswith("metal/include/"):
                yield f"{name}: public, but includes {target}, which is not (cmake/public_headers.txt)"


def main():
    files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.h", "*.hpp", "*.cpp", "*.c", "*.metal"],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    files = [f for f in files if not f.startswith(SKIPPED) and (ROOT / f).is_file()]
    problems = [p for name in files for p in problems_of(name)] + list(public_headers(files))
    print("\n".join(problems), end="\n" if problems else "")
    print(f"include rules: {len(files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
