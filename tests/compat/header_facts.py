"""What our Metal headers promise, as C++ that compiles only if Apple's headers agree.

For every enumerator a static_assert on its value, for every method a cast of its address to our signature.
"""
import pathlib
import re

# Ours alone: documented in docs/metal-api.md.
EXTENSIONS = {("Device", "newBuffer", "NS::detail::HandlerFunction<void(void*, NS::UInteger)>")}

ENUM = re.compile(r"^enum (?:\w+ )?: [\w:]+ \{(.*?)^\};", re.MULTILINE | re.DOTALL)
ENUMERATOR = re.compile(r"^  (\w+) = ([^,]+),", re.MULTILINE)
CLASS = re.compile(r"^class MLXN_METAL_API (\w+)\b[^;{]*\{(.*?)^\};", re.MULTILINE | re.DOTALL)
METHOD = re.compile(r"^(static )?(.+?[ *&])(\w+)\((.*)\)( const)?$")


def methods(body: str):
    """(static, result, name, parameters, const) of each public method declared in a class body."""
    public = re.split(r"^ private:", body, flags=re.MULTILINE)[0]
    public = re.sub(r"//.*|\[\[.*?\]\]|^ public:|^#.*", "", public, flags=re.MULTILINE)
    public = re.sub(r"template <[^>]*>\s*[^;{]*\{.*?\n  \}", "", public, flags=re.DOTALL)
    for statement in public.split(";"):
        match = METHOD.match(" ".join(statement.split()))
        if match:
            yield tuple(part or "" for part in match.groups())


def check_class(name: str, body: str) -> list[str]:
    lines = []
    for static, result, method, parameters, const in methods(body):
        if any(name == c and method == m and part in parameters for c, m, part in EXTENSIONS):
            continue
        pointer = "*" if static else f"{name}::*"
        lines.append(f"  (void)static_cast<{result.strip()} ({pointer})({parameters}){const}>"
                     f"(&{name}::{method});")
    return lines


def facts(include: pathlib.Path) -> tuple[str, int]:
    """The C++ text and the number of facts in it."""
    out, count = ["#include <Metal/Metal.hpp>"], 0
    for folder, space in (("Foundation", "NS"), ("Metal", "MTL")):
        for header in sorted((include / folder).glob("*.hpp")):
            text = header.read_text()
            values = [pair for block in ENUM.findall(text) for pair in ENUMERATOR.findall(block)]
            lines = [f"static_assert({space}::{name} == ({value}));" for name, value in values]
            out.append(f"namespace {space} {{  // {header.name}")
            out += lines
            count += len(lines)
            for name, body in CLASS.findall(text):
                checks = check_class(name, body)
                out += [f"inline void check_{name}() {{"] + checks + ["}"]
                count += len(checks)
            out.append("}")
    return "\n".join(out) + "\n", count
