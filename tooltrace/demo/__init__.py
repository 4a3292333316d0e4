"""``tooltrace demo``: three scripted agents that work on real material, with every tool call recorded.

Read :mod:`tooltrace.demo.tools` first: it shows how tools are traced.

    tools.py           the tools, as a user would write them
    workspace.py       the material: Python's own source tree, a database, a workspace
    docs.py            search over docstrings, with signals
    python_outline.py  Python's parser, for all threads
    calculator.py      safe evaluation of expressions
    history.py         calls of the days before, each tool with one problem
    server.py          a local HTTP server that sometimes fails
    plan.py            the calls that the agents will make, drawn from a seed
    retry.py           retries: each one is the next attempt of the same call
    agent.py           the agents: threads, one loop, and asyncio
    run.py             the complete demo; tooltrace/cli/demo_report.py shows its results
"""
