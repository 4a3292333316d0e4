"""Grouping of spans, log records and points for a request of OTLP."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar


class _Scoped(Protocol):
    @property
    def resource(self) -> dict[str, Any]: ...

    @property
    def scope(self) -> str | None: ...

    @property
    def scope_version(self) -> str | None: ...


_Form = TypeVar("_Form", bound=_Scoped)


def by_resource_and_scope(forms: Iterable[_Form]) -> list[list[list[_Form]]]:
    """Return ``forms`` in lists by resource, each of which has lists by scope; all in the order of their first form."""
    resources: dict[str, dict[tuple[str | None, str | None], list[_Form]]] = {}
    for form in forms:
        # as text, because values of attributes may be lists, which cannot be hashed
        scopes = resources.setdefault(repr(form.resource), {})
        scopes.setdefault((form.scope, form.scope_version), []).append(form)
    return [list(scopes.values()) for scopes in resources.values()]
