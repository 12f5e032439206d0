"""The engine of many machines: each run is a task of Ray.

Ray decides which machine makes which run, and repeats a run whose worker or machine died. This file defines what a
task is, gives Ray no more of them at once than it has processors for, checks that workers have the same Spinewise, and
notices when the cluster is gone. Results come back to the process that asked, which alone writes the store.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from types import FrameType, ModuleType
from typing import Any

from spinewise import core
from spinewise.errors import SpecError
from spinewise.runs.jobs import Monitor, checked_jobs
from spinewise.sweeps.basics import NUMBERS
from spinewise.sweeps.carried import carried, unpacked
from spinewise.sweeps.engine import Done, EngineGone, Failure, Work, perform

ADDRESS = "--address"
ALLOWED = '"auto", or HOST:PORT of the head of a running Ray cluster (`ray start --head`)'
TRIES_AGAIN = 3
"""The number of times Ray repeats a run whose worker died."""
BESIDES = 1.25
"""The number of runs submitted per processor, so that none waits for the next run."""
LOOK_SECONDS = 1.0
GONE_SECONDS = 15.0
"""The head may be silent for this long. After 60 s Ray itself ends this process without notice."""
CONNECT_SECONDS = 5.0
STORE_BYTES = 200_000_000
"""The memory for results in transit, in a cluster of our own; each has some ten thousand bytes."""

Ref = Any
"""Ray's promise of a `Done`; Ray may not be installed where types are checked."""


class OtherWorker(Exception):  # noqa: N818 - it is turned into a SpecError
    """A worker has another Spinewise than the process that asks."""


Identity = tuple[str, str, str]
"""Parts that must be the same everywhere for equal results: see `IDENTITY`. Plain, so that any worker can read it."""
IDENTITY = ("version", "engine", "Python code that measures")


def identity() -> Identity:
    """The version of Spinewise, and digests of its engine and of the sources that measurements depend on."""
    return core.version(), core.engine_digest(), NUMBERS.digest


def check_worker(wanted: Identity) -> None:
    """Compare this process, a worker, with the process that asks.

    Raises:
        OtherWorker: something is different.
    """
    for what, there, here in zip(IDENTITY, wanted, identity(), strict=True):
        if there != here:
            raise OtherWorker(f"the worker on {socket.gethostname()} has {what} {here[:12]}, this machine {there[:12]}")


@dataclass
class Ray:
    """Runs as tasks of a Ray cluster.

    Attributes:
        address: that of a running cluster: "auto" or HOST:PORT; None for `RAY_ADDRESS`, else a cluster of our own on
            this machine.
        jobs: processors of a cluster of our own; all if None.
    """

    address: str | None = None
    jobs: int | None = None
    pending: dict[Ref, Work] = field(default_factory=dict, init=False, repr=False)

    def capacity(self) -> int:
        """See `spinewise.sweeps.engine.Counted`.

        Raises:
            SpecError: Ray is not installed, or there is no cluster.
        """
        ray = imported()
        with connected(ray, self.address, self.jobs):
            return max(1, int(processors(ray)))

    def run(self, work: Iterator[Work], monitor: Monitor) -> Generator[Done]:
        """See `spinewise.sweeps.engine.Engine`.

        Raises:
            SpecError: Ray is not installed, there is no cluster, or its workers have another Spinewise.
            EngineGone: the cluster is gone.
        """
        ray = imported()
        with connected(ray, self.address, self.jobs) as head:
            task = ray.remote(num_cpus=1, max_retries=TRIES_AGAIN, retry_exceptions=False)(remote)
            asker, folder = identity(), os.getcwd()

            def submit(pieces: Iterator[Work]) -> None:
                for piece in pieces:
                    monitor.started(piece.number)
                    self.pending[task.remote(carried(sendable(piece)), asker, folder)] = piece

            try:
                submit(islice(work, room(ray)))
                while self.pending:
                    for piece, done in self.ended(ray, head):
                        monitor.finished(piece.number, done.headline.packet_hops if done.headline else 0)
                        submit(islice(work, max(0, room(ray) - len(self.pending))))
                        yield done
            finally:
                self.stop(ray, head)

    def ended(self, ray: ModuleType, head: Head) -> Iterator[tuple[Work, Done]]:
        """The work that has ended, after a second at most."""
        ready, _ = ray.wait(list(self.pending), num_returns=1, timeout=LOOK_SECONDS)
        head.check()
        for ref in ready:
            try:
                done: Done = ray.get(ref)
            except Exception as error:
                done = self.failed(ray, error, self.pending[ref], head)
            piece = self.pending.pop(ref)
            check_folders(piece)
            yield piece, done

    def failed(self, ray: ModuleType, error: Exception, piece: Work, head: Head) -> Done:
        """Classify an error of Ray: for the run alone, or for all.

        Raises:
            SpecError: workers have another Spinewise, or none.
            EngineGone: the cluster is gone.
        """
        text = str(error)
        if isinstance(error, ray.exceptions.RayTaskError):
            # Errors of a run come back in its `Done`: this one is of the worker itself.
            other = isinstance(error.cause, OtherWorker)
            why = str(error.cause) if other else reason(text)
            hint = f"{why}; install the same Spinewise in the Python of every machine of the cluster"
            raise SpecError("--engine", "ray", "workers with the Spinewise of this machine", hint) from None
        if isinstance(error, ray.exceptions.LocalRayletDiedError | ray.exceptions.RaySystemError):
            raise EngineGone(f"the Ray cluster at {head.name} is gone ({first_line(text)})") from None
        head.check(patient=False)
        died = Failure.of(error)
        return Done(piece.number, failure=Failure(f"{type(error).__name__}: {first_line(text)}", died.trace))

    def stop(self, ray: ModuleType, head: Head) -> None:
        """Stop tasks in progress, if they do not end with our connection.

        Ray 2.60 aborts this process if a task is cancelled just as it ends: between the release of its lock on a reply
        and the note that the task is complete, a cancel notes it as failed (`NormalTaskSubmitter::PushNormalTask`). So
        nothing is cancelled without need, and tasks that end on their own have time to.
        """
        under_way = list(self.pending)
        self.pending.clear()
        if not head.borrowed or not under_way:
            return
        with suppress(ray.exceptions.RayError):
            _, under_way = ray.wait(under_way, num_returns=len(under_way), timeout=LOOK_SECONDS)
        for ref in under_way:
            with suppress(Exception):
                ray.cancel(ref, force=True)


def remote(content: bytes, asker: Identity, folder: str) -> Done:
    """The work of a worker: check that it is the right one, make a run and measure it."""
    check_worker(asker)
    with suppress(OSError):
        # Files that specs name relative to themselves, if the machines share them.
        os.chdir(folder)
    return perform(unpacked(content))


@dataclass
class Head:
    """The head of a cluster, and whether it still answers.

    Attributes:
        name: its name in messages.
        place: host and port.
        borrowed: whether this process was connected to it before, and remains so.
        seen: when it last answered.
    """

    name: str
    place: tuple[str, int]
    borrowed: bool
    looked: float = 0.0
    seen: float = field(default_factory=time.monotonic)

    def check(self, *, patient: bool = True) -> None:
        """Check whether the cluster answers, once a second at most.

        Raises:
            EngineGone: it has not for too long; at once, unless `patient`.
        """
        now = time.monotonic()
        if patient and now - self.looked < LOOK_SECONDS:
            return
        self.looked = now
        if answers(self.place):
            self.seen = time.monotonic()
        elif not patient or now - self.seen > GONE_SECONDS:
            raise EngineGone(f"the Ray cluster at {self.name} no longer answers")


def answers(place: tuple[str, int]) -> bool:
    """Whether anything listens there."""
    try:
        with socket.create_connection(place, timeout=CONNECT_SECONDS):
            return True
    except OSError:
        return False


def imported() -> ModuleType:
    """Import Ray.

    Raises:
        SpecError: it is not installed.
    """
    # No usage statistics are sent, and no web server is started.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Otherwise Ray 2 warns: machines without accelerators keep their variables.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        return import_module("ray")
    except ImportError as error:
        hint = f"Ray is not installed ({error}): pip install 'spinewise[ray]'"
        raise SpecError("--engine", "ray", "local, or ray with Ray installed", hint) from None


@contextmanager
def connected(ray: ModuleType, address: str | None, jobs: int | None) -> Iterator[Head]:
    """Connect to a cluster: a running one, that of this process, or one of our own.

    Raises:
        SpecError: there is none, or its version of Ray or Python differs.
    """
    if ray.is_initialized():
        yield head_of(ray, address, borrowed=True)
        return
    wanted = address or os.environ.get("RAY_ADDRESS") or None
    if wanted is not None and wanted != "auto":
        check_address(wanted)
    own = {
        "address": "local", "num_cpus": None if jobs is None else checked_jobs(jobs), "include_dashboard": False,
        "object_store_memory": STORE_BYTES,
    }  # fmt: skip
    with own_termination() as keep:
        try:
            ray.init(
                **(own if wanted is None else {"address": wanted}),
                log_to_driver=False, logging_level="ERROR", configure_logging=False,
            )  # fmt: skip
        except (ConnectionError, RuntimeError, ValueError, TimeoutError, ray.exceptions.RayError) as error:
            hint = f"{first_line(str(error))}; a cluster with tokens needs RAY_AUTH_MODE=token (docs/clusters.md)"
            raise SpecError(ADDRESS, wanted or "(none)", ALLOWED, hint) from None
        finally:
            keep()
        try:
            yield head_of(ray, wanted, borrowed=False)
        finally:
            ray.shutdown()


@contextmanager
def own_termination() -> Iterator[Callable[[], None]]:
    """Keep the previous effect of SIGTERM, though Ray has a handler of its own, and replaces our exit codes.

    Yields a function that restores the right handler after Ray has set its own.
    """
    before = signal.getsignal(signal.SIGTERM)
    left: list[BaseException] = []

    def handler(number: int, frame: FrameType | None) -> None:
        try:
            if callable(before):
                before(number, frame)
        except BaseException as error:
            left.append(error)
            raise

    def keep() -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler if callable(before) else before)

    try:
        yield keep
    except SystemExit:
        # Within Ray's own code every exit becomes one with code 1.
        if left:
            raise left[-1] from None
        raise
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def check_address(wanted: str) -> None:
    """Check whether anything listens there: Ray itself would try for a minute.

    Raises:
        SpecError: nothing does, or it is not an address.
    """
    host, _, port = wanted.rpartition(":")
    if "://" in wanted or not host or not port.isdecimal() or not 0 < int(port) < 65_536:
        hint = "run the command on a machine of the cluster" if wanted.startswith("ray://") else None
        raise SpecError(ADDRESS, wanted, ALLOWED, hint)
    if not answers((host, int(port))):
        raise SpecError(ADDRESS, wanted, ALLOWED, "nothing answers there")


def head_of(ray: ModuleType, wanted: str | None, *, borrowed: bool) -> Head:
    """The head of the cluster to which this process is connected."""
    found = str(ray.get_runtime_context().gcs_address)
    host, _, port = found.rpartition(":")
    return Head(found if wanted in (None, "auto") else str(wanted), (host, int(port)), borrowed)


def room(ray: ModuleType) -> int:
    """The number of runs that may be with Ray at once; clusters grow and shrink."""
    return max(1, int(processors(ray) * BESIDES))


def processors(ray: ModuleType) -> float:
    """The processors of the cluster, now."""
    return float(ray.cluster_resources().get("CPU", 1.0))


def sendable(piece: Work) -> Work:
    """A piece of work that another process can do.

    Raises:
        SpecError: its scheme is written in Python.
    """
    scheme = piece.spec.get("scheme", {})
    if "source" in scheme:
        hint = f"{scheme.get('name')} is written in Python, and workers elsewhere do not have its code"
        raise SpecError("--engine", "ray", "local", hint)
    return piece


def check_folders(piece: Work) -> None:
    """Check that the whole results of a run have arrived in the wanted folders.

    Raises:
        SpecError: the worker wrote them to a place that this machine cannot see.
    """
    for folder in piece.folders:
        if not folder.is_dir():
            hint = "the worker's machine does not share this folder; leave out --keep-runs"
            raise SpecError("--engine", "ray", "a folder that all machines of the cluster share", hint)


def reason(text: str) -> str:
    """The last line of a traceback that names an error."""
    lines = [line.strip() for line in text.splitlines() if "Error: " in line]
    return lines[-1] if lines else first_line(text)


def first_line(text: str) -> str:
    """The first line of an error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "no reason given"
