// Links over time: play, pause, scrub; runs side by side on one clock; a link or a flow picked.

const SPEEDS = [0.25, 0.5, 1, 2, 4];
const SECONDS = 12; // a whole replay at speed 1

page.replay = function (element, model) {
  const made = new page.Player(element, model);
  page.players = [...(page.players || []), made];
  page.watch(element, () => made.fit());
};

page.Player = class {
  constructor(element, model) {
    Object.assign(this, { element, model, frame: 0, playing: false, speed: 1, name: model.tracks[0].quantities[0]?.name });
    this.frames = model.tracks[0].frames;
    this.took = [];
    this.Drawing = { lines: page.Fabric, cells: page.Cells }[model.drawn];
    this.controls();
    this.tracks = model.tracks.map((track, number) => this.track(track, number));
    this.told = page.element('p', { class: 'note told', 'aria-live': 'polite' });
    this.told.textContent = 'Point at a link to see its value; click a row of a heat map to see a link over time.';
    this.element.append(this.told);
    this.link = page.element('div', { class: 'charts link' });
    this.element.append(this.link);
    page.flowPicker(this);
    element.addEventListener('keydown', (event) => this.key(event));
    element.tabIndex = 0;
    element.setAttribute('role', 'group');
    element.setAttribute('aria-label', `${model.title}: space plays, arrows move`);
  }

  controls() {
    const bar = page.element('div', { class: 'controls' });
    this.button = page.element('button', { type: 'button', class: 'play' }, '▶ Play');
    this.button.addEventListener('click', () => this.toggle());
    this.range = page.element('input', {
      type: 'range', min: 0, max: this.frames - 1, step: 1, value: 0, 'aria-label': 'time',
    });
    this.range.addEventListener('input', () => this.show(Number(this.range.value)));
    this.clock = page.element('output', { class: 'clock' });
    const speeds = SPEEDS.map((one) => page.element('option', { value: one, ...(one === 1 ? { selected: '' } : {}) }, `${one}×`));
    const speed = page.element('select', { 'aria-label': 'speed' }, ...speeds);
    speed.addEventListener('change', () => { this.speed = Number(speed.value); });
    bar.append(this.button, this.range, this.clock, speed);
    this.element.append(bar, this.quantities());
  }

  // One button a quantity, and the scale of its colours.
  quantities() {
    const words = { use: 'Link use', queue: 'Queues', marks: 'ECN marks', drops: 'Drops', paused: 'Pauses' };
    const bar = page.element('div', { class: 'controls which', role: 'group', 'aria-label': 'what is shown' });
    this.buttons = this.model.tracks[0].quantities.map((one) => {
      const button = page.element('button', { type: 'button', 'data-name': one.name, 'aria-pressed': one.name === this.name }, words[one.name]);
      button.addEventListener('click', () => {
        this.name = one.name;
        for (const each of this.buttons) each.setAttribute('aria-pressed', String(each === button));
        this.fit();
      });
      return button;
    });
    this.scale = page.element('span', { class: 'scale' });
    bar.append(...this.buttons, this.scale);
    return bar;
  }

  track(track, number) {
    this.row ||= this.element.appendChild(page.element('div', { class: 'tracks' }));
    const figure = page.element('figure', { class: 'track' });
    const [drawing, heat] = ['fabric', 'heat'].map((name) => page.element('canvas', {
      class: name, role: 'img', 'aria-label': `${track.label}: ${name === 'fabric' ? 'the fabric now' : 'links over time'}`,
    }));
    const state = page.element('p', { class: 'note state' });
    figure.append(page.element('figcaption', {}, track.label), drawing, state, heat);
    this.row.append(figure);
    const made = { model: track, state, fabric: new this.Drawing(drawing, this.model.fabric, track), heat: new page.Heat(heat, this.model.fabric, track) };
    made.fabric.frameUs = made.heat.frameUs = this.model.frame_us;
    made.fabric.onHover = (at) => { this.over = at; this.tell(at, number); };
    made.heat.onPick = (links, frame) => { this.show(frame); this.pickLinks(links); };
    return made;
  }

  quantity(track) { return track.model.quantities.find((one) => one.name === this.name); }

  fit() {
    const one = this.quantity(this.tracks[0]);
    const steps = [0, 0.25, 0.5, 0.75, 1].map((share) => page.rgb(share)).join(', ');
    this.scale.replaceChildren(
      `${one.title}: 0 `, page.element('i', { style: `background: linear-gradient(90deg, ${steps})` }),
      ` ${page.value(one.most, one.unit)}`,
    );
    for (const track of this.tracks) {
      track.values = page.array(this.quantity(track).values);
      track.fabric.fit();
      track.heat.fit();
      track.heat.paint(this.quantity(track));
    }
    this.show(this.frame);
  }

  // What 0 to 255 stands for.
  amount(track, link, frame) {
    const one = this.quantity(track);
    return one.most * (track.values[link * this.frames + frame] / 255) ** one.power;
  }

  show(frame) {
    this.frame = Math.min(Math.max(Math.round(frame), 0), this.frames - 1);
    this.range.value = this.frame;
    const us = (this.frame + 1) * this.model.frame_us;
    this.clock.textContent = page.time(us);
    this.range.setAttribute('aria-valuetext', page.time(us));
    this.tracks.forEach((track, number) => {
      if (!track.values) return;
      const { values } = track;
      track.fabric.route = this.routeOf ? this.routeOf(number, us) : [];
      track.fabric.draw((at) => values[at * this.frames + this.frame], this.frame);
      track.heat.draw(this.frame);
      track.state.textContent = this.stateOf(track, us);
    });
    if (this.over !== null && this.over !== undefined) this.tell(this.over, 0);
    this.onFrame?.(us);
  }

  // Goodput, the link that stands out, faults that last.
  stateOf(track, us) {
    let [best, found] = [0, 0];
    for (let at = 0; at < this.model.fabric.links.length; at += 1) {
      const level = track.values[at * this.frames + this.frame];
      if (level > best) [best, found] = [level, at];
    }
    const one = this.quantity(track);
    const parts = [];
    if (track.model.goodput) parts.push(`hosts receive ${page.amount(page.array(track.model.goodput)[this.frame], 'bit/s')}`);
    if (best) parts.push(`most: ${this.model.fabric.links[found].name} ${page.value(this.amount(track, found, this.frame), one.unit)}`);
    const middle = us - this.model.frame_us / 2;
    const faults = track.model.faults.filter((each) => each.spans_us.some(([from, to]) => from <= middle && middle < to));
    return [...parts, ...faults.map((each) => `✕ ${each.text}`)].join(' · ') || 'nothing happens';
  }

  tell(link, number) {
    if (link === null) return;
    const { name, rate_bps: rate } = this.model.fabric.links[link];
    const values = this.tracks.map((track) => {
      const own = this.tracks.length > 1 ? `${track.model.label} ` : '';
      return own + page.value(this.amount(track, link, this.frame), this.quantity(track).unit);
    });
    this.told.textContent = `${name}, ${page.amount(rate, 'bit/s')}: ${this.quantity(this.tracks[number]).title} ${values.join(', ')}`;
  }

  // Charts of a link, or of the greatest of a few, over time.
  pickLinks(links) {
    const title = links.length === 1 ? this.model.fabric.links[links[0]].name : `${links.length} links, the greatest of them`;
    const charts = this.model.tracks[0].quantities.map((one) => this.linkChart(links, one.name, title));
    this.link.replaceChildren();
    for (const chart of charts.filter((one) => one)) page.figure(this.link, chart);
    this.told.textContent = `${title}: over time, below.`;
  }

  linkChart(links, name, title) {
    const size = this.frames * this.model.frame_us >= 5e3 ? [1e3, 'ms'] : [1, 'µs'];
    const { unit, title: of } = this.model.tracks[0].quantities.find((one) => one.name === name);
    const [by, shown] = unit === 'share' ? [100, '%'] : unit === 'bytes' ? [1e-3, 'kB'] : [1, 'packets a frame'];
    const curves = this.tracks.map((track) => {
      const one = track.model.quantities.find((each) => each.name === name);
      const values = page.array(one.values);
      const y = Array.from({ length: this.frames }, (_, frame) => {
        const level = Math.max(...links.map((at) => values[at * this.frames + frame]));
        return by * one.most * (level / 255) ** one.power;
      });
      const x = y.map((_, frame) => ((frame + 1) * this.model.frame_us) / size[0]);
      return { label: track.model.label, colour: track.model.colour, dash: 'solid', symbol: 'none', x, y, half: [], hollow: [], joined: true };
    });
    if (!curves.some((one) => one.y.some((y) => y > 0))) return null;
    const shaded = this.tracks[0].model.faults.flatMap((each) => each.spans_us.map(([a, b]) => [a / size[0], b / size[0], each.text.split(':')[0]]));
    return { title: `${title}: ${of}`, x: { title: `time [${size[1]}]`, scale: 'linear', words: [] },
      y: { title: shown, scale: 'linear', words: [] }, curves, shaded, bars: false };
  }

  toggle() {
    this.playing = !this.playing;
    this.button.textContent = this.playing ? '❚❚ Pause' : '▶ Play';
    if (!this.playing) return;
    if (this.frame >= this.frames - 1) this.show(0);
    let before = performance.now();
    let exact = this.frame;
    let shown = this.frame;
    const tick = (now) => {
      if (!this.playing) return;
      this.took.push(now - before);
      if (this.frame !== shown) exact = this.frame; // somebody has moved it
      exact += ((now - before) / 1e3 / SECONDS) * this.frames * this.speed;
      before = now;
      if (Math.floor(exact) !== this.frame) this.show(Math.floor(exact));
      shown = this.frame;
      if (this.frame >= this.frames - 1) this.toggle();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  key(event) {
    if (/^(SELECT|BUTTON|SUMMARY|TEXTAREA)$/.test(event.target.tagName) && event.key === ' ') return;
    const by = { ArrowLeft: -1, ArrowRight: 1, PageDown: 10, PageUp: -10 }[event.key];
    const to = { Home: 0, End: this.frames - 1 }[event.key];
    if (event.key === ' ') this.toggle();
    else if (event.target.tagName === 'SELECT') return;
    else if (by) this.show(this.frame + by);
    else if (to !== undefined) this.show(to);
    else return;
    event.preventDefault();
  }
};

// A chart with its caption, made on the way.
page.figure = function (into, model) {
  const plot = page.element('div', { class: 'plot', role: 'img', 'aria-label': model.title });
  into.append(page.element('figure', { class: 'lines' }, page.element('figcaption', {}, model.title), plot));
  page.chart(plot, model);
  return plot;
};
