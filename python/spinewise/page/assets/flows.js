// A flow picked: its facts, why it took so long, its packets' paths over time, the queues they met.

const MOST_WAYS = 16;

page.flowPicker = function (player) {
  const paths = player.model.paths;
  if (!paths.length) return;
  const box = page.element('div', { class: 'flows' });
  // Runs of unlike traffic have no flow in common, whatever its number.
  const key = (one) => (one.run ? `${one.track} ${one.flow}` : `${one.flow}`);
  const title = (name) => paths.filter((one) => key(one) === name).map((one) => (one.run ? `${one.run}: ${one.title}` : one.title))[0];
  const options = [...new Set(paths.map(key))].map((name) => page.element('option', { value: name }, title(name)));
  const choice = page.element('select', { class: 'pick' }, page.element('option', { value: '' }, 'none'), ...options);
  const label = page.element('label', {}, page.element('b', {}, 'Pick a flow '), choice);
  const shown = page.element('div', { class: 'picked' });
  box.append(page.element('div', { class: 'controls' }, label), shown);
  player.element.append(box);
  choice.addEventListener('change', () => page.pickFlow(player, paths.filter((one) => key(one) === choice.value), shown));
};

page.pickFlow = function (player, paths, shown) {
  shown.replaceChildren();
  player.routeOf = paths.length ? (track, us) => page.routeAt(paths.find((one) => one.track === track), us) : null;
  const cards = page.element('div', { class: 'answers' });
  shown.append(cards);
  for (const one of paths) {
    const track = player.model.tracks[one.track].label;
    const facts = page.element('dl', {}, ...one.facts.flatMap(([name, value]) => [page.element('dt', {}, name), page.element('dd', {}, value)]));
    const why = page.element('ul', {}, ...one.why.map((line) => page.element('li', {}, line)));
    cards.append(page.element('div', { class: 'answer' }, page.element('h3', {}, `${track}: ${one.title}`), facts, why));
  }
  for (const one of paths) page.flowCharts(player, one, shown);
  const first = paths.find((one) => one.times_us);
  if (first) player.show(Math.floor(page.array(first.times_us)[0] / player.model.frame_us));
  else player.show(player.frame);
};

page.flowCharts = function (player, path, shown) {
  const track = player.model.tracks[path.track].label;
  if (!path.times_us) {
    shown.append(page.element('p', { class: 'note' }, `${track}: no packet of this flow had a path to choose, so there is no trace of it.`));
    return;
  }
  const few = path.packets > page.array(path.times_us).length ? `, ${page.array(path.times_us).length} of ${path.packets} packets` : '';
  const row = page.element('div', { class: 'charts' });
  shown.append(row);
  const plot = page.element('div', { class: 'plot', role: 'img', 'aria-label': `paths of flow ${path.flow} over time` });
  const caption = page.element('figcaption', {}, `${track}: where its packets went${few}; darker: a longer wait ahead, cross: sent again`);
  row.append(page.element('figure', { class: 'lines' }, caption, plot));
  let made = null;
  page.watch(plot, () => {
    if (made) made.dispose();
    made = echarts.init(plot, null, { renderer: 'svg' });
    made.setOption(page.pathOption(player, path));
    plot.chart = made;
    made.on('click', (one) => player.show(Math.floor(one.value[0] / player.model.frame_us)));
  });
  if (path.met && path.met.curves.length) page.figure(row, { ...path.met, title: `${track}: ${path.met.title}` });
  const story = page.element('details', {}, page.element('summary', {}, `${track}: the whole story, as spinewise explain tells it`), page.element('pre', {}, path.story));
  shown.append(story);
};

// The links of the path that the last packet before this instant took; none before the first and after the last.
page.routeAt = function (path, us) {
  if (!path || !path.times_us) return [];
  const times = page.array(path.times_us);
  const routes = page.array(path.route);
  let last = -1;
  for (let at = 0; at < times.length && times[at] <= us; at += 1) last = at;
  return last < 0 || us > times[times.length - 1] + 1e3 ? [] : path.routes[routes[last]];
};

page.pathOption = function (player, path) {
  const [times, ways, waits, again] = ['times_us', 'way', 'wait_us', 'again'].map((name) => page.array(path[name]));
  const met = new Map();
  for (const way of ways) met.set(way, (met.get(way) || 0) + 1);
  const used = [...met.keys()].sort((a, b) => met.get(b) - met.get(a)).slice(0, MOST_WAYS);
  const names = used.map((way) => path.ways[way]);
  const most = Math.max(...waits, 1e-9);
  const point = (at) => ({
    value: [times[at], used.indexOf(ways[at]), waits[at]],
    itemStyle: { color: again[at] ? page.css('--bad') : page.rgb(0.25 + (0.75 * waits[at]) / most) },
    symbol: again[at] ? 'path://M0,0L10,10M0,10L10,0' : 'circle',
    symbolSize: again[at] ? 8 : 5,
  });
  const data = [];
  const resent = [];
  for (let at = 0; at < times.length; at += 1) {
    if (used.indexOf(ways[at]) >= 0) (again[at] ? resent : data).push(point(at));
  }
  const cross = { borderColor: page.css('--bad'), borderWidth: 1.6 };
  return {
    animation: false, textStyle: { fontFamily: page.font() },
    grid: { left: 8, right: 16, top: 10, bottom: 26, containLabel: true },
    tooltip: { ...page.tooltip(), trigger: 'item', formatter: (one) => `${page.time(one.value[0])}<br>${page.escape(names[one.value[1]])}<br>wait ahead ${page.time(one.value[2])}` },
    xAxis: { ...page.axis({ title: 'time [µs]', scale: 'linear', words: [] }, [], { nameGap: 24 }), scale: true },
    yAxis: { ...page.axis({ title: '', scale: 'words', words: names }, []), inverse: true,
      axisLabel: { ...page.chartText(), width: 170, overflow: 'truncate' } },
    series: [
      { type: 'scatter', data, z: 2 },
      { type: 'scatter', data: resent.map((one) => ({ ...one, itemStyle: cross })), z: 3 },
    ],
  };
};
