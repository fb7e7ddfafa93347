"""Search that rooms share: the sentence embedder, the one owner of the vector store, full text and the fusion of ranks.

`embedder` says what an embedder is, `use3` is the one that ships; `tables` and `store` keep embeddings in SQL, beside
what they were made of; `vectors` owns Chroma's folder, `index` keeps the two in step; `fulltext` is the one place for
SQLite's FTS5; `fusion` merges rankings. Vectors are derived: ids and numbers only, never text, rebuilt from SQL when
they are lost, damaged or made by another model. Their failure turns search to full text, never the daemon off. Rooms
above say which ids are visible; nothing here decides that. Every room above may depend on this one.
"""
