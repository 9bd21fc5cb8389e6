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


def layer_norms(write):
    for rows, dim in ((1, 1), (3, 33), (2, 1152)):
        x, weight, bias = normal((rows, dim), mx.float32, 3), normal((dim,), mx.float32), normal((dim,), mx.float32)
        write.case("layer_norm", {"input": x, "weight": weight, "bias": bias}, mx.fast.layer_norm(x, weight, bias, 1e-5),
                   2e-5, 1e-5, eps=1e-5)


def ropes(write):
    for traditional in (False, True):
        for heads, dim, rotary, tokens, offset in ((1, 64, 64, 1, 0), (3, 64, 64, 5, 7), (2, 96, 64, 9, 1000)):
            x = normal((1, heads, tokens, dim), mx.float32)
            y = mx.fast.rope(x, rotary, traditional=traditional, base=10000.0, scale=1.0, offset=offset)
            positions = mx.arange(offset, offset + tokens).astype(mx.uint32)
            write.case("rope", {"input": x[0].swapaxes(0, 1), "positions": positions}, y[0].swapaxes(0, 1),
                       1e-4, 2e-4, pairs="adjacent" if traditional else "halves", rotary=rotary)


def attentions(write):
    for name, dtype in DTYPES.items():
        for heads, kv_heads, rows, length, dim in ((4, 4, 1, 33, 64), (8, 2, 1, 300, 128), (4, 2, 37, 37, 64), (2, 1, 40, 100, 96)):
            q, k, v = (normal((1, h, n, dim), dtype) for h, n in ((heads, rows), (kv_heads, length), (kv_heads, length)))
            floats = [a.astype(mx.float32) for a in (q, k, v)]
            for masked in (False, True):
                mask = normal((rows, length), mx.float32) if masked else None
                y = mx.fast.scaled_dot_product_attention(*floats, scale=dim**-0.5, mask=mask if masked else "causal")
                write.case("sdpa", {"queries": q, "keys": k, "values": v, "mask": mask}, y.astype(dtype),
                           4 * PRECISION[name], PRECISION[name], causal=int(not masked))


def affine_products(write):
    for bits in (2, 3, 4, 5, 6, 8):
        for group, rows in ((32, 1), (64, 1), (128, 5)):
            weights, scales, biases = mx.quantize(normal((24, 256), mx.float32), group_size=group, bits=bits)
            x = normal((rows, 256), mx.float32)
            arguments = {"weights": weights, "scales": scales, "biases": biases}
            y = mx.quantized_matmul(x, weights, scales, biases, transpose=True, group_size=group, bits=bits)
            write.case("affine_matmul", arguments | {"input": x}, y, 1e-4, 1e-4, bits=bits, group=group)
            table = mx.dequantize(weights, scales, biases, group_size=group, bits=bits)
            ids = mx.array([3, 0, 23], dtype=mx.uint32)
            write.case("affine_embedding", arguments | {"ids": ids}, table[ids], 1e-6, 1e-6, bits=bits, group=group)


def expert_products(write):
    for tokens, slots, experts in ((1, 2, 4), (5, 1, 3), (9, 4, 8)):
        x, weights = normal((tokens, 64), mx.float32), normal((experts, 24, 64), mx.float32)
        ids = mx.random.randint(0, experts, (tokens, slots)).astype(mx.uint32)
        y = mx.gather_mm(x[:, None, None, :], weights.swapaxes(1, 2), rhs_indices=ids)
        write.case("matmul_id", {"input": x, "weights": weights, "ids": ids}, y.squeeze(2), 1e-4, 1e-4)


def gathers(write):
    for name, dtype in DTYPES.items():
        x, indices = normal((100, 33), dtype), mx.random.randint(0, 100, (17,)).astype(mx.uint32)
        write.case("gather", {"source": x, "indices": indices}, x[indices], 0.0)


UNARIES = {"silu": lambda x: x * mx.sigmoid(x), "gelu_erf": lambda x: x * (1 + mx.erf(x / 2**0.5)) / 2, "exp": mx.exp,
           "log": mx.log, "tanh": mx.tanh, "sin": mx.sin, "cos": mx.cos, "sqrt": mx.sqrt, "rsqrt": mx.rsqrt}


def unaries(write):
    for kind, function in UNARIES.items():
        x = normal((1001,), mx.float32, 3)
        x = mx.abs(x) + 0.01 if kind in ("log", "sqrt", "rsqrt") else x
        write.case("unary", {"input": x}, function(x), 2e-5, 2e-6, kind=kind)


def sorts(write):
    for dim in (1, 33, 5000):
        x = mx.random.permutation(3 * dim).reshape(3, dim).astype(mx.float32)  # no ties
        write.case("argsort", {"input": x}, mx.argsort(x, -1).astype(mx.uint32), 0.0)


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
    for family in (norms, layer_norms, ropes, attentions, affine_products, expert_products, gathers, unaries, sorts, softmaxes,
                   selections, products):
        family(write)
    print(f"{write.count} cases by MLX {mx.__version__}")


if __name__ == "__main__":
    main()
