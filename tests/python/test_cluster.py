"""The example for many machines: Dask on two local workers gives the results of one process."""

import os
import subprocess
import sys

import pytest

import clformer
from conftest import MODEL, ROOT, install_packages, long_test

LINES = 10_000


@pytest.fixture(scope="module")
def packages():
    """Returns the environment of a process that has the packages of the examples."""
    return {**os.environ, "PYTHONPATH": str(install_packages("cluster"))}


def run(code, environment, *arguments):
    done = subprocess.run([sys.executable, *code, *map(str, arguments)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


WRITE = """
import sys, pyarrow, pyarrow.parquet
lines = sys.stdin.read().splitlines()
table = pyarrow.table({"line": range(len(lines)), "text": lines})
pyarrow.parquet.write_table(table, sys.argv[1], row_group_size=1000)
"""
READ = """
import sys, pyarrow.parquet
table = pyarrow.parquet.read_table(sys.argv[1]).sort_by("line")
assert table["line"].to_pylist() == list(range(len(table)))
print(*table["translation"].to_pylist(), sep="\\n")
"""


@pytest.fixture(scope="module")
def expected(packages, tmp_path_factory):
    """A Parquet file of short lines, and their translations by one process."""
    source = (ROOT / "tests/fixtures/fr-en-small/source.fr").read_text().splitlines()
    short = [line for line in source if len(line.split()) <= 6]
    lines = [f"{short[i % len(short)]} {i // len(short)}" for i in range(LINES)]  # all lines differ
    path = tmp_path_factory.mktemp("cluster") / "lines.parquet"
    done = subprocess.run([sys.executable, "-c", WRITE, path], env=packages, input="\n".join(lines), text=True)
    assert done.returncode == 0
    with clformer.Translator(MODEL, beam=1) as translator:
        return path, [str(x) for x in translator.translate_batch(lines)]


@long_test
def test_dask(expected, packages, tmp_path):
    path, translations = expected
    device = clformer.devices()[0]
    run([ROOT / "tools/python/examples/cluster/dask_dataframe.py"], packages, MODEL, path, tmp_path / "out", device.index, device.index)
    found = run(["-c", READ], packages, tmp_path / "out").splitlines()
    assert len(found) == LINES and found == translations
