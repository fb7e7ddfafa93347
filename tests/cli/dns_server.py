"""A DNS server on loopback that knows a few TXT records, or keeps silent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import cast

import dns.flags
import dns.message
import dns.rcode
import dns.rrset


class _Server(asyncio.DatagramProtocol):
    def __init__(self, records: Mapping[str, str], silent: bool) -> None:
        self._records = records
        self._silent = silent
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if self._silent or self._transport is None:
            return
        query = dns.message.from_wire(data)
        answer = dns.message.make_response(query)
        answer.flags |= dns.flags.RA
        name = query.question[0].name
        text = self._records.get(name.to_text(omit_final_dot=True))
        if text is None:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        else:
            answer.answer.append(dns.rrset.from_text(name, 60, "IN", "TXT", f'"{text}"'))
        self._transport.sendto(answer.to_wire(), addr)


@asynccontextmanager
async def running_dns(records: Mapping[str, str], *, silent: bool = False) -> AsyncIterator[str]:
    """Yields the address as the setting `nameservers` takes it."""
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: _Server(records, silent), local_addr=("127.0.0.1", 0))
    try:
        host, port = transport.get_extra_info("sockname")
        yield f"{host}:{port}"
    finally:
        transport.close()
