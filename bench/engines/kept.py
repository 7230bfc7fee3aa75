"""Saves the rows of a benchmark in a JSON file, with the settings that were used to measure them."""
import datetime
import json
import os
import sys


def processor():
    for line in open("/proc/cpuinfo", encoding="utf8"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return os.uname().machine


def read_kept(bench, path, setting, take):
    """Returns the result of `take` for the content of the file; None if there is no file."""
    if not path or not os.path.exists(path):
        return None
    try:
        with open(path, encoding="utf8") as file:
            kept = json.load(file)
        other = [key for key, value in setting.items() if kept[key] != value]
        taken = take(kept)
    except (ValueError, KeyError, TypeError) as error:
        sys.exit(f"{bench}: {path}: was not written by --json ({error!r}); name another file")
    if other:
        sys.exit(f"{bench}: {path}: its rows were measured with other settings ({', '.join(other)}); name another file")
    return taken


def keep(path, setting, **content):
    """Rewrites the file; does nothing without a path."""
    if path:
        date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        with open(f"{path}.part", "w", encoding="utf8") as file:
            json.dump({"date": date, **setting, **content}, file, ensure_ascii=False, indent=1)
        os.replace(f"{path}.part", path)
