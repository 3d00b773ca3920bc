"""The operations of the device process, as the engine declares them (src/wire/ops.h) and as Python reads and answers them."""

import ast
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "kernelbench_torch"
FILES = ("device_host.py", "reference_session.py", "error_budgets.py")
OF_EVERY_REQUEST = {"op", "fds"}


def declared():
    """By operation the fields of its request, those of its reply (None: not looked at, or common to several), and whether all are there."""
    text = (ROOT / "src" / "wire" / "ops.h").read_text()
    found = {}
    for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", text, re.M | re.S):
        op = re.search(r'kOp = "(\w+)"', body)
        if op is None:
            continue
        fields = {of: set(re.split(r"[,\s]+", names.strip()))
                  for of, names in re.findall(r"NLOHMANN_DEFINE_TYPE_INTRUSIVE\w*\((\w+),([^)]*)\)", body)}
        reply = fields.get("Reply") or (set() if "using Reply = Nothing" in body else None)
        found[op[1]] = fields.get(name, set()), reply, "_WITH_DEFAULT(Reply" not in body
    return found


def methods():
    """All methods of the device process's classes, and what OPERATIONS renames."""
    by_name, renamed = {}, {}
    for file in FILES:
        for node in ast.walk(ast.parse((PACKAGE / file).read_text())):
            if isinstance(node, ast.ClassDef) and node.name in ("Host", "Operations"):
                by_name.update((each.name, each) for each in node.body if isinstance(each, ast.FunctionDef))
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "OPERATIONS":
                renamed = ast.literal_eval(node.value)
    return by_name, renamed


def fields_read(method, by_name):
    """What a method reads of its request, itself or through another one that it hands the request on to."""
    read = set()
    for node in ast.walk(method):
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "request":
            if isinstance(node.slice, ast.Constant):
                read.add(node.slice.value)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner = getattr(node.func.value, "id", "")
        if owner == "request" and node.func.attr == "get":
            read.add(node.args[0].value)
        if owner == "self" and any(getattr(each, "id", "") == "request" for each in node.args) and by_name[node.func.attr] is not method:
            read |= fields_read(by_name[node.func.attr], by_name)
    return read - OF_EVERY_REQUEST


def keys_answered(method):
    """Of each reply that is written out, alone or with descriptors."""
    for node in ast.walk(method):
        if not isinstance(node, ast.Return):
            continue
        value = node.value.elts[0] if isinstance(node.value, ast.Tuple) else node.value
        if isinstance(value, ast.Dict) and None not in value.keys:
            yield {key.value for key in value.keys}


class Operations(unittest.TestCase):
    def test_both_sides_agree(self):
        ops, (by_name, renamed) = declared(), methods()
        self.assertGreater(len(ops), 25)
        for op, (request, reply, whole) in ops.items():
            method = by_name[renamed.get(op, op)]
            read, answered = fields_read(method, by_name), set().union(*keys_answered(method))
            self.assertLessEqual(read, request, op)
            self.assertFalse(request - read - self.read_by_name(method), op)
            if reply is not None and answered:
                self.assertLessEqual(*((reply, answered) if whole else (answered, reply)), op)

    @staticmethod
    def read_by_name(method):
        """Fields that a method reads in a loop over their names."""
        return {node.value for node in ast.walk(method) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


if __name__ == "__main__":
    unittest.main()
