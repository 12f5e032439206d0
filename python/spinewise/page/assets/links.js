// Links against time: a row a link, tier by tier, or of many links the greatest of each few; a bar stands at the time shown.

page.Heat = class {
  constructor(canvas, model, track) {
    Object.assign(this, { canvas, model, track });
    canvas.addEventListener('click', (event) => this.pick(event));
    const rank = model.links.map((_, at) => at);
    const use = this.sums();
    this.order = rank.sort((a, b) => model.links[a].tier - model.links[b].tier || use[b] - use[a]);
  }

  // How busy each link was in all.
  sums() {
    const [one] = this.track.quantities;
    const values = page.array(one.values);
    const frames = this.track.frames;
    return this.model.links.map((_, at) => {
      let sum = 0;
      for (let frame = 0; frame < frames; frame += 1) sum += values[at * frames + frame];
      return sum;
    });
  }

  fit() {
    const width = this.canvas.clientWidth;
    const most = innerWidth < 640 ? 180 : 260;
    this.rows = Math.min(this.order.length, most);
    this.high = Math.max(1, Math.min(9, Math.floor(most / this.rows)));
    const scale = Math.min(devicePixelRatio || 1, 2);
    const height = this.rows * this.high;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = width * scale;
    this.canvas.height = height * scale;
    const left = page.nameRoom(this.canvas.getContext('2d'), this.model.tiers);
    Object.assign(this, { width, height, scale, left });
  }

  // The picture of a quantity, made once; the bar is drawn over it.
  paint(quantity) {
    const frames = this.track.frames;
    const values = page.array(quantity.values);
    const picture = new ImageData(frames, this.rows);
    const colours = Array.from({ length: 256 }, (_, level) => page.ramp(level / 255));
    for (let row = 0; row < this.rows; row += 1) {
      const [from, to] = this.stretch(row);
      for (let frame = 0; frame < frames; frame += 1) {
        let level = 0;
        for (let k = from; k < to; k += 1) level = Math.max(level, values[this.order[k] * frames + frame]);
        picture.data.set([...colours[level], 255], 4 * (row * frames + frame));
      }
    }
    this.image = new OffscreenCanvas(frames, this.rows);
    this.image.getContext('2d').putImageData(picture, 0, 0);
  }

  // The links of a row: one, or a few.
  stretch(row) {
    const each = this.order.length / this.rows;
    return [Math.floor(row * each), Math.max(Math.floor((row + 1) * each), Math.floor(row * each) + 1)];
  }

  draw(frame) {
    const context = this.canvas.getContext('2d');
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.imageSmoothingEnabled = false;
    const wide = this.width - this.left;
    context.drawImage(this.image, this.left, 0, wide, this.height);
    this.names(context);
    this.marks(context, wide);
    context.fillStyle = page.css('--warm');
    context.fillRect(this.left + ((frame + 0.5) / this.track.frames) * wide - 0.75, 0, 1.5, this.height);
  }

  names(context) {
    context.font = `10.5px ${page.font()}`;
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    let before = 0;
    for (let row = 1; row <= this.rows; row += 1) {
      const tier = (at) => this.model.links[this.order[this.stretch(at)[0]]].tier;
      if (row < this.rows && tier(row) === tier(before)) continue;
      context.fillStyle = page.css('--paper');
      if (row < this.rows) context.fillRect(0, row * this.high - 0.5, this.width, 1);
      context.fillStyle = page.css('--soft');
      if ((row - before) * this.high > 9) {
        context.fillText(page.tierName(this.model.tiers[tier(before)]), this.left - 6, ((before + row) / 2) * this.high);
      }
      before = row;
    }
  }

  // When faults begin and end.
  marks(context, wide) {
    const whole = this.track.frames * this.frameUs;
    context.fillStyle = page.css('--warm');
    for (const fault of this.track.faults) {
      for (const [from, to] of fault.spans_us) {
        context.globalAlpha = 0.7;
        for (const at of [from, to]) context.fillRect(this.left + (at / whole) * wide, 0, 1, this.height);
        context.globalAlpha = 0.1;
        context.fillRect(this.left + (from / whole) * wide, 0, ((to - from) / whole) * wide, this.height);
      }
    }
    context.globalAlpha = 1;
  }

  pick(event) {
    const box = this.canvas.getBoundingClientRect();
    const row = Math.min(this.rows - 1, Math.floor((event.clientY - box.top) / this.high));
    const share = (event.clientX - box.left - this.left) / (this.width - this.left);
    const [from, to] = this.stretch(row);
    if (share < 0) return;
    const frame = Math.min(this.track.frames - 1, Math.floor(share * this.track.frames));
    this.onPick(this.order.slice(from, to), frame);
  }
};
