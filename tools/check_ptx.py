#!/usr/bin/env python3
"""Compiles every built-in kernel to PTX and lets NVIDIA's assembler judge it.

    check_ptx.py --mslc PATH [FILE...]     default: all below mlxn/ops

PTX is made for sm_80 and assembled for sm_80 and sm_90. Without ptxas, on PATH or in /usr/local/cuda, the PTX is
made all the same, and the exit status is 77, which ctest calls skipped."""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGETS = ("sm_80", "sm_90")
SKIPPED = 77


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return None if done.returncode == 0 else f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"


def check(mslc, ptxas, file, folder):
    """The first thing that goes wrong with a file, or None."""
    ptx = folder / (file.stem + ".ptx")
    trouble = run([mslc, "--emit", "ptx", "--target", "ptx", "--cpu", TARGETS[0], "-I", ROOT, "-o", ptx, file])
    for target in TARGETS if ptxas else ():
        trouble = trouble or run([ptxas, "-O0", f"-arch={target}", ptx, "-o", "/dev/null"])
    return trouble


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mslc", type=pathlib.Path, required=True)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    files = arguments.files or sorted((ROOT / "mlxn/ops").rglob("*.metal"))
    ptxas = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        troubles = list(pool.map(lambda file: check(arguments.mslc, ptxas, file, pathlib.Path(folder)), files))
    troubles = [trouble for trouble in troubles if trouble]
    for trouble in troubles:
        print(trouble, file=sys.stderr)
    print(f"{len(files)} files, {len(troubles)} refused; " +
          (f"assembled for {' and '.join(TARGETS)} by {ptxas}" if ptxas else "NOT ASSEMBLED: there is no ptxas here"))
    return 1 if troubles else 0 if ptxas else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
