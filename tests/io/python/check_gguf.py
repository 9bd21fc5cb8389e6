#!/usr/bin/env python3
"""Checks that the gguf package and our reader and writer understand each other.

Usage: check_gguf.py GGUF_COPY

The package writes a file with all types of metadata and tensors, GGUF_COPY reads it and writes a copy, the
package reads both: every field and every tensor must be the same. Also the other kinds of files that the
package makes: split models, other alignments, big-endian ones (refused).
"""

import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy as np
from gguf import GGMLQuantizationType as T
from gguf import GGUFValueType as V

SEED = 99
SCALARS = [(V.UINT8, 255), (V.INT8, -128), (V.UINT16, 65535), (V.INT16, -32768), (V.UINT32, 2**32 - 1),
           (V.INT32, -2**31), (V.FLOAT32, 0.1), (V.BOOL, True), (V.STRING, "Grüße \0 \U0001f600"),
           (V.UINT64, 2**64 - 1), (V.INT64, -2**63), (V.FLOAT64, 0.1)]


def write_sample(path, alignment=None, **options):
    rng = np.random.default_rng(SEED)
    writer = gguf.GGUFWriter(path, "llama", **options)
    if alignment:
        writer.add_custom_alignment(alignment)
    for kind, value in SCALARS:
        writer.add_key_value(f"one.{kind.name}", value, kind)
        writer.add_key_value(f"list.{kind.name}", [value, value], V.ARRAY, kind)
    for kind in T:
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        if kind == T.Q8_1:
            continue  # the package counts 40 bytes for a block, ggml itself has 36
        blocks = rng.integers(0, 256, (3, 2 * size), dtype=np.uint8)
        writer.add_tensor(f"tensor.{kind.name}", blocks, raw_dtype=kind)
    writer.add_tensor("dims", np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def contents(path):
    reader = gguf.GGUFReader(path)
    fields = {name: ([str(t) for t in field.types], field.contents()) for name, field in reader.fields.items()
              if not name.startswith("GGUF.") and name != "general.alignment"}
    tensors = {t.name: (t.tensor_type, t.shape.tolist(), t.data.tobytes()) for t in reader.tensors}
    return fields, tensors


def require(condition, message):
    if not condition:
        sys.exit(f"check_gguf: {message}")


def copy(tool, *arguments):
    return subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def check_copies(tool, folder):
    for alignment in (None, 64, 4096):
        source, target = folder / "source.gguf", folder / "target.gguf"
        write_sample(source, alignment)
        done = copy(tool, source, target, alignment or 32)
        require(done.returncode == 0, done.stdout)
        before, after = contents(source), contents(target)
        for what, old, new in zip(("field", "tensor"), before, after):
            require(list(old) == list(new), f"{what}s {sorted(set(old) ^ set(new))}")
            for name in old:
                require(old[name] == new[name], f"{what} {name}: {new[name]}, expected {old[name]}")
        require(len(before[0]) >= 2 * len(SCALARS) and len(before[1]) >= 30, "the sample is too small")
        print(f"alignment {alignment or 32}: {len(before[0])} fields, {len(before[1])} tensors agree")


def check_split(tool, folder):
    write_sample(folder / "split.gguf", split_max_tensors=10)
    parts = sorted(folder.glob("split-*-of-*.gguf"))
    require(len(parts) > 1, "the package wrote one file only")
    whole, target = folder / "source.gguf", folder / "target.gguf"
    write_sample(whole)
    done = copy(tool, parts[0], target)
    require(done.returncode == 0, done.stdout)
    require(contents(target)[1] == contents(whole)[1], "tensors of the split model differ")
    require(copy(tool, parts[1], target).returncode == 1, "the second part was opened as a model")
    print(f"split: {len(parts)} parts agree")


def check_big_endian(tool, folder):
    source = folder / "big.gguf"
    write_sample(source, endianess=gguf.GGUFEndian.BIG)
    done = copy(tool, source, folder / "target.gguf")
    require(done.returncode == 1 and "big-endian" in done.stdout, f"big-endian: {done.stdout}")
    print("big-endian: refused")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    tool = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        for check in (check_copies, check_split, check_big_endian):
            check(tool, pathlib.Path(folder))


if __name__ == "__main__":
    main()
