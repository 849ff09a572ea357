// What scripts/check_html.py asks of the page. Each check gives a list of complaints.
var ulpgate = (() => {
  "use strict";
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const called = (element) => {
    const id = element.id ? "#" + element.id : "";
    return element.tagName.toLowerCase() + id + " `" + (element.textContent || "").trim().slice(0, 40) + "`";
  };
  const few = (list, what) => (list.length > 3 ? list.slice(0, 3).concat(`and ${list.length - 3} more: ${what}`) : list);
  const seen = (element) => element.checkVisibility({ visibilityProperty: true });

  // Red, green, blue from 0 to 255 and opacity from 0 to 1.
  const colour = (text) => {
    const parts = (text.match(/[\d.]+/g) || []).map(Number);
    return parts.length === 3 ? [...parts, 1] : parts.length === 4 ? parts : [0, 0, 0, 0];
  };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const behind = (element) => {
    const layers = [];
    for (let place = element; place; place = place.parentElement) {
      const layer = colour(getComputedStyle(place).backgroundColor);
      if (layer[3] > 0) layers.push(layer);
      if (layer[3] === 1) break;
    }
    // The canvas itself: what the root's colour scheme gives.
    const dark = matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches;
    return layers.reduceRight((under, layer) => over(layer, under), dark ? [18, 18, 18, 1] : [255, 255, 255, 1]);
  };
  // WCAG 2.2, relative luminance and contrast ratio.
  const luminance = (rgb) => {
    const [r, g, b] = rgb.slice(0, 3).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const is_large = (style) => parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);

  const contrasts = () => {
    const bad = new Map();
    for (const element of all("body *:not(script)")) {
      const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
      if (!own || !seen(element)) continue;
      const style = getComputedStyle(element);
      const drawn = element.closest("svg");
      const under = behind(drawn || element);
      const ink = over(colour(drawn ? style.fill : style.color), under);
      const ratio = contrast(ink, under);
      if (ratio < (is_large(style) ? 3 : 4.5)) bad.set(style.color + style.fill + under, `contrast ${ratio.toFixed(2)}: ${called(element)}`);
    }
    // Graphics: 3 to 1 (1.4.11); grids and bands carry nothing by themselves.
    for (const shape of all("svg .stroke:not(.grid), svg .fill:not(.pale, .ink)")) {
      if (!seen(shape)) continue;
      const style = getComputedStyle(shape);
      const under = behind(shape.closest("svg"));
      const paint = shape.classList.contains("stroke") ? style.stroke : style.fill;
      const ratio = contrast(over(colour(paint), under), under);
      if (ratio < 3) bad.set(paint + under, `contrast ${ratio.toFixed(2)} of what is drawn with ${shape.getAttribute("class")}`);
    }
    return few([...bad.values()], "colours");
  };

  // Numbers and dates whose line ends behind a hyphen of theirs, such as 1e- and 7.
  const broken_numbers = () => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const top = (text, at) => {
      const range = document.createRange();
      range.setStart(text, at);
      range.setEnd(text, at + 1);
      return range.getBoundingClientRect().top;
    };
    const found = [];
    while (texts.nextNode()) {
      const text = texts.currentNode;
      if (!/[0-9]e?-[0-9]/.test(text.data) || !text.parentElement.checkVisibility()) continue;
      for (const number of text.data.matchAll(/(?<![\w.-])[0-9.]+(e?-[0-9]+)+/g)) {
        const places = [...number[0].matchAll(/-/g)].map((hyphen) => number.index + hyphen.index);
        if (places.some((at) => top(text, at + 1) > top(text, at) + 2)) found.push(number[0]);
      }
    }
    return found;
  };

  // How it looks on a screen of this width and scheme.
  const looks = () => {
    const found = contrasts();
    const wide = document.documentElement.scrollWidth - innerWidth;
    if (wide > 0) {
      const reaches = all("body *").filter((e) => seen(e) && !e.closest(".wide, pre, svg") && e.getBoundingClientRect().right > innerWidth + 1);
      found.push(`the page is ${wide} pixels too wide: ${reaches.slice(-1).map(called)}`);
    }
    const broken = broken_numbers();
    if (broken.length) found.push(`numbers that are broken at their hyphen: ${broken.slice(0, 3)}`);
    for (const svg of all("svg.chart").filter(seen)) {
      const box = svg.getBoundingClientRect();
      const out = all("text", svg).filter((t) => { const b = t.getBoundingClientRect(); return b.left < box.left - 1 || b.right > box.right + 1 || b.top < box.top - 1 || b.bottom > box.bottom + 1; });
      if (out.length) found.push(`text reaches out of a chart: ${out.map(called).slice(0, 2)}`);
      const boxes = all("text", svg).map((t) => [t, t.getBoundingClientRect()]);
      const touch = boxes.some(([, a], i) => boxes.slice(i + 1).some(([, b]) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom));
      if (touch) found.push(`texts of a chart lie over each other: ${svg.getAttribute("aria-label").slice(0, 60)}`);
    }
    return found;
  };

  const structure = () => {
    const found = [];
    const points = (plot) => all("svg:not(.swatch) .point", plot).length;
    const plots = all(".plot");
    if (plots.length === 0) found.push("there is no plot");
    for (const plot of plots) {
      const promised = Number(plot.dataset.points);
      if (plot.querySelector("svg.chart") && !(promised > 0)) found.push(`a plot without points: ${called(plot)}`);
      if (points(plot) !== (promised || 0)) found.push(`a plot draws ${points(plot)} of ${promised} points: ${called(plot)}`);
    }
    const ids = all("[id]").map((e) => e.id);
    const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
    if (new Set(twice).size) found.push(`ids that are there twice: ${[...new Set(twice)].slice(0, 3)}`);
    const known = new Set(ids);
    const lost = all('a[href^="#"]').map((a) => decodeURIComponent(a.getAttribute("href").slice(1))).filter((id) => !known.has(id));
    if (lost.length) found.push(`links that lead nowhere: ${[...new Set(lost)].slice(0, 3)}`);
    const abroad = all("[src], link[href]").length;
    if (abroad) found.push(`${abroad} elements load something`);
    let level = 0;
    for (const heading of all("h1, h2, h3, h4, h5, h6")) {
      const next = Number(heading.tagName[1]);
      if (next > level + 1) found.push(`a heading leaps from ${level} to ${next}: ${called(heading)}`);
      level = next;
    }
    if (all("h1").length !== 1) found.push("there is not one h1");
    if (!document.documentElement.lang) found.push("no language");
    for (const one of all("main, nav")) if (all(one.tagName).length !== 1) found.push(`more than one ${one.tagName}`);
    found.push(...few(all("svg:not([aria-hidden])").filter((e) => e.getAttribute("role") !== "img" || !e.getAttribute("aria-label")).map((e) => `a drawing without a name: ${called(e.parentElement)}`), "drawings"));
    found.push(...few(all("[tabindex='0']").filter((e) => e.tagName !== "PRE" && !(e.getAttribute("role") && e.getAttribute("aria-label"))).map((e) => `can be focused and has no name: ${called(e)}`), "elements"));
    found.push(...few(all("a, summary").filter((e) => !e.textContent.trim()).map((e) => `no text: ${e.outerHTML.slice(0, 60)}`), "elements"));
    found.push(...few(all("input").filter((e) => e.labels.length === 0).map((e) => `no label: #${e.id}`), "inputs"));
    found.push(...few(all("th:not([scope])").map((e) => `a heading without scope: ${called(e)}`), "cells"));
    return found;
  };

  const search = () => {
    const found = [];
    const query = document.getElementById("query");
    if (!seen(query)) return ["the search is not seen"];
    const type = (text) => { query.value = text; query.dispatchEvent(new Event("input")); };
    const rows = () => all("tr.case", document.getElementById("cases")).filter(seen);
    const every = all("details.cases tr.case");
    const id = every[Math.floor(every.length / 2)].id;
    type(id);
    if (!rows().some((row) => row.id === id)) found.push(`the search does not find ${id}`);
    if (rows().some((row) => !row.id.includes(id))) found.push(`the search for ${id} finds others`);
    type("surely there is no such case");
    if (rows().length || document.getElementById("hits").textContent !== "0 cases") found.push("the search finds what is not there");
    type("");
    if (rows().length) found.push("an empty search leaves rows open");
    if (all("details.cases").some((suite) => !seen(suite))) found.push("an empty search hides suites");
    return found;
  };

  // Each filter leaves the rows of its value and no others; the order is that of the figures.
  const filters = () => {
    const found = [];
    const rows = () => all("tr.case", document.getElementById("cases")).filter(seen);
    const set = (id, value) => {
      const select = document.getElementById(id);
      select.value = value;
      select.dispatchEvent(new Event("change"));
    };
    const suite_of = (row) => row.closest("details.cases").id.slice("cases/".length);
    const keys = { "by-verdict": (row) => row.dataset.verdict, "by-suite": suite_of, "by-chip": (row) => row.dataset.chip, "by-metric": (row) => row.dataset.metric };
    for (const [id, key] of Object.entries(keys)) {
      const select = document.getElementById(id);
      if (!seen(select) || select.options.length < 2) { found.push(`the filter ${id} offers nothing`); continue; }
      const value = select.options[1].value;
      const expected = all("details.cases tr.case").filter((row) => key(row) === value).length;
      set(id, value);
      const shown = rows();
      if (shown.length !== expected || shown.some((row) => key(row) !== value)) found.push(`the filter ${id} shows ${shown.length} of ${expected} rows with ${value}`);
      set(id, "");
    }
    set("order", "down");
    for (const suite of all("details.cases")) {
      const values = all("tr.case", suite).map((row) => (row.dataset.value === undefined ? -Infinity : Number(row.dataset.value)));
      if (values.some((value, at) => at > 0 && value > values[at - 1])) found.push(`the largest figure is not first in ${suite.id}`);
    }
    set("order", "");
    if (rows().length) found.push("filters that are taken back leave rows open");
    return found;
  };

  // In the order in which Tab reaches them.
  const focusable = () => all("a[href], summary, input, select, button, [tabindex='0']").filter(seen);
  const focus = () => {
    const active = document.activeElement;
    const style = getComputedStyle(active);
    return { at: focusable().indexOf(active), what: called(active), outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 };
  };

  const unfold = (open) => { for (const part of all("details")) part.open = open; };
  const sections = () => all("main > section").map((e) => [e.id, Math.max(0, Math.floor(e.getBoundingClientRect().top + scrollY))]);
  const paper = () => {
    dispatchEvent(new Event("beforeprint"));
    const found = all("details.paper").filter((part) => !part.open).map((part) => `stays folded: ${called(part)}`);
    const ink = luminance(colour(getComputedStyle(document.body).color));
    const sheet = luminance(behind(document.body));
    if (!(ink < 0.05 && sheet > 0.9)) found.push("ink is not black, or the paper not white");
    if (seen(document.querySelector("nav"))) found.push("the navigation is printed");
    dispatchEvent(new Event("afterprint"));
    return found;
  };

  return { looks, structure, search, filters, focusable, focus, unfold, sections, paper };
})();
