"""A candidate out of what Inductor wrote and the problem's own text: Inductor's kernels and its `call`, and the problem's class with a
forward that calls it. Both texts are taken apart into what they define, and the candidate has what it needs of that, without comments.

Inductor keeps each Triton kernel in a string, under decorators that choose a configuration at the first launch. Here it is a function, and
its launch says grid and configuration, as they were chosen where the text was captured (inductor_capture.py).
"""

import ast
import builtins
import dataclasses
import symtable

ENTRY, NEW = "call", "ModelNew"
_MAKER = "async_compile"


class NoPair(Exception):
    """Why there is no candidate. The text says it in words."""


@dataclasses.dataclass
class Launch:
    """One launch of a Triton kernel, in the order of the program."""
    kernel: str
    arguments: int  # as many does the kernel itself take of those that Inductor passes
    grid: tuple
    settings: dict  # by name: constants of the kernel, num_warps and other options of Triton


@dataclasses.dataclass
class _Item:
    """One statement of a module."""
    node: ast.stmt
    text: str = ""  # as it stands, where a tree would show a long string as one line

    def written(self):
        return self.text or ast.unparse(ast.fix_missing_locations(self.node))

    def names(self):
        """What it defines."""
        return {bound for part in _here(self.node) for bound in _bound(part)}

    def needs(self):
        """What it takes from its module."""
        return set(_needs(symtable.symtable(self.written(), "text", "exec")))


def _here(node):
    """What runs in the scope of `node` itself: the bodies of functions and classes do not."""
    yield node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from _here(child)


def _needs(table):
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (table.get_type() == "module" or symbol.is_global()):
            yield symbol.get_name()
    for inner in table.get_children():
        yield from _needs(inner)


def _bound(node):
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    return [node.id] if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else []


def _items(tree):
    """Statements one by one, and of an import each name."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (_Item(ast.Import([alias])) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            yield from (_Item(ast.ImportFrom(node.module, [alias], node.level)) for alias in node.names)
        else:
            yield _Item(node)


def _call_of(node, owner):
    """The method's name and its call where the statement's value is `owner.method(...)`."""
    value = getattr(node, "value", None)
    function = getattr(value, "func", None)
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == owner:
        return function.attr, value
    return None, None


class _Renamed(ast.NodeTransformer):
    def __init__(self, names):
        self.names = names

    def visit_Name(self, node):
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_FunctionDef(self, node):
        node.name = self.names.get(node.name, node.name)
        return self.generic_visit(node)


# -- Inductor's text -------------------------------------------------------------------------------------------------


def kernels_of(original):
    """The names of the Triton kernels in it."""
    return [node.targets[0].id for node in ast.parse(original).body if _call_of(node, _MAKER)[0] == "triton"]


def _kernel(text, name):
    """A kernel's own module: its imports, and the function without Inductor's decorators. Functions that help it have a name that no other
    kernel's have."""
    tree = ast.parse(text)
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef)]
    renamed = _Renamed({each.name: f"{name}_{each.name.lstrip('_')}" for each in functions if each.name != name})
    for each in functions:
        each.decorator_list = [decorator for decorator in each.decorator_list if ast.unparse(decorator) == "triton.jit"]
    yield from _items(renamed.visit(tree))


class _Launches(ast.NodeTransformer):
    """`kernel.run(…, stream=stream0)` becomes `kernel[grid](…, XBLOCK=…, num_warps=…)`."""

    def __init__(self, kernels, launches):
        self.kernels, self.launches, self.used = kernels, launches, 0

    def visit_Assign(self, node):
        """Triton launches into the current stream by itself."""
        return None if ast.unparse(node.value).startswith("get_raw_stream(") else node

    def visit_Expr(self, node):
        function = getattr(node.value, "func", None)
        runs = isinstance(function, ast.Attribute) and function.attr == "run" and isinstance(function.value, ast.Name)
        if not runs or function.value.id not in self.kernels:
            return node
        launch = self.launches[self.used] if self.used < len(self.launches) else None
        if launch is None or launch.kernel != function.value.id:
            raise NoPair("its kernels were not launched one after the other as they are written")
        self.used += 1
        grid = ast.Tuple([ast.Constant(extent) for extent in launch.grid], ast.Load())
        settings = [ast.keyword(name, ast.Constant(value)) for name, value in launch.settings.items()]
        return ast.Expr(ast.Call(ast.Subscript(function.value, grid, ast.Load()), node.value.args[:launch.arguments], settings))


def _entry(function, kernels, launches):
    change = _Launches(kernels, launches)
    function = change.visit(function)
    if change.used != len(launches):
        raise NoPair("its kernels were not launched one after the other as they are written")
    return function


def _inductor_items(original, launches):
    tree = ast.parse(original)
    kernels = set(kernels_of(original))
    for item in _items(tree):
        method, made = _call_of(item.node, _MAKER)
        if method == "triton":
            yield from _kernel(made.args[1].value, item.node.targets[0].id)
        elif isinstance(item.node, ast.FunctionDef) and item.node.name == ENTRY:
            yield _Item(_entry(item.node, kernels, launches))
        elif method and isinstance(item.node, ast.Assign):  # a kernel of the host
            yield _Item(item.node, ast.get_source_segment(original, item.node))
        elif not isinstance(item.node, ast.Delete):
            yield item


def parameters_of(original):
    """What `call` names the tensors that it is given, in order."""
    for node in ast.parse(original).body:
        if isinstance(node, ast.FunctionDef) and node.name == ENTRY:
            for each in node.body:
                if isinstance(each, ast.Assign) and isinstance(each.value, ast.Name) and each.value.id == node.args.args[0].arg:
                    return [name.id for name in each.targets[0].elts]
            return []
    raise NoPair(f"Inductor wrote no function {ENTRY}")


# -- the problem's text ----------------------------------------------------------------------------------------------


def _new_class(node, body):
    """The class with another body of its forward, and without methods that nothing uses then."""
    methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
    if "forward" not in methods:
        raise NoPair(f"its class {node.name} does not define forward itself")
    methods["forward"].body = ast.parse(body).body
    kept = {"__init__", "forward"}
    reached = set()
    while reached != kept:
        reached = kept
        said = {part.attr for name in kept if name in methods for part in ast.walk(methods[name]) if isinstance(part, ast.Attribute)}
        kept = kept | said & methods.keys()
    node.body = [each for each in node.body if not isinstance(each, ast.FunctionDef) or each.name in kept]
    node.name = NEW
    return node


def _problem_items(source, model, body):
    found = False
    for item in _items(ast.parse(source)):
        if isinstance(item.node, ast.ClassDef) and item.node.name == model:
            item.node, found = _new_class(item.node, body), True
        item.node = _Renamed({model: NEW}).visit(item.node)
        yield item
    if not found:
        raise NoPair(f"its file defines no class {model} outside of functions and conditions")


# -- both ------------------------------------------------------------------------------------------------------------


def _reached(items, names):
    """Those that define one of `names`, or what these need."""
    kept, asked = set(), set()
    while names - asked:
        found = [i for i, item in enumerate(items) if item.names() & (names - asked)]
        asked |= names
        kept.update(found)
        names = {name for i in found for name in items[i].needs()}
    return [item for i, item in enumerate(items) if i in kept]


def _joined(items):
    """Two empty lines around functions and classes, none between other statements."""
    text, before = "", None
    for item in items:
        alone = isinstance(item.node, (ast.FunctionDef, ast.ClassDef))
        text += ("\n\n\n" if alone or before else "\n") * bool(text) + item.written()
        before = alone
    return text


def _is_import(item):
    return isinstance(item.node, (ast.Import, ast.ImportFrom))


def _clash(mine, theirs):
    written = {}
    for item in mine:
        written.update((name, item.written()) for name in item.names())
    for item in theirs:
        for name in item.names():
            if written.get(name, item.written()) != item.written():
                raise NoPair(f"Inductor and the problem both define {name}")


def _check(items):
    """Nothing is missing: Inductor also sets names of its module that its text leaves at None."""
    known, needed = set(dir(builtins)) | {"__file__", "__name__"}, {ENTRY}
    for item in items:
        known |= item.names()
        needed |= item.needs()
        if isinstance(item.node, ast.Assign) and isinstance(item.node.value, ast.Constant) and item.node.value.value is None:
            raise NoPair(f"its graph holds a constant tensor, {', '.join(sorted(item.names()))}, which is not in the text")
    if missing := needed - known:
        raise NoPair(f"nothing defines {', '.join(sorted(missing))}")


def candidate(source, model, constants, body, original, launches):
    """The candidate's text. `source`: the problem's text, whose class is `model`; `constants`: those of its module that have other values;
    `body`: of the new forward."""
    theirs = _reached(list(_problem_items(source, model, body)), {NEW})
    made = list(_inductor_items(original, launches))
    mine = _reached([item for item in made if _call_of(item.node, _MAKER)[0] != "wait"], {ENTRY})
    _clash(mine, theirs)
    _check(mine)
    if any(_MAKER in item.names() for item in mine):
        mine += [item for item in made if _call_of(item.node, _MAKER)[0] == "wait"]
    everything = mine + theirs
    imports = sorted({item.written() for item in everything if _is_import(item)}, key=lambda line: (line.startswith("from"), line))
    known = {name for item in theirs for name in item.names()}
    changed = [f"{name} = {value!r}" for name, value in constants.items() if name in known]
    texts = ["\n".join(imports), _joined(item for item in everything if not _is_import(item)), "\n".join(changed)]
    return "\n\n\n".join(filter(None, texts)) + "\n"
