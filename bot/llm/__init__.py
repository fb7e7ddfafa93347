"""The model port and its adapters.

`model` holds the port's values, `repair` makes a history fit to send (pure), `anthropic` speaks through the official
SDK (its import is slow and large: only `build` imports it, and only when a key or a base URL is set), `offline` needs
neither weights nor network. Budgets come to this room later. No SQL, no channels, no prompt texts: a request arrives
here ready.
"""
