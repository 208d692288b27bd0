"""The audit as a page: one file, that loads nothing, with every cell of every table."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from attrs import evolve

from policygen.review.audit import audit
from policygen.review.audit_page import audit_page
from policygen.review.section import Section
from policygen.review.subject import Subject


class Page(HTMLParser):
    """Collects the cells of the tables, and what the page would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.loaded: list[str] = []
        self.ids: list[str] = []
        self._cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._cell = True
        if "id" in given:
            self.ids.append(given["id"] or "")
        self.loaded += [value for name in ("src", "href") if (value := given.get(name)) and value[0] != "#"]
        if tag == "script":
            self.loaded.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._cell = False

    def handle_data(self, data: str) -> None:
        if self._cell:
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def sections(bi100: Subject) -> tuple[Section, ...]:
    return audit(bi100)


def test_the_page_has_every_cell(bi100: Subject, sections: tuple[Section, ...]) -> None:
    page = Page(audit_page(bi100, sections))
    expected: list[list[str]] = []
    for section in sections:
        if section.rows:
            expected.append([column.name for column in section.columns])
            expected += [list(row.cells) for row in section.rows]
    assert page.rows == expected


def test_the_page_loads_nothing(bi100: Subject, sections: tuple[Section, ...]) -> None:
    text = audit_page(bi100, sections)
    assert Page(text).loaded == ["data:,"]
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src 'none'" in text


def test_the_page_is_for_light_and_dark(bi100: Subject, sections: tuple[Section, ...]) -> None:
    text = audit_page(bi100, sections)
    assert "color-scheme: light dark" in text
    assert "@media (prefers-color-scheme: dark)" in text


def test_each_table_can_be_linked_to(bi100: Subject, sections: tuple[Section, ...]) -> None:
    page = Page(audit_page(bi100, sections))
    assert [name for name in page.ids if name != "content"] == [section.id for section in sections]


def test_what_looks_like_markup_is_text(bi100: Subject, sections: tuple[Section, ...]) -> None:
    section = next(section for section in sections if section.rows)
    row = section.rows[0]
    odd = evolve(row, cells=("<b>&", *row.cells[1:]))
    page = Page(audit_page(bi100, (evolve(section, rows=(odd,), notes=("<i>",)),)))
    assert page.rows[1][0] == "<b>&"
