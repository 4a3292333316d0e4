"""Models built from valid values are those that the constructor and ``model_copy`` return."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import PrivateAttr

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ErrorInfo, ResponseMeta, ToolResponse
from tooltrace.core.valid_models import with_changes
from tooltrace.normalize.response_builders import build_response, error_of

_TEXTS = st.text()


@given(_TEXTS, st.none() | _TEXTS, st.none() | _TEXTS, st.none() | st.booleans(), st.none() | _TEXTS)
def test_an_error_of_a_protocol_is_that_of_the_constructor(
    message: str, code: str | None, kind: str | None, retryable: bool | None, suggestion: str | None
) -> None:
    found = error_of(message, code, kind, retryable, suggestion)
    built = ErrorInfo(**{name: getattr(found, name) for name in ErrorInfo.model_fields})
    assert found == built
    assert found.model_fields_set == built.model_fields_set
    assert found.model_dump_json() == built.model_dump_json()


@given(st.sampled_from(["success", "partial", "error"]), _TEXTS, st.none() | st.lists(st.integers()))
def test_a_response_of_a_protocol_is_that_of_the_constructor(status: str, text: str, data: list[int] | None) -> None:
    error = None if status == "success" else error_of("it failed", ToolErrorCode.TIMEOUT)
    found = build_response(status, text, data, error=error)  # type: ignore[arg-type]
    built = ToolResponse(
        status=status,  # type: ignore[arg-type]
        text=text,
        data=data,
        error=error,
        confidence=None,
        next_action=found.next_action,
        next_action_advised=status == "error",
        sources=(),
        stats=None,
        signals=None,
        context=None,
        meta=ResponseMeta(flags=()),
    )
    assert found == built
    assert found.model_fields_set == built.model_fields_set
    assert found.model_dump_json(exclude_unset=True) == built.model_dump_json(exclude_unset=True)


def test_an_error_without_a_description_is_refused() -> None:
    with pytest.raises(ValueError, match="needs an error"):
        build_response("error", "it failed")


def test_a_text_with_a_lone_surrogate_is_kept_as_the_constructor_keeps_it() -> None:
    assert error_of("\ud800").message == ErrorInfo(message="\ud800").message
    assert build_response("success", "\ud800").text == ToolResponse(status="success", text="\ud800").text


def test_a_copy_with_changes_is_that_of_model_copy() -> None:
    response = ToolResponse.success("done", {"id": 1})
    changes = {"text": "other", "stats": {"rows": 2}}
    changed, copied = with_changes(response, **changes), response.model_copy(update=changes)
    assert changed == copied
    assert changed.model_fields_set == copied.model_fields_set
    assert response.text == "done", "the response itself is unchanged"


class _Traced(ToolResponse):
    """A response of an application, with a private attribute."""

    _origin: str = PrivateAttr(default="cache")


def test_a_copy_of_an_applications_own_class_keeps_its_private_attributes() -> None:
    changed = with_changes(_Traced(status="success"), text="done")
    assert type(changed) is _Traced
    assert changed.text == "done"
    assert changed._origin == "cache"  # noqa: SLF001
