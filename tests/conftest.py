"""What all tests share: golden files, whole outputs that are compared to the letter, and how properties are tried."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings

# The same examples in every run, however slow the machine: a failure is the change's, and comes again.
settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")

_GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--refresh-golden", action="store_true", help="write the golden files anew; read the difference afterwards"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with a file of tests/golden, or with --refresh-golden makes the file say it."""

    def compare(name: str, text: str) -> None:
        file = _GOLDEN / name
        if request.config.getoption("--refresh-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.is_file(), f"{file} is missing; run pytest --refresh-golden"
        assert text == file.read_text(encoding="utf-8"), f"{name} differs; pytest --refresh-golden takes the new text"

    return compare
