"""The candidate in what a model answered, by the rules of docs/prompts.md.

Taken is the last closed block between fences that defines the entry point: class ModelNew of a .py candidate, kb_forward() of a .cpp or .cu one. A sketch counts less
than a block with a body, a fragment less than a block that stands on its own, and blocks that define what the one taken needs come before it. Reasoning is no answer.
A JSON object with the source in one of its strings, and source between prose without any fence, are found too. Nothing is executed.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

from ._blocks import Block, ends_inside_string, fenced_blocks, is_cpp, lines_of, unfenced_blocks
from ._parts import Parts, parts_of_cpp, parts_of_python

Language = Literal["py", "cpp", "cu"]
Outcome = Literal["found", "no_code", "no_entry_point", "truncated"]

_DEEPEST_JSON = 3  # {"files": [{"content": "..."}]}
_MOST_PARSED = 200_000  # characters of one answer whose parts are looked at
_LEAST_PARSED = 400  # as which a shorter block counts
_MOST_PARTS = 64  # of one file
_TAGS = ("think", "thinking", "reasoning", "scratchpad")
_CLASS = re.compile(r"^(?:class\s+ModelNew\b|ModelNew\s*=[^=])", re.M)
_FORWARD = re.compile(r"kb_forward\s{0,100}\([^)]{0,4000}\)\s{0,100}(?:\{|noexcept)")
_LEFT_OUT = re.compile(r"^[ \t]*(?:#|//)[ \t]*(?:\.\.\.|…)", re.M)
_IMPORT = re.compile(r"^(?:import|from)\s+torch\b", re.M)
_FILE_NAME = re.compile(r"[\w./-]+\.(?:py|cpp|cc|cu|cuh|h)\s*", re.ASCII)
_JSON_BEGUN = re.compile(r'\{\s*"[\w ]+"\s*:\s*', re.ASCII)


@dataclass(frozen=True)
class Extraction:
    outcome: Outcome
    source: str  # what there is of it if it is truncated or without entry point
    how: str  # fence, json or unfenced; empty if nothing was taken
    reason: str  # empty if it was found


def extract(answer: str, language: Language = "py", cut_off: bool = False) -> Extraction:
    """The candidate in an answer. `cut_off`: the answer reached its limit of tokens, so what goes on to its very end is not whole."""
    return _Extractor(language, cut_off).extract(answer)


def _defines_entry_point(text: str, native: bool) -> bool:
    return bool(_FORWARD.search(text)) if native else bool(_CLASS.search(text))


def _without_file_name(text: str) -> str:
    """Without a first line that is only the name of a file."""
    first = text.split("\n", 1)[0][:201]
    return text[len(first) + 1 :] if len(first) <= 200 and _FILE_NAME.fullmatch(first) else text


def _without_reasoning(text: str) -> str | None:
    """None if the answer ends inside it."""
    for tag in _TAGS:
        opening, closing = f"<{tag}>", f"</{tag}>"
        kept: list[str] = []
        last, at, any_left = "\n", 0, False  # the last character that is kept
        while (begin := text.find(opening, at)) >= 0:
            if begin > at:
                kept.append(text[at:begin])
                last = text[begin - 1]
            if last != "\n":
                kept.append(opening)
                last, at, any_left = ">", begin + len(opening), True
                continue
            end = text.find(closing, begin)
            if end < 0:
                return None
            at = end + len(closing)
        text = "".join(kept) + text[at:]
        # Servers that put the opening tag into the prompt send only the closing one.
        stray = -1 if any_left else text.find(closing)
        if stray >= 0:
            text = text[stray + len(closing) :]
    return text


@dataclass
class _Choice:
    source: str
    block: Block
    sketch: bool


class _Chooser:
    """Which of an answer's blocks make up the candidate."""

    def __init__(self, blocks: list[Block], native: bool, opened: bool) -> None:
        self.blocks, self.native, self.opened = blocks, native, opened
        self.entry = "kb_forward" if native else "ModelNew"
        self.texts = [_without_file_name(block.text) for block in blocks]
        self.parts = [Parts() for _ in blocks]
        self.providers: dict[str, list[int]] = {}
        budget = _MOST_PARSED if len(blocks) > 1 else 0  # one alone is taken as it is
        for i, block in enumerate(blocks):
            ours = is_cpp(block.info) == native or (native and not block.info)
            if not ours or not self.texts[i].strip() or len(self.texts[i]) > budget:
                continue
            budget -= max(len(self.texts[i]), _LEAST_PARSED)
            self.parts[i] = parts_of_cpp(self.texts[i]) if native else parts_of_python(self.texts[i])
            if self._can_provide(i):
                for name in self.parts[i].defines:
                    self.providers.setdefault(name, []).append(i)

    def choose(self) -> _Choice | None:
        best, best_rank = None, -1
        for i, block in enumerate(self.blocks):
            if (block.closed or self.opened) and _defines_entry_point(self.texts[i], self.native) and (rank := self._rank(i)) >= best_rank:
                best, best_rank = i, rank
        return None if best is None else _Choice(self._joined(self._group(best)[0]), self.blocks[best], self._is_sketch(best))

    def _can_provide(self, i: int) -> bool:
        """Prose and shell commands define nothing, fragments leave out what they define, and an example of use runs it."""
        block, parts = self.blocks[i], self.parts[i]
        last_and_open = not block.closed and i + 1 == len(self.blocks)
        is_code = not parts.broken or (self.native and is_cpp(block.info))
        twice = self.native and self.entry in parts.defines  # which Python allows
        return is_code and not last_and_open and not twice and not _LEFT_OUT.search(self.texts[i]) and self.entry not in parts.needs

    def _is_sketch(self, i: int) -> bool:
        parts = self.parts[i]
        if self.entry in parts.sketched_classes | parts.sketched_functions:
            return True
        return not self.native and bool(parts.sketched_functions & parts.uses)

    def _stands_alone(self, text: str) -> bool:
        """Whether it can be a whole file: fragments ("the rest as before") follow a full version in many answers."""
        if _LEFT_OUT.search(text):
            return False
        return "kernelbench/kernel.h" in text if self.native else bool(_IMPORT.search(text))

    def _rank(self, i: int) -> int:
        rank = 0 if self._is_sketch(i) else 4
        if self._stands_alone(self.texts[i]):
            return rank + 2
        group, complete = self._group(i)
        return rank + (1 if complete and self._stands_alone(self._joined(group)) else 0)

    def _provider(self, name: str, at: int) -> int | None:
        """The nearest block before `at` that defines the name, else the nearest after it; a sketch only if there is no other."""
        for sketch in (False, True):
            found = [i for i in self.providers.get(name, []) if i != at and (name in self.parts[i].sketched_functions | self.parts[i].sketched_classes) == sketch]
            if found:
                return max((i for i in found if i < at), default=found[0])
        return None

    def _group(self, chosen: int) -> tuple[list[int], bool]:
        """A block and those that it needs, in the order in which they make up a file, and whether no name is left that no block defines."""
        picked, asked, open_, complete = {chosen}, set[str](), [chosen], True
        while open_:
            at = open_.pop()
            for name in sorted(self.parts[at].needs):
                if name in self.parts[chosen].defines or name in asked:
                    continue
                asked.add(name)
                provider = self._provider(name, at)
                if provider is None or len(picked) == _MOST_PARTS:
                    complete = complete and self.native  # headers bring names of their own
                elif provider not in picked:
                    picked.add(provider)
                    open_.append(provider)
        return [*sorted(picked - {chosen}), chosen], complete

    def _joined(self, group: list[int]) -> str:
        """As one file. Python wants imports of __future__ before everything else."""
        if len(group) == 1:
            return self.texts[group[0]]
        future, rest = "", list[str]()
        for i in group:
            kept = ""
            for line in lines_of(self.texts[i]):
                if line.startswith("from __future__ import"):
                    future += line + "\n"
                else:
                    kept += line + "\n"
            rest.append(kept.rstrip(" \t\n") + "\n")
        return future + "\n\n".join(rest)


class _Extractor:
    def __init__(self, language: Language, cut_off: bool) -> None:
        self.language, self.native, self.cut_off = language, language != "py", cut_off
        self.entry = "kb_forward" if self.native else "ModelNew"
        self.wanted = f"a {language} file with kb_forward()" if self.native else "a Python file with a class ModelNew"

    def extract(self, answer: str) -> Extraction:
        plain = answer.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        text = _without_reasoning(plain)
        if text is None:  # never closed: either it went on to the limit, or the closing tag was forgotten
            found = None if self.cut_off else self._from_fences(fenced_blocks(plain))
            return found if found and found.outcome == "found" else Extraction("truncated", "", "", "the answer ends inside its reasoning")
        blocks = fenced_blocks(text)
        return self._from_json(text, blocks) or self._from_fences(blocks) or self._from_plain_text(text) or self._nothing(blocks, text)

    def _source_in(self, value: Any, depth: int) -> str | None:
        """A string anywhere in an object that holds a candidate, itself perhaps between fences."""
        if isinstance(value, str):
            text = value.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
            if chosen := _Chooser(fenced_blocks(text), self.native, False).choose():
                return chosen.source
            return text if _defines_entry_point(text, self.native) else None
        if depth == _DEEPEST_JSON or not isinstance(value, (dict, list)):
            return None
        found = None
        for each in value.values() if isinstance(value, dict) else value:
            found = self._source_in(each, depth + 1) or found
        return found

    def _from_json(self, text: str, blocks: list[Block]) -> Extraction | None:
        places = [text, *(block.text for block in blocks if block.closed and (not block.info or block.info.startswith("json")))]
        for place in places:
            beginning = place[:10_000].lstrip(" \t\n")[:200]
            if not beginning.startswith("{"):
                continue
            try:
                value, whole = json.loads(place), True
            except (ValueError, RecursionError):
                value, whole = None, False
            source = self._source_in(value, 0) if isinstance(value, dict) else None
            if source is not None:
                return Extraction("found", source if source.endswith("\n") else source + "\n", "json", "")
            # A line of Python that begins with a brace has no key in double quotes after it, and line ends are escaped in no other text.
            if not whole and self.entry in place and "\\n" in place and _JSON_BEGUN.match(beginning):
                return Extraction("truncated", "", "json", "the answer is a JSON object that ends before its end")
        return None

    def _from_fences(self, blocks: list[Block]) -> Extraction | None:
        cut = bool(blocks) and not blocks[-1].closed
        closed = _Chooser(blocks, self.native, False).choose()
        # A sketch that the answer's end follows in the middle of code may be what that code was to fill in.
        if closed and not (closed.sketch and cut):
            return Extraction("found", closed.source, "fence", "")
        if cut:
            return Extraction("truncated", _without_file_name(blocks[-1].text), "fence", "the answer ends inside its code: the last fence is never closed")
        opened = _Chooser(blocks, self.native, True).choose()  # closed by the next one's opening fence
        return Extraction("found", opened.source, "fence", "") if opened else None

    def _from_plain_text(self, text: str) -> Extraction | None:
        if self.entry not in text:
            return None
        found = _Chooser(unfenced_blocks(text, not self.native), self.native, True).choose()
        if not found:
            return None
        if not found.block.closed and (self.cut_off or (not self.native and ends_inside_string(found.block.text))):
            return Extraction("truncated", found.block.text, "unfenced", "the answer ends inside its code")
        return Extraction("found", found.source, "unfenced", "")

    def _nothing(self, blocks: list[Block], text: str) -> Extraction:
        other_entry = "ModelNew" if self.native else "kb_forward"
        candidates = blocks + (unfenced_blocks(text, True) + unfenced_blocks(text, False) if other_entry in text else [])
        other_kind = any(_defines_entry_point(block.text, not self.native) for block in candidates)
        longest = max((block.text for block in blocks), key=len, default="")
        if not longest and not other_kind:
            return Extraction("no_code", "", "", f"the answer holds no code; {self.wanted} was asked for")
        why = f"the code defines {other_entry}, but {self.wanted} was asked for" if other_kind else f"no block of code defines {self.entry}"
        return Extraction("no_entry_point", longest, "", why)
