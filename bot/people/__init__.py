"""Who may speak: the roster, each person's handles on the channels, and how a handle is claimed.

`model` holds the values and the pure reconciliation of the roster with settings, `tables` and `store` the SQL,
`pairing` the codes and requests by which an account of a platform becomes a handle. Roles decide what a person may
change; what a person may *see* is decided by `bot.sessions`.
"""
