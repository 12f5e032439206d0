// A large fabric as cells: a block a tier, a column a switch, a cell a link; cheap enough to be played at any size.

page.Cells = class {
  constructor(canvas, model, track) {
    Object.assign(this, { canvas, model, track, route: [], blocks: [], places: new Map() });
    model.tiers.forEach((name, tier) => this.blocks.push(this.block(name, tier)));
    this.blocks.sort((a, b) => b.level - a.level || a.name.localeCompare(b.name));
    canvas.addEventListener('pointermove', (event) => this.hover(event));
    canvas.addEventListener('pointerleave', () => this.onHover(null));
  }

  // The links of a tier by the switch below them; of hosts' links by the leaf.
  block(name, tier) {
    const columns = new Map();
    const { nodes, links } = this.model;
    let level = 0;
    links.forEach((link, at) => {
      if (link.tier !== tier) return;
      const ends = [link.begin, link.end].sort((a, b) => nodes[a].level - nodes[b].level);
      const switchOf = nodes[ends[0]].tier === 'host' ? ends[1] : ends[0];
      level = Math.max(level, nodes[ends[1]].level);
      if (!columns.has(switchOf)) columns.set(switchOf, []);
      columns.get(switchOf).push(at);
    });
    const order = [...columns.keys()].sort((a, b) => nodes[a].x - nodes[b].x).map((one) => columns.get(one));
    const rows = Math.max(...order.map((one) => one.length));
    order.forEach((own, column) => own.forEach((at, row) => this.places.set(at, [name, column, row])));
    const image = new OffscreenCanvas(order.length, rows);
    return { name, level, order, rows, image, pixels: new ImageData(order.length, rows) };
  }

  fit() {
    const width = this.canvas.clientWidth;
    const rows = this.blocks.reduce((sum, one) => sum + one.rows, 0);
    const cell = Math.max(1, Math.min(9, Math.floor(340 / rows)));
    let y = 2;
    for (const one of this.blocks) {
      Object.assign(one, { y, high: Math.max(one.rows * cell, 12) });
      y += one.high + 6;
    }
    const scale = Math.min(devicePixelRatio || 1, 2);
    const left = page.nameRoom(this.canvas.getContext('2d'), this.model.tiers);
    Object.assign(this, { width, height: y, scale, left });
    this.canvas.style.height = `${y}px`;
    this.canvas.width = width * scale;
    this.canvas.height = y * scale;
    this.colours = Array.from({ length: 256 }, (_, value) => page.ramp(value / 255));
  }

  draw(level, frame) {
    const context = this.canvas.getContext('2d');
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.imageSmoothingEnabled = false;
    context.font = `10.5px ${page.font()}`;
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    for (const one of this.blocks) {
      const { data, width } = one.pixels;
      one.order.forEach((own, column) => own.forEach((at, row) => {
        const [red, green, blue] = this.colours[level(at)];
        const place = 4 * (row * width + column);
        [data[place], data[place + 1], data[place + 2], data[place + 3]] = [red, green, blue, 255];
      }));
      one.image.getContext('2d').putImageData(one.pixels, 0, 0);
      context.drawImage(one.image, this.left, one.y, this.width - this.left, one.high);
      context.fillStyle = page.css('--soft');
      context.fillText(page.tierName(one.name), this.left - 6, one.y + one.high / 2);
    }
    const now = (frame + 0.5) * this.frameUs;
    const hit = this.track.faults.filter((one) => one.spans_us.some(([from, to]) => from <= now && now < to));
    this.frameCells(context, hit.flatMap((one) => one.links), '--warm');
    this.frameCells(context, this.route, '--route');
  }

  // Frames around some links.
  frameCells(context, links, colour) {
    context.strokeStyle = page.css(colour);
    context.lineWidth = 1.5;
    for (const at of links) {
      if (!this.places.has(at)) continue;
      const [name, column, row] = this.places.get(at);
      const one = this.blocks.find((each) => each.name === name);
      const [wide, high] = [(this.width - this.left) / one.order.length, one.high / one.rows];
      context.strokeRect(this.left + column * wide - 1, one.y + row * high - 1, Math.max(wide, 3) + 2, Math.max(high, 3) + 2);
    }
  }

  hover(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left - this.left, event.clientY - box.top];
    const one = this.blocks.find((each) => each.y <= y && y < each.y + each.high);
    const column = one && Math.floor((x / (this.width - this.left)) * one.order.length);
    const row = one && Math.floor(((y - one.y) / one.high) * one.rows);
    this.onHover(one?.order[column]?.[row] ?? null);
  }
};
