"""The web application: pages over one store, for people on this machine. Needs the extra ``serve``.

No handler keeps the store open: each query opens it for a short time in a thread. Every figure comes from a named
query; templates, scripts, styles and texts are in ``dashboards/``.
"""
