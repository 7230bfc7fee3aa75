"""Training."""

import json
import subprocess

import pytest

import clformer
from clformer.command import COMMAND
from conftest import CONFIG

OPTIONS = {"train": ["a.txt", "b.txt"], "valid": ["a.txt", "b.txt"], "tokens": True, "batch_tokens": 60, "config": CONFIG}


def test_train(digits):
    events = []
    run = clformer.train("model", **OPTIONS, max_updates=8, validate_every=4, callback=events.append)
    assert isinstance(events[0], clformer.TrainStart) and events[0].pairs == run.start.pairs == 40
    assert [x.update for x in run.updates] == list(range(1, 9)) and run.updates[0].loss > 0
    assert [x.update for x in run.validations] == [4, 8] and len(run.validations[0].samples) == 3
    assert events == [run.start, *run.updates[:4], run.validations[0], *run.updates[4:], run.validations[1]]
    check_page(run)
    with clformer.Translator("model") as translator:
        assert isinstance(translator.translate("1 2 3", tokens=True), str)


def check_page(run):
    """The data of the page are those of `clformer train --html`, except times and the name."""
    flags = [word for key, value in CONFIG.items() for word in ("--config", f"{key}={value}")]
    words = ["train", "--train", "a.txt", "b.txt", "--valid", "a.txt", "b.txt", "--tokens", "--batch-tokens", "60", *flags,
             "--max-updates", "8", "--validate-every", "4", "--quiet", "--html", "page.html", "-o", "same"]
    subprocess.run([COMMAND, *words], check=True, capture_output=True)
    pages = [run.to_html(), open("page.html").read()]
    found, expected = (json.loads(page.split('id="data">')[1].split("</script>")[0])["runs"][0] for page in pages)
    assert found["start"].keys() | {"time", "device", "ranks"} == expected["start"].keys()
    for name in ("recipe", "config", "pairs", "device_bytes"):
        assert found["start"][name] == expected["start"][name]
    for one in (found, expected):
        del one["name"], one["start"], one["curves"]["seconds"]
        for validation in one["validations"]:
            del validation["checkpoint"]
    assert found == expected
    assert run._repr_html_().startswith("<iframe srcdoc=") and "prefers-color-scheme: dark" in pages[0]


def fail_at_the_end(event):
    if isinstance(event, clformer.TrainValidation):
        raise ZeroDivisionError("the last")


def test_callback_ends_the_run(digits):
    def stop(event):
        if isinstance(event, clformer.TrainUpdate) and event.update == 2:
            raise ZeroDivisionError("enough")

    with pytest.raises(ZeroDivisionError, match="enough"):
        clformer.train("model", **OPTIONS, max_updates=8, callback=stop)
    with pytest.raises(ZeroDivisionError, match="the last"):
        clformer.train("other", **OPTIONS, max_updates=1, callback=fail_at_the_end)
    run = clformer.train("model", **OPTIONS, max_updates=8)
    assert run.start.first_update == 3 and run.updates[-1].update == 8


def test_wrong_arguments(digits):
    for options, kind, message in (
        ({"bathc_tokens": 1}, TypeError, "unexpected keyword argument 'bathc_tokens'"),
        ({"batch_tokens": "x"}, ValueError, "batch-tokens"),
        ({"train": "missing.tsv"}, FileNotFoundError, "missing.tsv"),
        ({"train": object()}, TypeError, "train: must be a string"),
    ):
        with pytest.raises(kind, match=message):
            clformer.train("other", **{**OPTIONS, **options})
    assert not (digits / "other").exists()
