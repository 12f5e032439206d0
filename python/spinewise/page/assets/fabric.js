// The fabric of a replay, drawn on a canvas: every cable as two lines, one a direction, coloured by a quantity.

const BUNDLED = 96; // with more hosts, one mark stands for all of a leaf
const SHADES = 24;
const RAMPS = {
  light: [[223, 230, 236], [74, 144, 194], [6, 32, 66]],
  dark: [[42, 52, 64], [74, 144, 194], [214, 238, 255]],
};

page.ramp = function (share) {
  const stops = RAMPS[page.dark() ? 'dark' : 'light'];
  const at = Math.min(Math.max(share, 0), 1) * 2;
  const low = Math.min(Math.floor(at), 1);
  return stops[low].map((from, k) => Math.round(from + (at - low) * (stops[low + 1][k] - from)));
};

page.rgb = (share) => `rgb(${page.ramp(share).join(',')})`;

page.Fabric = class {
  constructor(canvas, model, track) {
    Object.assign(this, { canvas, model, track, route: [], hovered: null });
    this.levels = Math.max(...model.nodes.map((one) => one.level));
    this.hosts = model.nodes.filter((one) => one.tier === 'host').length;
    this.bundled = this.hosts > BUNDLED;
    this.isHost = model.links.map((one) => [one.begin, one.end].some((end) => model.nodes[end].tier === 'host'));
    this.bundles = this.bundled ? this.byLeaf() : [];
    this.shown = model.links.map((_, at) => at).filter((at) => !(this.bundled && this.isHost[at]));
    this.places = new Map(this.shown.map((at, place) => [at, place]));
    canvas.addEventListener('pointermove', (event) => this.hover(event));
    canvas.addEventListener('pointerleave', () => { this.hovered = null; this.onHover(null); });
  }

  // Links to and from the hosts of each leaf.
  byLeaf() {
    const found = new Map();
    this.model.links.forEach((link, at) => {
      if (!this.isHost[at]) return;
      const leaf = this.model.nodes[link.begin].tier === 'host' ? link.end : link.begin;
      if (!found.has(leaf)) found.set(leaf, { up: [], down: [] });
      found.get(leaf)[leaf === link.end ? 'up' : 'down'].push(at);
    });
    return [...found];
  }

  fit() {
    const width = this.canvas.clientWidth;
    const height = Math.round(Math.min(Math.max(width * 0.46, 190), this.levels > 2 ? 420 : 330));
    const scale = Math.min(devicePixelRatio || 1, 2);
    this.canvas.style.height = `${height}px`;
    this.canvas.width = width * scale;
    this.canvas.height = height * scale;
    Object.assign(this, { width, height, scale });
    const bottom = this.bundled ? 34 : 14;
    this.at = this.model.nodes.map((one) => {
      const level = this.bundled ? one.level - 1 : one.level;
      const levels = Math.max(this.bundled ? this.levels - 1 : this.levels, 1);
      return [18 + one.x * (width - 36), height - bottom - (level / levels) * (height - bottom - 26)];
    });
    this.lines = this.shown.map((at) => this.line(at));
  }

  // A direction lies to the right of its cable.
  line(at) {
    const link = this.model.links[at];
    const [[x0, y0], [x1, y1]] = [this.at[link.begin], this.at[link.end]];
    const length = Math.hypot(x1 - x0, y1 - y0) || 1;
    const by = this.shown.length > 800 ? 0.6 : 1.6;
    const [dx, dy] = [(-(y1 - y0) / length) * by, ((x1 - x0) / length) * by];
    return [x0 + dx, y0 + dy, x1 + dx, y1 + dy];
  }

  // Draws one frame: `level` has 0 to 255 for each link.
  draw(level, frame) {
    const context = this.canvas.getContext('2d');
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const wide = this.shown.length > 800 ? 0.9 : this.shown.length > 200 ? 1.6 : 2.4;
    this.links(context, level, wide);
    this.faults(context, frame, wide);
    this.path(context, wide);
    this.leaves(context, level);
    this.nodes(context);
  }

  // Lines of one shade are drawn together, pale ones first.
  links(context, level, wide) {
    const shades = Array.from({ length: SHADES }, () => []);
    this.shown.forEach((at, place) => {
      const value = level(at);
      shades[Math.min(SHADES - 1, Math.ceil((value / 255) * (SHADES - 1)))].push(place);
    });
    shades.forEach((places, shade) => {
      if (!places.length) return;
      context.strokeStyle = page.rgb(shade / (SHADES - 1));
      context.lineWidth = shade ? wide * 1.15 : wide * 0.8;
      context.beginPath();
      for (const place of places) this.trace(context, place);
      context.stroke();
    });
    context.setLineDash([5, 4]);
    context.lineWidth = 1;
    for (const [test, colour] of [[(link) => !link.up, '--bad'], [(link) => link.slow && link.up, '--soft']]) {
      context.strokeStyle = page.css(colour);
      context.beginPath();
      this.shown.forEach((at, place) => { if (test(this.model.links[at])) this.trace(context, place, 2.4); });
      context.stroke();
    }
    context.setLineDash([]);
  }

  trace(context, place, aside = 0) {
    const [x0, y0, x1, y1] = this.lines[place];
    const length = Math.hypot(x1 - x0, y1 - y0) || 1;
    const [dx, dy] = [(-(y1 - y0) / length) * aside, ((x1 - x0) / length) * aside];
    context.moveTo(x0 + dx, y0 + dy);
    context.lineTo(x1 + dx, y1 + dy);
  }

  // Links that a fault holds now: orange, with a cross.
  faults(context, frame, wide) {
    const now = (frame + 0.5) * this.frameUs;
    for (const fault of this.track.faults) {
      if (!fault.spans_us.some(([from, to]) => from <= now && now < to)) continue;
      context.strokeStyle = page.css('--warm');
      context.lineWidth = wide + 1;
      context.beginPath();
      for (const at of fault.links) {
        const place = this.places.get(at);
        if (place === undefined) continue;
        this.trace(context, place);
        const [x0, y0, x1, y1] = this.lines[place];
        const [x, y] = [(x0 + x1) / 2, (y0 + y1) / 2];
        for (const [a, b] of [[-4, -4], [-4, 4]]) { context.moveTo(x + a, y + b); context.lineTo(x - a, y - b); }
      }
      context.stroke();
    }
  }

  // The path of the picked flow's last packet.
  path(context, wide) {
    if (!this.route.length) return;
    context.strokeStyle = page.css('--route');
    context.lineWidth = wide + 1.6;
    context.beginPath();
    for (const at of this.route) {
      const place = this.places.get(at);
      if (place !== undefined) this.trace(context, place);
    }
    context.stroke();
  }

  // Of many hosts: under each leaf a box up and a box down, as dark as the busiest of its links.
  leaves(context, level) {
    const wide = Math.max(2, Math.min(16, (this.width - 36) / Math.max(this.bundles.length, 1) - 2));
    for (const [leaf, { up, down }] of this.bundles) {
      const [x, y] = this.at[leaf];
      [up, down].forEach((links, place) => {
        context.fillStyle = page.rgb(Math.max(0, ...links.map(level)) / 255);
        context.fillRect(x - wide / 2 + (place * wide) / 2, y + 8, wide / 2 - 0.5, 16);
      });
    }
  }

  nodes(context) {
    const ink = page.css('--ink');
    const row = {};
    for (const one of this.model.nodes) row[one.level] = (row[one.level] || 0) + 1;
    context.font = `10.5px ${page.font()}`;
    context.textAlign = 'center';
    this.model.nodes.forEach((one, place) => {
      if (one.tier === 'host' && this.bundled) return;
      const [x, y] = this.at[place];
      context.fillStyle = ink;
      if (one.tier === 'host') {
        context.beginPath();
        context.arc(x, y, 1.8, 0, 7);
        context.fill();
        return;
      }
      const size = row[one.level] > 40 ? 2 : 3.5;
      context.fillRect(x - size, y - size, 2 * size, 2 * size);
      if ((this.width - 36) / row[one.level] > 7 * one.name.length) {
        context.fillStyle = page.css('--paper');
        const half = 3 * one.name.length;
        context.globalAlpha = 0.75;
        context.fillRect(x - half, y - 18, 2 * half, 12);
        context.globalAlpha = 1;
        context.fillStyle = ink;
        context.fillText(one.name, x, y - 8);
      }
    });
  }

  // The link under the pointer, if one is near.
  hover(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let [best, found] = [6, null];
    this.lines.forEach(([x0, y0, x1, y1], place) => {
      const [dx, dy] = [x1 - x0, y1 - y0];
      const along = Math.min(1, Math.max(0, ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy || 1)));
      const away = Math.hypot(x - x0 - along * dx, y - y0 - along * dy);
      if (away < best) [best, found] = [away, this.shown[place]];
    });
    this.hovered = found;
    this.onHover(found);
  }
};
