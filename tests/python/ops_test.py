"""The operations of the device process: src/wire/ops.h and ops.py declare the same ones, and Python's methods keep to them."""

import ast
import dataclasses
import importlib.util
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "kernelbench_torch"
FILES = ("device_host.py", "reference_session.py", "error_budgets.py")

SPEC = importlib.util.spec_from_file_location("ops", PACKAGE / "ops.py")  # alone: the package imports torch
ops = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(ops)


def declared():
    """What ops.h declares, by operation: the struct's name, its fields, and those of its Reply if it has one of its own."""
    text = (ROOT / "src" / "wire" / "ops.h").read_text()
    found = {}
    for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", text, re.M | re.S):
        if op := re.search(r'kOp = "(\w+)"', body):
            fields = {of: re.split(r"[,\s]+", names.strip())
                      for of, names in re.findall(r"NLOHMANN_DEFINE_TYPE_INTRUSIVE\w*\((\w+),([^)]*)\)", body)}
            found[op[1]] = name, fields.get(name, []), fields.get("Reply")
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
        engine = declared()
        self.assertEqual(set(engine), set(ops.REQUESTS))
        for op, (name, fields, reply) in engine.items():
            kind = ops.REQUESTS[op]
            self.assertEqual((kind.__name__, names(kind)), (name, fields))
            if hasattr(kind, "Reply"):
                self.assertEqual(names(kind.Reply), reply, op)

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
                    self.assertTrue(wanted <= given <= known, (op, given))


if __name__ == "__main__":
    unittest.main()
