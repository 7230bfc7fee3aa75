"""The examples for many machines: Ray Data and Dask on two local workers give the results of one process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import clformer
from conftest import MODEL, ROOT, install_packages, long_test

LINES = 10_000


@pytest.fixture(scope="module")
def packages():
    """Returns the environment of a process that has the packages of the examples."""
    return {**os.environ, "PYTHONPATH": str(install_packages("cluster")), "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled",
            "RAY_raylet_start_wait_time_s": "600", "RAY_worker_register_timeout_seconds": "600"}


@pytest.fixture(scope="module")
def ray_cluster(packages):
    """Returns the environment of a process that uses a Ray cluster of this machine."""
    words = [sys.executable, Path(__file__).parent / "programs/ray_cluster.py"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=packages) as process:
        address = process.stdout.readline().strip()
        assert address, "the Ray cluster did not start"
        yield {**packages, "RAY_ADDRESS": address}
        process.stdin.close()


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


def check(example, environment, expected, folder):
    path, translations = expected
    device = clformer.devices()[0].index
    run([ROOT / "tools/python/examples/cluster" / example], environment, MODEL, path, folder, device, device)
    found = run(["-c", READ], environment, folder).splitlines()
    assert len(found) == LINES and found == translations


@long_test
def test_dask(expected, packages, tmp_path):
    check("dask_dataframe.py", packages, expected, tmp_path / "out")


@long_test
def test_ray(expected, ray_cluster, tmp_path):
    check("ray_data.py", ray_cluster, expected, tmp_path / "out")
