from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from fabricated import make_clustering, make_recordings, make_segmentation
from homothety.report import render_html, write_report

NASTY = ["</script><b>", '"><img src=x onerror=alert(1)>', "a & b — ü 100 % $title {x}"]
VOID = {"meta", "link", "br", "input"}


class Checker(HTMLParser):
    """Collects the elements of a page, and complains of those that are not closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.found, self.ids, self.texts = [], [], [], []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.found.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the page of series with names that would break a careless one, and what it says."""
    recordings = make_recordings(names=NASTY)
    path = tmp_path_factory.mktemp("report") / "report.html"
    report = write_report(make_segmentation(recordings), path, data=recordings)
    return path.read_text(encoding="utf-8"), report


def test_names_are_data_wherever_they_are(written):
    page, report = written
    checked = Checker(page)
    assert checked.found.count("script") == 2
    assert not {"b", "img"}.intersection(checked.found)
    shown = "".join(checked.texts)
    assert all(name in shown for name in NASTY[1:])
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, flags=re.DOTALL)[1]
    assert json.loads(data) == json.loads(json.dumps(report.data))
    assert [one["name"] for one in json.loads(data)["series"]] == NASTY


def test_nothing_is_asked_of_the_network(written):
    page, _ = written
    assert "default-src 'none'" in page
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)|url\(|@import|fetch\(|https?:""", page)


def test_every_section_can_be_reached(written):
    page, report = written
    ids = Checker(page).ids
    assert len(ids) == len(set(ids))
    assert {section.name for section in report.sections} <= set(ids)
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


def test_charts_say_in_words_what_they_show(written):
    page, _ = written
    labels = re.findall(r'data-chart="[a-z]+" data-name="[a-z]+" data-label="([^"]*)"', page)
    assert len(labels) == 4
    assert all(labels)


def test_a_page_of_many_matrices_is_light(tmp_path):
    path = tmp_path / "report.html"
    write_report(make_clustering(600), path)
    assert path.stat().st_size < 1_000_000


def test_what_is_no_part_of_a_page_is_refused(written):
    _, report = written
    broken = type(report)("", "", (), [type(report.sections[0])("a", "b", [object()])])
    with pytest.raises(TypeError, match="no part of a page"):
        render_html(broken)
