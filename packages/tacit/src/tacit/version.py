"""The version, where every layer can read it."""

__version__ = "0.4.0.dev0"
