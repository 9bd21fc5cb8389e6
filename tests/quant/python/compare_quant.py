#!/usr/bin/env python3
"""Compares block formats with the gguf package, bit for bit.

Usage: compare_quant.py QUANT_COMPARE [SEED]

Writes a file with, for each format, random blocks and the values the package reads from them, and, where
the package can write the format, random values and the blocks it makes of them. QUANT_COMPARE checks both.
"""

import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy as np
from gguf import GGMLQuantizationType as T

FORMATS = [T.F16, T.BF16, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0, T.Q2_K, T.Q3_K, T.Q4_K, T.Q5_K, T.Q6_K,
           T.IQ4_NL, T.IQ4_XS, T.MXFP4]
WRITTEN = [T.F16, T.BF16, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0, T.MXFP4]
ROWS = 512


def random_blocks(rng, kind):
    """Rows of one block of 256 values: any bytes, so scales of all sizes, infinities and NaN are among them."""
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    return rng.integers(0, 256, (ROWS, 256 // elements * size), dtype=np.uint8)


def random_values(rng):
    """Rows with scales from tiny to large, zeros, equal values and ties of rounding."""
    rows = rng.standard_normal((ROWS, 256)).astype(np.float32)
    rows *= np.exp2(rng.integers(-30, 12, (ROWS, 1))).astype(np.float32)
    rows[0] = 0
    rows[1] = 1.5
    rows[2] = -0.25
    rows[3] = rng.integers(-8, 8, 256)
    rows[4] = rng.integers(-127, 128, 256) * 0.5
    rows[5] = np.where(rng.random(256) < 0.9, 0, rows[5])
    rows[6] = np.exp2(rng.integers(-20, 10, 256))
    rows[7] = np.nextafter(np.exp2(rng.integers(-20, 10, 256)), 0)
    return rows.astype(np.float32)


def raw(blocks):
    return np.ascontiguousarray(blocks).view(np.uint8).reshape(ROWS, -1)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    seed = int(sys.argv[2]) if len(sys.argv) == 3 else 20250301
    print(f"seed {seed}", flush=True)
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "blocks.gguf"
        writer = gguf.GGUFWriter(path, "none")
        for kind in FORMATS:
            blocks = random_blocks(rng, kind)
            with np.errstate(all="ignore"):
                values = gguf.dequantize(blocks, kind).astype(np.float32).reshape(ROWS, 256)
            writer.add_tensor(f"{kind.name}.read.blocks", blocks, raw_dtype=kind)
            writer.add_tensor(f"{kind.name}.read.values", values)
        for kind in WRITTEN:
            values = random_values(rng)
            with np.errstate(all="ignore"):
                blocks = raw(gguf.quantize(values, kind))
            writer.add_tensor(f"{kind.name}.write.blocks", blocks, raw_dtype=kind)
            writer.add_tensor(f"{kind.name}.write.values", values)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        expected = len(FORMATS) + len(WRITTEN)
        sys.exit(subprocess.run([sys.argv[1], path, str(expected)], timeout=300).returncode)


if __name__ == "__main__":
    main()
