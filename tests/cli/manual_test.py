"""The manual page renders without a warning and speaks of every command, option and exit code of the program; the page
for scripts, docs/cli.md, names every command, key of a JSON document and metric."""

import argparse
import json
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--program", required=True)
OPTIONS.add_argument("--source", required=True, type=Path)
SETTINGS = OPTIONS.parse_args()


def render(page: Path) -> subprocess.CompletedProcess:
    return subprocess.run(["man", "--warnings", "-l", str(page)], capture_output=True, check=False, text=True,
                          env={"MANWIDTH": "120", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "MANROFFOPT": "-c"})


def help_of(*words: str) -> str:
    return subprocess.run([SETTINGS.program, *words, "--help"], capture_output=True, check=True, text=True).stdout


@unittest.skipUnless(shutil.which("man"), "man is not installed")
class ManualPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rendered = render(SETTINGS.source / "packaging/man/libreyolo-kernels.1")
        cls.text = re.sub(r".\x08|\x1b\[[0-9;]*m", "", cls.rendered.stdout).replace("\u2010", "-")
        section = re.search(r"^commands:\n((?:  .*\n)+)", help_of(), re.MULTILINE)
        cls.commands = re.findall(r"^  ([a-z-]+)  ", section.group(1), re.MULTILINE)

    def test_renders_without_warnings(self):
        self.assertEqual((self.rendered.returncode, self.rendered.stderr), (0, ""))
        self.assertGreater(len(self.text), 2000)

    def test_describes_every_command_and_no_other(self):
        section = self.text.split("\nCOMMANDS\n")[1].split("\nOPTIONS\n")[0]
        described = re.findall(r"^ {7}([a-z-]+)\b", section, re.MULTILINE)
        self.assertEqual(described, self.commands)

    def test_names_every_option(self):
        for command in self.commands:
            for option in re.findall(r"--[a-z-]+", help_of(command).split("examples")[0]):
                self.assertIn(option, self.text, command)

    def test_names_every_exit_code(self):
        table = (SETTINGS.source / "proto/error.hpp").read_text()
        codes = set(re.findall(r'Code::\w+, "\w+",\s*"\w+", -\d+, (\d+)', table))
        self.assertEqual(len(codes), 8)
        section = self.text.split("\nEXIT STATUS\n")[1].split("\nENVIRONMENT\n")[0]
        for code in codes | {"0", "130", "141", "143"}:
            self.assertRegex(section, rf"(?m)^ {{7}}(\d+, )?{code}\b")

    def test_names_every_variable_that_is_read(self):
        sources = [file.read_text() for folder in ("cli", "client") for file in (SETTINGS.source / folder).glob("*.cpp")]
        read = set(re.findall(r'"((?:LIBREYOLO|HF|TRANSFORMERS|XDG|NO)_[A-Z_]+|TERM|HOME)"', "".join(sources)))
        self.assertIn("LIBREYOLO_KERNELS_TRUST_UID", read)
        section = self.text.split("\nENVIRONMENT\n")[1].split("\nFILES\n")[0]
        named = set(re.findall(r"[A-Z][A-Z_]{3,}", section))
        self.assertEqual(read - named, set())


def keys_of(value) -> set:
    """Every key of a JSON value, at any depth."""
    if isinstance(value, dict):
        return set(value) | set().union(*map(keys_of, value.values()))
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


class PageForScripts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = (SETTINGS.source / "docs/cli.md").read_text()
        cls.goldens = SETTINGS.source / "tests/data/cli"

    def test_names_every_command_in_the_order_of_the_help(self):
        named = re.findall(r"^\| `([a-z-]+)[^`]*` \|", self.text.split("## Rules")[0], re.MULTILINE)
        helped = re.findall(r"^  ([a-z-]+)  ", help_of().split("commands:")[1].split("options:")[0], re.MULTILINE)
        self.assertEqual(sorted(named), sorted(helped))

    def test_names_every_key_of_every_document(self):
        documents = sorted(self.goldens.glob("*.json"))
        self.assertGreater(len(documents), 10)
        for document in documents:
            content = json.loads(document.read_text())
            content.pop("counters", None)  # named as a whole: they are those of the varlink file
            for key in keys_of(content):
                self.assertIn(f'"{key}"', self.text, document.name)

    def test_names_every_metric_and_label(self):
        metrics = (self.goldens / "status.prom").read_text()
        for name in set(re.findall(r"^libreyolo_kernels_([a-z_]+)", metrics, re.MULTILINE)):
            self.assertIn(f"`{name}`", self.text)
        for label in set(re.findall(r"[{,]([a-z_]+)=", metrics)):
            self.assertIn(f"`{label}`", self.text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
