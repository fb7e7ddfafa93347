"""Search that rooms share: the sentence embedder, the one owner of the vector store, and the fusion of ranks.

Vectors are derived: ids and numbers only, never text, rebuilt from SQL when they are lost, damaged or made by another
model. Their failure turns search to full text, never the daemon off. Rooms above say which ids are visible; nothing here
decides that.
"""
