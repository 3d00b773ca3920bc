#!/usr/bin/env python3
"""Writes docs/reference/api.md from the OpenAPI document of the service.

    api_reference.py            brings the page up to date
    api_reference.py --check    says whether it is; exit status 1 if it is not

    --binary FILE    starts this kernelbench and asks it; default: the newest build of this tree
    --openapi FILE   reads the document from a file instead (curl .../openapi.json)
"""

import argparse
import difflib
import http.client
import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "api.md"
START_S = 60
METHODS = ("get", "post", "delete")

HEAD = """# The HTTP API

`kernelbench serve` answers these routes; [service.md](../guide/service.md) says how they are used. `scripts/api_reference.py` makes this page from `GET /openapi.json`.

Bodies are JSON. A field, or a parameter, that is not listed here is refused, but in the bodies of other protocols. Over TCP a route that needs a right wants a token that has it; over the Unix socket every right is there.
"""


def document_of(binary):
    """As a service tells it that has a store of its own and ends again."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/service.sock"
        service = subprocess.Popen([binary, "serve", "--quiet", "--store", f"{folder}/store.sqlite", "--socket", path])
        try:
            return json.loads(ask(service, path, "/openapi.json"))
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait()


def ask(service, path, target):
    until = time.monotonic() + START_S
    while True:
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(path)
            except (FileNotFoundError, ConnectionRefusedError):
                if service.poll() is not None or time.monotonic() > until:
                    sys.exit("api_reference.py: the service did not start")
                time.sleep(0.05)
                continue
            connection.sendall(f"GET {target} HTTP/1.1\r\nHost: kernelbench\r\nConnection: close\r\n\r\n".encode())
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            return answer.read()


def row(*cells):
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def table(head, rows):
    return [row(*head), "|" + "---|" * len(head), *(row(*cells) for cells in rows)] if rows else []


def anchor(title):
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c in "-_")


def link(reference):
    name = reference.rpartition("/")[2]
    return f"[{name}](#{name.lower()})"


def bounds(schema):
    """What follows the type: ", 1 to 200 characters"."""
    for kind, unit in (("Length", " characters"), ("Items", " entries"), ("Properties", " entries"), ("imum", "")):
        least, most = schema.get("min" + kind), schema.get("max" + kind)
        if least is None and most is None:
            continue
        if most is None:
            return f", at least {least:.12g}{unit}" if least != 1 or not unit else ""
        if least is None:
            return f", at most {most:.12g}{unit}"
        return f", {least:.12g}{unit}" if least == most else f", {least:.12g} to {most:.12g}{unit}"
    return ""


def type_of(schema):
    if "$ref" in schema:
        return link(schema["$ref"])
    if "anyOf" in schema:
        return " or ".join(type_of(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"`{choice}`" for choice in schema["enum"])
    kind = schema.get("type", "any")
    if kind == "array":
        kind += f" of {type_of(schema['items'])}"
    if kind == "object" and "additionalProperties" in schema:
        kind = f"object, whose values are {type_of(schema['additionalProperties'])}"
    return kind + bounds(schema)


def answer_of(response):
    kinds = [type_of(content["schema"]) if "$ref" in content["schema"] else f"`{media}`" for media, content in response.get("content", {}).items()]
    return " or ".join(kinds) or "no body"


def routes(document):
    return [(method, path, item[method]) for path, item in document["paths"].items() for method in METHODS if method in item]


def errors(document):
    """All that is no success, by status, and which of them every route may answer, or every one that needs a right."""
    found, always, guarded = {}, None, None
    for _, _, operation in routes(document):
        statuses = {status: response for status, response in operation["responses"].items() if int(status) >= 400}
        found |= statuses
        always = always & set(statuses) if always is not None else set(statuses)
        if "x-right" in operation:
            guarded = guarded & set(statuses) if guarded is not None else set(statuses)
    where = {status: "every route" if status in always else "every route with a right" if status in guarded else "where named"
             for status in found}
    return found, where


def route_section(method, path, operation, where):
    right = operation.get("x-right")
    lines = [f"### {method.upper()} {path}", "", f"{operation['summary']}. " + (f"Right: `{right}`." if right else "Anyone may ask."), ""]
    parameters = [(f"`{p['name']}`", p["in"], type_of(p["schema"]), p.get("description", "")) for p in operation["parameters"]]
    if parameters:
        lines += table(("parameter", "in", "type", "meaning"), parameters) + [""]
    if "requestBody" in operation:
        lines += [f"Body: {answer_of(operation['requestBody'])}", ""]
    answers = [f"{status} with {answer_of(response)}" if int(status) < 400 else status
               for status, response in sorted(operation["responses"].items()) if where.get(status, "where named") == "where named"]
    return lines + [f"Answers: {', '.join(answers)}", ""]


def object_section(name, schema):
    required = schema.get("required", [])
    rows = [(f"`{field}`", type_of(each), "yes" if field in required else "", each.get("description", ""))
            for field, each in schema["properties"].items()]
    return [f"### {name}", "", schema["description"], "", *table(("field", "type", "always", "meaning"), rows), ""]


def page_of(document):
    found, where = errors(document)
    lines = [HEAD, "## Routes", ""]
    lines += table(("route", "right", "what it does"), [
        (f"[`{method.upper()} {path}`](#{anchor(f'{method} {path}')})", f"`{operation['x-right']}`" if "x-right" in operation else "–",
         operation["summary"]) for method, path, operation in routes(document)])
    lines += ["", "200 is an answer as asked, 201 one that something is the client's from now on, 202 one that an evaluation was accepted and has not ended. All others are "
              f"{link('ProblemDetails')}, of type `application/problem+json`:", ""]
    lines += table(("status", "why", "of"), [(status, response["description"], where[status]) for status, response in sorted(found.items())])
    lines += [""]
    for method, path, operation in routes(document):
        lines += route_section(method, path, operation, where)
    lines += ["## Objects", "", "*always*: a request must have the field, an answer has it.", ""]
    for name, schema in sorted(document["components"]["schemas"].items()):
        lines += object_section(name, schema)
    return "\n".join(lines).rstrip() + "\n"


def newest_build():
    built = sorted(ROOT.glob("build/*/bin/kernelbench"), key=lambda path: path.stat().st_mtime)
    if not built:
        sys.exit("api_reference.py: there is no build of this tree: give --binary or --openapi")
    return str(built[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--binary")
    parser.add_argument("--openapi", type=pathlib.Path)
    arguments = parser.parse_args()
    document = json.loads(arguments.openapi.read_text()) if arguments.openapi else document_of(arguments.binary or newest_build())
    page = page_of(document)
    name = PAGE.relative_to(ROOT)
    if arguments.check:
        there = PAGE.read_text() if PAGE.exists() else ""
        if there == page:
            print(f"{name} is up to date: {len(routes(document))} routes, {len(document['components']['schemas'])} objects")
            return 0
        sys.stdout.writelines(difflib.unified_diff(there.splitlines(True), page.splitlines(True), str(name), "as it should be", n=1))
        print(f"{name} is not up to date: run scripts/api_reference.py")
        return 1
    PAGE.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
