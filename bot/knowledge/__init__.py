"""What the company's documents and the built-in corpus say, and where.

Documents are cut into sections with their headings and pages; full text stands in SQL, vectors in `bot.retrieval`. Every
reader takes a scope, and what is withdrawn is withheld by all of them. Approval of a document is here; who may approve
is a matter of roles. Not here: reading a file's bytes (`bot.files`), what the model is shown (`bot.orchestrator`).
"""
