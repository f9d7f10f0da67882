#!/usr/bin/env python3
"""No two types of one name in one namespace, over all files of the product.

The linker takes their functions for the same and keeps one, without a word. What is private to a file
stands in an unnamed namespace, where the name is its own. Usage: check_names.py SOURCE_DIR
"""

import collections
import re
import sys

import check_layers

# Nothing within a namespace is indented, so a type at the beginning of a line is one of the namespace.
OPENS = re.compile(r"(inline )?namespace(?P<name> [\w:]+)? \{$")
CLOSES = re.compile(r"\}  // namespace")
TYPE = re.compile(r"(class|struct|union|enum( class)?) (?P<name>\w+)( final)?( : .*)? \{")


def types(text):
    """The qualified names of the types that `text` defines for all files."""
    namespaces = []
    for line in text.splitlines():
        if opened := OPENS.match(line):
            namespaces.append(opened["name"])
        elif CLOSES.match(line) and namespaces:
            namespaces.pop()
        elif (found := TYPE.match(line)) and None not in namespaces:
            yield "::".join([name.strip() for name in namespaces] + [found["name"]])


def faults(root):
    places = collections.defaultdict(set)
    for path in check_layers.sources(root):
        for name in types(path.read_text(encoding="utf-8")):
            places[name].add(path.relative_to(root).as_posix())
    for name, files in sorted(places.items()):
        if name.startswith("lyk::") and len(files) > 1:
            yield f"{name}: another type in each of {', '.join(sorted(files))}"
    if not places:
        yield f"{root}: no types"


if __name__ == "__main__":
    sys.exit(check_layers.main(faults))
