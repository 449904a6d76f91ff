"""Reference pages of the Python package, made from its docstrings.

The package is built with the crates (`make venv`, then `make test-python` or `pip install .`). Where it is not
installed the site has no such pages, and the build says so.
"""

import importlib
import inspect

# The modules with public names, in reading order, and what a page says first.
MODULES = {
    "headway": "Scenarios, runs, sweeps, results, captures.",
    "headway.units": "Quantities: a number times a unit.",
    "headway.plot": "Figures with matplotlib; each helper takes `ax=`.",
    "headway.records": "A class for each table of the scenario file. [Every key](../keys/index.md) has ranges.",
}


def pages() -> dict[str, str]:
    """Return the pages by the names of their files, `index.md` first; none where the package is not installed."""
    try:
        package = importlib.import_module("headway")
    except ImportError:
        return {}
    if not hasattr(package, "Scenario"):
        return {}
    listed = "\n".join(f"| [{name}]({name}.md) | {text} |" for name, text in MODULES.items())
    names = "\n".join(MODULES)
    index = (
        f"# Every name in Python\n\nMade from the docstrings of the package, version {package.__version__}. "
        "[Python](../../python.md) has examples.\n\n"
        f"| module | has |\n|---|---|\n{listed}\n\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{names}\n```\n"
    )
    return {"index.md": index} | {f"{name}.md": page(name, text) for name, text in MODULES.items()}


def page(module: str, text: str) -> str:
    if module == "headway":
        # its names come from private modules, which readers need not know
        loaded = importlib.import_module(module)
        names = [name for name in public(module) if not inspect.ismodule(getattr(loaded, name))]
        blocks = "\n\n".join(directive(module, name) for name in names)
    else:
        blocks = f".. automodule:: {module}\n   :members:"
    return f"# {module}\n\n{text}\n\n```{{eval-rst}}\n.. currentmodule:: {module}\n\n{blocks}\n```\n"


def public(module: str) -> list[str]:
    """The public names of a module, classes last, as `__all__` has them."""
    loaded = importlib.import_module(module)
    names = [name for name in loaded.__all__ if not name.startswith("_")]
    return sorted(names, key=lambda name: (inspect.isclass(getattr(loaded, name)), name))


def directive(module: str, name: str) -> str:
    """The directive that documents one name."""
    found = getattr(importlib.import_module(module), name)
    if inspect.isclass(found) and issubclass(found, BaseException):
        kind = "autoexception"
    elif inspect.isclass(found):
        kind = "autoclass"
    else:
        kind = "autofunction" if callable(found) else "autodata"
    return f".. {kind}:: {module}.{name}" + ("\n   :members:" if inspect.isclass(found) else "")
