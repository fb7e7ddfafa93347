"""What every room may lean on and what leans on nothing: ids, clock, errors, supervised tasks, logs.

Belongs here: values and small mechanisms without SQL, settings or knowledge of messages. Does not belong here:
anything that only one room needs. Every room may import it; it imports nothing of ours.
"""
