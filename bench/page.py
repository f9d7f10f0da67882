"""One self-contained HTML page of the rows of a run: what was reached, each comparison drawn, the memory roofline."""

import html

from rows import unit_of

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --faint: #d0d7de; --ours: #0a6ebd; --theirs: #9aa4af;
  --met: #1a7f37; --missed: #b35900; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --faint: #30363d; --ours: #58a6ff;
  --theirs: #6e7681; --met: #3fb950; --missed: #f0883e; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; border-bottom: 1px solid var(--faint); }
h3 { font-size: 1rem; margin: 1.2rem 0 .2rem; } p { margin: .2rem 0; } small { opacity: .8; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .25rem .6rem .25rem 0;
  border-bottom: 1px solid var(--faint); vertical-align: top; } td.value { white-space: nowrap; }
.met { color: var(--met); } .missed { color: var(--missed); font-weight: 600; }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--ink); font: 13px system-ui, sans-serif; }
.ours { fill: var(--ours); } .theirs { fill: var(--theirs); } .range { stroke: var(--ink); stroke-width: 1.5; }
.roof { stroke: var(--missed); stroke-width: 1.5; stroke-dasharray: 5 4; }
"""

WIDTH, LABEL, VALUE, LINE = 900, 250, 210, 24
SPACE = WIDTH - LABEL - VALUE  # for the bars


def drawing(lines, parts, label):
    return (f'<svg viewBox="0 0 {WIDTH} {lines * LINE + 4}" role="img" aria-label="{html.escape(label)}">'
            + "".join(parts) + "</svg>")


def bar(line, label, length, kind, value):
    y = line * LINE
    return (f'<text x="{LABEL - 8}" y="{y + 16}" text-anchor="end">{html.escape(label)}</text>'
            f'<rect class="{kind}" x="{LABEL}" y="{y + 4}" width="{max(length, 1):.1f}" height="16" rx="2"/>'
            f'<text x="{LABEL + SPACE + 10}" y="{y + 16}">{html.escape(value)}</text>')


def duration(seconds):
    unit, factor = unit_of(seconds)
    return f"{seconds * factor:.3g} {unit}"


def sides_chart(row):
    """Bars of the medians with a line from the least to the greatest; ours first."""
    longest = max(seconds["max"] for seconds in row.sides.values())
    (_, ours), *_ = row.sides.items()
    parts = []
    for line, (side, seconds) in enumerate(row.sides.items()):
        value = duration(seconds["median"])
        if line:
            value += f"  ({seconds['median'] / ours['median']:.3g}x of ours)"
        parts.append(bar(line, side, seconds["median"] / longest * SPACE, "theirs" if line else "ours", value))
        y = line * LINE + 12
        ends = [LABEL + seconds[end] / longest * SPACE for end in ("min", "max")]
        parts.append(f'<line class="range" x1="{ends[0]:.1f}" y1="{y}" x2="{ends[1]:.1f}" y2="{y}"/>')
    return drawing(len(row.sides), parts, row.name)


def roofline_chart(rows):
    """Each kernel's share of what a copy of the same bytes reaches; the dashed line is the copy."""
    most = max(1.0, *(row.share for row in rows))
    parts = [bar(line, row.name.split(", ")[0], row.share / most * SPACE, "ours", f"{row.share:.0%} of a copy")
             for line, row in enumerate(rows)]
    roof = LABEL + SPACE / most
    parts.append(f'<line class="roof" x1="{roof:.1f}" y1="0" x2="{roof:.1f}" y2="{len(rows) * LINE}"/>')
    return drawing(len(rows), parts, "share of the memory roofline")


def table(rows):
    lines = ["<table><tr><th>what</th><th>reach</th><th>measured</th><th></th></tr>"]
    for row in rows:
        if row.met is None:
            lines.append(f'<tr><td>{html.escape(row.name)}</td><td colspan="2">{html.escape(row.detail)}</td><td>skipped</td></tr>')
            continue
        verdict = '<span class="met">reached</span>' if row.met else '<span class="missed">missed</span>'
        lines.append(f"<tr><td>{html.escape(row.name)}</td><td>{html.escape(row.reach)}</td>"
                     f'<td class="value">{html.escape(row.value)}</td><td>{verdict}</td></tr>')
    return "\n".join([*lines, "</table>"])


def write(path, rows, host):
    """`rows` as rows.py keeps them; `host` says where they were measured."""
    benches = dict.fromkeys(row.bench for row in rows)
    parts = ["<!doctype html>", '<html lang="en"><head><meta charset="utf-8">',
             '<meta name="viewport" content="width=device-width, initial-scale=1">',
             f"<title>libreyolo-kernels: measured</title><style>{STYLE}</style></head><body>",
             "<h1>libreyolo-kernels beside what a user would pick instead</h1>",
             f"<p>{html.escape(host)}. Repeat it with <code>script/bench</code>. Times are medians; the thin line goes from the "
             "least to the greatest. Shorter bars are faster.</p>",
             "<h2>All rows</h2>", table(rows)]
    for bench in benches:
        drawn = [row for row in rows if row.bench == bench and row.sides]
        if drawn:
            parts.append(f"<h2>{html.escape(bench.replace('_', ' '))}</h2>")
        for row in drawn:
            parts += [f"<h3>{html.escape(row.name)}: {html.escape(row.value)} <small>(reach: {html.escape(row.reach)})</small></h3>",
                      sides_chart(row)]
    roofed = [row for row in rows if row.share is not None]
    if roofed:
        parts += ["<h2>Memory roofline</h2>",
                  "<p>What reads and writes each byte once can be no faster than a copy of as many bytes.</p>",
                  roofline_chart(roofed)]
    path.write_text("\n".join([*parts, "</body></html>", ""]), encoding="utf-8")
