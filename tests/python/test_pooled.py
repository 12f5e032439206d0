"""Work done by several threads at once, and its end."""

from __future__ import annotations

import itertools
import threading
import time

import pytest

from spinewise.runs import jobs


def test_work_that_never_returns_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C said that nothing was written, and a hook of a scheme went on for ever."""
    monkeypatch.setattr(jobs, "PATIENCE_S", 0.2)
    begun, met = threading.Event(), list[type[BaseException]]()

    def work(item: int, stop: jobs.Stop) -> int:
        try:
            for _ in itertools.count() if item else ():
                begun.set()
        except BaseException as error:
            met.append(type(error))
            raise
        return item

    finished = jobs.pooled([0, 1], work, 2)
    assert next(finished) == (0, 0, None)
    assert begun.wait(30)
    start = time.monotonic()
    finished.close()
    assert met == [KeyboardInterrupt]
    assert time.monotonic() - start < 30


def test_work_that_heeds_its_stop_is_waited_for() -> None:
    begun, ended = threading.Event(), list[int]()

    def work(item: int, stop: jobs.Stop) -> int:
        while item and not stop():
            begun.set()
            time.sleep(0.01)
        ended.append(item)
        return item

    finished = jobs.pooled([0, 1], work, 2)
    assert next(finished) == (0, 0, None)
    assert begun.wait(30)
    finished.close()
    assert ended == [0, 1]
