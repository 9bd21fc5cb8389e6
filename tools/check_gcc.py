#!/usr/bin/env python3
"""Compiles the sources of libraries and programs with GCC, without making code: what only Clang accepts does not get
in. Headers that no source file of the same name includes first are compiled by themselves. Files that passed are recorded
in tools/gcc_clean.txt and looked at again when they change, all of them with --full."""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys

from clean_files import ROOT, check, header_of, tracked

GCC = "g++"
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-I.", "-Imetal/include"]
# The compiler's sources stand on LLVM's headers, which take most of the time; MSL's are for our own compiler.
NOT_HERE = ("metal/msl/", "metal/sdk/")
FIRST_INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def definitions(build):
    """What the build defines and where it looks for headers, for each source file."""
    found = {}
    for entry in json.loads((ROOT / build / "compile_commands.json").read_text()):
        words = iter(shlex.split(entry["command"]))
        flags = found.setdefault(os.path.relpath(entry["file"], ROOT), [])
        for word in words:
            if word == "-isystem":
                flags += [word, next(words)]
            elif word.startswith(("-D", "-I")):
                flags.append(word)
    return found


def stands_alone(header, firsts):
    text = (ROOT / header).read_text()
    return header not in firsts and "__METAL_VERSION__" not in text and "// MSL" not in text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/release", help="folder with compile_commands.json")
    parser.add_argument("--full", action="store_true", help="look at every file")
    parser.add_argument("-j", type=int, default=os.cpu_count(), help="processes at a time")
    options = parser.parse_args()
    sources = [n for n in tracked("mlxn/*.cpp", "metal/*.cpp", "apps/*.cpp") if not n.startswith(NOT_HERE)]
    firsts = set()
    for name in sources:
        first = FIRST_INCLUDE.search((ROOT / name).read_text())
        if first and first[1] == header_of(name):
            firsts.add(first[1])
    headers = tracked("mlxn/*.h", "metal/rt/*.h", "metal/exec/*.h", "apps/*.h", "metal/include/*.hpp")
    alone = {name for name in headers if stands_alone(name, firsts)}
    version = subprocess.run([GCC, "--version"], check=True, capture_output=True, text=True).stdout
    defined = definitions(options.build)

    def command(name):
        what = ["-include", name, "-x", "c++", os.devnull] if name in alone else [name]
        return [GCC, *FLAGS, *defined.get(name, []), *what]

    failed = check("gcc", sources + sorted(alone), command,
                   " ".join(FLAGS) + version, ROOT / "tools/gcc_clean.txt", options.j, options.full)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
