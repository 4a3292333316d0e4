"""The search for secrets in a text, in time linear in its length.

One pass finds the literals of all forms and names. At each, the pattern of its form, or of a value after a name, decides.
docs/explanation/redaction.md gives the reasons.
"""

from __future__ import annotations

import base64
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from ahocorasick import Automaton

from tooltrace.redact.secret_names import NAME_OF, strength_of
from tooltrace.redact.secret_values import (
    QUOTE,
    WHITE,
    Span,
    compared_before,
    is_secret_value,
    may_have_value,
    value_after,
)
from tooltrace.redact.texts import MASK, fold
from tooltrace.redact.vendor_tokens import VENDOR_TOKENS

Check = Callable[[re.Match[str]], bool]


@cache
def _compiled(source: str) -> re.Pattern[str]:
    """Return the pattern. It is compiled when its literal is found first: all of them would take 50 ms."""
    return re.compile(source)


class Form(NamedTuple):
    """One form of a secret. A match begins at one of the literals; the text of the group "secret" is the secret."""

    literals: tuple[str, ...]
    """Texts in lower case; each match of the pattern ``source`` begins with one of them."""
    source: str
    check: Check | None = None
    """A further test of whether a match is a secret; None where every match is one."""
    back: int = 0
    """How many characters before the literal a match begins."""

    def find(self, text: str, start: int) -> Span | None:
        """Return the secret whose literal is at ``start`` in ``text``."""
        match = _compiled(self.source).match(text, start - self.back) if start >= self.back else None
        if match is None or (self.check is not None and not self.check(match)):
            return None
        return match.span("secret")


_END = r"-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_WEB = r"A-Za-z0-9_\-"
_BEARER = r"[A-Za-z0-9._~+/=|\-]"
_URL_END = r"\s\"'<>\\"


_DISCORD = tuple(base64.b64encode(f"{number:02}0".encode())[:3].decode() for number in range(10, 100))
"""How a token of a Discord bot begins: it is the bot's number in base64."""


def _is_basic(match: re.Match[str]) -> bool:
    """Whether the word after ``Basic`` is base64 of ``user:password``, as in HTTP, and not prose."""
    word = match["secret"].rstrip("=")
    if len(word) % 4 == 1:
        return False  # not a possible length of base64
    try:
        return b":" in base64.b64decode(word.replace("-", "+").replace("_", "/") + "==")
    except ValueError:
        return False


def _is_bearer(match: re.Match[str]) -> bool:
    return any(char.isdigit() or char.isupper() for char in match["secret"][:400])


def _has_small_letters(match: re.Match[str]) -> bool:
    return not match["secret"].isupper()


def _has_digits(match: re.Match[str]) -> bool:
    return any(map(str.isdigit, match["secret"]))


def _of_command(option: str) -> str:
    return rf"[^\n|;&]{{0,200}}?\s-{option}[ =]?\s?[\"']?(?P<secret>(?![-<$\[{{])[^\s\"'\\]{{3,}}+)"


def _vendor_forms() -> list[Form]:
    """Return a form for each row of the table; several rows may share a prefix."""
    forms = []
    for token in VENDOR_TOKENS:
        for prefix in token.prefixes:
            head = "".join("\\" + char if char in ".$+*?()[]{}|^~" else char for char in prefix)
            alphabet = rf"[{token.alphabet}]{{{token.least},}}+"
            start = "" if prefix[0] == "_" else rf"(?<![A-Za-z0-9]{'.' * len(prefix)})"
            if start:
                start = rf"(?:{start}|(?<=\\[nrtbf]{'.' * len(prefix)})|(?<=%[0-9A-F][0-9A-F]{'.' * len(prefix)}))"
            forms.append(Form((prefix.lower(),), (rf"(?P<secret>{head}{start}{alphabet})")))
    return forms


FORMS = (
    Form(("-----begin ",), (
        rf"(?P<secret>-----BEGIN [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----[^-]*+(?:(?!{_END})-[^-]*+)*+(?:{_END})?)")),
    Form(("private-lines:",), r"Private-Lines: ?\d+\s+(?P<secret>[A-Za-z0-9+/=\s]{20,}+)"),
    Form(("://", r":\/\/"), (r":\\*+/\\*+/[^\s/:@\"'<>]{0,200}+:(?!\[redacted\]@)(?P<secret>[^\s/\"'<>{}]{1,400}(?:@[^\s/\"'<>]{1,400})?)@(?![^\s/]*@)")),
    Form(("://", r":\/\/"), (r":\\*+/\\*+/(?P<secret>[A-Za-z0-9_\-]{16,}+)(?=@)")),
    Form(("authorization", "cookie"), (
        rf"(?i:authorization|(?:set-)?cookie)s?(?:{QUOTE})?{WHITE}{{0,8}}+(?:=(?=[^\s=])|:){WHITE}{{0,8}}+(?:{QUOTE})?(?!\[redacted\])(?=[^\"'\\\r\n =]{{0,300}}+[ =])(?P<secret>[^\"'\\\r\n]{{3,}}+)")),
    Form(("-u ", "-u=", "--user ", "--user=", "-u'", '-u"', "-u\t"), (
        r"--?(?<!\w-)(?<!\w--)(?:u|user)[ =\t]{0,4}(?P<quote>[\"']?)[^\s:\"'\\]{0,200}+:(?P<secret>(?!\[redacted\])(?:[^\s\"'\\]{3,}+|(?<=[\"'])x))")),
    *[Form((f"{command} login",), (rf"(?i:{command}) login{_of_command('p')}"))
      for command in ("docker", "podman", "buildah", "nerdctl", "registry", "skopeo", "oras", "az")],
    Form(("sshpass",), (rf"sshpass{_of_command('p')}")),
    Form(("mysql",), (r"mysql(?:dump|admin|sh|import)?\b[^\n|;&]{0,200}?\s-p(?P<secret>[^\s\"'\\-][^\s\"'\\]{2,}+)")),
    Form(("redis-cli",), (rf"redis-cli{_of_command('a')}")),
    Form(("bearer",), (rf"(?i:bearer)(?:{WHITE}|%20|\+){{1,8}}+[\"']?(?!\[redacted\])(?P<secret>{_BEARER}{{8,}}+)"), _is_bearer),
    Form(("basic",), (rf"(?i:basic)(?:{WHITE}|%20|\+){{1,8}}+(?P<secret>[A-Za-z0-9+/_\-]{{4,}}+=*+)"), _is_basic),
    Form(("eyj",), (rf"(?P<secret>eyJ(?:(?<![A-Za-z0-9]eyJ)|(?<=\\[nrtbf]eyJ))[{_WEB}]{{1,2000}}+\.[{_WEB}]{{2,}}+(?:\.[{_WEB}]*+){{0,3}})")),
    Form(("eyj",), (r"(?P<secret>eyJrIjoi[A-Za-z0-9]{40,}+=*)")),
    Form(("zxlk",), (rf"(?P<secret>ZXlK(?<![A-Za-z0-9]ZXlK)[{_WEB}+/]{{40,}}+=*)")),
    *[Form((f"{digit}:",), rf"\d(?<=\d{{8}}):(?P<secret>[{_WEB}]{{35}}(?![{_WEB}]))") for digit in "0123456789"],
    *[Form((f"ap{digit}",), r"(?P<secret>AP[0-9A-F](?<![A-Za-z0-9]...)[A-Za-z0-9]{8,}+)(?=[\s\"]|\Z)", _has_small_letters) for digit in "0123456789abcdef"],
    Form(("-us",), (r"(?P<secret>[0-9a-z]{32})-us\d{1,2}\b"), back=32),
    *[Form((f"{kind.lower()}{char}",), rf"(?P<secret>{kind}(?<![A-Za-z0-9]..)[0-9a-z]{{32}}(?![A-Za-z0-9]))", _has_digits)
      for kind in ("SK", "AC") for char in "0123456789abcdefghijklmnopqrstuvwxyz"],
    Form((".atlasv1.",), (rf"(?P<secret>[A-Za-z0-9]{{14}}\.atlasv1\.[{_WEB}=]{{60,}}+)"), back=14),
    Form(("q~",), (rf"(?P<secret>[{_WEB}.~]{{3}}\dQ~[{_WEB}.~]{{31,}}+)"), back=4),
    Form((".acc_", ".acc-"), (r"\.acc[_-](?P<secret>[a-z0-9\-]{10,32}+\.[A-Za-z0-9+/_=\-]{30,}+)")),
    Form(("_mmk",), (r"(?P<secret>[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk)"), back=36),
    Form(("webhook.office.com/",), (rf"webhook\.office\.com/(?P<secret>[^{_URL_END}]{{20,}}+)")),
    Form(("discord.com/api/webhooks/", "discordapp.com/api/webhooks/"), (rf"discord(?:app)?\.com/api/webhooks/(?P<secret>[^{_URL_END}]{{20,}}+)")),
    Form(("t3blbkfj",), (rf"(?P<secret>T3BlbkFJ[{_WEB}]{{20,}}+)")),
    Form(("aws",), r"(?i:aws)[^\n\"']{0,24}?(?i:key|pwd|pw|pass|token)[^\n\"']{0,24}[\"'](?P<secret>[0-9A-Za-z/+]{40})[\"']"),
    Form(("api.softlayer.com/soap/",), r"api\.softlayer\.com/soap/v[\d.]{1,5}/(?P<secret>[a-z0-9]{64})"),
    *[Form((start.lower(),), rf"(?P<secret>{start}[{_WEB}]{{18,24}}\.[{_WEB}]{{6}}\.[{_WEB}]{{27,}}+)") for start in _DISCORD],
    *_vendor_forms(),
)  # fmt: skip
"""The forms, each with the literals at which a match may begin."""


__all__ = ["is_secret_value", "masked", "may_have_secret", "secrets_in", "strength_of"]

_HIDDEN = re.compile(r"\\u(?:00[2-7]|01(?:7f|3[01])|212a)", re.IGNORECASE)
"""An escape of JSON that may represent a character of a literal."""


class _Literal(NamedTuple):
    """What a literal may be the beginning of."""

    length: int
    is_name: bool
    forms: tuple[Form, ...]


@cache
def _literals() -> Automaton:
    """Return the automaton that finds the literals in a text, overlapping ones too, with the position of the last character.

    It reads a text once for all literals. It keeps Python's lock: a thread that waits for the lock in a library of Rust or
    C++ while the interpreter ends would abort the process.
    """
    forms: dict[str, list[Form]] = defaultdict(list)
    for form in FORMS:
        for literal in form.literals:
            forms[literal].append(form)
    automaton = Automaton()
    for text in {*forms, *NAME_OF}:
        automaton.add_word(text, _Literal(len(text), text in NAME_OF, tuple(forms.get(text, ()))))
    automaton.make_automaton()
    return automaton


def secrets_in(text: str) -> Iterator[Span]:
    """Yield the positions of the secrets in ``text``; they may overlap.

    What a form or a name has matched is not searched again for the same form, or for a name: that would be quadratic.
    """
    low = fold(text)
    named = 0
    matched: dict[Form, int] = {}
    for last, (length, is_name, forms) in _literals().iter(low):
        start, end = last + 1 - length, last + 1
        for form in forms:
            if start >= matched.get(form, 0) and (span := form.find(text, start)) is not None:
                matched[form] = span[1]
                yield span
        if is_name and end + 1 >= named:
            for span in (value_after(text, low, start, end), compared_before(text, low, start, end)):
                if span is not None:
                    named = max(named, span[1])
                    yield span


def may_have_secret(text: str) -> bool:
    """Whether ``text`` may contain a secret, also one that is seen only when ``text`` is parsed as JSON."""
    if "\\u" in text and _HIDDEN.search(text):  # ``pass\u0077ord`` is "password" once the JSON is parsed
        return True
    low = fold(text)
    for last, (length, is_name, forms) in _literals().iter(low):
        start, end = last + 1 - length, last + 1
        if is_name and may_have_value(text, low, start, end):
            return True
        if any(form.find(text, start) is not None for form in forms):
            return True
    return False


def masked(text: str) -> str:
    """Return ``text`` with each secret replaced by the mask."""
    spans = sorted(secrets_in(text))
    if not spans:
        return text
    pieces: list[str] = []
    done = 0
    for start, end in spans:
        if start >= done:
            pieces += (text[done:start], MASK)
        done = max(done, end)
    return "".join(pieces) + text[done:]
