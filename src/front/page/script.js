// Search, filters and order of cases. The page shows everything without it.
(() => {
  "use strict";
  const search = document.getElementById("search");
  const query = document.getElementById("query");
  const hits = document.getElementById("hits");
  const suites = [...document.querySelectorAll("details.cases")];
  const rows = suites.map((suite) => [...suite.querySelectorAll("tr.case")].map((row) => [row, row.id.toLowerCase()]));
  const filters = document.getElementById("filters");
  const order = document.getElementById("order");
  search.hidden = filters.hidden = false;

  // Each filter offers what the rows have.
  const suite_of = (row) => row.closest("details.cases").id.slice("cases/".length);
  const keys = { "by-verdict": (row) => row.dataset.verdict, "by-suite": suite_of, "by-chip": (row) => row.dataset.chip, "by-metric": (row) => row.dataset.metric };
  const selects = Object.entries(keys).map(([id, key]) => [document.getElementById(id), key]);
  for (const [select, key] of selects) {
    const values = new Set(rows.flat().map(([row]) => key(row)).filter(Boolean));
    for (const value of [...values].sort()) select.add(new Option(value, value));
  }

  // A case is found if its id holds every word.
  const find = () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    const is_asked = words.length > 0 || selects.some(([select]) => select.value);
    let count = 0;
    suites.forEach((suite, at) => {
      let found = 0;
      for (const [row, id] of rows[at]) {
        row.hidden = !words.every((word) => id.includes(word)) || !selects.every(([select, key]) => !select.value || key(row) === select.value);
        found += row.hidden ? 0 : 1;
      }
      suite.hidden = found === 0;
      suite.open = is_asked && found > 0;
      count += found;
    });
    hits.textContent = is_asked ? count + (count === 1 ? " case" : " cases") : "";
  };
  query.addEventListener("input", find);
  selects.forEach(([select]) => select.addEventListener("change", find));

  // Rows without a figure stand last.
  order.addEventListener("change", () => {
    const sign = { up: 1, down: -1 }[order.value] || 0;
    const value = ([row]) => (row.dataset.value === undefined ? Infinity : sign * Number(row.dataset.value));
    suites.forEach((suite, at) => {
      const sorted = sign ? [...rows[at]].sort((a, b) => value(a) - value(b)) : rows[at];
      suite.querySelector("tbody").append(...sorted.map(([row]) => row));
    });
  });

  // A link may lead into what is closed, or to a row that the search hides.
  const show = () => {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { /* A stray percent: the id as it is. */ }
    const target = id && document.getElementById(id);
    if (!target) return;
    if (target.closest("[hidden]")) { query.value = ""; selects.forEach(([select]) => { select.value = ""; }); find(); }
    for (let place = target; place; place = place.parentElement) {
      if (place.tagName === "DETAILS") place.open = true;
    }
    target.scrollIntoView();
  };
  addEventListener("hashchange", show);
  show();

  // Paper shows the line of each suite, which the screen folds away; of the rest, what stands open.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details.paper:not([open])")];
    folded.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((part) => { part.open = false; }));
})();
