// Charts, drawn by ECharts as SVG.

const NINES = [0, 0.5, 0.9, 0.99, 0.999, 0.9999];

page.nines = (share) => -Math.log10(Math.max(1 - share, 1e-6));

page.chart = function (element, model) {
  let made = null;
  page.watch(element, () => {
    if (made) made.dispose();
    made = echarts.init(element, null, { renderer: 'svg' });
    made.setOption(model.bars ? page.barOption(model) : page.lineOption(model, element));
    element.chart = made;
  });
};

// ECharts measures words on a canvas, which knows no 'inherit'.
page.font = () => getComputedStyle(document.body).fontFamily;

page.chartText = () => ({ color: page.css('--soft'), fontFamily: page.font(), fontSize: 11.5 });

page.axis = function (axis, values, extra = {}) {
  const line = page.css('--line');
  const base = {
    name: axis.title, nameLocation: 'middle', nameTextStyle: page.chartText(), axisLabel: page.chartText(),
    axisLine: { lineStyle: { color: line } }, splitLine: { lineStyle: { color: line, opacity: 0.6 } },
    axisTick: { show: false }, ...extra,
  };
  const label = base.axisLabel;
  if (axis.scale === 'words') return { ...base, type: 'category', data: axis.words, nameGap: 30, splitLine: { show: false } };
  if (axis.scale === 'nines') {
    const most = Math.max(page.nines(0.9), ...values.map(page.nines));
    const ticks = NINES.filter((one) => page.nines(one) <= most + 1e-6);
    return {
      ...base, type: 'value', min: 0, max: most * 1.02, splitLine: { ...base.splitLine },
      axisLabel: { ...label, customValues: ticks.map(page.nines), formatter: (v) => page.share(1 - 10 ** -v) },
      axisTick: { show: false, customValues: ticks.map(page.nines) },
    };
  }
  const told = (significant) => (v) => (axis.title.endsWith('[B]') ? page.amount(v, 'B') : page.digits(v, significant));
  const finite = values.filter((v) => v !== null && isFinite(v));
  const positive = finite.filter((v) => v > 0);
  const narrow = Math.max(...positive) < 3 * Math.min(...positive);
  if ((axis.scale === 'log' && !narrow) || axis.scale === 'log2') {
    const [low, high] = [Math.min(...positive) * 0.85, Math.max(...positive) * 1.18];
    const ticks = page.logTicks(low, high, axis.scale === 'log2' ? 2 : 10);
    return {
      ...base, type: 'log', min: low, max: high, logBase: axis.scale === 'log2' ? 2 : 10,
      axisLabel: { ...label, customValues: ticks, hideOverlap: true, formatter: told(3) },
      axisTick: { show: false, customValues: ticks },
    };
  }
  // Points at the ends of the axis stay off its edge; no time is below zero.
  const [least, most] = [Math.min(...finite), Math.max(...finite)];
  if (axis.scale === 'near' && least > 0.05 * (most - least)) base.boundaryGap = ['4%', '4%'];
  return { ...base, type: 'value', scale: axis.scale === 'near' || axis.scale === 'log', axisLabel: { ...label, hideOverlap: true, formatter: told(4) } };
};

page.share = (value) => `${page.digits(100 * value, 4)} %`;

// Powers, and where there are few of them 2 and 5 times as well.
page.logTicks = function (low, high, base) {
  const found = [];
  const wide = Math.log(high / low) / Math.log(base);
  const steps = base === 10 && wide < 2.2 ? (wide < 0.8 ? [1, 1.5, 2, 3, 4, 5, 7] : [1, 2, 5]) : [1];
  const every = Math.max(1, Math.ceil(wide / 9));
  for (let power = Math.floor(Math.log(low) / Math.log(base)); base ** power <= high; power += 1) {
    if (steps.length === 1 && ((power % every) + every) % every) continue;
    for (const step of steps) {
      const value = step * base ** power;
      if (value >= low && value <= high) found.push(value);
    }
  }
  return found;
};

page.tooltip = () => ({
  confine: true, backgroundColor: page.css('--paper'), borderColor: page.css('--line'),
  textStyle: { color: page.css('--ink'), fontSize: 12, fontFamily: page.font() },
});

page.escape = (text) => echarts.format.encodeHTML(String(text));

page.lineOption = function (model, element) {
  const several = model.curves.length > 1;
  const nines = model.y.scale === 'nines';
  const xs = model.curves.flatMap((one) => one.x);
  const ys = model.curves.flatMap((one) => one.y.flatMap((y, at) => {
    const half = one.half.length && one.half[at] !== null ? one.half[at] : 0;
    return model.y.scale === 'log' ? [y] : [y, y + half];
  }));
  const legend = several ? page.legendLines(model.curves, element) : 0;
  return {
    animation: false, aria: { enabled: true, label: { enabled: false } },
    textStyle: { fontFamily: page.font() },
    grid: { left: 12, right: 16, top: 12 + 19 * legend, bottom: 26, containLabel: true },
    legend: several ? {
      top: 0, left: 0, itemWidth: 22, itemHeight: 9, itemGap: 12, textStyle: { ...page.chartText(), color: page.css('--ink') },
      inactiveColor: page.css('--line'),
    } : undefined,
    tooltip: { ...page.tooltip(), trigger: 'item', formatter: (one) => page.tip(model, one) },
    xAxis: page.axis(model.x, xs, { nameGap: 24 }),
    yAxis: page.axis(model.y, ys, { nameGap: 10, nameLocation: 'end', name: nines ? '' : model.y.title,
      nameTextStyle: { ...page.chartText(), align: 'left', padding: [0, 0, 0, -28] }, show: true,
      ...(nines || !model.y.title ? {} : { nameGap: 8 }), ...page.room(model, ys) }),
    series: [...model.curves.flatMap((one, place) => page.seriesOf(model, one, place, xs)), ...page.shades(model)],
    ...(nines || !model.y.title ? {} : { grid: { left: 12, right: 16, top: 30 + 19 * legend, bottom: 26, containLabel: true } }),
  };
};

// Intervals may reach above the points, but not so far that these are pressed flat.
page.room = function (model, ends) {
  const means = model.curves.flatMap((one) => one.y).filter((y) => y !== null && isFinite(y));
  const top = Math.max(...ends.filter((y) => y !== null && isFinite(y)));
  if (model.y.scale !== 'linear' || !(Math.min(...means) >= 0) || top <= Math.max(...means)) return {};
  return { min: 0, max: page.above(Math.min(top, 2.2 * Math.max(...means))) };
};

// How many lines the legend takes: it may not lie on the curves.
page.legendLines = function (curves, element) {
  const width = Math.max(element.clientWidth, 200);
  let [lines, used] = [1, 0];
  for (const one of curves) {
    const wide = 40 + 6.4 * one.label.length;
    if (used + wide > width && used) [lines, used] = [lines + 1, 0];
    used += wide;
  }
  return lines;
};

page.seriesOf = function (model, one, place, xs) {
  const colour = page.colour(one.colour);
  const spot = model.y.scale === 'nines' ? page.nines : (y) => y;
  const shift = page.shift(model, place);
  const data = one.x.map((x, at) => ({
    value: [x, one.y[at] === null ? null : spot(one.y[at]), at],
    itemStyle: one.hollow[at] ? { color: page.css('--paper'), borderColor: colour, borderWidth: 1.6 } : undefined,
  }));
  const bare = one.symbol === 'none';
  const made = [{
    name: one.label, type: one.joined ? 'line' : 'scatter', data, symbol: bare && one.joined ? 'circle' : one.symbol,
    symbolSize: bare ? 5 : 7, showSymbol: !bare, symbolOffset: [shift, 0],
    color: colour, lineStyle: { width: 1.8, type: one.dash, color: colour }, itemStyle: { color: colour },
    emphasis: { focus: 'series', lineStyle: { width: 2.6 } }, connectNulls: false, z: 3,
  }];
  if (one.half.some((half) => half !== null)) made.push(page.whiskers(one, colour, shift, spot, page.floor(model)));
  return made;
};

// The least value that a chart can show.
page.floor = function (model) {
  const ys = model.curves.flatMap((one) => one.y).filter((y) => y > 0);
  return model.y.scale === 'log' ? 0.85 * Math.min(...ys) : -Infinity;
};

// Points over words stand beside each other.
page.shift = (model, place) => (model.x.scale === 'words' ? (place - (model.curves.length - 1) / 2) * Math.min(9, 60 / model.curves.length) : 0);

// How far an interval reaches downwards.
page.below = (one, at) => (one.below && one.below.length ? one.below[at] : one.half[at]);

// Half an interval, or its ends where it reaches further to one side.
page.around = function (one, at, value) {
  const half = one.half.length ? one.half[at] : null;
  if (!half) return '';
  if (!one.below.length) return ` ±${page.digits(half, 3)}`;
  return ` (${page.digits(value - page.below(one, at))} to ${page.digits(value + half)})`;
};

// Intervals as lines with ends; none reaches below `floor`, which on a logarithmic axis is above zero.
page.whiskers = function (one, colour, shift, spot, floor, flat = false) {
  return {
    name: one.label, type: 'custom', silent: true, clip: true, z: flat ? 3 : 2, tooltip: { show: false }, itemStyle: { color: colour },
    data: one.x.map((x, at) => [...(flat ? [one.y[at], x] : [x, spot(one.y[at])]), one.half[at], page.below(one, at)]),
    renderItem: (_, api) => {
      const [half, below] = [api.value(2), api.value(3)];
      if (!isFinite(half) || half === null) return null;
      const [x, y] = [api.value(0), api.value(1)];
      const low = flat ? api.coord([Math.max(x - below, floor), y]) : api.coord([x, Math.max(y - below, floor)]);
      const high = flat ? api.coord([x + half, y]) : api.coord([x, y + half]);
      const style = { stroke: flat ? page.css('--ink') : colour, lineWidth: 1.1, opacity: 0.8 };
      const cap = ([cx, cy]) => ({ type: 'line', style, shape: flat ? { x1: cx, x2: cx, y1: cy - 3, y2: cy + 3 } : { x1: cx - 3, x2: cx + 3, y1: cy, y2: cy } });
      const whole = { x1: low[0], y1: low[1], x2: high[0], y2: high[1] };
      // Over a bar a line needs a rim to be seen.
      const rim = { type: 'line', style: { stroke: page.css('--paper'), lineWidth: 3.6 }, shape: whole };
      return {
        type: 'group', x: flat ? 0 : shift,
        children: [...(flat ? [rim] : []), { type: 'line', style, shape: whole }, cap(low), cap(high)],
      };
    },
  };
};

page.shades = function (model) {
  if (!model.shaded.length) return [];
  const xs = model.curves.flatMap((curve) => curve.x);
  const edge = Math.max(...xs) - 0.05 * (Math.max(...xs) - Math.min(...xs));
  // At the right edge a name would be cut off.
  const align = (from) => (from > edge ? { label: { align: 'right' } } : {});
  return [{
    type: 'line', data: [], silent: true, name: '',
    markArea: {
      silent: true, itemStyle: { color: page.css('--warm'), opacity: 0.09 },
      label: { show: model.shaded.length < 4, color: page.css('--soft'), fontSize: 10, position: 'insideTop' },
      data: model.shaded.map(([from, to, name]) => [{ xAxis: from, name, ...align(from) }, { xAxis: to }]),
    },
  }];
};

page.tip = function (model, one) {
  const curve = model.curves.find((each) => each.label === one.seriesName);
  if (!curve || one.value === undefined) return '';
  const at = one.value[2];
  const [x, y] = [curve.x[at], curve.y[at]];
  const where = model.x.scale === 'words' ? model.x.words[x] : `${model.x.title}: ${page.digits(x)}`;
  const value = model.y.scale === 'nines' ? page.share(y) : page.digits(y) + page.around(curve, at, y);
  const left = curve.hollow[at] ? '<br>unfinished flows are left out' : '';
  return `<b>${page.escape(curve.label)}</b><br>${page.escape(where)}<br>${page.escape(model.y.title || 'value')}: ${value}${left}`;
};

page.barOption = function (model) {
  const labels = model.y.words;
  const values = model.curves.map((one) => one.x[0]);
  const signed = model.x.scale === 'signed';
  const wide = !signed && Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) > 20;
  const bars = {
    type: wide ? 'scatter' : 'bar', barWidth: '58%', symbolSize: 9, z: 2,
    data: model.curves.map((one, place) => {
      const colour = page.colour(one.colour);
      const hollow = one.hollow[0];
      return { value: [one.x[0], place], itemStyle: { color: hollow ? page.css('--paper') : colour, borderColor: colour, borderWidth: hollow ? 1.6 : 0 } };
    }),
  };
  const halves = { label: '', x: labels.map((_, at) => at), y: values, half: model.curves.map((one) => (one.half.length ? one.half[0] : null)),
    below: model.curves.map((one) => (one.half.length ? page.below(one, 0) : null)) };
  const ends = values.flatMap((value, at) => [value, value + (halves.half[at] || 0)]);
  const least = Math.min(0, ...values.map((value, at) => value - (halves.below[at] || 0)));
  const min = signed && least < 0 ? -page.above(-least) : 0;
  const x = page.axis({ ...model.x, scale: wide ? 'log' : 'linear' }, ends, { nameGap: 22 });
  return {
    animation: false, textStyle: { fontFamily: page.font() },
    grid: { left: page.roomFor(labels) + 16, right: 18, top: 4, bottom: 44 },
    tooltip: { ...page.tooltip(), trigger: 'item', formatter: (one) => page.barTip(model, one.dataIndex) },
    xAxis: wide ? x : { ...x, min, max: page.above(Math.max(...ends)) },
    yAxis: { type: 'category', data: labels, inverse: true, axisTick: { show: false }, axisLine: { lineStyle: { color: page.css('--line') } },
      axisLabel: { ...page.chartText(), color: page.css('--ink'), interval: 0, width: page.longestWords, overflow: 'truncate' } },
    series: [bars, page.whiskers(halves, page.css('--ink'), 0, (y) => y, wide ? 0.85 * Math.min(...values) : min, true)],
  };
};

// Words longer than this are cut.
page.longestWords = 220;

// The room that the longest of some words takes, pixels: of more than 40 labels ECharts measures only some.
page.roomFor = function (words) {
  const context = document.createElement('canvas').getContext('2d');
  const { fontSize, fontFamily } = page.chartText();
  context.font = `${fontSize}px ${fontFamily}`;
  return Math.ceil(Math.min(page.longestWords, Math.max(...words.map((word) => context.measureText(word).width))));
};

// A round number that is no less.
page.above = function (value) {
  const step = 10 ** Math.floor(Math.log10(value || 1)) / 2;
  return Math.ceil((value * 1.02) / step) * step;
};

page.barTip = function (model, place) {
  const one = model.curves[place];
  if (!one) return '';
  return `<b>${page.escape(one.label)}</b><br>${page.escape(model.x.title)}: ${page.digits(one.x[0])}${page.around(one, 0, one.x[0])}`
    + (one.hollow.length ? '<br>unfinished flows are left out' : '');
};
