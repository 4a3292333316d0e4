"""A state machine of Hypothesis that makes histories of a store with losses of power."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.crash.history import History

CONVERSATIONS = ("conversation-blue", "conversation-green", "conversation-red")


class PowerCuts(RuleBasedStateMachine):
    """Steps on one store; see ``History``. The folder of a history in which a promise was broken is kept."""

    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed: int) -> None:
        self.recorded = False
        self.history = History(Random(seed), cuts=2, at_end=("names lost",))

    @rule(conversation=st.sampled_from(CONVERSATIONS), count=st.integers(1, 3))
    def record(self, conversation: str, count: int) -> None:
        self.recorded = True
        if conversation in self.history.model.store.forgotten:  # later calls of it are recorded, with its name
            conversation = "another"
        self.history.record(conversation, count)

    @precondition(lambda self: self.recorded)
    @rule(name=st.sampled_from(["end", "fold", "prune", "backup"]))
    def step(self, name: str) -> None:
        self.history.do(name)

    @precondition(lambda self: self.recorded)
    @rule()
    def end_and_fold(self) -> None:
        self.history.do("end")
        self.history.do("fold")

    @precondition(lambda self: self.recorded)
    @rule(conversation=st.sampled_from(CONVERSATIONS))
    def forget(self, conversation: str) -> None:
        self.history.do("forget", conversation=conversation)

    @precondition(lambda self: self.recorded and self.history.model.has_backup)
    @rule()
    def restore(self) -> None:
        self.history.do("restore")

    @precondition(lambda self: self.recorded)
    @rule()
    def cut_power(self) -> None:
        self.history.cut_power()

    def teardown(self) -> None:
        self.history.close()


class Deliveries(RuleBasedStateMachine):
    """Steps on one store whose calls go to a destination."""

    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed: int) -> None:
        self.history = History(Random(seed), cuts=2, at_end=("names lost",), delivers=True)

    @rule(count=st.integers(1, 4))
    def record(self, count: int) -> None:
        self.history.record("conversation", count=count)

    @rule(name=st.sampled_from(["deliver", "deliver", "end", "fold"]))
    def step(self, name: str) -> None:
        self.history.do(name)

    @rule()
    def end_deliver_and_fold(self) -> None:
        for name in ("end", "deliver", "fold"):
            self.history.do(name)

    @rule()
    def cut_power(self) -> None:
        self.history.cut_power()

    def teardown(self) -> None:
        self.history.close()
