"""Leaf-spines and fat-trees recognised in lists of links."""

import itertools
import random
from pathlib import Path

import pytest

import spinewise as sw
from spinewise.cli import main
from spinewise.interop import clos, topology
from spinewise.interop.clos import Clos
from spinewise.interop.topology import Topology

Links = list[tuple[int, int, str]]
HOST, FABRIC, CORE = "10Gbps 1000ns 0", "40Gbps 500ns 0", "100Gbps 700ns 0"


def fat_tree(pods: int, leaves: int, columns: int, uplinks: int, per_leaf: int) -> tuple[int, int, Links]:
    """Hosts, switches and links, numbered as the engine does."""
    hosts = pods * leaves * per_leaf
    first = hosts + pods * leaves
    top = first + pods * columns
    links = [(host, hosts + host // per_leaf, HOST) for host in range(hosts)]
    for pod, column in itertools.product(range(pods), range(columns)):
        above = first + pod * columns + column
        links += [(hosts + pod * leaves + leaf, above, FABRIC) for leaf in range(leaves)]
        links += [(above, top + column * uplinks + core, CORE) for core in range(uplinks)]
    return hosts, top + columns * uplinks - hosts, links


def leaf_spine(leaves: int, spines: int, per_leaf: int) -> tuple[int, int, Links]:
    hosts = leaves * per_leaf
    links = [(host, hosts + host // per_leaf, HOST) for host in range(hosts)]
    links += [(hosts + a, hosts + leaves + b, FABRIC) for a in range(leaves) for b in range(spines)]
    return hosts, leaves + spines, links


def text_of(hosts: int, switches: int, links: Links) -> str:
    ids = " ".join(map(str, range(hosts, hosts + switches)))
    return (
        "\n".join([f"{hosts + switches} {switches} {len(links)}", ids, *(f"{a} {b} {x}" for a, b, x in links)]) + "\n"
    )


def read(folder: Path, fabric: tuple[int, int, Links]) -> Topology:
    path = folder / "fabric.txt"
    path.write_text(text_of(*fabric))
    return topology.read(path)


def known(folder: Path, fabric: tuple[int, int, Links]) -> Clos:
    found = clos.recognise(read(folder, fabric))
    assert isinstance(found, Clos), found
    return found


def test_parallel_links_are_those_of_a_leaf_spine_if_all_pairs_have_as_many(tmp_path: Path) -> None:
    hosts, switches, links = leaf_spine(4, 2, 3)
    inner = links[hosts:]
    found = known(tmp_path, (hosts, switches, links + inner))
    assert found.counts == {"leaves": 4, "spines": 2, "hosts_per_leaf": 3, "parallel_links": 2}
    assert "2 links between them" in found.about()
    why = clos.recognise(read(tmp_path, (hosts, switches, links + inner[:1])))
    assert why == "the pair 12-16 has 2 links, the pair 12-17 has 1"
    tree = fat_tree(2, 2, 2, 2, 2)
    why = clos.recognise(read(tmp_path, (*tree[:2], tree[2] + tree[2][-1:])))
    assert why == "switches 15 and 19 have several links"


def test_a_k_ary_fat_tree_and_general_pods(tmp_path: Path) -> None:
    for shape in ((4, 2, 2, 2, 2), (3, 2, 3, 1, 4), (2, 4, 2, 3, 1)):
        found = known(tmp_path, fat_tree(*shape))
        assert (found.kind, tuple(found.counts.values())) == ("fat_tree", shape)
        assert found.rates_bps == (10 * 10**9, 40 * 10**9, 100 * 10**9)
        assert found.delays_ps == (1_000_000, 500_000, 700_000)
        assert found.keeps_hosts


def test_a_leaf_spine(tmp_path: Path) -> None:
    found = known(tmp_path, leaf_spine(3, 2, 4))
    assert (found.kind, found.counts) == ("leaf_spine", {"leaves": 3, "spines": 2, "hosts_per_leaf": 4})


@pytest.mark.parametrize("seed", range(5))
def test_any_numbering_of_nodes_is_recognised(tmp_path: Path, seed: int) -> None:
    """Shuffled ids: the renumbered fabric has the very links of the engine's numbering."""
    dice = random.Random(seed)
    hosts, switches, links = fat_tree(3, 2, 2, 2, 2)
    ids = [*dice.sample(range(hosts), hosts), *dice.sample(range(hosts, hosts + switches), switches)]
    shuffled = [(ids[a], ids[b], x) if dice.random() < 0.5 else (ids[b], ids[a], x) for a, b, x in links]
    found = read(tmp_path, (hosts, switches, dice.sample(shuffled, len(shuffled))))
    fabric = clos.recognise(found)
    assert isinstance(fabric, Clos)
    ends = {tuple(sorted((link.a, link.b))) for link in clos.renumbered(found, fabric).links}
    assert ends == {(a, b) for a, b, _ in links}


def test_what_is_none_of_the_two_is_said(tmp_path: Path) -> None:
    hosts, switches, links = leaf_spine(3, 2, 4)
    reasons = {
        "leaf 14 is not linked to switch 16": links[:-1],
        "link 0-12 (10 Gbps, 1000 ns) and link 5-13 (11 Gbps, 1000 ns) are of one tier and differ"
        " (if only a few links differ, write these tiers, and a [[topology.override]] for each of the few)": [
            (a, b, x.replace("10G", "11G") if a == 5 else x) for a, b, x in links
        ],
        "switch 12 has 3 hosts, switch 13 has 5": [(a, 13 if a == 3 else b, x) for a, b, x in links],
        "leaf 12 is linked to another leaf": [*links, (12, 13, FABRIC)],
    }
    for reason, other in reasons.items():
        assert clos.recognise(read(tmp_path, (hosts, switches, other))) == reason
    tree = fat_tree(2, 2, 2, 2, 2)
    crossed = [(a, 18 if (a, b) == (12, 17) else b, x) for a, b, x in tree[2]]
    found = clos.recognise(read(tmp_path, (tree[0], tree[1], crossed)))
    assert found == "aggregation switches share some but not all of their cores, so they form no columns"


def test_lbsp_runs_on_an_imported_fat_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "tree.txt", tmp_path / "spec.toml"
    source.write_text(text_of(*fat_tree(4, 2, 2, 2, 2)))
    assert main(["import", "topology", str(source), "--out", str(out)]) == 0
    assert "16 hosts, 20 switches, 48 links: a fat-tree of 4 pods" in capsys.readouterr().out
    text = out.read_text()
    out.write_text('[scheme]\nname = "lbsp"\n' + text + '\n[[traffic]]\nkind = "permutation"\nsize_bytes = 9000\n')
    result = sw.run(out)
    assert (result.spec["topology"]["kind"], result.report["finished"]) == ("fat_tree", 16)
    assert main(["import", "topology", str(source), "--kind", "links", "--out", str(out), "--force"]) == 0
    assert 'kind = "links"' in out.read_text()


def test_hosts_that_would_get_other_numbers_keep_a_fabric_links(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts, switches, links = leaf_spine(2, 2, 2)
    # Rails: hosts 0 and 2 on one leaf, 1 and 3 on the other.
    rails = [(a, hosts + a % 2 if a < hosts else b, x) for a, b, x in links]
    source = tmp_path / "rails.txt"
    source.write_text(text_of(hosts, switches, rails))
    assert main(["import", "topology", str(source)]) == 0
    said = capsys.readouterr()
    assert 'kind = "links"' in said.out
    assert "it is a leaf-spine of 2 leaves with 2 hosts each and 2 spines, but" in " ".join(said.err.split())
