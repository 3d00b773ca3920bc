"""A store in which everything that others wrote is hostile: hostile.py STORE [--binary B]."""

import argparse
import pathlib

import store

HIT = "window.kbHit=1"
ZOO = [
    f"<script>{HIT}</script>", f'"><img src=x onerror="{HIT}">', f"javascript:{HIT}", f"</script><script>{HIT}</script>", "<!--<script>", "]]>-->",
    f"' onmouseover='{HIT}' x='", f"{{{{constructor.constructor('{HIT}')()}}}}", "${window.kbHit=1}", "__proto__", "constructor", "toString",
    "hasOwnProperty", "\u202etxt.exe\u2066 \u200b\u2028", "\x1b[31mred\x1b[0m\x1b]8;;http://example.invalid/\x07link\x1b]8;;\x07", "a\x00b\x08\x7f\x9b",
    "../../../../etc/passwd", "%2e%2e%2f%00", "#/machine?run=%00&x=1", "?", "a/b\\c", "\U0001f469\u200d\U0001f680" * 60, "W" * 20_000, " ", "~", ".",
    "=cmd()|' /C calc'!A0", "<style>*{display:none}</style>", "<base href=//example.invalid>", "<svg onload=window.kbHit=1>", "\ufeff\u00ad\u3164",
    "<a href=javascript:window.kbHit=1>x</a>", "&lt;b&gt;&#0;", "NaN", "-0", "null",
]  # fmt: skip
HUGE_LINE = 10_000_000
MANY_LINES = 200_000


def numbers(document):
    """A figure that no clock gives, in place of each."""
    document.update(candidate_us=5e-324, baseline_us=1.7e308, speedup=1.7e308, speedup_interval=[1e-308, 1.7e308], confidence=-1e300, rounds=10**15)
    document["samples"] = None


def everywhere(text):
    """Puts the text wherever the candidate, a compiler or a model may have put it."""

    def change(document):
        document["reason"] = text
        document["notes"] = [{"code": text, "text": text, "values": {text: text}}, {"code": "static", "text": f"static: {text}", "values": {}}]
        document["evidence"] = {"compiler_output": text * 3, "output": text, "traceback": text, "signal": text, "exit_code": 1,
                                "static_findings": [{"rule": text, "severity": "warning", "file": text, "line": 2**53, "column": -1, "excerpt": text,
                                                     "reason": text, "language": text, "where": text}]}  # fmt: skip
        document["headline"] = text
        document["isolation_info"] = [text]
        document["errors"] = {text: "inf"}
        document["protocol_changed"] = [text]
        document["protocol_keys"][text] = text
        document["device_info"] = {**document["device_info"], "compiler": text, text: text}
        if document["mismatch"]:
            document["mismatch"].update(where=text, expected=text, got=text, dtype=text, distribution=text, histogram=[[text, 1], []])
        if document["authorship"]:
            document["authorship"].update(by_object=[{"object": text, "share": 7}], kernels=[
                {"name": text, "origin": text, "share": -1, "calls": 1e300, "us": 1e300, "grid": [1, 1, 1], "block": [1, 1, 1], "registers": 255,
                 "static_shared": 0, "dynamic_shared": 0, "local": 0}], kernels_span_us=1.0)  # fmt: skip

    return change


def fill(maker):
    wrong = {"verdict": "incorrect", "reason": ""}
    built = {"verdict": "build_failed", "reason": ""}
    for place, text in enumerate(ZOO):
        model = (text, 0.8, 1.4, 0.9, "oneshot", 0.1)
        for sample, found in enumerate([None, wrong, built]):
            problem = maker.problems[place] if place % 2 else f"/problems/{text[:200]}.py"
            maker.entry(model, problem, sample, 0, "quick", "standard", text, path=text, text=f"{text}\n# {text}\n", found=found, change=everywhere(text))
    plain = store.MODELS[0]
    timed = {"verdict": "correct", "reason": "", "class": "custom", "custom": 1.0, "speedup": 2.0, "interval": [1.0, 3.0], "baseline_us": 1.0,
             "candidate_us": 0.5, "fraction": 0.2}  # fmt: skip
    maker.entry(plain, "1/1", 0, 0, "quick", "standard", "plain", found=timed, change=numbers)
    maker.entry(plain, "1/3", 0, 0, "quick", "standard", "plain", found=timed, text="x = '" + "<b>" * (HUGE_LINE // 3) + "'\n")
    maker.entry(plain, "1/5", 0, 0, "quick", "standard", "plain", found=timed, text="a = [\n" * MANY_LINES)
    loud = "\x1b[1m" + "error: <script>" * 100_000
    maker.entry(plain, "1/7", 0, 0, "quick", "standard", "plain", found=built, change=lambda document: document["evidence"].update(compiler_output=loud))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=pathlib.Path)
    parser.add_argument("--binary", required=True)
    arguments = parser.parse_args()
    database = store.new_store(arguments.store, arguments.binary)
    with database:
        fill(store.Maker(database, 1))
    database.close()
