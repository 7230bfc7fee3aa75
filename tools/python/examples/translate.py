"""Translates standard input line by line in bounded memory: translate.py MODEL < french.txt > english.txt"""

import sys

import clformer

with clformer.Translator(sys.argv[1]) as translator:
    for translation in translator.translate_lines(sys.stdin):
        print(translation)
