#!/usr/bin/env python3
"""Every golden message is what the varlink file says, and every declared field is in a golden.

The C++ tests tie the goldens to methods.hpp byte for byte; this ties them to the interface, so the two
cannot drift apart. Usage: check_interface.py INTERFACE.varlink GOLDEN_FOLDER
"""

import json
import pathlib
import re
import sys

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
TOKEN = re.compile(r"#[^\n]*|->|\[\]|[?(),:]|[A-Za-z_][A-Za-z0-9_.]*")


class Interface:
    """The declarations of one varlink file: fields are {name: type}.

    A type is ("maybe", type), ("array", type), ("struct", fields), ("enum", words) or ("name", name).
    """

    def __init__(self, text):
        self.tokens = [t for t in TOKEN.findall(text) if not t.startswith("#")]
        leftover = TOKEN.sub("", text).strip()
        if leftover:
            raise SystemExit(f"interface: not understood: {leftover[:40]!r}")
        self.types, self.methods, self.errors = {}, {}, {}
        self.take("interface")
        self.name = self.take()
        while self.tokens:
            kind, name = self.take(), self.take()
            if kind == "type":
                self.types[name] = self.read_fields()
            elif kind == "error":
                self.errors[name] = self.read_fields()
            elif kind == "method":
                call = self.read_fields()
                self.take("->")
                self.methods[name] = (call, self.read_fields())
            else:
                raise SystemExit(f"interface: unexpected {kind!r}")

    def take(self, expected=None):
        token = self.tokens.pop(0)
        if expected is not None and token != expected:
            raise SystemExit(f"interface: {expected!r} expected, found {token!r}")
        return token

    def read_fields(self):
        kind, fields = self.read_parentheses()
        return fields if kind == "struct" else {}

    def read_parentheses(self):
        self.take("(")
        fields, words = {}, []
        while self.tokens[0] != ")":
            name = self.take()
            if self.tokens[0] == ":":
                self.take(":")
                fields[name] = self.read_type()
            else:
                words.append(name)
            if self.tokens[0] == ",":
                self.take(",")
        self.take(")")
        return ("enum", words) if words else ("struct", fields)

    def read_type(self):
        if self.tokens[0] == "?":
            self.take("?")
            return ("maybe", self.read_type())
        if self.tokens[0] == "[]":
            self.take("[]")
            return ("array", self.read_type())
        if self.tokens[0] == "(":
            return self.read_parentheses()
        return ("name", self.take())


class Checker:
    def __init__(self, interface):
        self.interface = interface
        self.seen = set()  # (owner, field), of what goldens contain
        self.faults = []

    def fault(self, where, what):
        self.faults.append(f"{where}: {what}")

    def check_fields(self, where, owner, fields, value):
        if not isinstance(value, dict):
            return self.fault(where, "not an object")
        for name in value:
            if name not in fields:
                self.fault(where, f"{owner} declares no {name!r}")
        for name, kind in fields.items():
            if name in value:
                self.seen.add((owner, name))
                self.check_type(f"{where}.{name}", kind, value[name])
            elif kind[0] != "maybe":
                self.fault(where, f"{owner} demands {name!r}")
        order = [name for name in fields if name in value]
        if order != [name for name in value if name in fields]:
            self.fault(where, f"not in the order of {owner}")

    def check_type(self, where, kind, value):
        tag, inner = kind
        if tag == "maybe":
            return self.check_type(where, inner, value)
        if tag == "array":
            if not isinstance(value, list):
                return self.fault(where, "not an array")
            for index, element in enumerate(value):
                self.check_type(f"{where}[{index}]", inner, element)
        elif tag == "enum":
            if value not in inner:
                self.fault(where, f"{value!r} is none of {inner}")
        elif tag == "struct":
            self.check_fields(where, where, inner, value)
        elif inner in self.interface.types:
            self.check_fields(where, inner, self.interface.types[inner], value)
        elif inner == "string":
            if not isinstance(value, str):
                self.fault(where, "not a string")
        elif inner == "bool":
            if not isinstance(value, bool):
                self.fault(where, "not a bool")
        elif inner == "int":
            if isinstance(value, bool) or not isinstance(value, int) or not INT_MIN <= value <= INT_MAX:
                self.fault(where, "not an int")
        else:
            self.fault(where, f"type {inner!r} is not declared")

    def check_golden(self, path):
        message = json.loads(path.read_text(encoding="utf-8"))
        kind = path.name.split(".")[0]
        parameters = message.get("parameters")
        if kind.startswith("error_"):
            name = message["error"].removeprefix(self.interface.name + ".")
            if name not in self.interface.errors:
                return self.fault(path.name, f"error {name!r} is not declared")
            self.check_fields(path.name, f"error {name}", self.interface.errors[name], parameters)
        elif kind.endswith("_call"):
            name = message["method"].removeprefix(self.interface.name + ".")
            if kind != snake(name) + "_call" or name not in self.interface.methods:
                return self.fault(path.name, f"method {name!r} does not fit the file's name")
            fields = self.interface.methods[name][0]
            self.check_fields(path.name, f"{name} call", fields, parameters)
        elif kind.endswith("_reply"):
            name = camel(kind.removesuffix("_reply"))
            if name not in self.interface.methods:
                return self.fault(path.name, f"method {name!r} is not declared")
            fields = self.interface.methods[name][1]
            self.check_fields(path.name, f"{name} reply", fields, parameters)
        else:
            self.fault(path.name, "neither a call, nor a reply, nor an error")

    def check_coverage(self):
        owners = dict(self.interface.types)
        for name, (call, reply) in self.interface.methods.items():
            owners[f"{name} call"], owners[f"{name} reply"] = call, reply
        for name, fields in self.interface.errors.items():
            owners[f"error {name}"] = fields
        for owner, fields in owners.items():
            for field in fields:
                if (owner, field) not in self.seen:
                    self.fault("goldens", f"none has {owner!r} with {field!r}")


def snake(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def main():
    interface = Interface(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    checker = Checker(interface)
    goldens = sorted(pathlib.Path(sys.argv[2]).glob("*.json"))
    for path in goldens:
        if not path.name.startswith("service_"):  # of org.varlink.service
            checker.check_golden(path)
    checker.check_coverage()
    for fault in checker.faults:
        print(fault)
    print(f"{len(goldens)} goldens, {len(interface.methods)} methods, {len(interface.errors)} errors, "
          f"{len(checker.faults)} faults")
    return 1 if checker.faults else 0


if __name__ == "__main__":
    sys.exit(main())
