// Steps of collective operations: a bar a step, below each other, runs side by side.

page.steps = function (element, model) {
  let made = null;
  page.watch(element, () => {
    if (made) made.dispose();
    made = echarts.init(element, null, { renderer: 'svg' });
    made.setOption(page.stepOption(model));
    element.chart = made;
  });
};

page.stepOption = function (model) {
  const ends = model.tracks.flatMap(([, steps]) => steps.map((one) => (one.end_us === null ? one.begin_us : one.end_us)));
  const last = Math.max(...ends);
  const [size, unit] = last >= 5e3 ? [1e3, 'ms'] : [1, 'µs'];
  const count = model.tracks.length;
  const share = 100 / count;
  return {
    animation: false, textStyle: { fontFamily: page.font() },
    title: model.tracks.map(([label], track) => ({
      text: label, left: `${track * share + 1}%`, top: 0, textStyle: { ...page.chartText(), color: page.css('--ink'), fontWeight: 600 },
    })),
    tooltip: { ...page.tooltip(), trigger: 'item', formatter: (one) => page.stepTip(model.tracks[one.seriesIndex][1][one.dataIndex]) },
    grid: model.tracks.map((_, track) => ({ left: `${track * share + 1}%`, width: `${share - 4}%`, top: 24, bottom: 30, containLabel: true })),
    xAxis: model.tracks.map((_, track) => ({
      ...page.axis({ title: `time [${unit}]`, scale: 'linear', words: [] }, [], { nameGap: 22 }), gridIndex: track, min: 0, max: last / size,
      axisLabel: { ...page.chartText(), hideOverlap: true, showMaxLabel: false, formatter: (v) => page.digits(v, 3) },
    })),
    yAxis: model.tracks.map(([, steps], track) => ({
      type: 'category', data: steps.map((one) => one.label), inverse: true, gridIndex: track, axisTick: { show: false },
      axisLabel: { ...page.chartText(), fontSize: 10.5 }, axisLine: { show: false },
    })),
    series: model.tracks.map(([, steps], track) => ({
      type: 'custom', xAxisIndex: track, yAxisIndex: track, encode: { x: [1, 2], y: 0 },
      data: steps.map((one, at) => [at, one.begin_us / size, (one.end_us === null ? last : one.end_us) / size]),
      renderItem: (params, api) => page.stepBar(steps[params.dataIndex], api),
    })),
  };
};

page.stepBar = function (step, api) {
  const from = api.coord([api.value(1), api.value(0)]);
  const to = api.coord([api.value(2), api.value(0)]);
  const high = Math.max(1, Math.min(api.size([0, 1])[1] * 0.78, 16));
  const colour = step.longest ? page.css('--warm') : page.css('--accent');
  return {
    type: 'rect', shape: { x: from[0], y: from[1] - high / 2, width: Math.max(to[0] - from[0], 1), height: high },
    style: { fill: step.end_us === null ? 'none' : colour, stroke: colour, lineWidth: step.end_us === null ? 1 : 0 },
  };
};

page.stepTip = function (step) {
  const took = step.end_us === null ? 'not finished' : `${page.time(step.end_us - step.begin_us)}, from ${page.time(step.begin_us)} to ${page.time(step.end_us)}`;
  return `<b>${page.escape(step.label)}</b><br>${took}<br>last: ${page.escape(step.last)}`;
};
