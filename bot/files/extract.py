"""Text of files that people send, read in the child. A table says which parser reads which type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from types import MappingProxyType

from bot.files.model import Extracted, Source, Unreadable
from bot.files.sandbox import Job, Sandbox
from bot.files.sniff import Kind, Sniffed
from bot.files.wire import Reason
from bot.kernel.values import dataclass

MAX_CHARS = 200_000

_TEXT = Job("bot.files.parsers.text:extract", streams=True)
_ROWS = Job("bot.files.parsers.delimited:extract", streams=True)
_DOCX = Job("bot.files.parsers.docx:extract", ("lxml",), streams=True)
_PPTX = Job("bot.files.parsers.pptx:extract", ("lxml",), streams=True)
_XLSX = Job("bot.files.parsers.xlsx:extract", ("lxml",), streams=True)
PARSERS: Mapping[str, Job] = MappingProxyType(
    {
        "application/pdf": Job("bot.files.parsers.pdf:extract", ("pypdf",), streams=True),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document": _DOCX,
        "application/vnd.ms-word.document.macroenabled.12": _DOCX,
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": _XLSX,
        "application/vnd.ms-excel.sheet.macroenabled.12": _XLSX,
        "application/vnd.openxmlformats-officedocument.presentationml.presentation": _PPTX,
        "application/vnd.ms-powerpoint.presentation.macroenabled.12": _PPTX,
        "text/html": Job("bot.files.parsers.html:extract", ("inscriptis", "lxml")),
        "message/rfc822": Job("bot.files.parsers.mail:extract", ("inscriptis", "lxml")),
        "text/plain": _TEXT,
        "text/markdown": _TEXT,
        "text/csv": _ROWS,
        "text/tab-separated-values": _ROWS,
        "text/xml": _TEXT,
        "text/calendar": _TEXT,
        "text/vcard": _TEXT,
        "application/json": _TEXT,
    }
)

# What to do instead, for kinds that people send and nothing here reads.
_ADVICE = {
    "application/ms-tnef": "The attachments arrived packed as winmail.dat, which only Outlook opens; please send the "
    "mail again as HTML or plain text, or attach the files to a new mail.",
    "application/x-encrypted-office": "The document is protected with a password; please send a copy without one.",
    "application/vnd.ms-outlook": "Outlook's own mail files cannot be read; please forward the mail or save it as EML.",
    "application/msword": "Old Word files cannot be read; please send DOCX or a PDF.",
    "application/vnd.ms-excel": "Old Excel files cannot be read; please send XLSX or CSV.",
    "application/vnd.ms-excel.sheet.binary.macroenabled.12": "Binary Excel files cannot be read; please send "
    "XLSX or CSV.",
    "application/vnd.ms-powerpoint": "Old PowerPoint files cannot be read; please send PPTX or a PDF.",
}
_KIND_ADVICE = {
    Kind.ARCHIVE: "Archives are not opened; please send the files themselves.",
    Kind.AUDIO: "Sound cannot be listened to here; please write it.",
    Kind.VIDEO: "Videos cannot be watched here; please describe what matters in it.",
    Kind.IMAGE: "A picture holds no text to be read.",
}
_NO_ADVICE = "This kind of file cannot be read; PDF, Word, Excel, PowerPoint, plain text, CSV, HTML and EML can."


@dataclass(frozen=True, slots=True)
class Extractor:
    """`parsers` maps a media type (as `sniff` names it) to the job that reads it."""

    sandbox: Sandbox
    parsers: Mapping[str, Job] = field(default_factory=lambda: PARSERS)
    max_chars: int = MAX_CHARS
    page_ends: bool = False
    """Keep a form feed where a page or slide ends."""

    async def extract(self, data: Source, sniffed: Sniffed) -> Extracted | Unreadable:
        """Text of `data`, at most `max_chars` characters and a visible mark where it was cut."""
        job = self.parsers.get(sniffed.media_type)
        if job is None:
            detail = _ADVICE.get(sniffed.media_type) or _KIND_ADVICE.get(sniffed.kind) or _NO_ADVICE
            reason = Reason.UNSUPPORTED
            if sniffed.media_type == "application/x-encrypted-office":
                reason = Reason.ENCRYPTED
            return Unreadable(reason, detail, sniffed.media_type)
        # A parser with many pages stops by itself while there is time left to hand over what it has.
        seconds = max(1, int(self.sandbox.limits.cpu.total_seconds() * 0.7))
        arguments = {"max_chars": self.max_chars, "seconds": seconds, "page_ends": int(self.page_ends)}
        job = replace(job, arguments={**arguments, **job.arguments})
        output = await self.sandbox.run(job, data)
        if isinstance(output, Unreadable):
            return output
        try:
            text = output.body.decode("utf-8")
        except UnicodeDecodeError:
            return Unreadable(Reason.CRASHED, "The file could not be read; it may be damaged.", "output is not UTF-8")
        pages = output.facts.get("pages")
        return Extracted(
            text=text,
            pages=pages if isinstance(pages, int) else None,
            truncated=output.facts.get("truncated") is True,
            note=str(output.facts.get("note", "")),
        )
