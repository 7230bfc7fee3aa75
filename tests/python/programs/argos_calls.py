"""Argos Translate's calls: argos_calls.py FOLDER, which has packages/."""

import sys

from shared import put, use_argos

translate = use_argos(sys.argv[1])
TEXTS = ["the house is small", "a", "see the sea. small houses see us.", "small houses see us", ""]


def main():
    translation = translate.get_translation_from_codes("en", "pt")
    put({
        "languages": sorted(one.code for one in translate.get_installed_languages()),
        "lines": [translate.translate(text, "en", "pt") for text in TEXTS],
        "paragraphs": translate.translate("\n\n".join(TEXTS), "en", "pt"),
        "hypotheses": [[[one.value, round(one.score, 4)] for one in translation.hypotheses(text, 4)] for text in TEXTS[:4]],
    })


main()
