"""Each form of a secret is found, what resembles one is kept, and the time is linear in the length of the text."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.redact.redaction import Redaction
from tooltrace.redact.texts import MASK, fold
from tooltrace.redact.vendor_tokens import VENDOR_TOKENS

SECRET = "Zq9Xw8Vu7Ts6Rp5Qo4"

LEAKS = [
    f'password := "{SECRET}"', f'API_TOKEN ?= "{SECRET}"', f'"password" => "{SECRET}"', f'if password == "{SECRET}":', f'if "{SECRET}" == password:',
    f'password = f"{SECRET}"', f"password = b'{SECRET}'", f"MYSQL_PWD={SECRET}", f"encryption_key={SECRET}", f"signing_key: {SECRET}",
    f"https://b.s3.test/x?X-Amz-Expires=9&X-Amz-Signature={SECRET}&a=1", f"https://b.blob.test/c?sv=1&sig={SECRET}%3D",
    f"body=%7B%22password%22%3A%22{SECRET}%22%7D", f"docker login -u me -p {SECRET} registry.test", f"API key: {SECRET}",
    f'headers = [("x-api-key", "{SECRET}")]', f"run(['mysql', '--password', '{SECRET}'])", f"tokens: {SECRET}", f"accessTokens = ['{SECRET}']",
    f"var token: string = '{SECRET}'", f"token := `{SECRET}`", f"<clientSecret>\n  {SECRET}\n</clientSecret>", f"--db-password {SECRET}",
    f"&quot;token&quot;: &quot;{SECRET}&quot;", f"password: |\n  {SECRET}\n", f"mysql -uroot -p{SECRET} db", f'{{\\"api_key\\": \\"{SECRET}\\"}}',
    f"redis-cli -a {SECRET} ping", f"char secret[25] = \"{SECRET}\";", f"PASSWORD='correct horse {SECRET}'", f"curl -u me:{SECRET} https://x.test",
]  # fmt: skip


@pytest.mark.parametrize("text", LEAKS)
def test_a_secret_in_a_text_is_removed_wherever_the_text_stands(text: str) -> None:
    for value in (text, {"q": [f"x {text} y"]}, {"deep": json.dumps({"log": text})}, json.dumps({"log": text})):
        assert SECRET not in json.dumps(Redaction().redact_value(value))
        assert not Redaction().may_skip(value if isinstance(value, str) else json.dumps(value))


@pytest.mark.parametrize(
    "value",
    [
        [["x-api-key", SECRET]], ["--password", SECRET], ["-p", "8080", "--api-key", SECRET], {"Name": "password", "Value": SECRET},
        {"key": "X-Auth-Token", "value": SECRET}, {"tokens": [SECRET]}, {"accessTokens": {"a": SECRET}}, {"api-keys": SECRET}, {"signature": SECRET},
        {"MYSQL_PWD": SECRET}, {"dbPass": SECRET}, {"connection string": SECRET}, {"card number": SECRET}, {"\u017fecret": SECRET},
    ],
)  # fmt: skip
def test_a_secret_beside_its_name_is_removed(value: Any) -> None:
    for each in (value, {"deep": [value]}, {"text": json.dumps({"text": json.dumps(value)})}):
        assert SECRET not in json.dumps(Redaction().redact_value(each))


@pytest.mark.parametrize(
    "value",
    [
        {"cookie_policy": "strict"}, {"credential_type": "oauth"}, {"secret_santa": "Bob"}, {"tokens": 512}, {"max_tokens": 512}, {"tokenType": "bearer"},
        {"usage": {"tokens": {"input": 5, "output": 7}}}, {"token_endpoint": "https://x.test/t"}, {"key": "name", "signature": "f(x) -> y"}, ["login", "bob"],
        {"name": "tokens", "value": 512}, {"tokenizer": "cl100k"}, ["token", "expires", "scope"], {"password_policy": "long"}, {"keys": ["a1", "b2"]},
    ],
)  # fmt: skip
def test_what_is_about_a_secret_is_kept(value: Any) -> None:
    assert Redaction().redact_value(value) is value


@pytest.mark.parametrize(
    "text",
    [
        "cookie_policy = strict", "credential_type: oauth", "secret_santa: Bob", "tokens: 512", "max_tokens=1024, n=2", "token = read_token(line)",
        "password=password", "api_key=os.environ['KEY']", "def login(user: str, password: str) -> bool:", "--token TOKEN", "password: ${DB_PASSWORD}",
        "if token == END_ELEMENT:", "[badge](https://x.test/pypi-charset-normalizer-is-fine)", "the basic secret token, no password", "secret: <your secret>",
    ],
)  # fmt: skip
def test_code_and_prose_about_secrets_is_kept(text: str) -> None:
    assert Redaction().redact_text(text) == text


@pytest.mark.parametrize("token", VENDOR_TOKENS, ids=lambda token: f"{token.vendor} {token.prefixes[0]}")
def test_a_token_of_each_vendor_is_removed_without_a_name(token: Any) -> None:
    chars = [char for char in map(chr, range(33, 127)) if re.fullmatch(f"[{token.alphabet}]", char)]
    assert token.source and len(chars) > 9
    for prefix in token.prefixes:
        rest = "".join(chars[n * 7 % len(chars)] for n in range(token.least))
        for text in (f"see {prefix}{rest} there", f'{{"x": "a\\n{prefix}{rest}"}}'):
            safe = Redaction().redact_text(text)
            assert rest not in safe and MASK in safe


UNITS = [
    "a-", "a.", "eyJa-", "eyJa.", "eyJ", "://", "://a:", "://a:b@", "secret-", "secret_", 'token="', "token='", "token=", 'token=\\"', "token ", "_pass=",
    "api_key=", "sk-", "basic ", "basic dXNl", "bearer ", "bearer a", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-", "\\", '"', '"""', '\\"', "sig=",
    "authorization:", "cookie=", "-u ", "-u=", "--token ", "<token>", "ghp_", "SG.", "AKIA", "[", "{", '{"a":', '["token",', "docker login ", "mysql ",
    "private-lines: 1 ", "token=`", "secrets=[", "secrets={'", "x' == token", "token%3A%22a%", "token:&quot;&", "-us1", "0:A", 'key("', "tokens",
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(
    "unit", [pytest.param(unit, marks=[pytest.mark.simulations] if n % 18 else []) for n, unit in enumerate(UNITS)]
)
def test_a_megabyte_of_a_literal_is_redacted_in_linear_time(unit: str) -> None:
    """It would take many minutes if the time were not linear; the limit is pytest's."""
    run = unit * (1_000_000 // len(unit))
    for text in (run, 'token="' + run):
        assert Redaction().redact_text(text) is not None


WORDS = ["token", "Token", "secrets", "password", "api key", "key", "sig", "authorization", "bearer ", "eyJhbGciOiJI.eyJzdWIi.abc", "AKIA", "ghp_", "sk-",
         "://u:p@h", "-u a:bcd", "--token ", "name", "value", SECRET, "abc", "12", "=", ":", ": ", " = ", '"', "'", "\\", '\\"', "\n", "\t", "{", "}", "[",
         "]", ",", "(", "%22", "%3A", "==", "\\u0074", "的", "\u017f", "\u0130", "\ud800", "é", " "]  # fmt: skip
texts = st.lists(st.sampled_from(WORDS), max_size=20).map("".join)
documents = st.recursive(
    texts | st.none() | st.integers(0, 9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(texts, inner, max_size=3)
        | st.fixed_dictionaries({"name": st.sampled_from(WORDS), "value": inner})
        | st.builds(json.dumps, inner)
    ),
    max_leaves=8,
)


@given(documents)
def test_what_may_be_skipped_has_no_secret(value: Any) -> None:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    redaction = Redaction()
    if redaction.may_skip(text):
        assert redaction.redact_text(text) == text
        # a key that is never found needs no search, so that all of the value is walked
        assert Redaction(keys=["\x00"]).redact_value(value) == value


def test_case_folding_preserves_positions() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    assert len(fold(every)) == len(every)
    for letter in "abcdefghijklmnopqrstuvwxyz":
        assert {fold(match[0]) for match in re.finditer(letter, every, re.IGNORECASE)} == {letter}


@pytest.mark.processes
def test_a_process_may_end_during_a_search() -> None:
    program = """
import threading
from tooltrace.redact.secret_search import masked

text, begun = "the password of the day " * 20_000, threading.Event()

def search():
    while True:
        begun.set()
        masked(text)

threading.Thread(target=search, daemon=True).start()
begun.wait()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
