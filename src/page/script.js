// Search by case id. The page shows everything without it.
(() => {
  "use strict";
  const search = document.getElementById("search");
  const query = document.getElementById("query");
  const hits = document.getElementById("hits");
  const suites = [...document.querySelectorAll("details.cases")];
  const rows = suites.map((suite) => [...suite.querySelectorAll("tr.case")].map((row) => [row, row.id.toLowerCase()]));
  search.hidden = false;

  // A case is found if its id holds every word.
  const find = () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    suites.forEach((suite, at) => {
      let found = 0;
      for (const [row, id] of rows[at]) {
        row.hidden = !words.every((word) => id.includes(word));
        found += row.hidden ? 0 : 1;
      }
      suite.hidden = found === 0;
      suite.open = words.length > 0 && found > 0;
      count += found;
    });
    hits.textContent = words.length > 0 ? count + (count === 1 ? " case" : " cases") : "";
  };
  query.addEventListener("input", find);

  // A link may lead into what is closed, or to a row that the search hides.
  const show = () => {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { /* A stray percent: the id as it is. */ }
    const target = id && document.getElementById(id);
    if (!target) return;
    if (target.closest("[hidden]")) { query.value = ""; find(); }
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
