#!/usr/bin/env python3
"""Draws what `kernelbench run --timeline FILE` kept: a lane for each compiler thread and each device, time to the right.

    bench/timeline.py trace.json [-o timeline.svg]

On a device the dark part of a bar is the share of it in which calls of candidate and reference ran.
"""

import argparse
import html
import json
import pathlib

WIDTH, LANE, LEFT = 1200, 26, 90


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("-o", "--output", default="timeline.svg")
    arguments = parser.parse_args()
    events = json.loads(pathlib.Path(arguments.trace).read_text())["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    spans = [event for event in events if event["ph"] == "X"]
    end = max((span["ts"] + span["dur"] for span in spans), default=1)
    order = {tid: row for row, tid in enumerate(sorted(names, key=lambda tid: (not names[tid].startswith("prepare"), names[tid])))}
    scale = (WIDTH - LEFT - 10) / end
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{LANE * len(order) + 40}" font-family="sans-serif" font-size="11">',
             '<rect width="100%" height="100%" fill="white"/>']
    for tid, row in order.items():
        busy = sum(span["dur"] for span in spans if span["tid"] == tid) / end
        parts.append(f'<text x="4" y="{row * LANE + 17}">{html.escape(names[tid])} {busy:.0%}</text>')
    for span in spans:
        x, y, width = LEFT + span["ts"] * scale, order[span["tid"]] * LANE + 4, max(span["dur"] * scale, 0.3)
        build = names[span["tid"]].startswith("prepare")
        label = html.escape(f'{span["name"]}: {span["dur"] / 1e3:.0f} ms')
        parts.append(f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{LANE - 8}" fill="{"#d9a441" if build else "#9cc3e6"}" '
                     f'stroke="white" stroke-width="0.2"><title>{label}</title></rect>')
        calls = min(span["args"]["calls_us"], span["dur"])
        if calls > 0:
            parts.append(f'<rect x="{x:.2f}" y="{y}" width="{calls * scale:.2f}" height="{LANE - 8}" fill="#2b6ca3"/>')
    bottom = LANE * len(order) + 16
    for tick in range(11):
        x = LEFT + tick / 10 * end * scale
        parts.append(f'<text x="{x:.0f}" y="{bottom + 12}" text-anchor="middle">{tick / 10 * end / 1e6:.3g} s</text>'
                     f'<line x1="{x:.0f}" x2="{x:.0f}" y1="0" y2="{bottom}" stroke="#ddd" stroke-width="0.5"/>')
    parts.append("</svg>")
    pathlib.Path(arguments.output).write_text("\n".join(parts))
    print(f"{len(spans)} spans, {end / 1e6:.1f} s, in {arguments.output}")


if __name__ == "__main__":
    main()
