// Tables whose columns can be sorted: up, down, as they were.

page.tables = function () {
  for (const table of document.querySelectorAll('table.sortable')) {
    const body = table.tBodies[0];
    const given = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.firstElementChild.addEventListener('click', () => {
        const next = { null: 'ascending', ascending: 'descending', descending: null }[head.getAttribute('aria-sort')];
        heads.forEach((one) => one.removeAttribute('aria-sort'));
        if (next) head.setAttribute('aria-sort', next);
        body.append(...(next ? page.sorted(given, column, next === 'ascending' ? 1 : -1) : given));
      });
    });
  }
};

// Rows by a column; what is unknown comes last whichever way.
page.sorted = function (rows, column, way) {
  const keys = new Map(rows.map((row) => [row, page.key(row.cells[column])]));
  return [...rows].sort((a, b) => {
    const [one, two] = [keys.get(a), keys.get(b)];
    if (one === null || two === null) return (one === null) - (two === null);
    if (typeof one === 'number' && typeof two === 'number') return way * (one - two);
    return way * String(one).localeCompare(String(two), 'en', { numeric: true });
  });
};

page.key = function (cell) {
  const given = cell.dataset.sort;
  const text = cell.textContent.trim();
  if (given !== undefined) return given !== '' && isFinite(given) ? Number(given) : given;
  return text === '' || text === '–' ? null : text;
};
