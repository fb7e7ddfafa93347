"""Dataclasses whose methods are written when they are first called.

`@dataclass` here is that of the standard library, to the type checker as to the reader. At run time it declares the
fields and nothing else: the methods that the standard library writes for every class (`__init__`, `__repr__`,
`__eq__`, `__hash__`) are half a millisecond of work, and most of our several hundred kinds of value never occur in a
daemon's first hour. The first call of a method has it written, by the standard library; from then on nothing is in
between.

Taken: `frozen`, `slots` and `eq`. Nothing can be set on a frozen one, nor on an instance of a subclass. A dataclass of
the standard library cannot inherit from one of these if it is frozen. None is copied deeply or pickled.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **how):
        return partial(_declared, **how) if cls is None else _declared(cls, **how)


def _declared(cls: type, *, frozen: bool = False, slots: bool = False, eq: bool = True) -> type:
    own = {name for name, value in vars(cls).items() if value is not None}  # `__hash__` is None beside an own `__eq__`
    cls.__doc__ = cls.__doc__ or cls.__name__  # where there is none, one is made of the signature: as dear as a method
    made: type = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    written = ["__init__", "__repr__"]
    if eq:
        written.append("__eq__")
        if frozen:
            written.append("__hash__")
        elif "__hash__" not in own:
            made.__hash__ = None  # type: ignore[assignment] # as the standard library does: equal, and may change
    for name in written:
        if name not in own:
            setattr(made, name, _first_call(made, name, frozen))
    if frozen:
        made.__setattr__ = made.__delattr__ = _refused  # type: ignore[method-assign, assignment]
    return made


def _first_call(cls: type, name: str, frozen: bool) -> Callable[..., Any]:
    def method(self: object, *args: Any, **kwargs: Any) -> Any:
        whole = _written(cls, name, frozen)
        setattr(cls, name, whole)
        return whole(self, *args, **kwargs)

    return method


def _written(cls: type, name: str, frozen: bool) -> Callable[..., Any]:
    """The method as the standard library writes it, for a class with the same fields."""
    namespace = {"__doc__": cls.__doc__}
    if hasattr(cls, "__post_init__"):
        namespace["__post_init__"] = cls.__post_init__
    twin = dataclasses.make_dataclass(
        cls.__name__,
        [(each.name, each.type, _again(each)) for each in dataclasses.fields(cls)],
        namespace=namespace,
        init=name == "__init__",
        repr=name == "__repr__",
        eq=name in ("__eq__", "__hash__"),
        frozen=frozen,
        match_args=False,
    )
    method: Callable[..., Any] = vars(twin)[name]
    return method


def _again(one: dataclasses.Field[Any]) -> Any:
    return dataclasses.field(
        default=one.default,
        default_factory=one.default_factory,
        init=one.init,
        repr=one.repr,
        hash=one.hash,
        compare=one.compare,
        kw_only=one.kw_only,  # known: a class has taken the field
    )


def _refused(self: object, name: str, *value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r} of {type(self).__qualname__}")
