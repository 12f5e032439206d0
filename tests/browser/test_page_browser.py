"""Pages of `report` in headless Chromium: `make test-browser`."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import spinewise as sw
from chromium import Browser, chromium
from spinewise.cli import main

EVIDENCE = Path(__file__).resolve().parents[2] / "docs" / "evidence" / "pdlb-7"
FABRIC = {
    "name": "burst and web",
    "topology": {"leaves": 3, "spines": 2, "hosts_per_leaf": 4},
    "traffic": [
        {"name": "web", "kind": "poisson", "cdf": "web_search", "load": 0.4, "pairs": "inter_rack",
         "duration_us": 4000},
        {"name": "burst", "kind": "incast", "receiver": 0, "senders": 8, "size_bytes": 60_000},
    ],
    "fault": [{"kind": "down", "ends": ["leaf0", "spine1"], "at_us": 500, "until_us": 1500}],
}  # fmt: skip
REDUCE = {
    "name": "reduce",
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "traffic": [{"kind": "all_reduce", "size_bytes": 400_000, "rounds": 2}],
}
PLAYER = "page.players[0]"
CANVAS = "document.querySelector('canvas.fabric').toDataURL()"


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    """A browser with an empty profile."""
    with chromium(tmp_path / "profile") as found:
        yield found


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison and two runs."""
    folder = tmp_path_factory.mktemp("results")
    sw.write(sw.compare(FABRIC, "ecmp,letflow", seeds=2, jobs=1), folder / "compared")
    sw.run(FABRIC, scheme="letflow").write(folder / "ran")
    sw.run(REDUCE).write(folder / "reduced")
    return folder


@pytest.fixture(scope="session")
def page(results: Path) -> Path:
    """A page with a comparison, two runs, and claims."""
    out = results / "page.html"
    places = [str(results / name) for name in ("compared", "ran", "reduced")]
    assert main(["report", *places, str(EVIDENCE), "--out", str(out)]) == 0
    return out


def test_nothing_complains_nothing_is_fetched_and_every_chart_is_drawn(browser: Browser, page: Path) -> None:
    browser.show(page)
    assert len(page.read_bytes()) < 10_000_000
    browser.execute_script("page.repaint(true)")
    plots = browser.number("document.querySelectorAll('.plot').length")
    assert plots > 20
    assert (
        browser.number("[...document.querySelectorAll('.plot')].filter((one) => one.querySelector('svg path')).length")
        == plots
    )
    assert browser.tell("performance.getEntriesByType('resource').map((one) => one.name)") == []
    assert browser.complaints() == []


def test_the_answer_comes_first(browser: Browser, page: Path) -> None:
    browser.show(page)
    top = browser.number("document.querySelector('.answer .is').getBoundingClientRect().bottom")
    assert 0 < top < 900, "seen without scrolling"


def test_a_table_is_sorted_by_click_and_by_key(browser: Browser, page: Path) -> None:
    browser.show(page)
    table = "[...document.querySelectorAll('table.sortable')].find((one) => one.textContent.includes('hottest link'))"
    heads = browser.tell(f"[...{table}.tHead.rows[0].cells].map((one) => one.textContent)")
    assert isinstance(heads, list)
    column = heads.index("marks")
    keys = f"[...{table}.tBodies[0].rows].map((row) => Number(row.cells[{column}].dataset.sort))"
    given = browser.tell(keys)
    assert isinstance(given, list)
    assert len(given) > 1
    head = browser.execute_script(f"return {table}.tHead.rows[0].cells[{column}].firstElementChild")
    for wanted, order in (("ascending", sorted(given)), ("descending", sorted(given, reverse=True)), (None, given)):
        head.send_keys(Keys.ENTER)
        assert browser.tell(f"{table}.tHead.rows[0].cells[{column}].getAttribute('aria-sort')") == wanted
        assert browser.tell(keys) == order
    browser.execute_script("arguments[0].click()", head)
    assert browser.tell(keys) == sorted(given)


def test_playing_pausing_and_scrubbing(browser: Browser, page: Path) -> None:
    browser.show(page)
    replay = browser.find_element(By.CSS_SELECTOR, ".replay")
    browser.execute_script("arguments[0].scrollIntoView()", replay)
    frames = browser.number(f"{PLAYER}.frames")
    frame_us = browser.number(f"{PLAYER}.model.frame_us")
    before = browser.tell(CANVAS)
    replay.send_keys(Keys.SPACE)
    browser.until(f"{PLAYER}.frame > 10")
    assert browser.tell("document.querySelector('.play').textContent") == "❚❚ Pause"
    replay.send_keys(Keys.SPACE)
    assert browser.tell(f"{PLAYER}.playing") is False
    assert browser.tell(CANVAS) != before
    at = browser.number(f"{PLAYER}.frame")
    replay.send_keys(Keys.ARROW_RIGHT)
    assert browser.number(f"{PLAYER}.frame") == at + 1
    replay.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert browser.number(f"{PLAYER}.frame") == at - 1
    replay.send_keys(Keys.END)
    assert browser.number(f"{PLAYER}.frame") == frames - 1
    replay.send_keys(Keys.HOME)
    clock = str(browser.tell("document.querySelector('.clock').textContent"))
    value, unit = clock.split()
    assert float(value) * {"ns": 1e-3, "µs": 1.0, "ms": 1e3}[unit] == pytest.approx(frame_us)
    browser.execute_script(
        "const it = document.querySelector('.controls input'); it.value = 7; it.dispatchEvent(new Event('input'))"
    )
    assert browser.number(f"{PLAYER}.frame") == 7
    assert browser.complaints() == []


def test_two_schemes_run_on_one_clock(browser: Browser, page: Path) -> None:
    browser.show(page)
    assert browser.tell(f"{PLAYER}.tracks.map((one) => one.model.label)") == ["ecmp", "letflow"]
    browser.execute_script("document.querySelector('.replay').scrollIntoView()")
    browser.until(f"{PLAYER}.tracks[1].values")
    states = f"{PLAYER}.tracks.map((one) => one.state.textContent)"
    browser.execute_script(f"{PLAYER}.show(Math.round(1000 / {PLAYER}.model.frame_us))")
    found = browser.tell(states)
    assert isinstance(found, list)
    # The fault lasts from 500 to 1500 µs.
    assert all("✕ down" in one for one in found)
    browser.execute_script(f"{PLAYER}.show(Math.round(2500 / {PLAYER}.model.frame_us))")
    later = browser.tell(states)
    assert isinstance(later, list)
    assert not any("✕" in one for one in later)


def test_every_quantity_is_shown_and_a_link_over_time(browser: Browser, page: Path) -> None:
    browser.show(page)
    browser.execute_script("document.querySelector('.replay').scrollIntoView()")
    browser.until(f"{PLAYER}.tracks[0].values")
    pictures = []
    for name in ("use", "queue", "marks"):
        browser.execute_script(f"document.querySelector('.which [data-name={name}]').click()")
        assert browser.tell(f"document.querySelector('.which [data-name={name}]').ariaPressed") == "true"
        pictures.append(browser.tell("document.querySelector('canvas.heat').toDataURL()"))
    assert len(set(pictures)) == 3
    heat = browser.find_element(By.CSS_SELECTOR, "canvas.heat")
    heat.click()
    browser.until("document.querySelectorAll('.link .plot svg path').length > 0")
    link = str(browser.tell("document.querySelector('.link figcaption').textContent"))
    assert re.match(r"\w+->\w+: ", link)


def test_names_of_tiers_fit_beside_their_links(browser: Browser, tmp_path: Path) -> None:
    links = [[0, 2, 10, 1000], [1, 3, 10, 1000], [2, 4, 10, 1000], [3, 4, 10, 1000]]
    spec = {
        "topology": {"kind": "links", "hosts": 2, "switches": 3, "links": links},
        "traffic": [{"kind": "permutation", "size_bytes": 200_000}],
    }
    sw.run(spec, scheme="letflow").write(tmp_path / "graph")
    out = tmp_path / "graph.html"
    assert main(["report", str(tmp_path / "graph"), "--out", str(out)]) == 0
    browser.show(out)
    browser.execute_script("document.querySelector('.replay').scrollIntoView()")
    browser.until(f"{PLAYER}.tracks[0].values")
    browser.execute_script("""
        window.named = [];
        const write = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
          if (this.canvas.classList.contains('heat')) named.push([text, x - this.measureText(text).width]);
          write.call(this, text, x, y);
        };
        document.querySelector('.which [data-name=queue]').click();
    """)
    browser.until("named.length > 0")
    places = dict(browser.tell("named"))  # type: ignore[call-overload]
    assert "switch → switch" in places
    assert min(places.values()) >= 0.0


def test_names_beside_many_bars_are_whole(browser: Browser, page: Path) -> None:
    """Of 43 names ECharts measures every other one: "packet_scatter" stood there as "acket_scatter"."""
    browser.show(page)
    browser.execute_script("""
        const words = Array.from({ length: 43 }, (_, at) => (at === 21 ? 'packet_scatter' : `s${at}`));
        const curves = words.map((label) => ({ label, colour: 'C0', x: [1], y: [0], half: [], hollow: [] }));
        const plot = page.element('div', { id: 'many', style: 'width: 600px; height: 1300px' });
        document.querySelector('main').prepend(plot);
        const x = { title: 'time', scale: 'linear', words: [] };
        page.chart(plot, { bars: true, x, y: { title: '', scale: 'words', words }, curves });
        page.repaint(true);""")
    texts = "[...document.querySelectorAll('#many svg text')]"
    box = "getBoundingClientRect()"
    assert browser.number(f"{texts}.filter((one) => one.textContent === 'packet_scatter').length") == 1
    assert browser.number(f"{texts}.length") > 43, "all names, and numbers below"
    left = browser.number(f"document.getElementById('many').{box}.left")
    assert browser.number(f"Math.min(...{texts}.map((one) => one.{box}.left))") >= left
    bottom = browser.number(f"document.getElementById('many').{box}.bottom")
    assert browser.number(f"Math.max(...{texts}.map((one) => one.{box}.bottom))") <= bottom
    assert browser.complaints() == []


def test_a_flow_is_picked(browser: Browser, page: Path, results: Path) -> None:
    browser.show(page)
    replay = browser.find_element(By.CSS_SELECTOR, ".replay")
    browser.execute_script("arguments[0].scrollIntoView()", replay)
    browser.until(f"{PLAYER}.tracks[0].values")
    # Of LetFlow: ECMP's flows have paths, too.
    whole = "(one) => one.track === 1 && one.times_us && one.routes[page.array(one.route)[0]].length > 1"
    flow = browser.number(f"{PLAYER}.model.paths.find({whole}).flow")
    browser.execute_script(
        f"const it = document.querySelector('.pick'); it.value = {flow:.0f}; it.dispatchEvent(new Event('change'))"
    )
    cards = browser.find_elements(By.CSS_SELECTOR, ".picked .answer")
    assert len(cards) == 2
    run = sw.read(results / "ran")
    assert isinstance(run, sw.Result)
    slowdown = run.flows.column("slowdown")[int(flow)].as_py()
    assert f"{slowdown:.2f} times its ideal" in cards[1].text
    browser.execute_script("document.querySelector('.picked').scrollIntoView()")
    browser.until("document.querySelectorAll('.picked .plot svg path').length > 5")
    assert "In all:" in str(browser.tell("document.querySelector('.picked pre').textContent"))
    # While it sends, its path lies over the fabric of the scheme that chose.
    browser.execute_script(f"""const one = {PLAYER}.model.paths.find({whole});
        {PLAYER}.show(Math.ceil(page.array(one.times_us)[0] / {PLAYER}.model.frame_us));""")
    route = browser.tell(f"{PLAYER}.tracks[1].fabric.route.map((at) => {PLAYER}.model.fabric.links[at].name)")
    assert isinstance(route, list)
    src, dst = (run.flows.column(name)[int(flow)].as_py() for name in ("src", "dst"))
    assert route[-1].endswith(f"->host{dst}")
    assert route[0].startswith(f"leaf{src // 4}->")
    assert browser.complaints() == []


def test_steps_of_a_collective_are_bars(browser: Browser, page: Path, results: Path) -> None:
    browser.show(page)
    run = sw.read(results / "reduced")
    assert isinstance(run, sw.Result)
    steps = sum(len(one.steps) for one in run.rounds.rounds)
    browser.execute_script("page.repaint(true)")
    counts = browser.tell("page.models.filter((one) => one.kind === 'steps').map((one) => one.tracks[0][1].length)")
    assert isinstance(counts, list)
    assert steps in counts


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system_and_the_switch(browser: Browser, page: Path, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.show(page)
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    shades = {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 23, 29)"}
    assert browser.tell(paper) == shades[scheme]
    browser.find_element(By.CSS_SELECTOR, ".switch").click()
    other = "light" if scheme == "dark" else "dark"
    assert browser.tell(paper) == shades[other]
    assert browser.tell("document.querySelector('.switch').ariaPressed") == ("true" if other == "dark" else "false")
    assert browser.complaints() == []


def test_a_phone_scrolls_one_way(browser: Browser, page: Path) -> None:
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    browser.show(page)
    browser.execute_script("page.repaint(true)")
    assert browser.number("document.documentElement.scrollWidth") <= 390
    heights = browser.tell("[...document.querySelectorAll('.controls button')].map((one) => one.offsetHeight)")
    assert isinstance(heights, list)
    assert min(heights) >= 35
    narrow = browser.tell("[...document.querySelectorAll('.plot')].map((one) => one.clientWidth)")
    assert isinstance(narrow, list)
    assert 250 < min(narrow) <= max(narrow) <= 390
    assert browser.complaints() == []


def test_paper_is_white_and_has_every_chart(browser: Browser, page: Path) -> None:
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": dark})
    browser.show(page)
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    undrawn = "[...document.querySelectorAll('.plot')].filter((one) => !one.querySelector('svg path')).length"
    assert browser.number(undrawn) == 0
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    assert browser.tell(paper) == "rgb(255, 255, 255)"
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert browser.tell(paper) == "rgb(18, 23, 29)"


def test_without_javascript_the_answer_and_the_numbers_are_there(browser: Browser, page: Path) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    browser.get(page.as_uri())
    text = browser.find_element(By.CSS_SELECTOR, "main").text
    assert text.index("Which is best") < text.index("Completion times")
    assert browser.find_element(By.CSS_SELECTOR, "details.numbers td").is_displayed()
    assert not browser.find_element(By.CSS_SELECTOR, ".plot").is_displayed()
    assert "needs JavaScript" in text


def test_a_page_whose_data_is_damaged_says_so(browser: Browser, page: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    broken.write_text(re.sub(r'(id="data">).{200}', r"\1", page.read_text(encoding="utf-8")), encoding="utf-8")
    browser.get(broken.as_uri())
    browser.until("document.querySelector('[role=alert]')")
    assert "the tables are whole" in browser.find_element(By.CSS_SELECTOR, "[role=alert]").text
    assert browser.find_element(By.CSS_SELECTOR, "details.numbers td").is_displayed()


def test_a_thousand_hosts_stay_fluid(browser: Browser, tmp_path: Path) -> None:
    spec = {
        **REDUCE,
        "topology": {"kind": "fat_tree", "k": 16},
        "traffic": [{"kind": "permutation", "size_bytes": 30_000}],
    }
    sw.run(spec, scheme="letflow").write(tmp_path / "run")
    out = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "run"), "--out", str(out)]) == 0
    assert out.stat().st_size < 10_000_000
    browser.show(out)
    browser.execute_script("document.querySelector('.replay').scrollIntoView()")
    browser.until(f"{PLAYER}.tracks[0].values")
    assert browser.number(f"{PLAYER}.model.fabric.nodes.filter((one) => one.tier === 'host').length") == 1024
    # Frames drawn one after the other, so that other processes of the machine matter little.
    took = browser.tell(f"""(() => {{ const found = [];
        for (let frame = 0; frame < {PLAYER}.frames; frame += 1) {{
          const begin = performance.now(); {PLAYER}.show(frame); found.push(performance.now() - begin);
        }} return found.sort((a, b) => a - b); }})()""")
    assert isinstance(took, list)
    assert took[len(took) // 2] < 16, f"median {took[len(took) // 2]:.1f} ms a frame"
    # Played, frames come about as fast as they do where nothing is drawn, on this machine at this time.
    idle = browser.execute_async_script("""const done = arguments[0]; const found = []; let before = performance.now();
        const tick = (now) => { found.push(now - before); before = now;
          found.length < 60 ? requestAnimationFrame(tick) : done(found.sort((a, b) => a - b)); };
        requestAnimationFrame(tick);""")
    browser.execute_script(f"{PLAYER}.show(0); {PLAYER}.took = []; {PLAYER}.toggle()")
    browser.until(f"{PLAYER}.took.length > 60")
    assert browser.number(f"{PLAYER}.frame") > 10
    played = browser.tell(f"[...{PLAYER}.took].sort((a, b) => a - b)")
    assert isinstance(played, list)
    between, free = played[len(played) // 2], idle[len(idle) // 2]
    assert between < max(40, 4 * free), f"median {between:.1f} ms between frames, {free:.1f} where nothing is drawn"
    assert browser.complaints() == []
