"""What the executive remembers: claims, the words they rest on, who changed them and why, and where they were shown.

`model` says what a claim is and which moves are legal, `tables` holds that in the database (no claim without its event,
no standing claim without evidence or a person behind it, one standing claim a subject and speaker), `store` is the SQL,
and `reading` the one scoped view that every reader goes through: prompt block, tools, commands, API, export, indexes.
`service` holds what people may do. Full text and vectors are derived (`bot.retrieval`).

How claims are won from what was said is `bot.extraction`'s business; what must go everywhere at once, `bot.erasure`'s.
Rooms above may depend on this one; it names no channel.
"""
