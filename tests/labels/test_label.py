"""The time of labels: the later one of two is known."""

from __future__ import annotations

from tooltrace.labels.label import make_outcome
from tooltrace.recording.settings import Settings


def test_each_label_is_later_than_the_one_before() -> None:
    labels = [make_outcome(Settings(), call_id="c", correct=True, labeler="x") for _ in range(1000)]
    times = [label.labeled_at for label in labels]
    assert all(earlier < later for earlier, later in zip(times, times[1:], strict=False))
