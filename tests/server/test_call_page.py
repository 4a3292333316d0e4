"""The page of a call: the failure first, values in several views, the tree of its trace, and labels that can be taken back."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.stores import create_empty_store
from tooltrace.core.records import Json, Outcome, Span
from tooltrace.server.value_view import FRONT, render_markdown, view_value
from tooltrace.store.upkeep.prune import prune
from tooltrace.store.upkeep.retention import PrunePolicy

from .conftest import call, write


@pytest.mark.long
def test_the_failure_stands_before_arguments_and_attempts(shown):
    trace = 'Traceback (most recent call last):\n  File "/srv/crm.py", line 88, in lookup\ncrm.AuthError'
    one = call(
        status="error", ending="raised", code="PERMISSION_DENIED", error_type="crm.AuthError",
        error_message="401 token expired", traceback=trace, arguments=Json('{"id": 7}'),
    )  # fmt: skip
    text = shown(one).get("/call", params={"id": one.span_id}).text
    order = [
        text.index(word)
        for word in ("PERMISSION_DENIED", "401 token expired", "line 88, in lookup", 'id="label-bar"', "Arguments", "Seen by the model")
    ]  # fmt: skip
    assert order == sorted(order)


@pytest.mark.long
def test_every_id_is_a_link(shown):
    one = call(conversation_id="chat/1 ?", parent_span_id="f" * 16)
    client = shown(one, Span(name="agent", span_id="f" * 16, trace_id=one.trace_id, started_at=one.started_at))
    page = client.get("/call", params={"id": one.span_id}).text
    for address in (
        f"/trace/{one.trace_id}?span={one.span_id}",
        f"/trace/{one.trace_id}?span={'f' * 16}",
        f"/conversation/chat%2F1%20%3F?span={one.span_id}",
    ):
        assert f'href="{address}"' in page
        assert client.get(address).status_code == 200, address


@pytest.mark.parametrize("conversation", [".", "..", "a/../b", "%2e", "</script>", "\u202eabc", "?id=1#x", "x" * 3000])
def test_a_conversation_of_any_name_has_a_page(shown, conversation):
    one = call(conversation_id=conversation)
    client = shown(one)
    page = client.get("/call", params={"id": one.span_id}).text
    address = re.search(r'href="(/conversation[/?][^"]*)"', page)[1].replace("&amp;", "&")
    answer = client.get(address)
    assert answer.status_code == 200
    assert one.span_id in answer.text


def test_unknown_traces_conversations_and_steps_are_not_found(shown):
    client = shown(call())
    for path in (
        "/trace",
        "/trace/none",
        "/conversation",
        "/conversation/none",
        "/step?span=none",
        "/value?span=none&part=text",
    ):
        assert client.get(path).status_code == 404, path
    assert client.get("/value?span=none&part=host").status_code == 404


def test_a_conversation_has_its_turns_and_the_chosen_step_beside_them(shown):
    first = call(status="error", error_message="no such shelf", arguments=Json('{"shelf": 12}'))
    second = call(started_at=first.started_at + timedelta(minutes=9), text="found it")
    client = shown(first, second)
    text = client.get("/conversation/session").text
    assert text.count('class="band-head"') == 2
    assert "error-text" in text, "the failed step is chosen"
    chosen = client.get(f"/conversation/session?span={second.span_id}").text
    assert "found it" in chosen
    assert "error-text" not in chosen, "the other step is chosen"
    assert "found it" in client.get(f"/step?span={second.span_id}&kind=tool", headers={"hx-request": "true"}).text


def test_a_long_trace_is_shown_in_pages(shown, monkeypatch):
    monkeypatch.setattr("tooltrace.server.traces.PAGE", 10)
    first = call()
    others = [call(trace_id=first.trace_id, started_at=first.started_at + timedelta(seconds=n)) for n in range(1, 25)]
    client = shown(first, *others)
    text = client.get(f"/trace/{first.trace_id}").text
    assert text.count('role="treeitem"') == 10
    assert "1–10 of 25" in text
    last = client.get(f"/trace/{first.trace_id}?start=20").text
    assert last.count('role="treeitem"') == 5
    assert others[-1].span_id in last


def test_a_span_of_another_library_is_shown_with_its_attributes(shown):
    one = call(parent_span_id="f" * 16)
    span = Span(
        name="chat m", span_id="f" * 16, trace_id=one.trace_id, started_at=one.started_at, scope="llm",
        attributes=Json('{"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 77}'),
    )  # fmt: skip
    client = shown(one, span)
    text = client.get(f"/trace/{one.trace_id}?span={span.span_id}").text
    assert "gen_ai.usage.input_tokens" in text
    assert "k-model" in text


def test_a_long_value_is_complete_on_demand(shown):
    long = "x" * FRONT + "THE END"
    one = call(text=long, arguments=Json('{"a": [1, 2]}'))
    client = shown(one)
    assert "THE END" not in client.get("/call", params={"id": one.span_id}).text
    part = {"span": one.span_id, "part": "text"}
    assert "THE END" in client.get("/value", params=part, headers={"hx-request": "true"}).text
    raw = client.get("/value", params=part)
    assert (raw.text, raw.headers["content-type"]) == (long, "text/plain; charset=utf-8")
    text = client.get(
        "/value", params={**part, "part": "arguments", "view": "json"}, headers={"hx-request": "true"}
    ).text
    assert "&#34;a&#34;: [\n    1," in text


def test_markdown_is_rendered_without_markup_images_and_other_schemes():
    html = render_markdown(
        "# T\n\n<script>x</script> ![i](https://e.org/i.png) [a](javascript:alert(1)) [b](/label) [c](https://e.org)\n\n| a |\n|--|\n| 1 |"
    )
    assert "<h1>T</h1>" in html
    assert "<td>1</td>" in html
    assert 'href="https://e.org" rel="noopener noreferrer" target="_blank"' in html
    assert re.findall('href="(.*?)"', html) == ["https://e.org/i.png", "https://e.org"]
    assert "<script" not in html
    assert "<img" not in html


def test_a_value_has_the_views_that_suit_it():
    assert view_value("plain", "text").views == ("markdown", "text")
    assert view_value('{"a": 1}', "text").view == "tree"
    assert view_value('"quoted"', "result").view == "text"
    big = view_value("[" + ",".join(["1"] * FRONT) + "]", "result")
    assert (big.view, big.cut) == ("json", True)
    assert view_value("{broken", "text", "json").view == "text"


def labels_of(client, one):
    return client.get("/data/labels", params={"call_id": one.call_id}).json()["rows"]


@pytest.mark.long
def test_undo_takes_a_label_back_and_the_one_before_counts_again(shown):
    one = call(confidence=0.9)
    client = shown(one)
    form = {"span_id": one.span_id, "undo": one.span_id, "labeler": "ann"}
    page = client.post("/label", data={**form, "verdict": "correct"}, headers={"hx-request": "true"})
    assert "ann ·" in page.text.split('class="said"')[1].split("</p>")[0]
    client.post("/label", data={**form, "verdict": "wrong"})
    page = client.post("/label/undo", data=form, headers={"hx-request": "true"})
    assert page.headers["hx-trigger"] == "labelled"
    assert 'class="mark yes"' in page.text.split('class="said"')[1].split("</p>")[0]
    other = {**form, "labeler": "bob"}
    client.post("/label", data={**other, "verdict": "wrong"})
    assert client.post("/label/undo", data=other).status_code == 303
    assert [row[2:4] for row in labels_of(client, one)][-1] == [None, None]
    assert client.get("/data/labelling", params={"spans": one.span_id}).json()["rows"][0][-2:] == [True, 1]


def test_without_a_label_there_is_nothing_to_undo(shown):
    one = call()
    client = shown(one)
    answer = client.post("/label/undo", data={"undo": one.span_id, "labeler": "ann"})
    assert answer.status_code == 400
    assert "no label by &#39;ann&#39; to take back; nothing was recorded" in answer.text
    assert labels_of(client, one) == []
    assert "disabled" in client.get("/call", params={"id": one.span_id}).text.split('data-key="u"')[1].split(">")[0]


def test_labelers_who_disagree_are_named_once(shown):
    one = call()
    given = {"span_id": one.span_id, "labeled_at": one.started_at}
    client = shown(one, Outcome(correct=True, labeler="ann", **given), Outcome(correct=False, labeler="bob", **given))
    text = client.get("/call", params={"id": one.span_id}).text
    assert text.count("ann: right; bob: wrong") == 1


def follow(client, location):
    address = parse_qs(urlsplit(location).query)
    return address, client.get(location).text


@pytest.mark.long
def test_a_queue_leads_from_call_to_call_until_all_are_labelled(shown):
    calls = [call(confidence=0.1 * n) for n in range(1, 10)]
    client = shown(*calls)
    first, day = calls[0].started_at, timedelta(days=1)
    # without ends, the links to earlier times have those of the second in which the page is made
    asked = {"n": 3, "seed": 5, "since": (first - day).isoformat(), "until": (first + day).isoformat()}
    page = client.get("/label", params=asked).text
    assert page == client.get("/label", params=asked).text
    start = re.search(r'data-key="n" href="(/call[^"]+)"', page)[1].replace("&amp;", "&")
    address, text = follow(client, start)
    queue = address["queue"][0]
    for done, here in enumerate(queue.split(","), 1):
        assert f"{done - 1} of 3 labelled" in text
        assert address["id"] == [here]
        form = {"span_id": here, "queue": queue, "labeler": "ann", "verdict": "correct"}
        location = client.post("/label", data=form).headers["location"]
        if done < 3:
            address, text = follow(client, location)
            assert f'name="undo" value="{here}"' in text, "undo takes the label of the call before back"
    assert urlsplit(location).path == "/label"
    _, text = follow(client, location)
    assert "3 of 3 labelled" in text
    assert "All calls of this queue are labelled." in text
    assert not set(queue.split(",")) & set(re.findall(r"id=(\w{16})&", client.get("/label?n=20&seed=5").text))


def test_a_queue_prefers_calls_that_teach_something_about_calibration_and_says_so(shown):
    client = shown(*(call(tool="silent") for _ in range(9)), *(call(tool="sure", confidence=0.9) for _ in range(3)))
    text = client.get("/label?n=5&seed=1").text
    assert "Only 3 unlabelled calls in this time range report a confidence." in text
    assert ">silent<" not in text
    text = client.get("/label?n=5&seed=1&without_confidence=yes").text
    assert "Labels of 3 of these calls say something about calibration. The other 2 report no confidence" in text
    assert "checked" in text
    text = client.get("/label?tool=silent&n=5").text
    assert "No unlabelled call in this time range reports a confidence." in text
    assert "Label 5 calls" in text
    assert "say the most about calibration" not in text


def test_undo_in_a_queue_leads_back_to_the_call(shown):
    first, second = call(confidence=0.1), call(confidence=0.9)
    client = shown(first, second)
    queue = f"{first.span_id},{second.span_id}"
    client.post("/label", data={"span_id": first.span_id, "queue": queue, "labeler": "ann", "verdict": "wrong"})
    back = client.post("/label/undo", data={"undo": first.span_id, "queue": queue, "labeler": "ann"})
    address, text = follow(client, back.headers["location"])
    assert address["id"] == [first.span_id]
    assert "0 of 2 labelled" in text


def test_the_next_unlabelled_call_is_of_the_same_tool(shown):
    here, same, other = call(confidence=0.5), call(confidence=0.5), call(tool="other", confidence=0.5)
    client = shown(here, same, other)
    address = {"tool": "search", "after": here.span_id}
    assert parse_qs(urlsplit(client.get("/label/next", params=address).headers["location"]).query)["id"] == [
        same.span_id
    ]
    client.post("/label", data={"span_id": same.span_id, "verdict": "wrong", "labeler": "ann"})
    assert client.get("/label/next", params=address).headers["location"] == "/label?tool=search"


@pytest.mark.parametrize("queue", ["", ",", "<b>", "x" * 5000, ",".join(["a" * 16] * 500), "none"])
def test_a_damaged_queue_in_the_address_does_no_harm(shown, queue):
    one = call()
    client = shown(one)
    assert client.get("/label", params={"queue": queue}).status_code == 200
    assert client.get("/call", params={"id": one.span_id, "queue": queue}).status_code == 200


@pytest.mark.long
def test_a_call_says_that_its_content_was_removed(shown, tmp_path):
    one = call(arguments=Json('{"id": 7}'))
    store = tmp_path / "shown.duckdb"
    write(create_empty_store(store), one)
    prune(store, PrunePolicy(before=datetime.now(UTC) + timedelta(days=2)))
    text = shown().get("/call", params={"id": one.span_id}).text
    assert "was removed by the retention of the store" in text
