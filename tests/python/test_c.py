"""The ctypes declarations agree with the C compiler and with the exported functions."""

import ctypes
import os
import re
import subprocess

from clformer import _c
from clformer._library import words
from conftest import ROOT


def structs():
    return {name: value for name, value in vars(_c).items() if isinstance(value, type) and issubclass(value, ctypes.Structure)
            and name.startswith("clf_")}


def enums():
    return {name: value for name, value in vars(_c).items() if name.startswith("clf_") and isinstance(value, dict)}


def test_layout(tmp_path):
    lines, expected = [], []
    for name, struct in structs().items():
        lines.append(f'printf("{name} %zu\\n", sizeof(struct {name}));')
        expected.append(f"{name} {ctypes.sizeof(struct)}")
        for field, _ in struct._fields_:
            position = getattr(struct, field)
            lines.append(f'printf("{name}.{field} %zu %zu\\n", offsetof(struct {name}, {field}), '
                         f"sizeof(((struct {name} *)0)->{field}));")
            expected.append(f"{name}.{field} {position.offset} {position.size}")
    for name, values in enums().items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        expected.append(f"{name} {ctypes.sizeof(ctypes.c_int)}")
        for key, value in values.items():
            lines.append(f'printf("{key} %d\\n", (int){key});')
            expected.append(f"{key} {value}")
    source = "#include <clformer/clformer.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{\n"
    (tmp_path / "layout.c").write_text(source + "\n".join(lines) + "\nreturn 0;\n}\n")
    subprocess.run([os.environ.get("CC", "cc"), "-Wall", "-I", ROOT / "include", "-o", tmp_path / "layout",
                    tmp_path / "layout.c"], check=True)
    found = subprocess.run([tmp_path / "layout"], check=True, capture_output=True, text=True).stdout.splitlines()
    assert found == expected
    assert len(structs()) > 25 and len(enums()) > 10


def test_every_struct_field_and_enumerator_is_declared():
    text = "".join(path.read_text() for path in sorted((ROOT / "include/clformer").glob("*.h")))
    for name in structs():
        assert f"\nstruct {name} {{" in text
    assert sorted(structs()) == sorted(line[7:-2] for line in text.splitlines() if line.startswith("struct clf_")
                                       and line.endswith(" {"))
    for name, values in enums().items():
        body = text.split(f"typedef enum {name} {{")[1].split(f"}} {name};")[0]
        if name != "clf_status":
            assert re.findall(r"\b(CLF_\w+) =\s", body) == list(values)


def test_functions():
    assert sorted(_c.FUNCTIONS) == (ROOT / "tests/api/symbols.txt").read_text().split()


def test_words():
    assert words(_c.clf_length_rule) == {"huggingface": 0, "gnmt": 1, "none": 2, "including-start": 3}
    assert words(_c.clf_precision)["int8"] == _c.clf_precision["CLF_PRECISION_INT8"]
