"""What the engine tells other processes, and they answer: src/wire/ops.h and runner_spec.h declare the same as ops.py and runner_spec.py,
and the device process's methods keep to it."""

import ast
import dataclasses
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "kernelbench_torch"
FILES = ("device_host.py", "reference_session.py", "error_budgets.py")

sys.path.insert(0, str(ROOT / "python"))
from kernelbench_torch import ops, runner_spec  # noqa: E402

# Structs whose objects the device library writes out, and none in Python.
OF_THE_LIBRARY = {"Said", "Called", "Observe.Reply", "CheckInputs.Reply"}


def declared(header):
    """The structs of a header: fields by name ("Draw", "Draw.Reply"), names by operation, and what replies are that stand elsewhere."""
    fields, operations, replies = {}, {}, {}

    def add(text, around, indent):
        for name, body in re.findall(rf"^{indent}struct (\w+) \{{\n(.*?)^{indent}\}};", text, re.M | re.S):
            listed = re.search(rf"NLOHMANN_DEFINE_TYPE_INTRUSIVE\w*\({name},([^)]*)\)", body)
            fields[around + name] = re.split(r"[,\s]+", listed[1].strip()) if listed else []
            if op := re.search(r'kOp = "(\w+)"', body):
                operations[op[1]] = name
            if reply := re.search(r"using Reply = (\w+);", body):
                replies[name] = reply[1]
            add(body, f"{name}.", indent + "  ")
    add((ROOT / "src" / "wire" / header).read_text(), "", "")
    return fields, operations, replies


def classes(of, around=""):
    """The dataclasses in a module or class, by name."""
    found = {}
    for name, value in vars(of).items():
        if dataclasses.is_dataclass(value) and value.__qualname__ == around + name:
            found.update({around + name: value, **classes(value, f"{name}.")})
    return found


def names(kind):
    return [field.name for field in dataclasses.fields(kind)]


def methods():
    """Those of the device process's classes, by name, and which operations have methods of another name."""
    by_name, renamed = {}, {}
    for file in FILES:
        for node in ast.walk(ast.parse((PACKAGE / file).read_text())):
            if isinstance(node, ast.ClassDef) and node.name in ("Host", "Operations"):
                by_name.update((each.name, each) for each in node.body if isinstance(each, ast.FunctionDef))
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "METHODS":
                renamed = ast.literal_eval(node.value)
    return by_name, renamed


def nodes_of(method, by_name):
    """All of a method, and of those that it hands the request on to."""
    for node in ast.walk(method):
        yield node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "self":
            if any(getattr(each, "id", "") == "request" for each in node.args):
                yield from nodes_of(by_name[node.func.attr], by_name)


class Operations(unittest.TestCase):
    def test_both_languages_declare_the_same(self):
        fields, operations, replies = declared("ops.h")
        self.assertEqual({name: set(names(kind)) for name, kind in classes(ops).items()},
                         {name: set(known) for name, known in fields.items() if name not in OF_THE_LIBRARY})
        self.assertEqual(operations, {op: kind.__name__ for op, kind in ops.REQUESTS.items()})
        for name, reply in replies.items():
            if reply not in OF_THE_LIBRARY | {"Nothing"}:
                self.assertIs(getattr(ops, name).Reply, getattr(ops, reply))

    def test_both_languages_declare_the_same_of_workers(self):
        fields, operations, _ = declared("runner_spec.h")
        self.assertEqual({name: set(names(kind)) for name, kind in classes(runner_spec).items()},
                         {name: set(known) for name, known in fields.items()})
        self.assertEqual(operations, {op: kind.__name__ for op, kind in runner_spec.WORKERS.items()})

    def test_methods_read_every_field_and_no_other(self):
        by_name, renamed = methods()
        for op, kind in ops.REQUESTS.items():
            read = {node.attr for node in nodes_of(by_name[renamed.get(op, op)], by_name)
                    if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "request"}
            self.assertEqual(read, set(names(kind)), op)

    def test_methods_answer_with_their_own_replies(self):
        by_name, renamed = methods()
        for op, kind in ops.REQUESTS.items():
            for node in nodes_of(by_name[renamed.get(op, op)], by_name):
                if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "Reply":
                    self.assertEqual(node.func.value.attr, kind.__name__)
                    given, known = {each.arg for each in node.keywords}, set(names(kind.Reply))
                    wanted = {field.name for field in dataclasses.fields(kind.Reply) if field.default is dataclasses.MISSING}
                    if None in given:  # what the device library tells comes besides (**)
                        wanted, given = set(), given - {None}
                    self.assertTrue(wanted <= given <= known, (op, given))


if __name__ == "__main__":
    unittest.main()
