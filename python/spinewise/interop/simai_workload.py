"""Workloads of SimAI, as its generator AICB writes them: the layers of a training step.

Line 1 is the parallelism, such as ``HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 8
ga: 1 all_gpus: 64 checkpoints: 0 checkpoint_initiates: 0``, line 2 the number of layers. Then twelve fields a layer:
name, dependency, and for the forward pass, the gradients of the input and those of the weights a time in nanoseconds,
a collective and its bytes; at last the time of the update.

A rank goes through all layers forward, then through all of them backward, as SimAI does: it computes and waits for the
collective of the forward pass; backward it computes the gradients of the input and waits for their collective, then
computes those of the weights, whose collective nothing waits for. Layers named as checkpoints are recomputed before
the gradients that need them.

Groups are as in SimAI: tensor parallelism (TP) joins consecutive ranks; data parallelism (DP) those TP·PP apart;
expert parallelism (EP) the ranks of one place in EP consecutive TP groups; DP_EP the ranks of one place in every EP-th
TP group. A collective without suffix is one of TP, that of weight gradients one of DP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spinewise.errors import SpecError, nearest
from spinewise.interop.collectives import Algorithm, Collective, Program, messages
from spinewise.interop.dag import Dag, refuse_empty
from spinewise.interop.looks import looks_like
from spinewise.interop.text import AT_MOST_HOSTS, MOST_HOSTS, Line, read_lines
from spinewise.magnitudes import PS_PER_NS

POLICY = "HYBRID_TRANSFORMER_FWD_IN_BCKWD"
POLICIES = (POLICY, "HYBRID_TRANSFORMER")
FIELDS = 12
LAYER_FORM = (
    '"name dependency forward_ns type bytes input_grad_ns type bytes weight_grad_ns type bytes update_ns", '
    "separated by blanks or tabs"
)
TYPES: dict[str, Collective] = {
    "ALLREDUCE": "all_reduce",
    "ALLGATHER": "all_gather",
    "REDUCESCATTER": "reduce_scatter",
    "ALLTOALL": "all_to_all",
}
SUFFIXES = {"_DP_EP": "DP_EP", "_EP": "EP"}
MOST_OPERATIONS = 20_000_000


@dataclass(frozen=True)
class Phase:
    """A computation and the collective after it.

    Attributes:
        compute_ns: how long every rank computes.
        kind: the collective, None for none.
        group: the name of its groups: TP, DP, EP or DP_EP.
        size_bytes: the size of the collective, counted as in NCCL's tests.
    """

    compute_ns: int
    kind: Collective | None
    group: str
    size_bytes: int


@dataclass(frozen=True)
class Layer:
    """A layer.

    Attributes:
        name: the name as in the file; several layers may share one.
        forward: the forward pass.
        inputs: gradients of the input.
        weights: gradients of the weights.
        update_ns: the time of the update, after the collective of the weights.
    """

    name: str
    forward: Phase
    inputs: Phase
    weights: Phase
    update_ns: int


@dataclass(frozen=True)
class Workload:
    """The contents of a file.

    Attributes:
        file: the file it was read from.
        tp: ranks of a tensor-parallel group.
        ep: ranks of an expert-parallel group.
        pp: pipeline stages.
        gpus: all ranks.
        layers: in the order of the forward pass.
        checkpoints: layers from which a forward pass can be repeated.
        initiates: layers before whose backward pass that happens.
        pp_comm: bytes between pipeline stages.
    """

    file: str
    tp: int
    ep: int
    pp: int
    gpus: int
    layers: list[Layer]
    checkpoints: set[int]
    initiates: set[int]
    pp_comm: int

    @property
    def dp(self) -> int:
        """Ranks of a data-parallel group."""
        return self.gpus // (self.tp * self.pp)

    def groups(self, which: str) -> list[list[int]]:
        """The groups of a name, each in the order of its ring."""
        tp, ep, gpus = self.tp, self.ep, self.gpus
        teams = gpus // tp
        if which == "TP":
            return [list(range(first, first + tp)) for first in range(0, gpus, tp)]
        if which == "DP":
            apart = gpus // self.dp
            return [list(range(first, gpus, apart)) for first in range(apart)]
        if which == "EP":
            found = [range(first, first + ep) for first in range(0, teams, ep)]
        else:
            found = [range(first + of, first + self.dp, ep) for first in range(0, teams, self.dp) for of in range(ep)]
        return [[team * tp + place for team in block] for block in found for place in range(tp)]


def read(path: str | Path) -> Workload:
    """Read a workload.

    Raises:
        SpecError: with file and line: a number of layers that does not fit, a line of another form, a group that does
            not divide the ranks, an unknown collective.
    """
    lines = read_lines(path)
    head = lines[0]
    if head.tokens[0] not in POLICIES or "all_gpus:" not in head.tokens:
        hint = looks_like(path, "simai-workload") or nearest(head.tokens[0], POLICIES)
        raise head.error("all", " ".join(head.tokens), f"a first line that begins with {' or '.join(POLICIES)}", hint)
    numbers = read_head(head)
    tp, ep, pp, gpus = (one(head, numbers, key) for key in ("model_parallel_NPU_group", "ep", "pp", "all_gpus"))
    if gpus > MOST_HOSTS:
        raise head.error("all_gpus", gpus, AT_MOST_HOSTS)
    if len(lines) < 2:
        raise head.error("number of layers", "(nothing)", "a second line with the number of layers")
    lines[1].expect([1], "the number of layers, alone on its line")
    count = lines[1].whole(0, "number of layers", least=1)
    body = lines[2:]
    if len(body) != count:
        raise lines[1].error(
            "number of layers", count, f"{len(body)}, as many layers as there are", "is the file whole?"
        )
    layers = [read_layer(line) for line in body]
    checkpoints, initiates = (set(numbers.get(key, [])[1:]) for key in ("checkpoints", "checkpoint_initiates"))
    pp_comm = (numbers.get("pp_comm") or [0])[0]
    found = Workload(str(path), tp, ep, pp, gpus, layers, checkpoints, initiates, pp_comm)
    check_groups(head, found)
    return found


def read_head(head: Line) -> dict[str, list[int]]:
    """The keys of the first line with the numbers after each; a colon after a key may be missing."""
    found: dict[str, list[int]] = {}
    key = ""
    for token in head.tokens[1:]:
        if token.isascii() and token.isdecimal():
            if not key:
                raise head.error("all", token, 'keys with numbers, such as "all_gpus: 8"')
            found[key].append(int(token))
        else:
            key = token.removesuffix(":")
            found[key] = []
    return found


def one(head: Line, numbers: dict[str, list[int]], key: str) -> int:
    """The one number of a key."""
    values = numbers.get(key)
    if values is None or len(values) != 1 or values[0] < 1:
        value = "(nothing)" if not values else " ".join(map(str, values))
        raise head.error(key, value, "a whole number, 1 or more")
    return values[0]


def check_groups(head: Line, found: Workload) -> None:
    """Refuse groups that do not divide the ranks, and checkpoints that are not layers."""
    if found.gpus % (found.tp * found.pp):
        allowed = f"a multiple of model_parallel_NPU_group times pp, {found.tp * found.pp}"
        raise head.error("all_gpus", found.gpus, allowed)
    if found.dp % found.ep:
        raise head.error("ep", found.ep, f"a divisor of the data-parallel ranks, {found.dp}")
    for layer in found.checkpoints | found.initiates:
        if layer >= len(found.layers):
            raise head.error("checkpoints", layer, f"a layer from 0 to {len(found.layers) - 1}")
    for layer in found.initiates:
        if not any(checkpoint <= layer for checkpoint in found.checkpoints):
            raise head.error("checkpoint_initiates", layer, "a layer with a checkpoint at or before it")


def read_layer(line: Line) -> Layer:
    """One layer."""
    line.expect([FIELDS], LAYER_FORM)
    phases = [read_phase(line, at, group) for at, group in ((2, "TP"), (5, "TP"), (8, "DP"))]
    return Layer(line.tokens[0], phases[0], phases[1], phases[2], line.whole(11, "update time"))


def read_phase(line: Line, at: int, group: str) -> Phase:
    """Time, collective and bytes of a pass."""
    word = line.tokens[at + 1].upper()
    size = line.whole(at + 2, "bytes")
    compute = line.whole(at, "compute time")
    for suffix, of in SUFFIXES.items():
        if word.endswith(suffix):
            word, group = word.removesuffix(suffix), of
            break
    if word == "NONE" or (size == 0 and word in TYPES):
        return Phase(compute, None, group, 0)
    if word not in TYPES:
        known = ["NONE", *TYPES]
        raise line.error("collective", line.tokens[at + 1], f"{', '.join(known)}, with or without _EP or _DP_EP after"
        f" it",
                         nearest(word, known))  # fmt: skip
    return Phase(compute, TYPES[word], group, size)


def program(found: Workload, algorithm: Algorithm, passes: int) -> Dag:
    """All ranks' operations for a number of training steps.

    Raises:
        SpecError: they are more than 20 million, or send nothing.
    """
    check_count(found, algorithm, passes)
    run = Run(found, algorithm)
    for number in range(passes):
        run.train(number)
    refuse_empty(found.file, run.program.operations)
    notes = [f"{found.file}: collectives use {algorithm} (--collective), one ring a group, in the order of ranks"]
    if found.pp > 1:
        notes.append(
            f"{found.file}: the layers are those of one of {found.pp} pipeline stages; all ranks go through them, and"
            f" the {found.pp_comm} bytes between stages are not sent"
        )
    return Dag(found.file, found.gpus, run.program.operations, notes)


def check_count(found: Workload, algorithm: Algorithm, passes: int) -> None:
    """Refuse more operations than can be handled."""
    count = 0
    for layer in found.layers:
        for phase in (layer.forward, layer.inputs, layer.weights):
            count += found.gpus
            if phase.kind:
                groups = found.groups(phase.group)
                count += 2 * len(groups) * messages(phase.kind, len(groups[0]), algorithm)
    if count * passes > MOST_OPERATIONS:
        allowed = f"at most {MOST_OPERATIONS:,} operations; {passes} passes of these make about {count * passes:,}"
        raise SpecError("number of layers", len(found.layers), allowed, "take a part of the layers", file=found.file)


class Run:
    """The progress of ranks through the layers.

    Attributes:
        program: the operations so far.
        at: what each rank must have done before it continues.
        updated: what must have ended before a layer's next forward pass: its weights of the previous pass.
    """

    def __init__(self, found: Workload, algorithm: Algorithm) -> None:
        self.found = found
        self.algorithm: Algorithm = algorithm
        self.program = Program()
        self.at: dict[int, list[str]] = {rank: [] for rank in range(found.gpus)}
        self.updated: dict[int, dict[int, str]] = {}
        self.known_groups: dict[str, list[list[int]]] = {}

    def train(self, number: int) -> None:
        """Add one training step."""
        layers = self.found.layers
        for n in range(len(layers)):
            for rank, update in self.updated.get(n, {}).items():
                self.at[rank].append(update)
            self.phase(f"p{number}.l{n}.fwd", layers[n].forward)
        for n in reversed(range(len(layers))):
            if n in self.found.initiates:
                first = max(checkpoint for checkpoint in self.found.checkpoints if checkpoint <= n)
                for again in range(first, n):
                    self.phase(f"p{number}.l{n}.again{again}", layers[again].forward)
            self.phase(f"p{number}.l{n}.ig", layers[n].inputs)
            self.updated[n] = self.weights(f"p{number}.l{n}.wg", layers[n])

    def groups(self, which: str) -> list[list[int]]:
        """The groups of a name."""
        if which not in self.known_groups:
            self.known_groups[which] = self.found.groups(which)
        return self.known_groups[which]

    def compute(self, name: str, ns: int) -> None:
        """Let all ranks compute."""
        for rank, after in self.at.items():
            self.at[rank] = [self.program.compute(f"{name}.c{rank}", rank, ns * PS_PER_NS, after)]

    def phase(self, name: str, phase: Phase) -> None:
        """Let all ranks compute, and wait for the collective."""
        self.compute(name, phase.compute_ns)
        if phase.kind:
            self.at = {rank: [end] for rank, end in self.collective(name, phase, phase.kind).items()}

    def weights(self, name: str, layer: Layer) -> dict[int, str]:
        """Let all ranks compute and continue; return what ends when the collective and the update are done."""
        self.compute(name, layer.weights.compute_ns)
        if not layer.weights.kind:
            return {}
        ends = self.collective(name, layer.weights, layer.weights.kind)
        # The update overlaps with other computation, as in SimAI.
        return {
            rank: self.program.compute(f"{name}.u{rank}", rank, layer.update_ns * PS_PER_NS, [end], unit=1)
            for rank, end in ends.items()
        }

    def collective(self, name: str, phase: Phase, kind: Collective) -> dict[int, str]:
        """The collective of a phase in every group of its kind."""
        ends: dict[int, str] = {}
        for number, ranks in enumerate(self.groups(phase.group)):
            ends |= self.program.collective(
                kind,
                f"{name}.g{number}",
                self.ring_of(ranks),
                phase.size_bytes,
                after=self.at,
                algorithm=self.algorithm,
            )
        return ends

    @staticmethod
    def ring_of(ranks: Sequence[int]) -> Sequence[int]:
        """The order in which a ring connects ranks: by number, so that those of a server are neighbours."""
        return sorted(ranks)
