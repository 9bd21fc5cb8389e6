#!/usr/bin/env python3
"""Compares pieces of text with the `tokenizers` package, which has a pattern engine of its own.

Usage: check_pre_tokenizers.py TEXT_PROBE
"""

import sys

from tokenizers import Regex, pre_tokenizers

from probe import ask, report
from sample_texts import texts

COUNT = 1200

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
CASED = [rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+", rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*"]


def llama(digits):
    return rf"{SUFFIX}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*{TAIL}"


# As the tokenizer.json files of these families have it.
PATTERNS = {
    "gpt-2": [GPT2],
    "smollm": [r"\p{N}", GPT2],
    "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"],
    "llama-bpe": [llama("{1,3}")],
    "glm4": [llama("{1,3}")],
    "qwen2": [llama("")],
    "qwen35": [rf"{SUFFIX}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*{TAIL}"],
    "minicpm5": [r"\p{N}{1,3}", llama("+")],
    "laguna": [r"[^\n]+|[\n]+", llama("")],
    "bailingmoe": [r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"],
    "seed-coder": [rf"{SUFFIX}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1}}| ?[^\s\p{{L}}\p{{N}}\r\n]+{TAIL}"],
    "gpt-4o": [rf"{CASED[0]}{SUFFIX}?|{CASED[1]}{SUFFIX}?|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*{TAIL}"],
    "tekken": [rf"{CASED[0]}|{CASED[1]}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*{TAIL}"],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-\ud7ff]+", r"\p{N}"],
    "deepseek-v3": [r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+",
                    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
                    r"| ?[\p{P}\p{S}]+[\r\n]*" + TAIL],
    "bloom": [r" ?[^(\s|[.,!?…。，、।۔،])]+"],
    "viking": [r" ?[^(\s|[.,!?…。，、।۔،])]+", r"\p{N}"],
}


def reference(patterns):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns])


def main():
    binary = sys.argv[1]
    samples = texts(COUNT, seed=2)
    requests = [{"op": "split", "pre": name, "text": text} for name in PATTERNS for text in samples]
    cutters = {name: reference(patterns) for name, patterns in PATTERNS.items()}
    problems = []
    for request, answer in zip(requests, ask(binary, requests)):
        expected = [piece for piece, _ in cutters[request["pre"]].pre_tokenize_str(request["text"])]
        if answer.get("pieces") != expected:
            problems.append(f"{request['pre']}: {request['text']!r}: {answer}, expected {expected}")
    return report("pieces", len(requests), problems)


if __name__ == "__main__":
    sys.exit(main())
