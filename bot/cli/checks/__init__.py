"""What `openexecutive doctor` looks at: one small function per part, each returning findings.

`machine` looks at this machine (Python, folders, ports, SQLite), `services` asks the far ends (Telegram, the model,
the relay, DNS) without sending anything to anybody. A check reports and changes nothing; it never raises for what it
checks, and no finding holds a secret. Only `bot.cli.doctor` depends on it.
"""
