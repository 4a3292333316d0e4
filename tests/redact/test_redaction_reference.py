"""The patterns mask what they masked when each was searched over the whole text, and take linear time."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.redact import reference_redaction as reference
from tooltrace.redact.redaction import MASK, Redaction
from tooltrace.redact.secret_hints import fold

WORDS = [
    "token", "Token", "TOKEN", "next_page_token", "secret", "Secrets", "secretary", "secret_key", "password", "passwd", "passphrase",
    "DB_PASS", "_pass", "pass", "pwd", "xpwd", "api_key", "apiKey", "api-key", "account_key", "access_key_id", "accesskey", "private-key",
    "signing key", "key", "credential", "credentials", "authorization", "Authorization", "cookie", "bearer", "Bearer", "basic", "Basic",
    "-u", "--user", "--password", "--token", "--api-key", "-secret", "<token>", "</token>", "<password>", "<API_KEY>",
    "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----BEGIN PGP PRIVATE KEY BLOCK-----", "-----BEGIN ", "-----END ",
    "://", "http://", "user:pw@h", "@", "u@", "eyJ", "eyJhbGciOiJI.eyJzdWIi.abc", "eyJabcdef", "sk-", "sk_", "pk_live_", "rk-", "ask-",
    "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "xapp-", "whsec_", "GOCSPX-", "pypi-", "dop_v1_", "SG.", "ya29.", "hf_", "npm_",
    "AIza", "AKIA", "AROA", "IA", "ABCDEFGHIJKLMNOP", "0123456789abcdef", "Zq9Xw8Vu7Ts6Rp5Qo4", "a" * 44, "dXNlcjpwYXNz", "understanding",
    "[redacted]", "card_number", "creditCard", "ssn", "cvv", "jwt", "auth", "connectionString", "name", "value", "x", "的", "é", "1",
    "\u017fecret", "to\u212aen", "ap\u0131_key", "\u0130", "\ud800",
]  # fmt: skip
JOINTS = [
    " ", "  ", "=", ":", " = ", ": ", '"', "'", "\\", "\\\\", '\\"', "\\n", "\n", "\t", "{", "}", "[", "]", ",", ";", "&", "-", "_", ".", "/",
    "\r\n", "\\u0074", "\\u001b", "\u00a0", "\u3000", "\x1c", "<", ">", '"""', "```", " " * 9, '="', "='", ': "', '": "', '=\\"', ":\\/\\/",
]  # fmt: skip

text_of_pieces = st.lists(st.sampled_from(WORDS) | st.sampled_from(JOINTS), max_size=25).map("".join)
leaves = text_of_pieces | st.none() | st.booleans() | st.integers(-9, 9) | st.just("")
documents = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(text_of_pieces | st.sampled_from(WORDS), inner, max_size=3)
        | st.fixed_dictionaries({"name": st.sampled_from(WORDS), "value": inner})
        | st.builds(json.dumps, inner, ensure_ascii=st.booleans(), indent=st.sampled_from([None, 1]))
    ),
    max_leaves=8,
)


@given(text_of_pieces)
def test_a_text_is_masked_as_the_reference_masks_it(text: str) -> None:
    assert Redaction().redact_text(text) == reference.Redaction().text(text)


@given(documents)
def test_a_document_is_masked_as_the_reference_masks_it(value: Any) -> None:
    assert Redaction().redact_value(value) == reference.Redaction().value(value)
    options: dict[str, Any] = {"keys": ["Name"], "patterns": [r"x[a-z]*", re.compile("[0-9]{3,}")], "emails": True}
    assert Redaction(**options).redact_value(value) == reference.Redaction(**options).value(value)


@given(documents)
def test_the_reference_does_not_change_text_that_may_be_skipped(value: Any) -> None:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if Redaction().may_skip(text):
        assert reference.Redaction().text(text) == text
        assert reference.Redaction().value(value) == value


@given(documents)
def test_a_value_without_a_secret_is_returned_itself(value: Any) -> None:
    if MASK not in repr(value) and reference.Redaction().value(value) == value:
        assert Redaction().redact_value(value) is value


def test_case_folding_preserves_positions() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    alike = {letter: re.compile(letter, re.IGNORECASE) for letter in letters}
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        folded = fold(char)
        assert len(folded) == 1
        assert (folded.isalnum(), folded.isspace()) == (char.isalnum(), char.isspace())
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    for letter, pattern in alike.items():
        assert {fold(match[0]) for match in pattern.finditer(every)} == {letter}


PACKAGES = ["pydantic", "urllib3", "structlog", "click", "starlette"]


@pytest.mark.parametrize("package", PACKAGES)
def test_real_files_are_masked_as_the_reference_masks_them(package: str) -> None:
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None
    folder = Path(spec.origin).parent
    papers = list(folder.parent.glob(f"{package}-*.dist-info/METADATA"))
    texts = [path.read_text()[:20_000] for path in [*sorted(folder.glob("*.py"))[:12], *papers]]
    for text in texts:
        assert Redaction().redact_text(text) == reference.Redaction().text(text)
    data = {"pages": [{"content": text, "token_count": len(text)} for text in texts], "api_key": "x"}
    assert Redaction().redact_value(data) == reference.Redaction().value(data)


UNITS = [
    "a-", "a.", "eyJa-", "eyJa.", "eyJ", "://", "://a:", "://a:b@", "secret-", "secret_", 'token="', "token='", "token=", 'token=\\"', "token ",
    "_pass=", "api_key=", "sk-", "basic ", "basic dXNl", "bearer ", "bearer a", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-", "\\", '"', '"""',
    '\\"', "authorization:", "cookie=", "-u ", "-u=", "--token ", "<token>", "ghp_", "SG.", "AKIA", "[", "{", '{"a":', '["token",',
]  # fmt: skip


@pytest.mark.parametrize(
    "unit", [pytest.param(unit, marks=[pytest.mark.deep] if n % 6 else []) for n, unit in enumerate(UNITS)]
)
def test_a_megabyte_of_secret_prefixes_is_redacted_in_linear_time(unit: str) -> None:
    """It would take minutes if the time were not linear; the limit is pytest's."""
    run = unit * (1_000_000 // len(unit))
    for text in (run, "password " + run, 'token="' + run, "password" + " " * 9 + run + "@"):
        assert Redaction().redact_text(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "the basic secret token, no password",
        "basic authentication, or a bearer token for nobody",
        "a cookie banner, the secretary, credentials and an api key",
        '{"usage": {"token_count": 5, "total_tokens": 7}, "author": "Ada", "discard": true}',
        "-----BEGIN CERTIFICATE-----",
        "discard the wildcard of sk-learn, npm_config and eyJ",
    ],
)
def test_words_of_secrets_without_a_secret_cost_one_search(text: str) -> None:
    assert Redaction().may_skip(text)
    assert reference.Redaction().text(text) == text


@given(st.binary(min_size=2, max_size=30), st.sampled_from(["Basic ", "basic\t", "BASIC  ", "ba\u017fic "]))
def test_basic_credentials_are_found_wherever_the_colon_is(data: bytes, scheme: str) -> None:
    text = f"x {scheme}{base64.b64encode(data).decode()}"
    assert Redaction().redact_text(text) == reference.Redaction().text(text)
    document = {"header": json.dumps({"h": text})}
    assert Redaction().redact_value(document) == reference.Redaction().value(document)


@pytest.mark.parametrize(
    "document",
    [
        {'pass"word; password"x': "v"},
        {"my\npassword\n": "v"},
        {"name": 'a "quoted" api\tkey', "value": "v"},
        {"text": json.dumps({"text": json.dumps({"card number": "v", "token": {"a": 1}})})},
        {"text": json.dumps({"key": "X-Auth-Token", "value": "v"}, indent=1)},
        {"text": "password \x1d= hunter2"},
        {"text": json.dumps({"text": "token \x1d: hunter2"})},
        {"credit\u3000card": "v", "connection\u00a0string": "v"},
        {"\u017fecret": "v", "ap\u0131_key": "v", "to\u212aen": "v"},
    ],
)
def test_names_in_unusual_spellings_are_found_as_by_the_reference(document: Any) -> None:
    assert Redaction().redact_value(document) == reference.Redaction().value(document)
    text = json.dumps(document)
    assert Redaction().redact_text(text) == reference.Redaction().text(text)
