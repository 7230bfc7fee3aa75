"""Models with random weights for bench/peers and bench/cluster, created if missing."""
import os
import pathlib
import subprocess
import sys

ENGINES = pathlib.Path(__file__).resolve().parent
PLACE = ENGINES.parent.parent / "build" / "peers"


def venv_python(say, name="venv", variable="BENCH_PEERS_VENV", requirements="requirements.txt"):
    """Returns the Python of a virtual environment with the peers; creates the environment if missing."""
    if variable in os.environ:
        return pathlib.Path(os.environ[variable]) / "bin" / "python"
    folder = PLACE / name
    python, whole = folder / "bin" / "python", folder / "whole"  # `whole` is written last
    if not whole.exists():
        say(f"setting up {folder}")
        try:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", ENGINES / requirements], check=True)
        except subprocess.CalledProcessError as error:
            sys.exit(f"{error}; on Debian, python3-venv and network access are required")
        whole.touch()
    return python


def made_folder(maker, shape, last_file, say):
    """Returns the folder of a model written by the script `maker`, which writes `last_file` last; creates it if missing."""
    folder = pathlib.Path(os.environ.get("BENCH_PEERS_MODELS", PLACE)) / shape
    if not (folder / last_file).exists():
        folder = PLACE / shape
    if not (folder / last_file).exists():
        python = venv_python(say)
        say(f"creating the model {folder}")
        subprocess.run([python, ENGINES / maker, shape, folder], check=True, stdout=subprocess.DEVNULL)
    return folder


def model_folder(shape, say):
    return made_folder("make_model.py", shape, "model.safetensors", say)


def whisper_folder(shape, say):
    return made_folder("make_whisper.py", shape, "whole", say)
