#!/usr/bin/env python3
"""What a Llama-type or Qwen GGUF model must answer, computed with numpy and nothing of this library.

Weights are dequantised by the gguf package; everything else is written out below: products with weights in
float32, the rest in float64. Writes one file for model_test.cpp: little-endian int32 and float32 fields, each
list with its length in front.

  reference.py MODEL MLXN OUTPUT

Token ids come from `MLXN tokenize`, which has a reference of its own (tests/text).
"""

import json
import struct
import subprocess
import sys

import gguf
import numpy as np

PROMPTS = [
    "The capital of France is", "Once upon a time, there was a", "Water boils at", "def fibonacci(n):",
    "The three primary colours are", "In 1969, the first people", "A recipe for bread needs", "1, 2, 3, 4,",
    "The opposite of hot is", "Dear Sir or Madam,",
]
TEXT = ("The quick brown fox jumps over the lazy dog. A language model reads tokens and predicts the next one; "
        "numbers like 3.14159 and words like 'naïve' or '日本' are split into pieces. Every piece has an id, and "
        "the model has seen many of them before. What comes next depends on all that came earlier in the text.")
NEW_TOKENS = 32


class Model:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.fields = reader.fields
        self.tensors = {}
        for tensor in reader.tensors:
            data = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
            self.tensors[tensor.name] = data.reshape(tuple(reversed(tensor.shape.tolist())))
        architecture = self.fields["general.architecture"].contents()

        def get(name, *other):
            field = self.fields.get(f"{architecture}.{name}")
            return field.contents() if field or not other else other[0]

        self.layers, self.heads = get("block_count"), get("attention.head_count")
        self.kv_heads, self.epsilon = get("attention.head_count_kv"), get("attention.layer_norm_rms_epsilon")
        self.base = get("rope.freq_base")
        self.dim = get("attention.key_length", get("embedding_length") // self.heads)
        self.halves = architecture != "llama"

    def times(self, x, name):
        product = (x.astype(np.float32) @ self.tensors[name].T).astype(np.float64)
        return product + self.tensors.get(name.replace(".weight", ".bias"), 0)

    def norm(self, x, name):
        scale = 1 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self.epsilon)
        return x * scale * self.tensors[name]

    def rope(self, x, positions):
        """Pair i of each head turns by position * base^(-2i / dim); it is (2i, 2i + 1), or (i, i + dim / 2)."""
        angles = positions[:, None] * self.base ** (-np.arange(0, self.dim, 2) / self.dim)
        cos, sin = np.cos(angles)[:, None, :], np.sin(angles)[:, None, :]
        half = self.dim // 2
        first, second = (slice(half), slice(half, None)) if self.halves else (slice(0, None, 2), slice(1, None, 2))
        out = np.empty_like(x)
        out[..., first] = x[..., first] * cos - x[..., second] * sin
        out[..., second] = x[..., first] * sin + x[..., second] * cos
        return out

    def heads_of(self, x, heads, norm):
        x = x.reshape(len(x), heads, self.dim)
        return self.norm(x, norm) if norm in self.tensors else x

    def attention(self, q, k, v, first):
        groups = self.heads // self.kv_heads
        out = np.empty_like(q)
        for head in range(self.heads):
            scores = q[:, head] @ k[:, head // groups].T / np.sqrt(self.dim)
            seen = np.arange(k.shape[0])[None, :] <= first + np.arange(q.shape[0])[:, None]
            scores = np.where(seen, scores, -np.inf)
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            out[:, head] = (weights / weights.sum(axis=-1, keepdims=True)) @ v[:, head // groups]
        return out

    def forward(self, parts):
        """Logits of the last token of each part, or of all tokens when there is one part alone.

        A part is the next tokens of a sequence and a list with keys and values of its earlier ones for each
        layer, which is extended. Parts meet in products with weights only."""
        ends = np.cumsum([len(tokens) for tokens, _ in parts])
        firsts = [len(cache[0][0]) if cache else 0 for _, cache in parts]
        positions = np.concatenate([first + np.arange(len(tokens)) for first, (tokens, _) in zip(firsts, parts)])
        x = self.tensors["token_embd.weight"][np.concatenate([tokens for tokens, _ in parts])].astype(np.float64)
        for i in range(self.layers):
            name = f"blk.{i}."
            n = self.norm(x, name + "attn_norm.weight")
            q, k, v = (self.times(n, name + f"attn_{part}.weight") for part in "qkv")
            q = self.rope(self.heads_of(q, self.heads, name + "attn_q_norm.weight"), positions)
            k = self.rope(self.heads_of(k, self.kv_heads, name + "attn_k_norm.weight"), positions)
            v = v.reshape(len(x), self.kv_heads, self.dim)
            mixed = []
            for (tokens, cache), end, first in zip(parts, ends, firsts):
                rows = slice(end - len(tokens), end)
                if len(cache) > i:
                    cache[i] = tuple(np.concatenate([old, new[rows]]) for old, new in zip(cache[i], (k, v)))
                else:
                    cache.append((k[rows], v[rows]))
                mixed.append(self.attention(q[rows], *cache[i], first).reshape(len(tokens), -1))
            x = x + self.times(np.concatenate(mixed), name + "attn_output.weight")
            n = self.norm(x, name + "ffn_norm.weight")
            gate, up = self.times(n, name + "ffn_gate.weight"), self.times(n, name + "ffn_up.weight")
            x = x + self.times(gate / (1 + np.exp(-gate)) * up, name + "ffn_down.weight")
        output = "output.weight" if "output.weight" in self.tensors else "token_embd.weight"
        wanted = x if len(parts) == 1 else x[ends - 1]
        return self.times(self.norm(wanted, "output_norm.weight"), output)


def greedy(model, prompts):
    """The answers to all prompts, the likeliest token each time."""
    caches, answers = [[] for _ in prompts], [[] for _ in prompts]
    parts = list(zip(prompts, caches))
    for _ in range(NEW_TOKENS):
        for answer, logits in zip(answers, model.forward(parts)):
            answer.append(int(np.argmax(logits)))
        parts = [(answer[-1:], cache) for answer, cache in zip(answers, caches)]
    return answers


def tokenize(program, path, text):
    command = [program, "tokenize", "-m", path, "--ids"]
    return json.loads(subprocess.run(command, input=text.encode(), capture_output=True, check=True).stdout)


def main():
    path, program, output = sys.argv[1:4]
    model = Model(path)
    text = tokenize(program, path, TEXT)
    logits = model.forward([(text, [])]).astype(np.float32)
    prompts = [tokenize(program, path, prompt) for prompt in PROMPTS]
    answers = greedy(model, prompts)
    with open(output, "wb") as out:
        def numbers(values):
            out.write(struct.pack(f"<i{len(values)}i", len(values), *values))
        numbers(text)
        out.write(struct.pack("<ii", *logits.shape))
        out.write(logits.tobytes())
        out.write(struct.pack("<i", len(prompts)))
        for prompt, answer in zip(prompts, answers):
            numbers(prompt)
            numbers(answer)
    print(f"{len(text)} positions with {logits.shape[1]} logits, {len(PROMPTS)} answers of {NEW_TOKENS} tokens")


if __name__ == "__main__":
    main()
