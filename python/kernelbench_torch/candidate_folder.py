"""A candidate that is a folder comes as one text, its packed form (src/judge/candidate/folder.h). Here it becomes files again."""

import os
import tempfile

_TITLE, _ENTRY = b"kernelbench folder\n", "model_new.py"
_placed = None  # the folder, once it is there


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
    return _placed or os.path.join(os.environ.get("TMPDIR", "/tmp"), "candidate")


def place(files):
    """Writes the files below home(), for reading alone, and returns the path of the one that defines ModelNew. Where processes share a
    directory for temporary files, the second has a folder of another name."""
    global _placed
    folder = _placed = home()
    try:
        os.mkdir(folder)
    except FileExistsError:
        folder = _placed = tempfile.mkdtemp(prefix="candidate.", dir=os.path.dirname(folder))
    for path, text in files.items():
        whole = os.path.join(folder, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o444), "wb") as file:
            file.write(text)
    for parent, _, _ in os.walk(folder):
        os.chmod(parent, 0o555)
    return os.path.join(folder, _ENTRY)
