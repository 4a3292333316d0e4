"""Is a failure seen, and nothing else taken for one? Measured over the corpus beside this file.

``pytest tests/normalize/test_corpus.py -s -k figures`` prints the figures; corpus/README.md says how the corpus is judged.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt

CORPUS = Path(__file__).parent / "corpus"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "results.md"
START, END = "<!-- corpus -->", "<!-- /corpus -->"
RECALL_FLOOR = 0.9
GRADES = ("all rules", "certain rules only")


@dataclass(frozen=True)
class Sample:
    id: str
    family: str
    kind: str
    value: Any
    status: str
    codes: tuple[str, ...]
    note: str
    hard: bool
    disputed: bool

    @property
    def held_out(self) -> bool:
        """Not shown to whoever writes the rules."""
        return sha256(self.id.encode()).hexdigest()[0] in "01234"

    def live(self) -> Any:
        """The value as the tool returned it."""
        if self.kind in ("text", "json"):
            return self.value
        return base64.b64decode(self.value) if self.kind == "bytes" else builders()[self.value]()


@cache
def builders() -> dict[str, Callable[[], Any]]:
    name = "tooltrace_corpus_objects"
    home = CORPUS / "objects"
    spec = importlib.util.spec_from_file_location(name, home / "__init__.py", submodule_search_locations=[str(home)])
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.BUILDERS


def sample(family: str, line: str) -> Sample:
    row = json.loads(line)
    known = {"id", "kind", "value", "status", "code", "note", "hard", "disputed"}
    assert set(row) <= known, f"{row['id']}: unknown keys {set(row) - known}"
    code = row.pop("code")
    codes = tuple(code.split("|")) if code else ()
    return Sample(family=family, codes=codes, hard=row.pop("hard", False), disputed=row.pop("disputed", False), **row)


@cache
def samples() -> tuple[Sample, ...]:
    files = sorted(CORPUS.glob("*.jsonl"))
    return tuple(sample(file.stem, line) for file in files for line in file.read_text("utf-8").splitlines())


@dataclass(frozen=True)
class Judged:
    """The response to one sample."""

    sample: Sample
    status: str
    code: str | None
    rule: str | None

    def __str__(self) -> str:
        return f"{self.sample.id}: {self.status} {self.code or ''} by {self.rule} (true: {self.sample.status}; {self.sample.note})"


@cache
def judged(grade: str) -> tuple[Judged, ...]:
    options = {} if grade == GRADES[0] else {"rules": tt.CERTAIN_RULES}
    found = []
    for each in samples():
        response = tt.normalize(each.live(), **options)
        found.append(Judged(each, response.status, response.code, response.meta.rule))
    return tuple(found)


@dataclass(frozen=True)
class Figures:
    """How a part of the corpus was judged. A share of nothing is 1: nothing was wrong."""

    results: int
    failures: int
    seen: int
    false: int
    status_right: float
    code_right: float

    @classmethod
    def of(cls, part: Iterable[Judged]) -> Figures:
        counted = [each for each in part if not each.sample.disputed]
        failures = [each for each in counted if each.sample.status == "error"]
        coded = [each for each in failures if each.sample.codes]
        return cls(
            results=len(counted),
            failures=len(failures),
            seen=sum(each.status == "error" for each in failures),
            false=sum(each.status == "error" != each.sample.status for each in counted),
            status_right=share(sum(each.status == each.sample.status for each in counted), len(counted)),
            code_right=share(sum(each.code in each.sample.codes for each in coded), len(coded)),
        )

    @property
    def precision(self) -> float:
        return share(self.seen, self.seen + self.false)

    @property
    def recall(self) -> float:
        return share(self.seen, self.failures)

    def row(self, name: str) -> str:
        shares = (self.precision, self.recall, self.status_right, self.code_right)
        cells = [str(self.results), str(self.failures), str(self.seen), str(self.false), *map("{:.1%}".format, shares)]
        return f"| {name} | " + " | ".join(cells) + " |"


def share(right: int, of: int) -> float:
    return right / of if of else 1.0


HEAD = """| | results | failures | seen | false | precision | recall | status right | code right |
|---|---:|---:|---:|---:|---:|---:|---:|---:|"""


def parts(grade: str) -> list[str]:
    """The rows of the table for one set of rules: everything, and its two parts."""
    every = judged(grade)
    shown = [each for each in every if not each.sample.held_out]
    held_out = [each for each in every if each.sample.held_out]
    named = ((grade, every), (f"{grade}: shown", shown), (f"{grade}: held out", held_out))
    return [Figures.of(part).row(name) for name, part in named]


def table() -> str:
    return "\n".join([HEAD, *(row for grade in GRADES for row in parts(grade))])


def by_family(grade: str) -> str:
    names = sorted({each.sample.family for each in judged(grade)})
    rows = [Figures.of(each for each in judged(grade) if each.sample.family == name).row(name) for name in names]
    return "\n".join([HEAD, *rows])


def wrong(grade: str, *, disputed: bool) -> list[Judged]:
    found = [each for each in judged(grade) if each.sample.disputed == disputed and not each.sample.held_out]
    return [each for each in found if each.status != each.sample.status]


def test_figures() -> None:
    """Print them; what must hold is asserted below."""
    print(f"\n{table()}")
    for grade in GRADES:
        print(f"\n{grade}, by family\n{by_family(grade)}")
    print("\nstatus not as judged (shown part):", *wrong(GRADES[0], disputed=False), sep="\n  ")
    off = [each for each in judged(GRADES[0]) if each.sample.codes and each.status == "error" == each.sample.status]
    off = [each for each in off if each.code not in each.sample.codes and not each.sample.held_out]
    print("\ncode not as judged (shown part):", sep="")
    print(
        *(f"  {each.sample.id}: {each.code} by {each.rule}, not {'|'.join(each.sample.codes)}" for each in off),
        sep="\n",
    )
    print("\ndisputed, read otherwise (not counted):", *wrong(GRADES[0], disputed=True), sep="\n  ")
    assert Figures.of(judged(GRADES[0])).results >= 150


def test_normalize_never_raises() -> None:
    faults = []
    for each in samples():
        value = each.live()
        for options in ({}, {"rules": tt.CERTAIN_RULES}):
            try:
                response = tt.normalize(value, **options)
            except BaseException as error:
                faults.append(f"{each.id}: {error!r}")
            else:
                assert isinstance(response, tt.ToolResponse), each.id
                assert response.meta.rule, f"{each.id}: the rule is not recorded"
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("grade", GRADES)
def test_no_success_is_read_as_a_failure(grade: str) -> None:
    fair = [each for each in judged(grade) if not each.sample.disputed and each.sample.status != "error"]
    false = [str(each) for each in fair if each.status == "error"]
    assert not false, f"{len(false)} of {len(fair)}:\n" + "\n".join(false)


def test_recall_is_above_the_floor() -> None:
    every = judged(GRADES[0])
    missed = [str(each) for each in wrong(GRADES[0], disputed=False) if each.sample.status == "error"]
    recall = Figures.of(every).recall
    assert recall >= RECALL_FLOOR, f"{recall:.1%} of the failures are seen; missed (shown part):\n" + "\n".join(missed)


def test_certain_rules_never_use_a_heuristic() -> None:
    """With heuristics turned off, no response is graded as one."""
    graded = {each.id: tt.normalize(each.live(), rules=tt.CERTAIN_RULES).meta.rule_grade for each in samples()}
    assert set(graded.values()) == {"certain", "unread"}, [id for id, grade in graded.items() if grade == "heuristic"]


def test_the_corpus_is_sound() -> None:
    every = samples()
    counted = [each for each in every if not each.disputed]
    twice = [id for id, n in Counter(each.id for each in every).items() if n > 1]
    assert not twice
    assert len(counted) >= 150
    assert sum(each.hard for each in counted) >= 60
    assert 0.4 <= share(sum(each.status != "error" for each in counted), len(counted)) <= 0.6
    assert {each.status for each in every} == {"success", "partial", "error"}
    assert {each.kind for each in every} == {"text", "json", "object", "exception", "pair", "bytes"}
    assert all(each.note for each in every)
    assert not [each.id for each in every if each.hard and each.status != "success"]
    assert not [each.id for each in every if each.codes and each.status == "success"]


def test_every_builder_is_used_once() -> None:
    used = Counter(each.value for each in samples() if each.kind in ("object", "exception", "pair"))
    assert used == Counter(builders().keys())


def test_the_reference_has_the_figures_that_are_measured() -> None:
    text = PAGE.read_text("utf-8")
    _, start, rest = text.partition(START)
    found, end, _ = rest.partition(END)
    measured = table()
    assert start and end and found.strip() == measured, (
        f"put this into docs/reference/results.md:\n{START}\n{measured}\n{END}"
    )
