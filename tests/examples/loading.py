"""Scripts as modules."""

import importlib.util


def load(path):
    """The module of a script."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
