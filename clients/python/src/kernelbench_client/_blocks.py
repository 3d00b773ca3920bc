"""Blocks of code in what a model answered: between fences, or between prose without any."""

import re
from dataclasses import dataclass

_MOST_FENCES = 10_000  # of one answer; one with more holds no code
_DEEPEST_MARKDOWN = 3  # a block of Markdown in a block of Markdown
_MARKDOWN = {"markdown", "md", "mdown", "mkd", "mdx", "gfm"}
_CPP = {"c", "cc", "cpp", "c++", "cxx", "cuda", "cu", "cuda-cpp", "cuda-c++", "hip"}
_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})(.*)")
_QUOTE = re.compile(r"""#|\"\"\"|'''|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?""")
_CLOSING = {quote: re.compile(rf"(?:\\.|[^\\])*?{quote}") for quote in ('"""', "'''")}


@dataclass
class Block:
    text: str
    info: str = ""  # what stands after the opening fence
    closed: bool = True


class _Strings:
    """Follows Python's strings and comments, no more than is needed to know whether a triple-quoted string is open."""

    def __init__(self) -> None:
        self.open = ""

    def feed(self, line: str) -> None:
        if not self.open and '"' not in line and "'" not in line:
            return
        at = 0
        while at < len(line):
            if self.open:
                end = _CLOSING[self.open].match(line, at)
                if not end:
                    return
                self.open, at = "", end.end()
                continue
            found = _QUOTE.search(line, at)
            if not found or found[0] == "#":
                return
            if found[0] in _CLOSING:
                self.open = found[0]
            at = found.end()


@dataclass
class _Fence:
    mark: str
    length: int
    indent: int
    info: str


def _fence(line: str) -> _Fence | None:
    found = _FENCE.fullmatch(line)
    if not found:
        return None
    info = found[3].strip(" \t")
    if found[2][0] == "`" and "`" in info:  # `code` within a line
        return None
    return _Fence(found[2][0], len(found[2]), len(found[1]), info.lower())


def lines_of(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def is_cpp(info: str) -> bool:
    return re.split(r"[ :{,]", info, maxsplit=1)[0] in _CPP


def _is_markdown(info: str) -> bool:
    return re.split(r"[ :{,]", info, maxsplit=1)[0] in _MARKDOWN


def ends_inside_string(text: str) -> bool:
    strings = _Strings()
    for line in lines_of(text):
        strings.feed(line)
    return bool(strings.open)


def _holds_fences(text: str) -> bool:
    if "```" not in text and "~~~" not in text:
        return False
    strings = _Strings()
    for line in lines_of(text):
        if not strings.open and _fence(line):
            return True
        strings.feed(line)
    return False


class _Reader:
    def __init__(self, text: str) -> None:
        self.lines = lines_of(text)
        self.fences = {at: fence for at, line in enumerate(self.lines) if ("```" in line or "~~~" in line) and (fence := _fence(line))}
        self.blocks: list[Block] = []

    def read(self) -> list[Block]:
        if len(self.fences) > _MOST_FENCES:
            return []
        goes_on = 0
        for at, fence in self.fences.items():
            if at >= goes_on:
                goes_on = self._block(fence, at + 1)
        return self.blocks

    def _block(self, fence: _Fence, begin: int) -> int:
        """Adds the block whose first line is `begin`; where to go on."""
        strings = _Strings()
        python = not is_cpp(fence.info) and not _is_markdown(fence.info)
        inside_string = None  # the first fence that a string kept from closing the block
        for at in range(begin, len(self.lines)):
            found = self.fences.get(at)
            if found and found.mark == fence.mark and found.length >= fence.length:
                closes = not found.info or found.info.count(" ") > 2  # a sentence may follow the fence
                if closes and not strings.open:
                    self._add(fence, begin, at, True)
                    return at + 1
                if not strings.open:
                    self._add(fence, begin, at, False)
                    return at
                if closes and inside_string is None:
                    inside_string = at
            if python:
                strings.feed(self.lines[at])
        # No fence outside of strings: rather a quote that was misread than a string with half of the answer in it.
        if inside_string is not None:
            self._add(fence, begin, inside_string, True)
            return inside_string + 1
        block = self._add(fence, begin, len(self.lines), False)
        whole = block.text.rstrip(" \t\n")
        if whole.endswith(fence.mark * fence.length):  # "return y```"
            block.text, block.closed = whole[: -fence.length] + "\n", True
        return len(self.lines)

    def _add(self, fence: _Fence, begin: int, end: int, closed: bool) -> Block:
        lines = self.lines[begin:end]
        if fence.indent:
            lines = [line[min(len(line) - len(line.lstrip(" \t")), fence.indent) :] for line in lines]
        self.blocks.append(Block("".join(line + "\n" for line in lines), fence.info, closed))
        return self.blocks[-1]


def fenced_blocks(text: str) -> list[Block]:
    blocks = _Reader(text).read()
    for _ in range(_DEEPEST_MARKDOWN):
        inside: list[Block] = []
        for block in blocks:
            is_text = _is_markdown(block.info) or (not is_cpp(block.info) and _holds_fences(block.text))
            inside += (_Reader(block.text).read() if is_text else []) or [block]
        blocks = inside
    return blocks


_PYTHON_BEGINS = ("import ", "def ", "class ", "@", '"""', "'''", 'r"""', ")", "]", "}", "else:", "try:", "except", "finally:", "async def ")
_CPP_BEGINS = ("#include", "#define", "#pragma", "#if", "#else", "#endif", "#undef", "//", "/*", " *", "}", "{", "namespace", "template", "static ", "extern ", "constexpr ", "using ",
               "typedef ", "struct ", "inline ", "__global__", "__device__", "KB_EXPORT", "public:", "private:")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def _looks_like_python(line: str) -> bool:
    """Whether a line that is not indented is a statement."""
    if line.startswith("#"):
        return not line.startswith("##")  # a heading of Markdown
    if line.startswith(_PYTHON_BEGINS):
        return not line.startswith("import ") or not line.endswith(".") or "." in line[:-1]
    if line.startswith("from "):
        return " import " in line
    if line.startswith(("if ", "for ", "while ", "with ")):
        return line.endswith(":")
    name = _NAME.match(line)
    rest = line[name.end() :] if name else ""
    if not rest:
        return False
    if rest[0] in "([":
        return ")" in line or "]" in line or len(rest) == 1
    if rest[0] == ".":
        return bool(re.match(r"\.[A-Za-z_]", rest))
    sign = rest.strip(" \t")
    return sign.startswith("=") or (sign.startswith(":") and "=" in sign)


def _looks_like_cpp(line: str) -> bool:
    return line.startswith(_CPP_BEGINS) or line.endswith((";", "{", "}")) or (line.endswith(",") and "(" in line)


def unfenced_blocks(text: str, python: bool) -> list[Block]:
    blocks: list[Block] = []
    strings, current = _Strings(), [""]
    current.clear()

    def finish(closed: bool) -> None:
        nonlocal strings
        code = "\n".join(current).rstrip(" \t\n")
        if code:
            blocks.append(Block(code + "\n", "", closed))
        current.clear()
        strings = _Strings()

    for line in lines_of(text):
        indented = not line or line[0] in " \t"
        goes_on = bool(current) and (bool(strings.open) or indented)
        if goes_on or (not indented and (_looks_like_python(line) if python else _looks_like_cpp(line))):
            current.append(line)
            if python:
                strings.feed(line)
        elif current:
            finish(True)
    finish(False)
    return blocks
