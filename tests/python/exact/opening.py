"""The three-way handshake of RFC 9293, as the end that begins it sees it."""

from __future__ import annotations

from enum import Enum

from exact.tcp import Options


class Word(Enum):
    """What is said next."""

    SYN = 1
    ACK = 2


class Opening:
    """A connection that is not open yet. The other end answers each SYN and remembers none."""

    def __init__(self, options: Options) -> None:
        self.o = options
        self.due: Word | None = Word.SYN
        self.timer: int | None = None
        self.rtt: int | None = None
        self.timeouts = 0

    def say(self, now: int) -> Word:
        """Takes what is due."""
        assert self.due is not None
        word, self.due = self.due, None
        if word is Word.SYN:
            longest = max(self.o.max_rto, self.o.syn_timeout)
            self.timer = now + min(longest, self.o.syn_timeout << self.timeouts)
        return word

    def expire(self) -> None:
        self.timer, self.due = None, Word.SYN
        self.timeouts += 1

    def answered(self, rtt: int) -> bool:
        """Was this the first answer?"""
        if self.rtt is not None:
            return False
        self.rtt, self.timer, self.due = rtt, None, Word.ACK
        return True
