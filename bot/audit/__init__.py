"""What was read, written, decided and sent: one append-only, chained table with a closed vocabulary.

`events` holds the vocabulary, one frozen payload per type: ids, numbers and enums only. Free text goes into an
erasable `content` row that the chain covers by a keyed hash, so that erasing it does not break the chain. `recorder`
writes (always inside the transaction of the change it tells of), `verify` checks, `timeline` reads. No room writes
this table by itself.
"""
