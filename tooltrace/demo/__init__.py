"""``tooltrace demo``: three scripted agents at work on real material, every tool call recorded.

Read :mod:`tooltrace.demo.tools` first: it shows how tools are traced.

    tools.py       the tools, as a user would write them
    library.py     what they work on: Python's own source tree, a database, a workspace
    docs.py        search over docstrings, with signals
    parsing.py     Python's parser, for all threads
    arithmetic.py  safe evaluation of expressions
    server.py      a local HTTP server that is sometimes unwell
    plan.py        what the agents are going to ask for, drawn from a seed
    patience.py    retries: each one is the next attempt of the same call
    agent.py       the agents: threads, one plain loop, and asyncio
    run.py         all of it together; tooltrace/cli/demo_report.py shows what came of it
"""
