"""CrewAI keeps its settings in the home directory and reports to its makers, unless told otherwise before the import."""

from __future__ import annotations

import os
import tempfile

os.environ.update(
    CREWAI_DISABLE_TELEMETRY="true",
    CREWAI_DISABLE_TRACKING="true",
    CREWAI_STORAGE_DIR=tempfile.mkdtemp(),
    CREWAI_TESTING="true",
    CREWAI_TRACING_ENABLED="false",
    HOME=tempfile.mkdtemp(),
)
