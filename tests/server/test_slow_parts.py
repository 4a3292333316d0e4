"""Parts of a page whose answer takes long, or does not come."""

from __future__ import annotations

from typing import Any

import pytest

from tests.waiting import until_page as until

pytestmark = pytest.mark.long


def test_a_part_waits_for_an_answer_that_takes_longer_than_a_minute(browser, demo):
    held: list[Any] = []
    context = browser.new_context()
    page = context.new_page()
    page.clock.install()
    page.route("**/tools?*", lambda route: held.append(route))
    page.goto(demo)
    until(page, "document.querySelector('.tiles dd.big')")
    while not held:
        page.wait_for_timeout(50)
    page.clock.fast_forward(150_000)
    held[0].continue_()
    until(page, "document.querySelector('table.tools')")
    context.close()


def test_a_part_whose_request_fails_says_that_it_is_not_loaded(page, demo, faults):
    page.route("**/tools?*", lambda route: route.abort())
    page.goto(demo)
    until(page, "document.querySelector('[hx-get^=\"/tools\"] .error-box')")
    assert "the server did not answer" in page.inner_text('[hx-get^="/tools"]')
    page.unroute("**/tools?*")
    faults.clear()  # the browser reports the request too
