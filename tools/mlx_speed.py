#!/usr/bin/env python3
"""Times ops of an MLX built with our SDK: its Metal backend on our GPU device beside its own CPU backend.

  mlx_speed.py [--seconds S] [OP...]

Both run in turns in one process; each row is the median of all rounds. A ratio above 1 means that our device is
faster. The Python module of that MLX must be importable (PYTHONPATH); see docs/sdk.md.
"""

import argparse
import os
import statistics
import sys
import time

# OpenBLAS's idle threads spin for some 20 ms unless told otherwise, on a processor that our workers need by then.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "12")  # 2^12 cycles

import mlx.core as mx


def normal(*shape, dtype=mx.float32):
    return mx.random.normal(shape).astype(dtype)


def quantised_matvec():
    weights, scales, biases = mx.quantize(normal(4096, 4096), group_size=64, bits=4)
    x = normal(1, 4096)
    return lambda: mx.quantized_matmul(x, weights, scales, biases, transpose=True, group_size=64, bits=4)


def attention(queries, keys):
    q, k, v = normal(1, 8, queries, 64), normal(1, 8, keys, 64), normal(1, 8, keys, 64)
    return lambda: mx.fast.scaled_dot_product_attention(q, k, v, scale=0.125)


def unary(function, *shape):
    x = normal(*shape)
    return lambda: function(x)


def product(size, dtype):
    a, b = normal(size, size, dtype=dtype), normal(size, size, dtype=dtype)
    return lambda: a @ b


def convolution():
    image, filters = normal(4, 64, 64, 64), normal(64, 3, 3, 64)
    return lambda: mx.conv2d(image, filters, padding=1)


OPS = {
    "exp 16M f32": lambda: unary(mx.exp, 1 << 24),
    "softmax 4096 x 4096 f32": lambda: unary(lambda x: mx.softmax(x, axis=-1), 4096, 4096),
    "matmul 1024 f32": lambda: product(1024, mx.float32),
    "matmul 1024 f16": lambda: product(1024, mx.float16),
    "mat-vec 4096 x 4096 4 bit": quantised_matvec,
    "sort 1M f32": lambda: unary(mx.sort, 1 << 20),
    "conv2d 4 x 64 x 64 x 64, 3 x 3": convolution,
    "fft 256 x 4096": lambda: unary(mx.fft.fft, 256, 4096),
    "attention 512 x 512, 8 heads": lambda: attention(512, 512),
    "attention 1 x 4096, 8 heads": lambda: attention(1, 4096),
}


def time_once(run, device):
    mx.set_default_device(device)
    start = time.perf_counter()
    mx.eval(run())
    return time.perf_counter() - start


def measure(run, seconds):
    """Median times on our device and on MLX's CPU backend, taken in turns."""
    ours, theirs = [], []
    for device in (mx.gpu, mx.cpu):
        time_once(run, device)  # kernels are compiled, memory is touched
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(ours) < 3:
        ours.append(time_once(run, mx.gpu))
        theirs.append(time_once(run, mx.cpu))
    return statistics.median(ours), statistics.median(theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5, help="time for each op (default 5)")
    parser.add_argument("ops", nargs="*", metavar="OP", help="only ops whose name contains one of these")
    options = parser.parse_args()
    if not mx.is_available(mx.gpu):
        sys.exit("this MLX has no GPU device: it was built without Metal")
    chosen = [op for op in OPS if not options.ops or any(part in op for part in options.ops)]
    if not chosen:
        sys.exit(f"no op contains any of {options.ops}; there are: {', '.join(OPS)}")
    print("| op | our Metal (ms) | MLX's CPU backend (ms) | ratio |\n|---|---|---|---|")
    for op in chosen:
        ours, theirs = measure(OPS[op](), options.seconds)
        print(f"| {op} | {ours * 1e3:.2f} | {theirs * 1e3:.2f} | {theirs / ours:.2f} |", flush=True)


if __name__ == "__main__":
    main()
