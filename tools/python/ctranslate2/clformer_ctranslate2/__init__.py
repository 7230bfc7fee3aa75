"""Answers `import ctranslate2` with clformer's module, also where the real one is installed.

Imported by clformer_ctranslate2.pth at every start of Python, so it imports nothing else; CLFORMER_CT2=0 leaves the real
module.
"""

import os
import sys

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "path")  # the folder that contains ctranslate2/


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "ctranslate2":
            return None
        from importlib.util import spec_from_file_location

        folder = os.path.join(PATH, "ctranslate2")
        return spec_from_file_location(name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])


def install():
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)
