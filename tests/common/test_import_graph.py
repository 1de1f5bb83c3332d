"""The trust boundary, held by the import graph.

The pure rooms infer from released answers. They may know the public schema
types, but neither the records nor the mechanisms, not even by way of another
module. Only queries and the privacy room evaluate a query. Importing the
package draws no randomness and loads no optional library.

The graph is read from the syntax trees: nothing is imported for it. An import
inside a function counts, an import for type checkers only does not. A package
is not taken to import what its sub-modules import, and a sub-module not what
the `__init__` of its package re-exports.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "skdp"

COVARIANCE_ROOMS = (
    "skdp.covariance.adaptive_rounds",
    "skdp.covariance.denoising",
    "skdp.covariance.downstream",
    "skdp.covariance.entries",
    "skdp.covariance.maximum_entropy",
    "skdp.covariance.measurement",
    "skdp.covariance.spectra",
)
PURE_ROOMS = (
    "skdp.stats",
    "skdp.graphical",
    "skdp.metrics",
    "skdp.plotting",
    "skdp.causal.skeleton",
    "skdp.causal.orientation",
    "skdp.causal.answerers",
    "skdp.covariance.maximum_entropy",
    "skdp.covariance.entries",
    "skdp.covariance.adaptive_rounds",
    "skdp.covariance.denoising",
)
BUILT_ROOMS = (
    "skdp.stats",
    "skdp.graphical",
    "skdp.metrics",
    "skdp.plotting",
    "skdp.causal.skeleton",
    "skdp.causal.orientation",
    *COVARIANCE_ROOMS,
)
FORBIDDEN = ("skdp.records", "skdp.privacy")
PUBLIC_FACTS = ("skdp.records.schema",)
MAY_EVALUATE = ("skdp.privacy", "skdp.queries")
OPTIONAL = ("pandas", "matplotlib", "dp_accounting", "opendp", "pgmpy", "tqdm")


# Reading the graph ------------------------------------------------------------


def within(module: str, rooms: tuple[str, ...]) -> bool:
    """Tell whether a module is one of these rooms or lies inside one."""
    return any(module == room or module.startswith(f"{room}.") for room in rooms)


def read_modules(package: Path) -> dict[str, tuple[Path, ast.Module]]:
    """Map the dotted name of every module of a package to its path and syntax."""
    modules = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules[name] = (path, ast.parse(path.read_text(encoding="utf-8")))
    return modules


def is_type_checking(test: ast.expr) -> bool:
    """Recognise `TYPE_CHECKING` and `typing.TYPE_CHECKING`."""
    return getattr(test, "id", getattr(test, "attr", None)) == "TYPE_CHECKING"


def run_time_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Walk a syntax tree, leaving out what only a type checker executes."""
    yield node
    children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.If) and is_type_checking(node.test):
        children = list(node.orelse)
    for child in children:
        yield from run_time_nodes(child)


def absolute_base(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    """Resolve the left side of `from ... import` to a dotted name."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    keep = len(parts) - node.level + (1 if is_package else 0)
    return ".".join([*parts[:keep], *([node.module] if node.module else [])])


def imports_of(name: str, modules: dict[str, tuple[Path, ast.Module]]) -> set[str]:
    """Name the modules of the package that a module imports itself."""
    path, tree = modules[name]
    found = set()
    for node in run_time_nodes(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = absolute_base(node, name, path.name == "__init__.py")
            for alias in node.names:
                submodule = f"{base}.{alias.name}"
                found.add(submodule if submodule in modules else base)
    return found & set(modules)


def impure_chains(package: Path) -> list[str]:
    """List each way from a pure room to records or mechanisms, as `a -> b -> c`."""
    modules = read_modules(package)
    chains = []
    for start in (name for name in modules if within(name, PURE_ROOMS)):
        seen, paths = {start}, [(start,)]
        while paths:
            path = paths.pop(0)
            for target in sorted(imports_of(path[-1], modules) - seen):
                seen.add(target)
                if target in PUBLIC_FACTS:
                    continue
                if within(target, FORBIDDEN):
                    chains.append(" -> ".join((*path, target)))
                else:
                    paths.append((*path, target))
    return chains


def evaluations_outside(package: Path) -> list[str]:
    """List the places outside the curator's rooms that touch `.evaluate`."""
    return [
        f"{name}:{node.lineno}"
        for name, (_, tree) in read_modules(package).items()
        if not within(name, MAY_EVALUATE)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "evaluate"
    ]


# The package ------------------------------------------------------------------


def test_pure_rooms_see_neither_records_nor_mechanisms():
    assert impure_chains(PACKAGE) == []


def test_only_the_curator_evaluates_queries():
    assert evaluations_outside(PACKAGE) == []


@pytest.mark.parametrize("room", BUILT_ROOMS)
def test_the_rooms_are_where_the_checker_looks(room):
    # A renamed room would otherwise pass unseen.
    assert room in read_modules(PACKAGE)


def run_python(program: str, folder: Path = PACKAGE.parent) -> str:
    """Run a program in a fresh interpreter, in a folder; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


IMPORT_EVERYTHING = """
import importlib, pkgutil, sys

def import_everything():
    package = importlib.import_module("skdp")
    for module in pkgutil.walk_packages(package.__path__, "skdp."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

import_everything()
"""

# The optional libraries are made to look absent, since scikit-learn loads pandas where
# it finds it; printed are those that a module of ours asks for.
LIST_OPTIONAL = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {OPTIONAL}:
            frame = sys._getframe(1)
            while "importlib" in frame.f_code.co_filename:
                frame = frame.f_back
            if frame.f_globals["__name__"].split(".")[0] == "skdp":
                print(name)
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
{IMPORT_EVERYTHING}
"""

# A stream opened at import would be repeated by every forked worker. The second
# import runs the modules of the package again while foreign ones stay loaded.
REFUSE_RANDOMNESS = f"""{IMPORT_EVERYTHING}
import os, random, secrets
import numpy as np

def refuse(*args, **kwargs):
    raise AssertionError("randomness drawn at import")

for name in [name for name in sys.modules if name.split(".")[0] == "skdp"]:
    del sys.modules[name]
random.random(), np.random.random()  # leave the state that an import may have set
before = random.getstate(), np.random.get_state()[1].tolist()
os.urandom = random._urandom = secrets.randbits = secrets.token_bytes = refuse
np.random.bit_generator.randbits = np.random.default_rng = refuse
import_everything()
if before != (random.getstate(), np.random.get_state()[1].tolist()):
    refuse()
"""


def test_importing_any_module_loads_no_optional_library():
    assert run_python(LIST_OPTIONAL) == ""


def test_importing_draws_no_randomness():
    assert run_python(REFUSE_RANDOMNESS) == ""


# The checker itself -----------------------------------------------------------


def write_tree(root: Path, files: dict[str, str]) -> Path:
    """Write a small package of the same shape and return its folder."""
    tree = {
        "skdp/__init__.py": "from skdp.privacy.noise import draw",
        "skdp/records/__init__.py": "from .schema import Schema",
        "skdp/records/schema.py": "from skdp.records import discrete\nSchema = str",
        "skdp/records/discrete.py": "",
        "skdp/privacy/__init__.py": "",
        "skdp/privacy/noise.py": "def draw(query, data): query.evaluate(data)",
        "skdp/helpers.py": "",
        "skdp/stats/__init__.py": "",
        "skdp/causal/__init__.py": "from skdp.privacy import noise",
        **files,
    }
    for name, text in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root / "skdp"


@pytest.mark.parametrize(
    ("files", "chain"),
    [
        (
            {"skdp/stats/a.py": "import skdp.privacy.noise"},
            "skdp.stats.a -> skdp.privacy.noise",
        ),
        (
            {"skdp/stats/a.py": "def f():\n    from ..records import discrete"},
            "skdp.stats.a -> skdp.records.discrete",
        ),
        (
            {"skdp/stats/__init__.py": "from ..records import Schema"},
            "skdp.stats -> skdp.records",
        ),
        (
            {
                "skdp/causal/skeleton.py": "from skdp import helpers",
                "skdp/helpers.py": "from .privacy import noise",
            },
            "skdp.causal.skeleton -> skdp.helpers -> skdp.privacy.noise",
        ),
        (
            {"skdp/metrics.py": "from skdp import draw"},
            "skdp.metrics -> skdp -> skdp.privacy.noise",
        ),
    ],
    ids=["direct", "in-a-function", "re-exported", "transitive", "by-the-front-door"],
)
def test_the_checker_finds_a_way_in(tmp_path, files, chain):
    assert impure_chains(write_tree(tmp_path, files)) == [chain]


@pytest.mark.parametrize(
    "text",
    [
        "from skdp.records.schema import Schema",
        "from skdp.causal import skeleton",
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from skdp.privacy import noise",
        "import typing\nif typing.TYPE_CHECKING:\n    import skdp.records.discrete",
    ],
    ids=["schema-types", "sub-module", "type-checking", "typing-attribute"],
)
def test_the_checker_lets_public_facts_pass(tmp_path, text):
    files = {"skdp/stats/a.py": text, "skdp/causal/skeleton.py": ""}
    assert impure_chains(write_tree(tmp_path, files)) == []


def test_the_checker_finds_an_evaluation(tmp_path):
    files = {"skdp/helpers.py": "def f(query, data):\n    return query.evaluate(data)"}
    package = write_tree(tmp_path, files)
    assert evaluations_outside(package) == ["skdp.helpers:2"]


@pytest.mark.parametrize(
    "text",
    [
        "import numpy as np\nRNG = np.random.default_rng(0)",
        "from numpy.random import PCG64\nSTREAM = PCG64()",
        "import numpy as np\nnp.random.seed(0)",
        "import secrets\nKEY = secrets.randbits(256)",
    ],
    ids=["generator", "bit-generator", "global-state", "operating-system"],
)
def test_the_checker_finds_randomness_at_import(tmp_path, text):
    write_tree(tmp_path, {"skdp/helpers.py": text})
    with pytest.raises(AssertionError, match="randomness drawn at import"):
        run_python(REFUSE_RANDOMNESS, tmp_path)


def test_the_checker_finds_an_optional_library(tmp_path):
    text = "try:\n    import pandas\nexcept ImportError:\n    pass"
    write_tree(tmp_path, {"skdp/helpers.py": text})
    assert run_python(LIST_OPTIONAL, tmp_path) == "pandas"
