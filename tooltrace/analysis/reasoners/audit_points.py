"""The points of the checklist: their names, what to change where one is not passed, and the sentences of their evidence."""

from __future__ import annotations

from typing import Final, NamedTuple


class Point(NamedTuple):
    """One point. Where it is about a practice: what it applies to, what follows it, and the sentence where it applies to nothing."""

    name: str
    fix: str
    of: str = ""
    kept: str = ""
    sentence: str = ""
    nothing: str = ""


POINTS: Final = (
    Point(
        "one envelope for all results",
        "return a ToolResponse with text and data, or the members of a known protocol: a text that came back does not mean that the tool worked",
        *("returned", "enveloped", "enveloped", "no_results"),
    ),
    Point("success means execution only", "report a failure as an error, instead of a success whose data describe it"),
    Point(
        "confidence on results",
        "return ToolResponse.success(…, confidence=…): success alone does not mean that the answer is right",
        *("results", "confident", "confident", "no_results"),
    ),
    Point(
        "results can be traced",
        "name the sources of each result: ToolResponse.success(…, sources=[Source(id=…)])",
        *("results", "sourced", "sourced", "no_results"),
    ),
    Point(
        "errors structured",
        'give each kind of error a code: ToolResponse.error("RATE_LIMIT", …)',
        *("errors", "structured", "structured", "no_errors"),
    ),
    Point(
        "next action given",
        'report the next action: ToolResponse.success(…, next_action="continue"); return errors instead of raising them',
        *("attempts", "advised", "advised", ""),
    ),
    Point("results evaluated", "label results: tooltrace label, tt.label"),
    Point(
        "earlier tools adapted",
        "return ToolResponse.error(…) or raise, instead of describing a failure in the data or the text; or read it with tt.rule",
    ),
    Point(
        "low confidence is not strong evidence",
        "advise ask_user or human_review where the confidence is below 0.5, or leave the next action to resolve_next_step",
    ),
    Point(
        "sources suffice to cite",
        'give each source its type and a stable id: Source(type="database", id=…)',
        *("results", "citable", "citable", "no_results"),
    ),
    Point(
        "confidence calibrated",
        "label results (tooltrace label, tt.label), and adjust the confidence to match the labels",
    ),
    Point(
        "confidence has signals",
        "compute the confidence from named signals: tt.ConfidenceRules, or ToolResponse(…, signals={…})",
        *("confident", "signalled", "signalled", "unsure"),
    ),
    Point(
        "retryable reported correctly",
        "set retryable=True if a later attempt can succeed, and retryable=False if the same call would fail again",
    ),
    Point(
        "errors state what to do",
        "give errors a suggestion= for the model or a user_message= for the person",
        *("errors", "helped", "helped", "no_errors"),
    ),
    Point(
        "version, call id, duration",
        "set the version in trace_tool(version=…), and pass the model's call id with tt.context(call_id=…)",
        *("attempts", "traceable", "traceable", ""),
    ),
)

_LABELLED: Final = "{labelled} of {confident} results with a confidence are labelled"
_CALIBRATION: Final = " [{low}, {high}]; expected calibration error {ece}, where that of a calibrated tool is below {limit} in 95 of 100 cases"
_ACCURACY: Final = f"{_LABELLED}: mean confidence {{confidence}}, accuracy {{right}}, "

SENTENCES: Final = {
    "no_results": "no results",
    "no_errors": "no errors",
    "enveloped": "{enveloped} of {returned} returned results came in an envelope, {with_data} of them with data; {unread} attempts are unread",
    "nothing_stated": "no result states whether the tool worked",
    "stated": "none of {stated} stated results describes a failure as a success",
    "contradicted": "{contradicted} of {stated} stated results describe a failure as a success, such as call {example}",
    "confident": "{confident} of {results} results have a confidence",
    "sourced": "{sourced} of {results} results name a source with an id or a url",
    "structured": "{structured} of {errors} errors are structured and have a specific code",
    "advised": "{advised} of {attempts} attempts recommend a next action",
    "evaluated": "{evaluated} of {results} results are labelled",
    "guessed": "{guessed} of {ruled} attempts described a failure that only a heuristic rule found, such as call {example}",
    "unread": "the rules that read the results are not recorded",
    "adapted": "none of {ruled} attempts needed a heuristic rule to find a failure",
    "none_low": "no result has a confidence below 0.5",
    "low": "none of {low} results with a low confidence advises to continue",
    "low_continue": "{continued} of {low} results with a low confidence advise to continue, such as call {example}",
    "citable": "{citable} of {results} results have sources that all have a type and an id",
    "unsure": "no result has a confidence",
    "unlabelled": "none of {confident} results with a confidence is labelled",
    "one_cluster": f"{_LABELLED}, all of one conversation",
    "over": f"{_ACCURACY}overconfident by {{gap}}{_CALIBRATION}",
    "under": f"{_ACCURACY}underconfident by {{gap}}{_CALIBRATION}",
    "level": f"{_ACCURACY}not clearly over- or underconfident, gap {{gap}}{_CALIBRATION}",
    "signalled": "{signalled} of {confident} results with a confidence have signals",
    "untried": "{reported} of {errors} errors report whether they are retryable; no retryable error was retried",
    "retried": "{reported} of {errors} errors report whether they are retryable; {recovered} of {retried} retryable errors that were retried succeeded, {share} [{low}, {high}]",
    "helped": "{helped} of {errors} errors state what to do: {suggested} with a suggestion, {with_user_message} with a message for the user",
    "traceable": "of {attempts} attempts {versioned} have a tool version, {identified} a call id from the model, {timed} a duration",
}
"""What the evidence says, by its kind; the numbers in braces are those of the column ``figures``."""
