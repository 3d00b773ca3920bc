"""What a block of code defines, and which names it needs from elsewhere. The code is parsed, never executed."""

import ast
import builtins
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_BUILTINS = set(dir(builtins)) | {"__file__"}
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_TOP_LEVEL = re.compile(r"\n(?=(?!else\b|elif\b|except\b|finally\b)[A-Za-z_@\"'])")
_DEFINED = re.compile(r"^(?:async )?(?:def|class)\s+(\w+)", re.M)
_USED = re.compile(r"(?<![.\w])[A-Za-z_]\w*")
_HEADER = "<kernelbench/kernel.h>"


@dataclass
class Parts:
    defines: set[str] = field(default_factory=set)  # at the top level
    sketched_functions: set[str] = field(default_factory=set)  # of them: those whose bodies are left out
    sketched_classes: set[str] = field(default_factory=set)
    uses: set[str] = field(default_factory=set)
    needs: set[str] = field(default_factory=set)  # of the names that it uses: those that it binds nowhere
    broken: bool = False  # does not follow the grammar, as prose and shell commands do not


# ---- Python ----


def parts_of_python(text: str) -> Parts:
    """Of a text that is broken somewhere: of its statements that are not, and of names in the others."""
    parts, bound = Parts(), set[str]()
    tree = _parsed(text)
    if tree is not None:
        _read(tree, parts, bound)
    else:
        parts.broken = True
        for chunk in _TOP_LEVEL.split(text):
            if (tree := _parsed_without_end(chunk)) is not None:
                _read(tree, parts, bound)
            else:
                defined = set(_DEFINED.findall(chunk))
                parts.defines |= defined
                bound |= defined
                parts.uses |= set(_USED.findall(chunk)) - set(keyword.kwlist)
    parts.needs = {name for name in parts.uses - bound - _BUILTINS if not name.startswith("__") and not name.endswith(("Error", "Exception", "Warning"))}
    return parts


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _parsed_without_end(text: str) -> ast.Module | None:
    """Of what was cut off in the middle of a line or two: what is before."""
    lines = text.rstrip().split("\n")
    for last in range(len(lines), max(0, len(lines) - 3), -1):
        if (tree := _parsed(_with_bodies("\n".join(lines[:last])))) is not None:
            return tree
    return None


def _with_bodies(text: str) -> str:
    """A function whose body was left out altogether is a sketch, too."""
    lines = text.split("\n")
    below = 0  # indentation of the line that follows, blank ones left aside
    for at in range(len(lines) - 1, -1, -1):
        line = lines[at].rstrip()
        if not line:
            continue
        indent = len(line) - len(line.lstrip())
        if below <= indent and line.endswith(":") and line.lstrip().startswith(("def ", "class ")):
            lines[at] = line + " ..."
        below = indent
    return "\n".join(lines)


def _read(tree: ast.Module, parts: Parts, bound: set[str]) -> None:
    nodes: list[tuple[ast.AST, bool]] = [(tree, False)]  # and whether it is inside a function, a class or a comprehension
    while nodes:
        node, inner = nodes.pop()
        names, used = _names(node)
        bound |= names
        parts.uses |= used
        if not inner:
            parts.defines |= names
            _note_sketch(node, parts)
        inside = inner or isinstance(node, _SCOPES)
        nodes += [(child, inside) for child in reversed(list(ast.iter_child_nodes(node)))]


def _names(node: ast.AST) -> tuple[set[str], set[str]]:
    """Names that the node itself binds, and those that it uses."""
    if isinstance(node, ast.Name):
        return ({node.id}, set()) if isinstance(node.ctx, ast.Store) else (set(), {node.id})
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}, set()
    if isinstance(node, ast.arg):
        return {node.arg}, set()
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        whole = isinstance(node, ast.Import)
        return {alias.asname or (alias.name.split(".")[0] if whole else alias.name) for alias in node.names}, set()
    if isinstance(node, ast.ExceptHandler):
        return {node.name} if node.name else set(), set()
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return set(), set(node.names)
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return set(), {node.target.id}
    if isinstance(node, (ast.MatchAs, ast.MatchStar)):
        return {node.name} if node.name else set(), set()
    return set(), set()


def _says_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.Pass, ast.Raise)):
        return True
    value = statement.value if isinstance(statement, (ast.Expr, ast.Return)) else None
    if not isinstance(value, ast.Constant):
        return False
    return value.value is ... or (isinstance(statement, ast.Expr) and isinstance(value.value, str))


def _only_fails(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A helper that raises an error of its own does its work."""
    return any(isinstance(statement, ast.Raise) and "NotImplementedError" not in ast.dump(statement) for statement in function.body)


def _is_sketch_of_class(definition: ast.ClassDef) -> bool:
    sketches = []
    for statement in definition.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            sketch = all(map(_says_nothing, statement.body))
            if statement.name == "forward":
                return sketch
        else:
            sketch = _says_nothing(statement)
        sketches.append(sketch)
    return all(sketches)


def _note_sketch(node: ast.AST, parts: Parts) -> None:
    if isinstance(node, ast.ClassDef):
        is_sketch, sketches = _is_sketch_of_class(node), parts.sketched_classes
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        is_sketch, sketches = all(map(_says_nothing, node.body)) and not _only_fails(node), parts.sketched_functions
    else:
        return
    (sketches.add if is_sketch else sketches.discard)(node.name)  # the last definition counts


# ---- C++ and CUDA, token by token: there is no parser of them in the standard library ----

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|R"(?P<raw>\w*)\(.*?(?:\)(?P=raw)"|\Z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?"""
    r"""|\#[ \t]*include[ \t]*(?P<include>[<"][^>"\n]+[>"])|\#[ \t]*define[ \t]+(?P<define>\w+)|\#[ \t]*\w+"""
    r"""|(?P<name>[A-Za-z_]\w*)|\d[\w.']*|::|->|<<<|>>>|[^\s]""",
    re.S | re.ASCII,
)
_NO_TYPES = {"return", "throw", "new", "delete", "case", "goto", "else", "sizeof", "typename", "operator", "not", "and", "or", "co_return", "using"}
_TYPE = re.compile(r"(?:float|double|int|char|void|bool|auto|long|short|unsigned|\w+_t|half|__half|kb_\w+)", re.ASCII)
_NAMED = {"struct", "class", "union", "enum", "namespace"}
_OPENS, _CLOSES = "({", ")}"


def _tokens(text: str, parts: Parts, bound: set[str]) -> Iterator[str]:
    for found in _TOKEN.finditer(text):
        if found["include"]:
            parts.defines.add("<" + found["include"][1:-1] + ">")
        elif found["define"]:
            parts.defines.add(found["define"])
        elif not found[0].startswith(("//", "/*", "#")):
            yield found[0]
    bound |= parts.defines


def _ends(tokens: list[str]) -> dict[int, int]:
    """Where what is opened at a token is closed."""
    ends, opened = dict[int, int](), list[int]()
    for at, token in enumerate(tokens):
        if token in _OPENS:
            opened.append(at)
        elif token in _CLOSES and opened:
            ends[opened.pop()] = at
    return ends


def _body_of(tokens: list[str], ends: dict[int, int], at: int) -> tuple[int, int] | None:
    """Of the function whose name is at `at`: where its body begins and ends."""
    begin = ends.get(at + 1, len(tokens)) + 1
    while begin < len(tokens) and tokens[begin] in ("const", "noexcept", "override", "final"):
        begin += 1
    return (begin, ends[begin]) if begin < len(tokens) and tokens[begin] == "{" and begin in ends else None


def _is_bound(tokens: list[str], at: int) -> bool:
    """Whether the name is one that a declaration gives to a variable, a parameter or a type."""
    before = tokens[at - 1] if at else ";"
    after = tokens[at + 1] if at + 1 < len(tokens) else ";"
    if before in _NAMED:
        return after in ("{", ":", "final")
    if before == "using":
        return after == "="
    if after not in ("=", ";", ",", ")", "[", "{", ":", "("):
        return False
    if before in ("*", "&", ">"):
        pointed = tokens[at - 2] if at > 1 else ""
        return after != "(" and (before == ">" or bool(_TYPE.fullmatch(pointed)) or (at > 2 and tokens[at - 3] in (";", "{", "}", "const")))
    return bool(re.match(r"[A-Za-z_]", before)) and before not in _NO_TYPES


def parts_of_cpp(text: str) -> Parts:
    parts, bound = Parts(), set[str]()
    tokens = list(_tokens(text, parts, bound))
    ends = _ends(tokens)
    parts.broken = 2 * len(ends) != sum(token in _OPENS or token in _CLOSES for token in tokens)
    depth, transparent = 0, set[int]()  # braces of namespaces and extern "C"
    for at, token in enumerate(tokens):
        if token == "{" and depth == 0 and ("namespace" in tokens[max(0, at - 2) : at] or tokens[max(0, at - 2) : at] == ["extern", '"C"']):
            transparent.add(ends.get(at, -1))
        elif token in _OPENS:
            depth += 1
        elif token in _CLOSES:
            depth -= at not in transparent
        elif re.match(r"[A-Za-z_]", token):
            parts.uses.add(token)
            body = _body_of(tokens, ends, at) if depth == 0 and at + 1 < len(tokens) and tokens[at + 1] == "(" else None
            prototype = depth == 0 and at + 1 < len(tokens) and tokens[at + 1] == "(" and not body
            if body or (not prototype and _is_bound(tokens, at)):
                bound.add(token)
                if depth == 0:
                    parts.defines.add(token)
            if body and _is_sketch_of_body(tokens[body[0] + 1 : body[1]]):
                parts.sketched_functions.add(token)
    parts.uses.add(_HEADER)
    parts.needs = parts.uses - bound
    return parts


def _is_sketch_of_body(body: list[str]) -> bool:
    """It only returns a constant, or throws."""
    statements, current = [], list[str]()
    for token in body:
        if token == ";":
            statements.append(current)
            current = []
        else:
            current.append(token)
    statements.append(current)
    return all(not one or one[0] == "throw" or (one[0] == "return" and len(one) == 2) for one in statements)
