"""The model port and its adapters.

`model` holds the port's values. `converse` is the way to ask: it makes a request fit to send (`repair`, `images`) and
follows every way in which an answer may end; adapters send what they get. `anthropic` makes the adapter over the
official SDK (large and slow to import: only `build` imports it, and only when a key or a base URL is set), `offline`
needs neither weights nor network, `service` chooses. Budgets come to this room later. No SQL, no channels, no prompt
texts: a request arrives here ready.
"""
