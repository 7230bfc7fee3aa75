"""LibreTranslate's web application, by its test client: libretranslate_calls.py FOLDER, which has packages/."""

import os
import sys
import warnings

from shared import put, use_argos

warnings.simplefilter("ignore")
use_argos(sys.argv[1])
os.chdir(os.path.join(sys.argv[1], "home"))

import libretranslate.init

libretranslate.init.boot = lambda *arguments, **options: None  # it downloads an index

from libretranslate.app import create_app
from libretranslate.main import get_args


def main():
    sys.argv = ["libretranslate", "--load-only", "en,pt", "--disable-web-ui"]
    client = create_app(get_args()).test_client()
    common = {"source": "en", "target": "pt"}
    found = {"languages": sorted(one["code"] for one in client.get("/languages").json)}
    for name, fields in {
        "one": {"q": "the house is small"}, "several": {"q": ["see the sea", "a"], "alternatives": 2},
        "html": {"q": "<p>small houses <b>see us</b></p>", "format": "html"},
    }.items():
        answer = client.post("/translate", json={**common, **fields})
        found[name] = [answer.status_code, answer.json["translatedText"], answer.json.get("alternatives")]
    found["no such language"] = client.post("/translate", json={**common, "q": "a", "target": "xx"}).status_code
    put(found)


main()
