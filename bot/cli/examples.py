"""Examples of the commands that need more than their name, shown with their help."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "people": (
        ("people list", "who may speak to the executive"),
        ("people deactivate bob", "let somebody in no longer, at once"),
    ),
    "company": (
        ("company show", "the profile, as it stands in prompts"),
        ("company set goals 'Break even by May' 'Two more hires'", "set a field; several texts are a list"),
        ("company export company.md", "all of it as one file, which `import` takes back"),
    ),
    "console": (
        ("console", "open it here, signed in"),
        ("console --print", "only print the link, for a browser elsewhere on this machine"),
    ),
    "rooms": (("rooms list", "every place the executive is in, and who reads there"),),
    "audit": (
        ("audit show", "the newest fifty entries in words"),
        ("audit show --type message_refused --last 20", "entries of one type"),
        ("audit verify", "whether nothing was changed or taken out"),
    ),
    "sessions": (
        ("sessions list", "the conversations and their ids"),
        ("sessions delete SESSION --reason 'asked for by Anna'", "erase one of them"),
    ),
    "tasks": (
        ("tasks list --state dead", "what was given up and waits for a person"),
        ("tasks retry TASK", "try it again, from the first attempt on"),
        ("tasks drop TASK --reason 'the thread was a test'", "have it not done at all"),
    ),
    "memory": (
        ("memory list --pending", "what waits for a yes or no"),
        ("memory as-of 2026-03-01", "what was known at the end of that day"),
        ("memory edit MEMORY --statement 'We launch in May' --reason 'asked Marta'", "put it right"),
        ("memory forget MEMORY --reason 'asked for by Anna'", "what would go with it; --yes erases it"),
    ),
    "ledger": (
        ("ledger list", "what waits for a decision"),
        ("ledger approve PROPOSAL", "see all of it, and say yes"),
        ("ledger reverse PROPOSAL --severity serious --reason 'wrong price'", "take it back, where that can be"),
        ("ledger card send_email", "how often it was approved as it was"),
    ),
    "schedule": (
        ("schedule add remind me tomorrow at 9 to call Ben", "make one in words"),
        ("schedule list --everybody", "what comes when, the next first"),
        ("schedule show SCHEDULE", "its next dates, and what it did lately"),
        ("schedule stop --reason 'moving house'", "let none fire; chat goes on"),
    ),
    "token": (
        ("token create anna --name dashboard", "let a program act as her; it is printed once"),
        ("token revoke TOKEN", "let it hold no longer, at once"),
    ),
    "explain": (
        ("explain SESSION", "the newest turn of a conversation (ids: `openexecutive sessions list`)"),
        ("explain SESSION --turn 3 --reason 'a wrong figure'", "with what was said; that you read it is recorded"),
    ),
    "mail": (("mail login", "log in at the provider, where mailbox or relay take a token"),),
}


_WIDTH = 76


def epilog(command: str) -> str:
    """What stands below a command's help."""
    shown = EXAMPLES.get(command, ())
    if not shown:
        return ""
    width = max(len(line) for line, _ in shown)
    if width + max(len(what) for _, what in shown) > _WIDTH:
        return "examples:\n" + "\n".join(f"  openexecutive {line}\n      {what}" for line, what in shown)
    return "examples:\n" + "\n".join(f"  openexecutive {line:<{width}}  {what}" for line, what in shown)
