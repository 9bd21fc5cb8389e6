"""Bar charts as SVG text, without any package."""

import html
import math

BAR, GAP, TOP, LABEL, WIDTH, RIGHT = 14, 14, 64, 170, 460, 60
COLOURS = ("#4477aa", "#ee8866", "#44aa88", "#aa4477")


def ticks(largest, most=6):
    """Marks from zero to at least `largest`, a round step apart, at most `most` + 1 of them."""
    if not largest > 0 or not math.isfinite(largest):
        return [0, 1]
    for exponent in range(math.floor(math.log10(largest / most)), 20):
        for digit in (1, 2, 5):
            step = digit * 10.0 ** exponent
            count = math.ceil(round(largest / step, 9))
            if count <= most:
                return [round(step * i, 9) for i in range(count + 1)]
    return [0, largest]


def place(value, marks, width=WIDTH):
    """How far to the right a value stands when the last mark stands at `width`."""
    return width * value / marks[-1]


def number(value):
    return f"{value:g}" if value == int(value) else f"{value:.2g}"


def bars(title, note, groups, names, line=None):
    """An SVG text. `groups` is a list of (label, values), a value for each of `names`, or None where there is none. A line
    is drawn at a value that means something."""
    values = [value for _, row in groups for value in row if value is not None]
    marks = ticks(max([*values, *([line] if line is not None else [])], default=0))
    height = TOP + sum(BAR * len(row) + GAP for _, row in groups)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LABEL + WIDTH + RIGHT}" height="{height + 30}" '
           f'font-family="sans-serif" font-size="12">',
           f'<rect width="100%" height="100%" fill="white"/><text x="10" y="20" font-size="15">{html.escape(title)}</text>',
           f'<text x="10" y="38" fill="#666">{html.escape(note)}</text>']
    x = LABEL
    for name, colour in zip(names, COLOURS):
        out.append(f'<rect x="{x}" y="46" width="10" height="10" fill="{colour}"/>'
                   f'<text x="{x + 14}" y="55">{html.escape(name)}</text>')
        x += 30 + 7 * len(name)
    for mark in marks:
        at = LABEL + place(mark, marks)
        out.append(f'<line x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{height}" stroke="#ddd"/>'
                   f'<text x="{at:.1f}" y="{height + 16}" text-anchor="middle">{number(mark)}</text>')
    y = TOP + GAP / 2
    for label, row in groups:
        out.append(f'<text x="{LABEL - 8}" y="{y + BAR * len(row) / 2 + 4:.1f}" text-anchor="end">{html.escape(label)}</text>')
        for value, colour in zip(row, COLOURS):
            if value is not None:
                length = place(value, marks)
                out.append(f'<rect x="{LABEL}" y="{y:.1f}" width="{length:.1f}" height="{BAR - 2}" fill="{colour}"/>'
                           f'<text x="{LABEL + length + 4:.1f}" y="{y + BAR - 4:.1f}">{value:.2f}</text>')
            y += BAR
        y += GAP
    if line is not None:
        at = LABEL + place(line, marks)
        out.append(f'<line x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{height}" stroke="black" stroke-dasharray="4 3"/>')
    return "\n".join(out) + "\n</svg>\n"
