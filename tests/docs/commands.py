#!/usr/bin/env python3
"""Do the documents agree with the program and with each other?

Commands exist and know their flags, links and anchors lead somewhere, no paragraph or table cell is too long, and what
needs neither PyTorch nor a GPU runs. Usage: commands.py --binary kernelbench
"""

import argparse
import functools
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARAGRAPH_WORDS, CELL_WORDS, README_LINES = 120, 40, 80
# Written by programs, or a record of what was measured or changed.
NOT_PROSE = ("CHANGELOG.md", "ARCHITECTURE.md", "bench/", "docs/reference/api.md", "tests/", "docs/design/decisions/")
# Documented commands that end quickly on any machine.
RUN = (
    "kernelbench problems show 1/36",
    "kernelbench check mine.cpp",
    "kernelbench config --json",
    "kernelbench prompt 1/36 --size small",
    "kernelbench protocols",
    "kernelbench presets",
)


def documents():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode == 0:
        names = listed.stdout.split("\n")
    else:  # a tree without git
        names = [str(p.relative_to(ROOT)) for top in ("docs", "examples") for p in (ROOT / top).rglob("*.md")]
        names += [p.name for p in ROOT.glob("*.md")]
    return sorted(name for name in names if name and (ROOT / name).is_file())


def blocks(text):
    """(first line's number, kind, lines): kind is code, table, heading or text. A list's item is a block of its own."""
    kind, lines, start, fence = None, [], 0, False
    for number, line in enumerate(text.split("\n") + [""], 1):
        if line.lstrip().startswith("```"):
            fence, now = not fence, "code"
        elif fence or (line.startswith("    ") and kind in (None, "code")):
            now = "code"
        elif not line.strip():
            now = None
        elif line.startswith("|"):
            now = "table"
        elif re.match(r"#+ ", line):
            now = "heading"
        else:
            now = "text"
        begins = now == "heading" or (now == "text" and re.match(r"\s*([-*]|\d+\.) ", line))
        if now != kind or begins:
            if lines:
                yield start, kind, lines
            kind, lines, start = now, [], number
        if now:
            lines.append(line)
    if lines:
        yield start, kind, lines


def commands(text):
    """(line's number, command) of all that is written as code and begins with the program's name."""
    for start, kind, lines in blocks(text):
        if kind == "code":
            joined = ""
            for number, line in enumerate(lines, start):
                joined += line.strip().removeprefix("$ ")
                if joined.endswith("\\"):
                    joined = joined[:-1]
                    continue
                if joined.startswith("kernelbench "):
                    yield number, joined
                joined = ""
        else:
            for match in re.finditer(r"`(kernelbench [^`]+)`", "\n".join(lines)):
                yield start, " ".join(match.group(1).split())


class Program:
    def __init__(self, binary):
        self.binary = binary

    def run(self, *words, **more):
        return subprocess.run([self.binary, *words], capture_output=True, text=True, timeout=60, **more)

    @functools.lru_cache(maxsize=None)
    def help(self, path):
        """(flags, subcommands) of a command; None if there is none of this name."""
        shown = self.run(*path, "--help-all" if path else "--help")
        if shown.returncode != 0:
            return None
        flags = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", shown.stdout)) | {"--help", "-h", "--help-all"}
        # Subcommands stand alone under a heading, two spaces in, in lower case.
        listed = re.split(r"(?m)^(?:Positionals|Options|Examples):.*$", shown.stdout)
        subs = set(re.findall(r"(?m)^  ([a-z][a-z-]+)(?:  |$)", shown.stdout if not path else self.subcommands(path)))
        return flags, subs if listed else set()

    def subcommands(self, path):
        text = self.run(*path, "--help").stdout
        return text.split("\nSubcommands:\n", 1)[1].split("\n\n")[0] if "\nSubcommands:\n" in text else ""

    def complaint(self, command):
        """What is wrong with a command as documents write it, or None."""
        command = re.split(r"\s#\s|\s(?:&&|>|;|\|)\s" if "[" not in command else r"\s#\s", command)[0]
        words = command.split()[1:]
        if words and words[0] == "help":
            words = words[1:]
        path = ()
        for word in words:
            if word not in self.help(path)[1] or (not path and not re.fullmatch(r"[a-z-]+", word)):
                break
            path += (word,)
        if not path and words and re.fullmatch(r"[a-z][a-z-]*", words[0]):
            return f"no command {words[0]}"
        known = self.help(path)
        if known is None:
            return f"no command {' '.join(path)}"
        for flag in re.findall(r"(?<![\w-])(--[a-z][\w-]*|-[a-z])(?![\w-])", command):
            if flag not in known[0]:
                return f"kernelbench {' '.join(path)} has no flag {flag}"
        return None


def slug(heading):
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")


@functools.lru_cache(maxsize=None)
def anchors(path):
    found = set()
    for _, kind, lines in blocks(path.read_text()):
        if kind == "heading":
            found.add(slug(lines[0].lstrip("#")))
    return found


def wrong_links(name, text):
    path = ROOT / name
    for start, kind, lines in blocks(text):
        if kind == "code":
            continue
        prose = re.sub(r"`[^`]*`", "", "\n".join(lines))
        for target in re.findall(r"\]\(([^)\s]+)\)", prose):
            if re.match(r"\w+:", target):
                continue
            file, _, anchor = target.partition("#")
            to = Path(os.path.normpath(path.parent / file)) if file else path
            if not to.exists():
                yield start, f"no file {target}"
            elif anchor and to.suffix == ".md" and anchor not in anchors(to):
                yield start, f"no heading {target}"


def too_long(text):
    for start, kind, lines in blocks(text):
        if kind == "text":
            words = len(" ".join(lines).split())
            if words > PARAGRAPH_WORDS:
                yield start, f"a paragraph of {words} words; at most {PARAGRAPH_WORDS}"
        elif kind == "table":
            for number, line in enumerate(lines, start):
                for cell in re.split(r"(?<!\\)\|", line):
                    if len(cell.split()) > CELL_WORDS:
                        yield number, f"a table cell of {len(cell.split())} words; at most {CELL_WORDS}"


def run_some(program, written):
    """Runs RUN in an empty home, beside the candidate of the guide to a first kernel."""
    guide = (ROOT / "docs/guide/first_kernel.md").read_text()
    with tempfile.TemporaryDirectory() as home:
        Path(home, "mine.cpp").write_text(re.search(r"```cpp\n(.*?)```", guide, re.S).group(1))
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("KERNELBENCH_", "XDG_"))}
        for command in RUN:
            if command not in written:
                yield f"tests/docs/commands.py: no document says `{command}`"
            done = program.run(*command.split()[1:], cwd=home, env=kept | {"HOME": home})
            if done.returncode != 0:
                yield f"`{command}` ended with {done.returncode}: {done.stderr.strip()[-300:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True)
    program = Program(str(Path(parser.parse_args().binary).resolve()))
    wrong, written = [], set()
    for name in documents():
        text = (ROOT / name).read_text()
        found = [(line, what) for line, what in wrong_links(name, text)]
        if name != "CHANGELOG.md" and not name.startswith("bench/results"):
            for line, command in commands(text):
                written.add(re.split(r"\s+#\s", command)[0].strip())
                complaint = program.complaint(command)
                if complaint:
                    found.append((line, f"{complaint}: `{command}`"))
        if not name.startswith(NOT_PROSE):
            found += too_long(text)
        if name == "README.md" and text.count("\n") > README_LINES:
            found.append((1, f"more than {README_LINES} lines"))
        wrong += [f"{name}:{line}: {what}" for line, what in found]
    wrong += run_some(program, written)
    if not written:
        wrong.append("no document has a command")
    print("\n".join(wrong) or f"{len(written)} commands, {len(RUN)} of them run; links and lengths hold")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
