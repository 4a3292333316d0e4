"""Calls in the transcripts that coding agents keep on disk: one module for each agent.

A reader receives the lines of one session as objects, in their order, and returns the calls and the model calls that end
with each. It knows every kind of line that the agent writes and notes the others, because the formats are documented
nowhere and change with the agent's versions. ``tooltrace.ingest.files.transcripts`` opens the files and makes records.
"""
