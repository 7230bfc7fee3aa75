"""The package: documentation, types, the command, and the driver of clformer[cpu]."""

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
import tarfile
import urllib.request
from importlib.metadata import files, metadata

import numpy
import pytest

import clformer
from clformer import command
from conftest import CONFIG, MODEL, ROOT, SMALL, WHISPER, long_test, run_python, write_wave

MODULES = [module.name for module in pkgutil.iter_modules(clformer.__path__, "clformer.") if module.name != "clformer.__main__"]
LONG_DOCTESTS = ["clformer.training", "clformer.transcriber"]  # as long_test


@pytest.mark.parametrize("name", ["clformer", *(x for x in MODULES if not SMALL or x not in LONG_DOCTESTS)])
def test_doctests(name, translator, digits):
    write_wave("talk.wav", 2)
    names = {"model": MODEL, "whisper": WHISPER, "translator": translator, "numpy": numpy, "small": CONFIG}
    assert doctest.testmod(importlib.import_module(name), extraglobs=names).failed == 0


@long_test
def test_readme(tmp_path, monkeypatch, capsys):
    """The examples of README.md run, with small models in place of the models that they name."""
    monkeypatch.chdir(tmp_path)
    os.symlink(MODEL, "opus-mt-fr-en")
    os.symlink(WHISPER, "whisper-small")
    (tmp_path / "french.txt").write_text("Je suis étudiant\nMerci\n")
    write_wave("talk.mp3", 2)
    section = (ROOT / "README.md").read_text().split("\n## Use it from Python\n")[1].split("\n## ")[0]
    examples = re.findall(r"```python\n(.*?)```", section, re.S)
    assert len(examples) == 3
    names = {}
    for example in examples:
        exec(compile(example, "README.md", "exec"), names)
    names["translator"].close()
    names["transcriber"].close()
    assert "I'm a student." in capsys.readouterr().out


def test_examples(tmp_path):
    examples = ROOT / "tools/python/examples"
    write_wave(tmp_path / "talk.wav", 2)
    runs = {
        "translate.py": ([MODEL], "Je suis étudiant\n", "I'm a student.\n"),
        "many_requests.py": ([MODEL, "Je suis étudiant", "Je suis étudiant"], None, "I'm a student.\nI'm a student.\n"),
        "subtitles.py": ([WHISPER, str(tmp_path / "talk.wav")], None, ""),
    }
    assert set(runs) == {path.name for path in examples.glob("*.py")}
    for name, (words, lines, expected) in runs.items():
        if name == "subtitles.py" and SMALL:
            continue  # beam search at all temperatures
        done = subprocess.run([sys.executable, examples / name, *words], input=lines, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, expected), done.stderr
    assert SMALL or " --> " in (tmp_path / "talk.srt").read_text()


def test_source_archive(tmp_path):
    """The archive contains all sources, and CMake configures them."""
    folder = ROOT / "tools/python"
    code = f"import sys; sys.path.insert(0, '.'); import backend; backend.build_sdist({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-B", "-c", code], cwd=folder, check=True, capture_output=True)
    with tarfile.open(tmp_path / f"clformer-{clformer.__version__}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    unpacked = tmp_path / f"clformer-{clformer.__version__}"
    for name in ("lib", "cl", "include"):
        for path in (ROOT / name).rglob("*"):
            assert (unpacked / "source" / path.relative_to(ROOT)).exists()
    assert (unpacked / "clformer/py.typed").exists()
    if SMALL:
        return
    flags = ["-DCLF_PYTHON=ON", "-DCLF_TESTS=OFF", "-DCLF_MPI=OFF"]
    done = subprocess.run(["cmake", "-S", unpacked / "source", "-B", tmp_path / "build", *flags], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_documentation():
    """Every public name has a docstring."""
    for name in clformer.__all__:
        value = getattr(clformer, name)
        if callable(value):
            assert value.__doc__ and "(*args" not in value.__doc__, name
            for member, method in vars(value).items():
                if not member.startswith("_") and callable(method):
                    assert method.__doc__, f"{name}.{member}"


def test_types():
    if SMALL and not os.environ.get("CLFORMER_TEST_TYPES"):
        pytest.skip("takes seconds")
    for version in ("3.11", "3.13"):
        words = [sys.executable, "-m", "mypy", "--strict", "--python-version", version, "--cache-dir",
                 os.path.join(sys.prefix, "mypy")]
        examples = (ROOT / "tools/python/examples").glob("*.py")
        for checked in (["-p", "clformer"], [str(path) for path in examples]):
            done = subprocess.run([*words, *checked], capture_output=True, text=True, cwd="/")
            assert done.returncode == 0, done.stdout


def test_version_and_files():
    assert metadata("clformer")["Version"] == clformer.__version__
    names = {str(path) for path in files("clformer")}
    assert {"clformer/py.typed", "clformer/licenses/LICENSE", "clformer/lib/libclformer.so", "clformer/bin/clformer"} <= names
    assert metadata("clformer").get_all("Requires-Dist")[0] == "numpy"


def test_probe():
    """Trials of matrix instructions run in a child process."""
    assert os.access(os.environ["CLFORMER_PROBE"], os.X_OK)


def test_command():
    script = os.path.join(os.path.dirname(sys.executable), "clformer")
    for words in ([script], [sys.executable, "-m", "clformer"]):
        done = subprocess.run([*words, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout.startswith(f"clformer {clformer.__version__}\n")
    with clformer.serve(f"fr-en:{MODEL}", port=0) as server:
        with urllib.request.urlopen(server.url + "/languages") as answer:
            assert b'"fr"' in answer.read()
    assert server.wait() == 0
    with pytest.raises(clformer.CommandError, match="/missing: no such folder"):
        clformer.serve("/missing", port=0)
    found = clformer.bench(MODEL, stage="translate", batch=[1, 2], beam=1, repeats=1)
    assert [x["batch"] for x in found] == [1, 2] and found[0]["tokens_per_second"] > 0
    with pytest.raises(clformer.CommandError, match="shape"):
        clformer.bench(stage="gemm", shape="x")


def test_message_of_a_command():
    """Messages about the cache of kernels, which may follow the error, are not taken for it."""
    errors = "clformer: warning: a\nclformer: b: no such folder\nclformer: writing compiled kernels to /c for the next start\n"
    cache = "clformer: warning: program cache: full; kernels are compiled again\n"
    assert command.error_of(errors + cache) == "b: no such folder"
    assert command.error_of("") == command.error_of(cache) == "failed without a message"
    source = (ROOT / "lib/runtime/program/cache.c").read_text()
    assert all(f'"{start}' in source for start in command.CLOSING)


def test_cpu_driver(tmp_path):
    """Intel's driver in the environment is added to the drivers of the system, and $OCL_ICD_VENDORS has priority."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libintelocl.so").touch()
    code = """
        import os, sys
        sys.prefix = sys.argv[1]
        from clformer import _drivers
        for _ in range(2):
            os.environ.pop("OCL_ICD_VENDORS", None)
            _drivers.find()
            print(os.environ["OCL_ICD_VENDORS"])
        os.environ["OCL_ICD_VENDORS"] = "x"
        _drivers.find()
        assert os.environ["OCL_ICD_VENDORS"] == "x"
    """
    done = run_python(code, tmp_path, env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == second and first.startswith(str(tmp_path / "cache/clformer/icd/"))
    assert open(first + "/clformer-intel.icd").read() == f"{tmp_path}/lib/libintelocl.so\n"
    system = set(os.listdir("/etc/OpenCL/vendors")) if os.path.isdir("/etc/OpenCL/vendors") else set()
    assert set(os.listdir(first)) == system | {"clformer-intel.icd"}


def test_log():
    done = run_python("""
        import logging, sys, clformer
        logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
        clformer.Translator(sys.argv[1]).translate("Merci", beam=1)
        """, MODEL)
    assert done.returncode == 0 and ":clformer:" in done.stdout
