"""A candidate that is a folder comes as one text, its packed form (src/judge/candidate/folder.h). Here it becomes files again."""

import os

_TITLE, _ENTRY = b"kernelbench folder\n", "model_new.py"


def unpack(source):
    """Texts by paths; None for the text of a file. The engine has taken the text apart before: nothing is checked."""
    rest = source.encode("utf-8", "surrogatepass")
    if not rest.startswith(_TITLE):
        return None
    files, rest = {}, rest[len(_TITLE):]
    while rest:
        head, rest = rest.removeprefix(b"\n==> ").split(b" bytes <==\n", 1)
        path, size = head.rsplit(b", ", 1)
        files[path.decode()], rest = rest[:int(size)], rest[int(size) + 1:]
    return files


def home():
    """Where the files lie."""
    return os.path.join(os.environ.get("TMPDIR", "/tmp"), "candidate")


def place(files):
    """Writes the files below home(), for reading alone, and returns the path of the one that defines ModelNew."""
    folder = home()
    for path, text in files.items():
        whole = os.path.join(folder, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o444), "wb") as file:
            file.write(text)
    for parent, _, _ in os.walk(folder):
        os.chmod(parent, 0o555)
    return os.path.join(folder, _ENTRY)
