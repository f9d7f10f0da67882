#!/usr/bin/env python3
"""check_names.py must find what it is there to find: each case is a small tree."""

import pathlib
import tempfile
import unittest

import check_names

LINE = "namespace lyk::client {\nclass Line {\n};\n}  // namespace lyk::client\n"


class CheckNames(unittest.TestCase):
    def found(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return list(check_names.faults(pathlib.Path(folder)))

    def test_two_types_of_one_name_are_found(self):
        found = self.found({"client/line.hpp": LINE, "client/dial.hpp": LINE.replace("class", "struct")})
        self.assertEqual(found, ["lyk::client::Line: another type in each of client/dial.hpp, client/line.hpp"])

    def test_other_namespaces_and_names_are_others(self):
        other = LINE.replace("lyk::client", "lyk::cli")
        self.assertEqual(self.found({"client/line.hpp": LINE, "cli/line.hpp": other}), [])

    def test_what_is_private_to_a_file_is_no_matter(self):
        private = LINE.replace("class Line {\n};\n", "namespace {\nclass Line {\n};\n}  // namespace\n")
        self.assertEqual(self.found({"client/line.hpp": LINE, "client/a.cpp": private}), [])

    def test_members_and_declarations_are_no_types_of_the_namespace(self):
        member = LINE.replace("class Line {\n", "class Line;\nclass Page {\n  struct Line {\n  };\n")
        self.assertEqual(self.found({"client/line.hpp": LINE, "client/page.hpp": member}), [])

    def test_a_tree_without_types_is_no_tree(self):
        self.assertEqual(len(self.found({"client/lyk.h": "#include <stdint.h>\n"})), 1)


if __name__ == "__main__":
    unittest.main()
