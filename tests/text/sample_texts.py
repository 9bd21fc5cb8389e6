"""Texts in many scripts and shapes, the same on every machine."""

import random
import unicodedata

# The tables of Unicode 3.2 are the same in every Python. Later versions gave these another category.
OLD = unicodedata.ucd_3_2_0
STABLE = [chr(c) for c in range(0x20, 0x110000)
          if OLD.category(chr(c)) not in ("Cn", "Cs", "Co")
          and OLD.category(chr(c)) == unicodedata.category(chr(c))]

WORDS = """the quick brown fox jumps over lazy dog I'm you're they've he'll she'd it's don't WE'LL O'Neil
Straße naïve façade Ærøskøbing Žluťoučký кот Привет мир Ελληνικά γλώσσα שלום עולם مرحبا بالعالم
नमस्ते दुनिया বাংলা ভাষা தமிழ் ไทยแลนด์ ภาษา 日本語 の テキスト ひらがな カタカナ 中文 字符 汉字 한국어 텍스트
ქართული ՀԱՅԵՐԵՆ አማርኛ ᏣᎳᎩ Tiếng Việt İstanbul ǅ ﬁn ſecond 'ſ don'ſ 12 345 6789 3.14159 1,000,000 ½ ² Ⅷ ٣٤ ๕ 十
👍 👩‍👩‍👧‍👦 🏳️‍🌈 🇫🇷 👍🏽 ☃ ❤️ e\u0301 \u0301 \u200d \ufeff \u00ad \u180e \u200b""".split()
SPACES = [" ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", "\t\t", " \n", "\n ", "\u00a0", "\u3000", "\u2028", "\x0b", "\x0c",
          "\x85", "\u1680", "\u2009"]
MARKS = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + ["...", "--", "==", "=>", "::", "//", "/*", "*/", "“", "”", "…", "。",
                                                     "，", "！", "€", "™", "→", "∑", "’s", "''"]
CODE = ["int main() {\n    return 0;\n}\n", "def f(x):\n\treturn x ** 2\n", "<div class=\"a\">&nbsp;</div>",
        "SELECT * FROM t WHERE a >= 10;", "x = [i for i in range(1000) if i % 3]", "#include <vector>\r\n",
        "https://example.org/a?b=c&d=%20", "{\"a\": [1, 2.5e-3, null]}", "\\frac{a}{b}", "0x1F600", "camelCaseHTTPServer2",
        "<|im_start|>user\n<|endoftext|>", "</s>", "C:\\Users\\x", "a_b__c", "100%", "$12.50", "`code`"]


def mixed(rng):
    parts = []
    for _ in range(rng.randrange(1, 14)):
        pool = rng.choices([WORDS, SPACES, MARKS, CODE, STABLE], [8, 8, 4, 1, 2])[0]
        parts.append(rng.choice(pool))
    return "".join(parts)


def characters(rng):
    """A few neighbouring code points: mostly one script."""
    start = rng.randrange(len(STABLE) - 40)
    pool = STABLE[start:start + 40] + [" ", "\n", "'"]
    return "".join(rng.choices(pool, k=rng.randrange(1, 30)))


def run(rng):
    """One or two characters, many times."""
    pool = rng.choices(WORDS + SPACES + MARKS + STABLE[:200] + ["a", "A", "1", "ab"], k=rng.randrange(1, 3))
    return "".join(rng.choice(pool) * rng.randrange(1, 200) for _ in range(rng.randrange(1, 4)))


def controls(rng):
    pool = [chr(c) for c in range(0x20)] + ["\x7f", "\x80", "\x9f", "a", " ", "!"]
    return "".join(rng.choices(pool, k=rng.randrange(1, 20)))


def texts(count, seed=1):
    rng = random.Random(seed)
    out = ["", " ", "a", "\n"] + WORDS + SPACES + MARKS + CODE
    makers = [mixed] * 6 + [characters] * 3 + [run, controls]
    while len(out) < count:
        out.append(rng.choice(makers)(rng))
    return out[:count]
