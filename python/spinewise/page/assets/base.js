// Shared by all scripts: the data of the page, colours of the theme, numbers for people.

const page = { drawn: [], models: [] };

const KINDS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array };

// Inflates the data: length of the JSON in 4 bytes, JSON, arrays. See packed.py.
page.inflate = async function (text) {
  const raw = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream('gzip'));
  const bytes = await new Response(stream).arrayBuffer();
  const length = new DataView(bytes).getUint32(0, true);
  page.arrays = bytes.slice(4 + length);
  page.models = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
};

// The array that a reference stands for.
page.array = (ref) => new KINDS[ref.kind](page.arrays, ref.at, ref.count);

page.css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
page.dark = () => document.documentElement.classList.contains('dark') && !page.printing;

// The darkest colours of the palette would vanish on a dark page.
const LIGHTER = { '#000000': '#e4e9ee', '#5D3A9B': '#a98be0', '#0072B2': '#3d9fdb' };
page.colour = (hex) => (page.dark() && LIGHTER[hex]) || hex;

page.digits = function (value, significant = 4) {
  if (value === null || !isFinite(value)) return '–';
  if (value === 0) return '0';
  const decimals = Math.min(Math.max(significant - 1 - Math.floor(Math.log10(Math.abs(value))), 0), 6);
  return value.toLocaleString('en-US', { minimumFractionDigits: 0, maximumFractionDigits: decimals });
};

page.time = function (us) {
  const [size, unit] = us >= 1e6 ? [1e6, 's'] : us >= 1e3 ? [1e3, 'ms'] : us >= 1 || us === 0 ? [1, 'µs'] : [1e-3, 'ns'];
  return `${page.digits(us / size)} ${unit}`;
};

page.amount = function (value, unit) {
  const [size, prefix] = value >= 1e9 ? [1e9, 'G'] : value >= 1e6 ? [1e6, 'M'] : value >= 1e3 ? [1e3, 'k'] : [1, ''];
  return `${page.digits(value / size, 3)} ${prefix}${unit}`;
};

page.value = function (value, unit) {
  if (unit === 'share') return `${page.digits(100 * value, 3)} %`;
  if (unit === 'bytes') return page.amount(value, 'B');
  return page.digits(value, 3);
};

// How pictures call a tier of links, and the room that such names take at their left.
page.tierName = (name) => name.replaceAll('aggregation', 'aggr').replace('->', ' → ');
page.nameRoom = function (context, names) {
  context.font = `10.5px ${page.font()}`;
  return Math.max(84, ...names.map((name) => Math.ceil(context.measureText(page.tierName(name)).width) + 8));
};

page.element = function (name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

// Draws a thing when it comes near the window, and again when the theme or the width changes.
page.watch = function (element, draw) {
  const entry = { element, draw, due: true, near: false };
  page.drawn.push(entry);
  page.seen.observe(element);
  page.sized.observe(element);
  return entry;
};

page.paint = function (entry) {
  if (!entry.due) return;
  entry.due = false;
  entry.draw();
};

page.repaint = function (everything = false) {
  for (const entry of page.drawn) {
    entry.due = true;
    if (everything || entry.near) page.paint(entry);
  }
};

page.seen = new IntersectionObserver((found) => {
  for (const one of found) {
    const entry = page.drawn.find((each) => each.element === one.target);
    entry.near = one.isIntersecting;
    if (entry.near) page.paint(entry);
  }
}, { rootMargin: '300px' });

page.sized = new ResizeObserver((found) => {
  for (const one of found) {
    const entry = page.drawn.find((each) => each.element === one.target);
    if (entry.width === one.contentRect.width) continue;
    const first = entry.width === undefined;
    entry.width = one.contentRect.width;
    if (first) continue;
    entry.due = true;
    if (entry.near) requestAnimationFrame(() => page.paint(entry));
  }
});
