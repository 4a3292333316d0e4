"""What a labeler has judged already, in SQL."""

from __future__ import annotations

from typing import Final

from tooltrace.store.views import JUDGED

BY_LABELER: Final = f"""
outcomes AS (SELECT * FROM memory.main.outcomes WHERE labeler = $labeler),
mine AS (SELECT span_id FROM ({JUDGED.sql}) AS judged_by_labeler)
"""
"""CTEs: ``outcomes`` of $labeler alone, and ``mine``, the attempts that these come to: by the view ``judged`` itself."""
