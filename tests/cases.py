"""Counts how many of the collected field faults pass: `make cases`.

Each test that covers a row of the table carries `@pytest.mark.case(number)`. Rows are grouped as in the table; groups
whose rooms are not built yet are listed by `LATER`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

GROUPS: dict[str, tuple[int, ...]] = {
    "splitting and limits": (1, 2, 3, 4, 6, 8, 9, 11, 12, 13),
    "Markdown": (15, 16, 17, 18, 21, 22, 23, 24),
    "Telegram": (25, 26, 27, 28, 30, 31, 32, 33, 34, 35, 37, 38, 39, 41, 42, 43, 44),
    "Slack": (45, 46, 48, 49, 51, 52, 54, 55, 57, 58, 59, 60, 61, 62),
    "Discord": (63, 64, 66, 67, 69, 70, 72, 73),
    "loops between machines": (74, 75, 76, 77),
    "mail: loops, bounces, trust": (78, 79, 80, 82, 83, 84, 85, 87),
    "mail: parsing and sending": (
        *(88, 89, 90, 91, 93, 94, 95, 96, 97, 99, 100, 101, 102, 104, 105, 106, 108, 109, 110, 111, 112),
    ),
    "store": (123, 124, 125, 126),
    "vector index": (128, 129, 130),
    "model API": (131, 132, 133, 134, 135, 136, 137, 138, 140, 141),
    "delivery over crashes": (142, 143, 145, 146),
}
LATER: dict[str, tuple[int, ...]] = {
    "scheduler": (113, 114, 115, 117, 118, 119, 120, 121, 122),
}


class Cases:
    """Gathers the outcome of every test that carries a row's number."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[int, ...]] = {}
        self.passed: set[int] = set()
        self.failed: set[int] = set()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            self.rows[item.nodeid] = tuple(_numbers(item))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        numbers = self.rows.get(report.nodeid, ())
        if report.failed:
            self.failed.update(numbers)
        elif report.when == "call" and report.passed:
            self.passed.update(numbers)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        write = terminalreporter.write_line
        write("")
        total = passing = 0
        for name, rows in GROUPS.items():
            good = [row for row in rows if row in self.passed and row not in self.failed]
            bad = [row for row in rows if row not in good]
            total, passing = total + len(rows), passing + len(good)
            missing = f"   not passing: {', '.join(map(str, bad))}" if bad else ""
            write(f"{name:32} {len(good):3} of {len(rows):3}{missing}")
        write(f"{'all rows of what is built':32} {passing:3} of {total:3}")
        for name, rows in LATER.items():
            write(f"{name:32}   – of {len(rows):3}   not built yet")


def _numbers(item: pytest.Item) -> Iterator[int]:
    for mark in item.iter_markers("case"):
        yield from (int(number) for number in mark.args)


def main() -> int:
    return int(pytest.main(["-q", "--no-header", "-m", "case and not slow"], plugins=[Cases()]))


if __name__ == "__main__":
    raise SystemExit(main())
