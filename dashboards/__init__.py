"""Pages, charts and dashboards: no SQL, no logic."""
