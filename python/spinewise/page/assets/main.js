// Begins everything.

page.theme = function () {
  const button = document.querySelector('.switch');
  const wish = matchMedia('(prefers-color-scheme: dark)');
  let chosen = null;
  const apply = () => {
    const dark = chosen === null ? wish.matches : chosen;
    document.documentElement.classList.toggle('dark', dark && !page.printing);
    button.setAttribute('aria-pressed', String(dark));
    page.repaint();
  };
  button.addEventListener('click', () => {
    chosen = !document.documentElement.classList.contains('dark');
    apply();
  });
  wish.addEventListener('change', apply);
  // Paper is white, and shows every chart.
  const print = (on) => () => {
    page.printing = on;
    document.documentElement.classList.toggle('printing', on);
    apply();
    page.repaint(true);
  };
  addEventListener('beforeprint', print(true));
  addEventListener('afterprint', print(false));
  apply();
};

page.begin = async function () {
  for (const one of document.querySelectorAll('details.numbers')) one.open = false;
  page.tables();
  page.theme();
  await page.inflate(document.getElementById('data').textContent);
  const draw = { chart: page.chart, replay: page.replay, steps: page.steps };
  for (const element of document.querySelectorAll('[data-place]')) {
    const model = page.models[Number(element.dataset.place)];
    draw[model.kind](element, model);
  }
  document.documentElement.dataset.ready = 'yes';
};

window.page = page;
page.begin().catch((error) => {
  const text = `The charts could not be drawn (${error}); the tables are whole. A browser of 2023 or newer draws them.`;
  document.querySelector('main').prepend(page.element('p', { class: 'answer bad', role: 'alert' }, text));
  for (const one of document.querySelectorAll('details.numbers')) one.open = true;
  throw error;
});
