#!/usr/bin/env python3
"""What is described of an extension: by contents, so that two processes that write the same files ask for the same."""
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from kernelbench_torch import extensions  # noqa: E402


def of_load(*arguments, **options):
    return extensions.describe_load(extensions.given(extensions._LOAD, arguments, options))


def of_inline(*arguments, **options):
    return extensions.describe(extensions.given(extensions._LOAD_INLINE, arguments, options))


class Files(unittest.TestCase):
    def setUp(self):
        self.folders = tempfile.TemporaryDirectory(), tempfile.TemporaryDirectory()

    def tearDown(self):
        for folder in self.folders:
            folder.cleanup()

    def write(self, folder, name, text):
        path = pathlib.Path(self.folders[folder].name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def test_the_same_contents_are_the_same_wherever_they_lie(self):
        described = []
        for folder, name in enumerate(("tmpab12.cpp", "tmpzz99.cpp")):
            self.write(folder, "own.h", "int own;")
            source = self.write(folder, name, '#include "own.h"\n#include <vector>\n#  include <deep/more.h>\n')
            self.write(folder, "headers/deep/more.h", '#include "../own.h"\n')
            described.append(of_load("a", [source], extra_include_paths=[self.folders[folder].name + "/headers", "/usr/include"]))
        self.assertEqual(*described)
        self.assertEqual(*map(extensions.key, described))
        self.assertEqual(sorted(described[0]["files"]), ["0/headers/deep/more.h", "0/own.h", "0/source0.cpp"])
        self.assertEqual((described[0]["cpp"], described[0]["cuda"]), (["0/source0.cpp"], []))
        self.assertEqual(described[0]["include_paths"], ["0/headers", "/usr/include"])
        self.write(1, "own.h", "int other;")
        self.assertNotEqual(extensions.key(of_load("a", source)), extensions.key(described[0]))

    def test_sources_are_of_the_host_or_the_device(self):
        sources = [self.write(0, "a.cc", ""), self.write(0, "b.cu", ""), self.write(0, "a.c", "")]
        described = of_load("a", sources)
        self.assertEqual((described["cpp"], described["cuda"]), (["0/source0.cc", "0/source2.c"], ["0/source1.cu"]))
        with self.assertRaisesRegex(extensions.NotBuilt, "a source is a file of"):
            of_load("a", self.write(0, "a.txt", ""))

    def test_folders_that_have_nothing_to_do_with_each_other_have_no_names(self):
        described = []
        for first, second in ((0, 1), (1, 0)):
            sources = self.write(first, "k/a.cpp", '#include "../own.h"\n#include <more.h>\n'), self.write(second, "b.cu", "")
            self.write(first, "own.h", "int own;")
            self.write(second, "include/more.h", "")
            described.append(of_load("a", list(sources), extra_include_paths=[self.folders[second].name + "/include"]))
        self.assertEqual(*described)
        self.assertEqual(sorted(described[0]["files"]), ["0/k/source0.cpp", "0/own.h", "1/source1.cu", "2/more.h"])
        self.assertEqual(described[0]["include_paths"], ["2"])

    def test_the_candidates_own_files_keep_their_names(self):
        described = []
        for folder in (0, 1):
            with unittest.mock.patch.dict("os.environ", TMPDIR=self.folders[folder].name):
                own = [self.write(folder, "candidate/kernels/a.cpp", '#include "../own.h"\n'), self.write(folder, "candidate/b.cu", "")]
                self.write(folder, "candidate/own.h", "")
                made = self.write(folder, f"tmp{folder}/made.cpp", '#include "../candidate/own.h"\n')
                described.append(of_load("a", [*own, made], extra_include_paths=[self.folders[folder].name + "/candidate"]))
        self.assertEqual(*described)
        self.assertEqual(described[0]["cpp"], ["candidate/kernels/a.cpp", "0/source2.cpp"])
        self.assertEqual(sorted(described[0]["files"]), ["0/source2.cpp", "candidate/b.cu", "candidate/kernels/a.cpp", "candidate/own.h"])
        self.assertEqual(described[0]["include_paths"], ["candidate"])

    def test_names_are_not_fit_for_a_command(self):
        for name in ("-o x/b.h", "a/.b.h", "b;c.h", "\u00e9.h", "x" * 90 + "/" + "x" * 109 + ".h"):
            source = self.write(0, "a.cpp", f'#include "{name}"\n')
            self.write(0, name, "")
            described = {**of_load("a", source), "key": "a" * 64}
            self.assertIn("the path", extensions.unusable(described), name)
        plain = self.write(0, "a.cpp", '#include "b+c-d/_e.h"\n')
        self.write(0, "b+c-d/_e.h", "")
        self.assertEqual(extensions.unusable({**of_load("a", plain), "key": "a" * 64}), "")

    def test_what_is_read_is_bounded(self):
        large = self.write(0, "a.cpp", " " * (extensions._MOST_FILE_BYTES + 1))
        for i in range(extensions._MOST_FILES):
            self.write(0, f"{i}.h", f'#include "{i + 1}.h"\n')
        endless = self.write(0, "b.cpp", '#include "0.h"\n')
        for source in (large, endless):
            with self.assertRaisesRegex(extensions.NotBuilt, "at most 200 files of 5000000 bytes"):
                of_load("a", source)
        circle = self.write(1, "a.cpp", '#include "a.cpp"\n')
        self.assertEqual(sorted(of_load("a", circle)["files"]), ["0/a.cpp", "0/source0.cpp"])


class Arguments(unittest.TestCase):
    def test_are_those_of_pytorch(self):
        self.assertEqual(of_inline("a", "int f();", None, functions="f", verbose=True)["functions"], {"f": "f"})
        with self.assertRaises(TypeError):
            of_inline("a", "int f();", optimise=True)
        for options in ({"is_standalone": True}, {"with_sycl": True}):
            with self.assertRaisesRegex(extensions.NotBuilt, f"{list(options)[0]} is not supported"):
                of_load("a", [], **options)

    def test_what_nobody_builds_has_a_reason(self):
        good = {**of_inline("a", "int f();"), "key": "a" * 64}
        self.assertEqual(extensions.unusable(good), "")
        for change, why in (({"name": "a-b"}, "no identifier"), ({"name": ""}, "no identifier"), ({"cpp": ["\0"]}, "NUL"), ({"cuda": [5]}, "no text"),
                            ({"files": {"a.h": "\0"}}, "NUL"), ({"functions": {"f": ["x"]}}, "documentation"),
                            ({"files": {"a": "", "a/b": ""}}, "is a file"), ({"files": {f"{i}": "" for i in range(201)}}, "more than 200 files"),
                            ({"files": {"a": "\u00e9" * 2_500_001}}, "5000000 bytes"), ({"cflags": ["x" * 33_000]}, "bytes"), ({"key": "../a"}, "key")):
            self.assertIn(why, extensions.unusable({**good, **change}))

    def test_names_are_given_once(self):
        self.assertEqual(extensions.free_name("a", {"a", "a_v1", "b"}), "a_v2")
        self.assertEqual(extensions.free_name("c", {"a"}), "c")


if __name__ == "__main__":
    unittest.main()
