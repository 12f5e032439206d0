"""Tracks and events of a Perfetto trace, in Google's own message classes (package `perfetto`, protos/perfetto/trace).

A trace is a list of packets, and lists may be joined, so it is written piece by piece. Times are whole nanoseconds, as
in Perfetto; the picoseconds of a run are truncated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import CounterDescriptor, Trace, TracePacket, TrackEvent

from spinewise.magnitudes import PS_PER_NS

Value = str | int | float | bool
"""The type of an argument of an event."""

SEQUENCE = 1
# Packets in a piece.
_PIECE = 2_000
_UNITS = {"bytes": CounterDescriptor.UNIT_SIZE_BYTES, "": CounterDescriptor.UNIT_UNSPECIFIED}


class Tracks:
    """Collect the packets of a trace."""

    def __init__(self) -> None:
        self._trace = Trace()
        self._last = 0

    def pieces(self, *, least: int = _PIECE) -> Iterator[bytes]:
        """Yield what has been gathered, once it is a whole piece, and forget it."""
        if len(self._trace.packet) >= least:
            yield self._trace.SerializeToString()
            self._trace = Trace()

    def process(self, number: int, name: str) -> int:
        """Add a top-level group of tracks; return the identifier of its own track."""
        track = self._described(0)
        track.track_descriptor.process.pid = number
        track.track_descriptor.process.process_name = name
        return self._last

    def track(self, parent: int, name: str) -> int:
        """Add a track for slices below another; those of one name below one parent are shown together."""
        self._described(parent).track_descriptor.name = name
        return self._last

    def counter(self, parent: int, name: str, unit: str) -> int:
        """Add a track for a quantity, in a unit of that name."""
        packet = self._described(parent)
        packet.track_descriptor.name = name
        described = packet.track_descriptor.counter
        described.unit = _UNITS.get(unit, CounterDescriptor.UNIT_UNSPECIFIED)
        if unit not in _UNITS:
            described.unit_name = unit
        return self._last

    def slice(self, track: int, begin_ps: int, end_ps: int, name: str, about: Mapping[str, Value]) -> None:
        """Add a slice, which lasts. Slices of a track must not overlap and come in order."""
        event = self._event(track, begin_ps)
        event.type, event.name = TrackEvent.TYPE_SLICE_BEGIN, name
        annotate(event, about)
        self._event(track, end_ps).type = TrackEvent.TYPE_SLICE_END

    def instant(self, track: int, time_ps: int, name: str, about: Mapping[str, Value]) -> None:
        """Add an instantaneous event."""
        event = self._event(track, time_ps)
        event.type, event.name = TrackEvent.TYPE_INSTANT, name
        annotate(event, about)

    def value(self, track: int, time_ps: int, value: float) -> None:
        """Set the value of a quantity from then on."""
        event = self._event(track, time_ps)
        event.type, event.double_counter_value = TrackEvent.TYPE_COUNTER, value

    def _described(self, parent: int) -> TracePacket:
        packet = self._packet()
        self._last += 1
        packet.track_descriptor.uuid = self._last
        if parent:
            packet.track_descriptor.parent_uuid = parent
        return packet

    def _event(self, track: int, time_ps: int) -> TrackEvent:
        packet = self._packet()
        packet.timestamp = time_ps // PS_PER_NS
        packet.track_event.track_uuid = track
        return packet.track_event

    def _packet(self) -> TracePacket:
        packet = self._trace.packet.add()
        packet.trusted_packet_sequence_id = SEQUENCE
        return packet


def annotate(event: TrackEvent, about: Mapping[str, Value]) -> None:
    """Add arguments to an event, by name."""
    for name, value in about.items():
        annotation = event.debug_annotations.add()
        annotation.name = name
        if isinstance(value, bool):
            annotation.bool_value = value
        elif isinstance(value, int):
            annotation.uint_value = value
        elif isinstance(value, float):
            annotation.double_value = value
        else:
            annotation.string_value = value
