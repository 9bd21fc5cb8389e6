#!/usr/bin/env python3
"""Writes the first files of the corpora gguf and safetensors: small valid files, and files that are wrong in
one way each, named after what is wrong. Run it again after a change; the files are checked in.

Usage: tests/fuzz/make_corpus.py"""

import json
import pathlib
import struct

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"
U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
PACK = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q", I64: "q", F64: "d"}
MAX = 2**64 - 1
# Number, elements and bytes of a block, for each tensor type with a size.
TYPES = [(0, 1, 4), (1, 1, 2), (2, 32, 18), (3, 32, 20), (6, 32, 22), (7, 32, 24), (8, 32, 34), (9, 32, 36),
         (10, 256, 84), (11, 256, 110), (12, 256, 144), (13, 256, 176), (14, 256, 210), (15, 256, 292),
         (16, 256, 66), (19, 256, 50), (20, 32, 18), (23, 256, 136), (24, 1, 1), (27, 1, 8), (28, 1, 8),
         (30, 1, 2), (34, 256, 54), (39, 32, 17), (40, 64, 36), (41, 128, 18)]


def text(value):
    raw = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(raw)) + raw


def value_bytes(kind, value):
    if kind == STRING:
        return text(value)
    if kind == ARRAY:
        element, items = value
        return struct.pack("<IQ", element, len(items)) + b"".join(value_bytes(element, item) for item in items)
    return struct.pack("<" + PACK[kind], value)


def entry(name, kind, value):
    return text(name) + struct.pack("<I", kind) + value_bytes(kind, value)


def tensor(name, dims, kind, offset):
    return text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)


def gguf(entries=(), tensors=(), data=b"", version=3, counts=None, alignment=32):
    tensor_count, entry_count = counts or (len(tensors), len(entries))
    head = b"GGUF" + struct.pack("<IQQ", version, tensor_count, entry_count) + b"".join(entries) + b"".join(tensors)
    return head + (b"\0" * (-len(head) % alignment) + data if data else b"")


def raw_entry(name, kind, raw):
    return text(name) + struct.pack("<I", kind) + raw


def gguf_files():
    scalars = [(U8, 200), (I8, -3), (U16, 60000), (I16, -300), (U32, 2**31), (I32, -7), (F32, 0.5), (BOOL, 1),
               (STRING, "text"), (U64, MAX), (I64, -2**63), (F64, 0.1)]
    entries = [entry(f"one.{kind}", kind, value) for kind, value in scalars]
    entries += [entry(f"list.{kind}", ARRAY, (kind, [value, value])) for kind, value in scalars]
    entries += [entry("nested", ARRAY, (ARRAY, [(U8, [1]), (STRING, ["x", ""]), (ARRAY, [(F32, [])])]))]
    yield "valid_metadata", gguf(entries)
    yield "valid_version_2", gguf(entries[:3], version=2)
    yield "valid_empty", gguf()
    for kind, elements, size in TYPES:
        data = bytes(i * 7 % 251 for i in range(2 * size))
        yield f"valid_type_{kind}", gguf([], [tensor("t", [elements, 2], kind, 0)], data)
    llama = [entry("general.architecture", STRING, "llama"), entry("llama.block_count", U32, 1),
             entry("tokenizer.ggml.tokens", ARRAY, (STRING, ["a", "b", "ab"])),
             entry("tokenizer.ggml.scores", ARRAY, (F32, [0.0, 1.0, 2.0])),
             entry("general.alignment", U32, 64), entry("split.count", U16, 2), entry("split.no", U16, 0)]
    tensors = [tensor("token_embd.weight", [8, 3], 0, 0), tensor("blk.0.attn_q.weight", [32, 2], 2, 128),
               tensor("scalar", [], 24, 192)]
    yield "valid_llama", gguf(llama, tensors, bytes(range(200)), alignment=64)
    yield "unknown_type", gguf([], [tensor("t", [5], 999, 0), tensor("u", [4], 0, 32)], bytes(64))
    big = 1 << 61
    for name, dims, kind, offset in [
            ("size_wraps_to_zero", [big], 27, 0), ("padding_wraps", [2**63 - 1], 24, 0),
            ("blocks_wrap", [1 << 60, 7], 2, 0), ("elements_wrap", [1 << 32, 1 << 32], 24, 0),
            ("33_bits", [(1 << 32) + 32], 2, 0), ("past_the_end", [65], 0, 0), ("no_elements", [0], 0, 0),
            ("five_dims", [1] * 5, 0, 0), ("half_a_block", [48], 2, 0), ("misaligned", [4], 0, 16),
            ("offset_wraps", [4], 0, MAX - 31)]:
        yield f"bad_tensor_{name}", gguf([], [tensor("t", dims, kind, offset)], bytes(256))
    yield "bad_overlap", gguf([], [tensor("a", [16], 0, 0), tensor("b", [16], 0, 32)], bytes(256))
    yield "bad_tensor_twice", gguf([], [tensor("a", [4], 0, 0), tensor("a", [4], 0, 32)], bytes(64))
    yield "bad_entry_twice", gguf([entry("a", U8, 1), entry("a", U8, 1)])
    yield "bad_counts", gguf(counts=(MAX, MAX))
    yield "bad_array_without_end", gguf([raw_entry("a", ARRAY, struct.pack("<IQ", U8, MAX))])
    yield "bad_arrays_without_end", gguf([raw_entry("a", ARRAY, struct.pack("<IQ", ARRAY, MAX) + bytes(64))])
    yield "bad_string_length", gguf([raw_entry("a", STRING, struct.pack("<Q", MAX) + bytes(9))])
    yield "bad_nesting", gguf([raw_entry("a", ARRAY, struct.pack("<IQ", ARRAY, 1) * 50)])
    yield "bad_alignment", gguf([entry("general.alignment", U32, 0)])
    yield "bad_truth_value", gguf([entry("a", BOOL, 2)])
    yield "bad_big_endian", b"GGUF" + struct.pack(">IQQ", 3, 0, 0)
    yield "bad_version", gguf(version=1)


def safetensors(header, data=b"", length=None):
    raw = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(raw) if length is None else length) + raw + data


def item(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def safetensors_files():
    yield "valid_empty", safetensors({})
    yield "valid_two", safetensors({"__metadata__": {"format": "pt"}, "a": item("F32", [2, 2], 0, 16),
                                    "b": item("I8", [3], 16, 19)}, bytes(range(19)))
    yield "valid_spaces", safetensors(b'{"a":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}}   ', b"\x80?")
    yield "valid_zero_elements", safetensors({"a": item("F16", [0, 4], 0, 0)})
    for dtype, size in [("F64", 8), ("I64", 8), ("U64", 8), ("U32", 4), ("U16", 2), ("U8", 1), ("BOOL", 1),
                        ("F8_E4M3", 1), ("C64", 8)]:
        yield f"valid_{dtype}", safetensors({"a": item(dtype, [3], 0, 3 * size)}, bytes(3 * size))
    mlx = {"l.weight": item("U32", [2, 8], 0, 64), "l.scales": item("F16", [2, 1], 64, 68),
           "l.biases": item("F16", [2, 1], 68, 72)}
    yield "valid_mlx", safetensors(mlx, bytes(range(72)))
    yield "text_mlx", json.dumps(mlx).encode() + b"\0" + bytes(range(72))
    yield "text_metadata", b'{"__metadata__":{"a":"b"},"c":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]}}\0abcd'
    yield "text_config", (b'{"quantization":{"group_size":32,"bits":8,"mode":"affine","l":{"bits":4},"m":false},'
                          b'"x":[1,-2,3.5,null,true]}')
    yield "unknown_dtype", safetensors({"a": item("Z9", [3], 0, 3), "b": item("U8", [1], 3, 4)}, bytes(4))
    yield "bad_length", safetensors({}, length=MAX)
    yield "bad_length_past_the_end", safetensors({}, length=3)
    yield "bad_json", safetensors(b"{,}")
    yield "bad_twice", safetensors(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
                                   b'"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"x")
    yield "bad_nesting", safetensors(b'{"a":' + b"[" * 200 + b"]" * 200 + b"}")
    for name, dtype, shape, begin, end in [
            ("overlap", "U8", [3], 1, 4), ("hole", "U8", [1], 3, 4), ("past_the_end", "U8", [99], 2, 101),
            ("backwards", "U8", [2], 4, 2), ("size", "U8", [3], 2, 4), ("wraps", "U8", [MAX, MAX], 2, 4),
            ("shape_wraps", "F32", [1 << 62, 4], 2, 2), ("negative", "U8", [-1], 2, 4), ("float", "U8", [2.0], 2, 4)]:
        yield f"bad_{name}", safetensors({"a": item("U8", [2], 0, 2), "b": item(dtype, shape, begin, end)}, bytes(4))


def main():
    for corpus, files in (("gguf", gguf_files()), ("safetensors", safetensors_files())):
        folder = CORPUS / corpus
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files:
            (folder / name).write_bytes(data)
        print(f"{corpus}: {len(list(folder.iterdir()))} files")


if __name__ == "__main__":
    main()
