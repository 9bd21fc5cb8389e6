#!/usr/bin/env python3
"""Compiles host sources, syntax only, against Apple's metal-cpp.

A source that cannot be meant for Apple says why in a line `// compat: excluded (reason)`; such files are
counted in the output. Everything else that the globs find must compile. One more source is made from our own
headers: it checks that our enum values and method signatures are Apple's (header_facts.py).
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

from header_facts import facts

GLOBS = ["tests/conformance/**/*.cpp", "examples/**/*.cpp", "apps/demo/**/*.cpp", "mlxn/core/**/*.cpp",
         "mlxn/ops/**/*.cpp", "tests/core/**/*.cpp", "tests/differential/**/*.cpp", "bench/runtime_bench.cpp"]
EXCLUDED = re.compile(r"^// compat: excluded \((.+)\)$", re.MULTILINE)
HEADERS = "mlx/include/metal_cpp/"


def fetch_headers(work: pathlib.Path) -> pathlib.Path:
    """The folder with Metal/Metal.hpp, downloaded on first use."""
    target = work / "metal_cpp"
    if (target / "Metal" / "Metal.hpp").is_file():
        return target
    downloads = work / "download"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(downloads),
               "--platform", "macosx_15_0_arm64", "--only-binary=:all:", "mlx-metal"]
    subprocess.run(command, check=True, timeout=540)
    wheels = sorted(downloads.glob("mlx_metal-*.whl"))
    if not wheels:
        raise RuntimeError(f"pip left no mlx_metal wheel in {downloads}")
    partial = work / "metal_cpp.partial"
    shutil.rmtree(partial, ignore_errors=True)
    with zipfile.ZipFile(wheels[-1]) as archive:
        names = [n for n in archive.namelist() if n.startswith(HEADERS) and not n.endswith("/")]
        for name in names:
            file = partial / name[len(HEADERS):]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(archive.read(name))
    if not (partial / "Metal" / "Metal.hpp").is_file():
        raise RuntimeError(f"{wheels[-1].name} holds no {HEADERS}Metal/Metal.hpp")
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)
    shutil.rmtree(downloads, ignore_errors=True)
    return target


def extension_folder(root: pathlib.Path, work: pathlib.Path) -> pathlib.Path:
    """A folder with our extension header alone, so that our Metal headers cannot be picked up."""
    folder = work / "extensions"
    (folder / "mlxn").mkdir(parents=True, exist_ok=True)
    shutil.copy(root / "metal/include/mlxn/metal_extensions.hpp", folder / "mlxn")
    return folder


def precompile(command: list[str], work: pathlib.Path) -> pathlib.Path:
    """The headers nearly every source includes, parsed once."""
    prelude, output = work / "prelude.hpp", work / "prelude.pch"
    prelude.write_text("#include <cmath>\n#include <Metal/Metal.hpp>\n#include <gmock/gmock.h>\n"
                       "#include <gtest/gtest.h>\n")
    emit = [part for part in command if part != "-fsyntax-only"]
    subprocess.run(emit + ["-fpch-instantiate-templates", "-x", "c++-header", str(prelude), "-o", str(output)], check=True)
    return output


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True, help="source folder of the project")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="folder to keep the headers in")
    parser.add_argument("--cxx", default="clang++-19", help="a Clang that knows -fblocks")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    try:
        headers = fetch_headers(options.work)
    except Exception as error:  # no headers means no test: a failure, not a skip
        print(f"FAILED: Apple's headers cannot be had: {error}")
        return 1

    command = [options.cxx, "-std=c++20", "-fsyntax-only", "-fblocks", "-w", '-DMLXN_SOURCE_DIR=""',
               "-include", "cmath",
               "-isystem", str(headers), "-isystem", str(pathlib.Path(__file__).parent / "stubs"),
               "-I", str(extension_folder(options.root, options.work)), "-I", str(options.root)]
    sources = sorted({path for glob in GLOBS for path in options.root.glob(glob)})
    excluded, checked = [], []
    for source in sources:
        marker = EXCLUDED.search(source.read_text())
        (excluded if marker else checked).append((source, marker and marker.group(1)))

    text, fact_count = facts(options.root / "metal/include")
    fact_source = options.work / "header_facts.cpp"
    fact_source.write_text(text)
    checked.append((fact_source, None))

    precompiled = precompile(command, options.work)

    def check(source: pathlib.Path):
        # A source that asks for the definitions must meet the headers itself.
        own = "PRIVATE_IMPLEMENTATION" in source.read_text()
        start = command + ([] if own else ["-include-pch", str(precompiled)])
        return source, subprocess.run(start + [str(source)], capture_output=True, text=True)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for source, result in pool.map(check, [source for source, _ in checked]):
            if result.returncode != 0:
                failed += 1
                print(f"FAILED: {source}\n{result.stderr[:4000]}")
    for source, reason in excluded:
        print(f"excluded: {source.relative_to(options.root)}: {reason}")
    print(f"{len(checked) - failed} of {len(checked)} sources compile against metal-cpp, "
          f"{len(excluded)} excluded; {fact_count} enum values and signatures of our headers among them")
    return 1 if failed or len(checked) < 2 or fact_count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
