#!/usr/bin/env python3
"""Runs the RUN lines of one .metal file: what mslc prints must match the file's CHECK lines.

  // RUN: --explain                             FileCheck lines begin with CHECK
  // RUN-ANY: --emit lowered --shape any        ... with ANY
"""
import argparse
import pathlib
import re
import shlex
import subprocess
import sys

RUN = re.compile(r"^// RUN(?:-(\w+))?: (.+)$", re.MULTILINE)


def run(arguments, path, prefix, options):
    """Returns what went wrong, or None."""
    command = [arguments.mslc, *shlex.split(options), path.name]
    # From its own folder, so that messages name the file without a path.
    made = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, timeout=100)
    if made.returncode != 0:
        return f"status {made.returncode}\n{made.stdout}{made.stderr}"
    check = [arguments.filecheck, "--check-prefix=" + prefix, "--allow-unused-prefixes=false", str(path)]
    result = subprocess.run(check, input=made.stdout, capture_output=True, text=True, timeout=100)
    return result.stdout + result.stderr if result.returncode != 0 else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--mslc", default="mslc")
    parser.add_argument("--filecheck", default="FileCheck-19")
    arguments = parser.parse_args()
    path = arguments.file.resolve()
    runs = RUN.findall(path.read_text())
    if not runs:
        sys.exit(f"{path}: no RUN line")
    failed = False
    for prefix, options in runs:
        problem = run(arguments, path, prefix or "CHECK", options)
        print(f"{'FAILED' if problem else 'passed'}: mslc {options} {path.name}")
        if problem:
            print(problem)
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
