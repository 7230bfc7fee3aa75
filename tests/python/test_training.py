"""Training."""

import json

import pytest

import clformer
from conftest import CONFIG

OPTIONS = {"train": ["a.txt", "b.txt"], "valid": ["a.txt", "b.txt"], "tokens": True, "batch_tokens": 60, "config": CONFIG}


def test_train(digits):
    events = []
    run = clformer.train("model", **OPTIONS, max_updates=8, validate_every=4, callback=events.append)
    assert isinstance(events[0], clformer.TrainStart) and events[0].pairs == run.start.pairs == 40
    assert [x.update for x in run.updates] == list(range(1, 9)) and run.updates[0].loss > 0
    assert [x.update for x in run.validations] == [4, 8] and len(run.validations[0].samples) == 3
    assert events == [run.start, *run.updates[:4], run.validations[0], *run.updates[4:], run.validations[1]]
    page = run.to_html()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert data["runs"][0]["curves"]["loss"] == pytest.approx([x.loss for x in run.updates])
    assert data["runs"][0]["best"]["loss"] in (0, 1) and "<iframe" in run._repr_html_()
    with clformer.Translator("model") as translator:
        assert isinstance(translator.translate("1 2 3", tokens=True), str)


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
