#!/usr/bin/env python3
"""clang-tidy on the sources of libraries and programs. Files that are clean are recorded in tools/tidy_clean.txt,
which is part of the repository, so that a fresh clone looks only at what changed since."""

import argparse
import os
import subprocess
import sys

from clean_files import ROOT, check, tracked

TIDY = "clang-tidy-19"
# What finds most for its time. --full runs all checks of .clang-tidy, which take several times as long, up to half
# a minute for a file with LLVM's headers.
FEW = ("-*,bugprone-dangling-handle,bugprone-sizeof-expression,bugprone-use-after-move,modernize-use-override,"
       "performance-for-range-copy,performance-unnecessary-copy-initialization")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/release", help="folder with compile_commands.json")
    parser.add_argument("--full", action="store_true", help="look at every file")
    parser.add_argument("-j", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("paths", nargs="*", help="only files below these")
    options = parser.parse_args()
    names = tracked("mlxn/*.cpp", "metal/*.cpp", "apps/*.cpp")
    chosen = [n for n in names if not options.paths or n.startswith(tuple(options.paths))]
    version = subprocess.run([TIDY, "--version"], check=True, capture_output=True, text=True).stdout

    def command(name):
        few = [] if options.full else [f"--checks={FEW}"]
        return [TIDY, "-p", options.build, "--quiet", *few, name]

    failed = check("clang-tidy", chosen, command, FEW + version, ROOT / "tools/tidy_clean.txt", options.j, options.full)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
