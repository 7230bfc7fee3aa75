"""The version of CTranslate2 whose interface this is."""

__version__ = "4.8.5"
