"""Every public object is documented in numpydoc's form and carries its types.

The objects are found from the public `__all__` of the package and of its public
sub-packages, so that a new one is checked the day it is written.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

import skdp

# What is asked of a docstring, by numpydoc's codes.
REQUIRED = {
    "GL03": "no double blank lines",
    "GL06": "known sections only",
    "GL07": "sections in their order",
    "GL08": "a docstring at all",
    "SS01": "a summary",
    "SS02": "the summary starts with a capital letter",
    "SS03": "the summary ends with a full stop",
    "SS04": "no spaces before the summary",
    "SS06": "the summary fits a line",
    "PR01": "every parameter documented",
    "PR02": "no unknown parameter",
    "PR03": "parameters in the order of the signature",
    "PR04": "a type for every parameter",
    "PR07": "a description for every parameter",
    "PR10": "a space before the colon",
    "RT01": "what is returned",
    "RT03": "a description of what is returned",
    "YD01": "what is yielded",
}

# Public modules that are no package.
PUBLIC_MODULES = {"skdp.exceptions"}


# Finding the public objects ---------------------------------------------------


def public_modules() -> Iterator[ModuleType]:
    """Yield the package, its public sub-packages and the modules named above."""
    yield skdp
    for found in pkgutil.walk_packages(skdp.__path__, "skdp."):
        if (found.ispkg or found.name in PUBLIC_MODULES) and "._" not in found.name:
            yield importlib.import_module(found.name)


def is_ours(obj: object) -> bool:
    """Tell whether an object was defined in this package."""
    return str(getattr(obj, "__module__", "")).split(".")[0] == "skdp"


def public_objects() -> dict[str, object]:
    """Map a dotted name to every public class and function, each object once."""
    found = {}
    for module in public_modules():
        for name in getattr(module, "__all__", ()):
            obj = getattr(module, name)
            if callable(obj) and is_ours(obj):
                found.setdefault(id(obj), (f"{module.__name__}.{name}", obj))
    return dict(sorted(found.values(), key=lambda pair: pair[0]))


def inner_function(member: object) -> Callable | None:
    """Return the function inside a method or a property, if there is one."""
    member = getattr(member, "__func__", getattr(member, "fget", member))
    return member if inspect.isfunction(inspect.unwrap(member)) else None


def public_members(cls: type) -> dict[str, object]:
    """Map a name to each public method and property that our own code defines."""
    members: dict[str, object] = {}
    for owner in filter(is_ours, reversed(cls.__mro__)):
        for name, member in vars(owner).items():
            function = inner_function(member) if name[0] != "_" else None
            if function is not None and is_ours(function):
                members[name] = member
    return members


def checked() -> Iterator[tuple[str, object]]:
    """Yield name and object of all that needs a docstring and types, each once."""
    seen = set()
    for name, obj in public_objects().items():
        yield name, obj
        members = public_members(obj) if inspect.isclass(obj) else {}
        for member, value in members.items():
            if id(value) not in seen:
                seen.add(id(value))
                yield f"{name}.{member}", value


CHECKED = dict(checked())


# Checking them ----------------------------------------------------------------


def parameters(obj: object) -> list[inspect.Parameter]:
    """List the parameters that a caller passes: not `self`, not `cls`."""
    if inspect.isclass(obj):
        return parameters(obj.__init__) if has_own_init(obj) else []
    found = list(inspect.signature(inner_function(obj)).parameters.values())
    return [p for p in found if p.name not in {"self", "cls"} and p.name[0] != "_"]


def has_own_init(cls: type) -> bool:
    """Tell whether a class has an `__init__` of our own (a dataclass's included)."""
    init = cls.__init__
    is_protocol = getattr(cls, "_is_protocol", False)
    return is_ours(cls) and inspect.isfunction(init) and not is_protocol


def undocumented_parameters(obj: object, doc: Validator) -> set[str]:
    """Name the parameters of a class that neither section describes."""
    described = {name.lstrip("*") for name in doc.doc_all_parameters}
    described |= {entry.name for entry in doc.doc["Attributes"]}
    return {parameter.name for parameter in parameters(obj)} - described


def docstring_errors(obj: object) -> list[str]:
    """List what a docstring lacks; one inherited from a base class is enough."""
    target = getattr(obj, "__func__", obj)
    doc = get_doc_object(target)
    errors = [f"{c} {text}" for c, text in validate(doc)["errors"] if c in REQUIRED]
    if inspect.isclass(obj):
        # A value type may describe its fields as attributes.
        errors = [error for error in errors if not error.startswith("PR01")]
        missing = undocumented_parameters(obj, Validator(doc))
        errors += [f"PR01 Parameter {name} not documented" for name in sorted(missing)]
    elif not isinstance(obj, property) and returns_something(obj):
        validator = Validator(doc)
        if validator.raw_doc and not (validator.returns or validator.yields):
            errors.append("RT01 No Returns section found")
    return sorted(set(errors))


def returns_something(obj: object) -> bool:
    """Tell whether the signature promises another value than None."""
    annotation = inspect.signature(inner_function(obj)).return_annotation
    return annotation not in {None, "None", "Self", "NoReturn", inspect.Signature.empty}


def untyped(obj: object) -> list[str]:
    """Name what a signature leaves without a type."""
    missing = [p.name for p in parameters(obj) if p.annotation is p.empty]
    if not inspect.isclass(obj):
        signature = inspect.signature(inner_function(obj))
        if signature.return_annotation is signature.empty:
            missing.append("return")
    return missing


def documented_by_base(name: str) -> bool:
    """Tell whether a method overrides one that is documented completely."""
    owner, _, member = name.rpartition(".")
    bases = getattr(CHECKED.get(owner), "__mro__", ())[1:]
    overridden = [vars(base)[member] for base in bases if member in vars(base)]
    return any(
        is_ours(inner_function(o)) and not docstring_errors(o) for o in overridden
    )


@pytest.mark.parametrize("name", CHECKED)
def test_public_object_is_documented(name):
    errors = docstring_errors(CHECKED[name])
    if errors and documented_by_base(name):
        # An override may say no more than what is its own.
        errors = [e for e in errors if not e.startswith(("GL08", "PR01", "RT01"))]
    assert not errors, "\n".join(errors)


@pytest.mark.parametrize("name", CHECKED)
def test_public_signature_is_typed(name):
    assert untyped(CHECKED[name]) == []


# The checker itself -----------------------------------------------------------


def test_the_checker_looks_at_the_whole_package():
    names = {
        "skdp.MarginalPC.refit",
        "skdp.PrivPC",
        "skdp.Schema.select",
        "skdp.queries.Query",
    }
    assert names <= set(CHECKED)


def test_the_checker_finds_what_is_missing():
    def bad(count, *, size: int = 1) -> int:
        """
        say how many.

        Parameters
        ----------
        size : int
        """
        return count + size

    found = {error[:4] for error in docstring_errors(bad)}
    assert found == {"SS02", "PR01", "PR07", "RT01"}
    assert untyped(bad) == ["count"]
    assert untyped(lambda: 0) == ["return"]


def test_the_checker_finds_a_missing_docstring():
    def bare() -> None:
        pass

    assert docstring_errors(bare) == ["GL08 The object does not have a docstring"]


def test_the_checker_accepts_a_good_docstring():
    def good(count: int) -> int:
        """
        Count one further.

        Parameters
        ----------
        count : int
            Where to start.

        Returns
        -------
        int
            The next one.
        """
        return count + 1

    assert docstring_errors(good) == untyped(good) == []
