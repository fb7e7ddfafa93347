"""The kinds of actions, each behind `bot.ledger.actions.Action`: `telling` says something to somebody, `profile`
changes what is known of the company, `handed` is done by rooms that this one does not know, through what `bot.app`
hands in.
"""
