"""The web app: pages over one store, for people on this machine. Needs the extra ``serve``.

Nothing here holds the store: each question is a short lease in a thread of its own. Every figure comes from a named query;
what a page looks like is in ``tooltrace.dashboards``.
"""
