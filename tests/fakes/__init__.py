"""Protocol-level servers that stand in for the platforms in tests and in the benchmark.

Here: the Telegram Bot API and the Anthropic Messages API over HTTP, and an SMTP sink, each written from the
platform's public rules and driven through the real client libraries; the faults that they can be told to show
(`faults`); and the client of their control endpoint (`control`). Each runs in the test's own loop
(`async with FakeTelegram() as server`) or as a process of its own (`python -m tests.fakes.telegram --port 0`),
so that the far end outlives a daemon that is killed.

Not here: anything that knows the code under test. Tests and the benchmark may depend on this package; it
depends on nothing of ours.
"""
