"""What the company's documents and the built-in corpus say, and where.

Documents are cut into sections with their headings and pages (`cutting`), full text stands in SQL beside the chunks
(`tables`, `store`, `passages`), vectors in `bot.retrieval`. `service` takes documents in, decides about them and
removes them; `search` finds and reads passages; `corpus` and `watch` bring what nobody sends; `work` does what is
durable; `tools` is what the model may call. Every reader takes a scope, and what is withdrawn is withheld by all of
them. Who may approve is a matter of roles. Not here: reading a file's bytes (`bot.files`), what the model is shown
(`bot.orchestrator`).
"""
