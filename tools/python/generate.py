"""Writes clformer/_c.py, the ctypes declarations of the C API, from the headers: generate.py INCLUDE OUTPUT.

The headers use a small part of C: structs without nested structs, enums with explicit values, functions, and pointers
to functions. Anything else is an error here, and tests/python/test_c.py compares the result with the C compiler.
"""

import re
import sys
from pathlib import Path

NUMBERS = {
    "int": "c_int", "int32_t": "c_int32", "int64_t": "c_int64", "uint32_t": "c_uint32", "uint64_t": "c_uint64",
    "size_t": "c_size_t", "float": "c_float", "double": "c_double",
}
PYTHON = {"c_float": "float", "c_double": "float", "c_char_p": "Optional[bytes]"}


def read_headers(folder):
    """Returns the text of all headers without comments, directives and inline functions."""
    order = re.findall(r"#include <(clformer/\w+\.h)>", (folder / "clformer/clformer.h").read_text())
    text = "".join((folder / name).read_text() for name in order)
    codes = re.findall(r"^ +X\((\w+), (\d+),", text, re.M)  # CLF_STATUS_LIST
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^#(.*\\\n)*.*\n", "", text, flags=re.M)
    text = re.sub(r"static inline [^{]*\{[^}]*\}", "", text)
    status = ", ".join(f"CLF_{name} = {value}" for name, value in codes)
    return re.sub(r"CLF_STATUS_LIST\(\w+\)", status, text).replace('extern "C" {', "")


class Headers:
    def __init__(self, text):
        self.enums = {}
        for body, name in re.findall(r"typedef enum \w+ \{([^}]*)\} (\w+);", text):
            values = re.findall(r"(\w+)\s*=\s*\(?(\d+)\)?", body)
            if len(values) != body.count("="):
                sys.exit(f"{name}: an enumerator has no plain value")
            self.enums[name] = {key: int(value) for key, value in values}
        self.constants = {key: int(value) for key, value in re.findall(r"\nenum \{ (\w+) = (\d+) \};", text)}
        self.callbacks = {}
        self.structs = dict(re.findall(r"\nstruct (\w+) \{([^}]*)\};", text))
        for result, name, parameters in re.findall(r"\ntypedef (\w+) (clf_\w+_function)\(([^)]*)\);", text):
            self.callbacks[name] = self.function_type(result, parameters)
        self.functions = {}
        for result, name, parameters in re.findall(r"CLF_API ([\w\s*]*?)(clf_\w+)\(([^)]*)\);", text):
            types = self.parameters(parameters)
            self.functions[name] = f"({self.type_of(result)}, [{', '.join(types)}])"

    def parameters(self, text):
        if text.strip() == "void":
            return []
        return [self.type_of(re.sub(r"\w+\s*$", "", part)) for part in text.split(",")]

    def function_type(self, result, parameters):
        # ctypes copies a c_char_p up to its NUL, but text that comes with its size has none.
        parameters = re.sub(r"const char \*(\w+, size_t)", r"const void *\1", parameters)
        return f"CFUNCTYPE({', '.join([self.type_of(result)] + self.parameters(parameters))})"

    def type_of(self, declaration):
        """Returns the ctypes expression for a C type; a pointer to an opaque struct is c_void_p."""
        stars = declaration.count("*")
        words = [word for word in re.findall(r"\w+", declaration) if word not in ("const", "struct")]
        if len(words) != 1:
            sys.exit(f"unknown type: {declaration}")
        name = words[0]
        if name in NUMBERS:
            base = NUMBERS[name]
        elif name in self.enums:
            base = "c_int"
        elif name in self.structs:
            base = name
        elif name in self.callbacks and stars == 1:
            return self.callbacks[name]
        elif name == "void" and stars == 0:
            return "None"
        elif (name == "char" or name == "void" or name.startswith("clf_")) and stars > 0:
            base, stars = "c_char_p" if name == "char" else "c_void_p", stars - 1
        else:
            sys.exit(f"unknown type: {declaration}")
        return "POINTER(" * stars + base + ")" * stars

    def fields(self, name):
        """Returns the (name, ctypes expression, enum or None) of the fields of a struct."""
        found = []
        for declaration in self.structs[name].split(";")[:-1]:
            callback = re.fullmatch(r"\s*(\w+)\s*\(\*(\w+)\)\(([^)]*)\)", declaration)
            if callback:
                found.append((callback[2], self.function_type(callback[1], callback[3]), None))
                continue
            base = re.match(r"\s*(const )?\s*(struct )?\s*\w+", declaration)[0]
            for declarator in declaration[len(base):].split(","):
                part = re.fullmatch(r"\s*([\s*]*)\b(\w+)(?:\[(\d+)\])?\s*", declarator)
                if part is None:
                    sys.exit(f"{name}: unknown field: {declarator}")
                kind = self.type_of(base + part[1])
                kind = f"{kind} * {part[3]}" if part[3] else kind
                word = base.split()[-1]
                found.append((part[2], kind, word if word in self.enums else None))
        return found


def write(headers, file):
    print('"""The C API of clformer as ctypes declarations; written by generate.py from include/clformer."""', file=file)
    print("# mypy: disable-error-code=misc", file=file)
    print("from __future__ import annotations\n", file=file)
    print("import ctypes\nfrom ctypes import (  # noqa: F401", file=file)
    print("    CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t,", file=file)
    print("    c_uint32, c_uint64, c_void_p,\n)\nfrom typing import Any, Dict, Optional\n", file=file)
    for name, values in headers.enums.items():
        print(f"{name} = {values}", file=file)
    for name, value in headers.constants.items():
        print(f"{name} = {value}", file=file)
    for name in headers.structs:
        print(f"\n\nclass {name}(Structure):", file=file)
        for field, kind, _ in headers.fields(name):
            python = PYTHON.get(kind, "int" if re.fullmatch(r"c_u?(int\d*|size_t)", kind) else "Any")
            print(f"    {field}: {python}", file=file)
    print("\n", file=file)
    for name in headers.structs:
        pairs = ", ".join(f'("{field}", {kind})' for field, kind, _ in headers.fields(name))
        print(f"{name}._fields_ = [{pairs}]", file=file)
    enums = {name: {field: enum for field, _, enum in headers.fields(name) if enum} for name in headers.structs}
    parts = (f'"{name}": {{{", ".join(f"{chr(34)}{k}{chr(34)}: {v}" for k, v in found.items())}}}'
             for name, found in enums.items() if found)
    print("\n# The enum of each field that has one.", file=file)
    print(f"ENUMS: Dict[str, Dict[str, Dict[str, int]]] = {{{', '.join(parts)}}}", file=file)
    print("\n# The result and the parameters of each function.\nFUNCTIONS: Dict[str, Any] = {", file=file)
    for name, signature in headers.functions.items():
        print(f'    "{name}": {signature},', file=file)
    print("}\n\n\ndef load(path: str) -> ctypes.CDLL:\n    library = ctypes.CDLL(path)", file=file)
    print("    for name, (result, parameters) in FUNCTIONS.items():", file=file)
    print("        function = getattr(library, name)", file=file)
    print("        function.restype, function.argtypes = result, parameters\n    return library", file=file)


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as output:
        write(Headers(read_headers(Path(sys.argv[1]))), output)
