#!/usr/bin/env python3
"""Writes what MLX's CPU backend computes, for oracle_tests to compare our ops with.

    make_cases.py FOLDER

Each case is a safetensors file: the arguments of an op by name, "expected", and as metadata the op's name, its
parameters and how far a result may be off."""

import pathlib
import shutil
import sys

import mlx.core as mx

DTYPES = {"f32": mx.float32, "f16": mx.float16, "bf16": mx.bfloat16}
# One unit in the last place, relative: both sides round, and not always to the same neighbour.
PRECISION = {"f32": 2e-6, "f16": 2**-10, "bf16": 2**-7}


class Writer:
    def __init__(self, folder):
        self.folder = folder
        self.count = 0

    def case(self, op, arguments, expected, relative, absolute=0.0, **parameters):
        texts = {name: str(value) for name, value in parameters.items()}
        texts |= {"op": op, "relative": repr(relative), "absolute": repr(absolute)}
        arrays = {name: mx.contiguous(value) for name, value in arguments.items() if value is not None}
        arrays["expected"] = mx.contiguous(expected)
        mx.save_safetensors(str(self.folder / f"{self.count:04}-{op}.safetensors"), arrays, texts)
        self.count += 1


def normal(shape, dtype, scale=1.0):
    return (mx.random.normal(shape) * scale).astype(dtype)


def norms(write):
    for name, dtype in DTYPES.items():
        for rows, dim in ((1, 1), (3, 31), (2, 576), (2, 4096)):
            x = normal((rows, dim), dtype)
            weight = normal((dim,), mx.float32 if name == "f16" else dtype)
            write.case("rms_norm", {"input": x, "weight": weight},
                       mx.fast.rms_norm(x.astype(mx.float32), weight.astype(mx.float32), 1e-5).astype(dtype),
                       PRECISION[name], 1e-6, eps=1e-5)


def softmaxes(write):
    for name, dtype in DTYPES.items():
        for rows, dim in ((1, 1), (3, 33), (2, 5000)):
            x = normal((rows, dim), dtype, 4)
            write.case("softmax", {"input": x}, mx.softmax(x.astype(mx.float32), -1).astype(dtype),
                       PRECISION[name] + 1e-5, 1e-7)  # MLX's exponential is off by some units


def selections(write):
    for dim in (1, 100, 49152):
        x = normal((3, dim), mx.float32)
        write.case("argmax", {"input": x}, mx.argmax(x, -1).astype(mx.uint32), 0.0)


def products(write):
    for rows, columns, depth in ((1, 7, 33), (5, 64, 512), (9, 33, 100)):
        for name, dtype in DTYPES.items():
            x, weights = normal((rows, depth), mx.float32), normal((columns, depth), dtype)
            write.case("matmul", {"input": x, "weights": weights}, x @ weights.astype(mx.float32).T, 1e-5, 2e-5 * depth**0.5)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    mx.set_default_device(mx.cpu)
    mx.random.seed(11)
    write = Writer(folder)
    for family in (norms, softmaxes, selections, products):
        family(write)
    print(f"{write.count} cases by MLX {mx.__version__}")


if __name__ == "__main__":
    main()
