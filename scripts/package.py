#!/usr/bin/env python3
"""Makes packages of a release build: a .tar.gz that can be moved, a .deb, and a wheel.

    scripts/package.py BUILD [-o FOLDER]      default: BUILD/packages; the target `packages` calls it

Each holds the tree that `cmake --install` writes. The machine needs the glibc that the build was linked with, or a newer one: the wheel's name says which.
Exit status 0, or 1 with a message.
"""

import argparse
import base64
import csv
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUMMARY = "Is a GPU kernel written for a PyTorch module correct, and is it faster?"
DEPENDS = "g++, python3"
RECOMMENDS = "python3-venv, python3-dev, ninja-build"  # of modules that build extensions
MEMBERS = ("bin", "libexec", "share", "include")


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"package.py: {' '.join(map(str, words))} failed: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout


def version_of():
    return re.search(r"project\(kernelbench VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]


def glibc_needed(tree):
    """The newest version of glibc that a program or library of ours asks for, as (2, 36)."""
    found = {(2, 17)}
    for path in [*(tree / "bin").iterdir(), *(tree / "libexec" / "kernelbench").iterdir()]:
        if not path.is_symlink():
            found |= {(int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", run("objdump", "-T", path))}
    return max(found)


def make_archive(tree, folder, version):
    name = f"kernelbench-{version}-linux-x86_64"
    with tarfile.open(folder / f"{name}.tar.gz", "w:gz") as archive:
        archive.add(tree, name, filter=lambda member: member.replace(uid=0, gid=0, uname="root", gname="root", deep=False))
    return folder / f"{name}.tar.gz"


def make_deb(tree, folder, version, glibc):
    target = folder / f"kernelbench_{version}_amd64.deb"
    with tempfile.TemporaryDirectory() as work:
        root = pathlib.Path(work) / "root"
        shutil.copytree(tree, root / "usr", symlinks=True)
        about = root / "usr" / "share" / "doc" / "kernelbench"
        about.mkdir(parents=True)
        shutil.copy(ROOT / "LICENSE", about / "copyright")
        kib = int(run("du", "-sk", root).split()[0])
        (root / "DEBIAN").mkdir()
        (root / "DEBIAN" / "control").write_text(
            f"Package: kernelbench\nVersion: {version}\nArchitecture: amd64\nMaintainer: KernelBench in C++ <kernelbench@localhost>\nInstalled-Size: {kib}\n"
            f"Depends: libc6 (>= {glibc[0]}.{glibc[1]}), {DEPENDS}\nRecommends: {RECOMMENDS}\nSection: science\nPriority: optional\n"
            f"Description: {SUMMARY}\n The judge needs a Python with PyTorch 2.9 or later, which no package of Debian brings:\n KERNELBENCH_PYTHON names it.\n"
        )
        for path in [root, *root.rglob("*")]:
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        run("dpkg-deb", "--root-owner-group", "--build", root, target)
    return target


def wheel_files(tree, name):
    """(path in the wheel, file) of all that it holds. A zip holds no links: a library goes by the name that it is asked for."""
    linked = {path.resolve() for path in tree.rglob("*") if path.is_symlink()}
    for path in sorted(tree.rglob("*")):
        if path.is_dir() or (not path.is_symlink() and path in linked):
            continue
        inside = path.relative_to(tree)
        # Programs of the path are scripts, so that uv and pipx show them.
        yield f"{name}.data/scripts/{inside.name}" if inside.parts[0] == "bin" else f"{name}.data/data/{inside}", path.resolve()


def make_wheel(tree, folder, version, glibc):
    name = f"kernelbench_cpp-{version}"
    tag = f"py3-none-manylinux_{glibc[0]}_{glibc[1]}_x86_64"
    record = []
    target = folder / f"{name}-{tag}.whl"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as wheel:

        def add(path, data, mode=0o644):
            entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append((path, f"sha256={digest}", len(data)))

        for path, file in wheel_files(tree, name):
            add(path, file.read_bytes(), 0o755 if os.access(file, os.X_OK) else 0o644)
        about = f"{name}.dist-info"
        add(f"{about}/METADATA", (
            f"Metadata-Version: 2.1\nName: kernelbench-cpp\nVersion: {version}\nSummary: {SUMMARY}\nLicense: Apache-2.0\nRequires-Python: >=3.10\n"
            'Provides-Extra: torch\nRequires-Dist: torch>=2.9; extra == "torch"\n').encode())
        add(f"{about}/WHEEL", f"Wheel-Version: 1.0\nGenerator: kernelbench\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
        add(f"{about}/LICENSE", (ROOT / "LICENSE").read_bytes())
        lines = io.StringIO()
        csv.writer(lines, lineterminator="\n").writerows([*record, (f"{about}/RECORD", "", "")])
        wheel.writestr(f"{about}/RECORD", lines.getvalue())
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("-o", dest="folder", type=pathlib.Path)
    given = parser.parse_args()
    for tool in ("cmake", "objdump", "dpkg-deb"):
        if not shutil.which(tool):
            sys.exit(f"package.py: there is no {tool} here: install cmake, binutils and dpkg")
    folder = given.folder or given.build / "packages"
    with tempfile.TemporaryDirectory() as work:
        tree = pathlib.Path(work) / "tree"
        run("cmake", "--install", given.build, "--prefix", tree, "--strip")
        if sorted(each.name for each in tree.iterdir()) != sorted(MEMBERS):
            sys.exit(f"package.py: cmake --install wrote {sorted(each.name for each in tree.iterdir())}, and packages hold {sorted(MEMBERS)}")
        version, glibc = version_of(), glibc_needed(tree)
        folder.mkdir(parents=True, exist_ok=True)
        for pattern in ("kernelbench-*-linux-x86_64.tar.gz", "kernelbench_*_amd64.deb", "kernelbench_cpp-*.whl"):
            for old in folder.glob(pattern):  # of another version, or another glibc
                old.unlink()
        for package in (make_archive(tree, folder, version), make_deb(tree, folder, version, glibc), make_wheel(tree, folder, version, glibc)):
            print(f"{package}  {package.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
