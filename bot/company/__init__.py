"""The company's profile: name, business, stage, goals, departments, people, working rules, and fields of its own.

`model` holds the fields, their bounds, the block of the prompt and the one file (pure), `tables` and `store` the SQL:
every field has an audience and its versions, every change its audit row. Documents are not here (`bot.knowledge`), nor
who may speak (`bot.people`). The orchestrator chooses by the session's audience which variant a prompt holds.
"""
