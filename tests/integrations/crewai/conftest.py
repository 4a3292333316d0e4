"""CrewAI writes settings into the home directory and reports to its makers, unless the environment says otherwise."""

from __future__ import annotations

import os
import tempfile
from importlib.util import find_spec

if find_spec("crewai") is not None:  # before its first import
    os.environ.update(
        CREWAI_DISABLE_TELEMETRY="true",
        CREWAI_DISABLE_TRACKING="true",
        CREWAI_STORAGE_DIR=tempfile.mkdtemp(),
        CREWAI_TESTING="true",
        CREWAI_TRACING_ENABLED="false",
        HOME=tempfile.mkdtemp(),
    )
