// The comparison of two versions: their facts are those of the first version listed and, for each
// version, what it has more and less than the one listed before. Text is only ever set with textContent.
(function () {
  "use strict";
  const one = (selector, from) => (from || document).querySelector(selector);
  const data = window.hubFacts;
  const form = one("#comparison");
  if (!data || !form) return;
  const from = form.elements.from;
  const to = form.elements.to;
  const target = one("#differences");
  const count = one("#comparison-count");

  function factsOf(bundle) { // "area key" -> fact
    const found = new Set();
    for (const version of data.versions) {
      for (const fact of version.less) found.delete(fact);
      for (const fact of version.more) found.add(fact);
      if (version.bundle === bundle) break;
    }
    const facts = new Map();
    for (const place of found) {
      const [area, key, value] = data.facts[place];
      facts.set(area + " " + key, { area, key: data.texts[key], value: data.texts[value] });
    }
    return facts;
  }

  function element(name, text, style) {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    if (style) made.className = style;
    return made;
  }

  // Digests tell that a value differs; readers see the value only. All of it looks like code.
  const plain = (value) => value.startsWith("contents ") ? ""
    : value.replace(/ \(\d+ characters, [0-9a-f]{8}\)$/, "").replace(/`([^`]*)`/g, "$1");

  function row(kind, key, old, now) {
    let before = plain(old), after = plain(now);
    if (before === after) before = after = "";
    const made = element("li");
    made.append(element("span", kind, "badge" + (kind === "changed" ? "" : kind === "new" ? " good" : " warn")));
    const text = element("span", "", "grow");
    text.append(element("bdi", key));
    if (before || after) {
      const values = element("span", "", "values");
      if (before) values.append(element("del", before));
      if (before && after) values.append(" → ");
      if (after) values.append(element("ins", after));
      text.append(values);
    }
    made.append(text);
    return made;
  }

  function show() {
    const old = factsOf(from.value);
    const now = factsOf(to.value);
    const groups = data.titles.map(() => []);
    for (const [id, fact] of now) {
      const before = old.get(id);
      if (!before) groups[fact.area].push(["new", fact.key, "", fact.value]);
      else if (before.value !== fact.value) groups[fact.area].push(["changed", fact.key, before.value, fact.value]);
    }
    for (const [id, fact] of old) if (!now.has(id)) groups[fact.area].push(["gone", fact.key, fact.value, ""]);
    target.replaceChildren();
    let total = 0;
    groups.forEach((rows, area) => {
      if (!rows.length) return;
      total += rows.length;
      rows.sort((a, b) => a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : 0);
      const section = element("section", "", "section");
      const heading = element("h2", data.titles[area] + " ");
      heading.append(element("span", "(" + rows.length + ")", "count"));
      const list = element("ul", "", "rows differences");
      list.append(...rows.slice(0, 2000).map((each) => row(...each)));
      section.append(heading, list);
      if (rows.length > 2000) section.append(element("p", rows.length - 2000 + " more are not shown.", "soft small"));
      target.append(section);
    });
    count.textContent = from.value === to.value ? "Choose two different versions."
      : total === 0 ? "Nothing that the catalog carries differs."
      : total === 1 ? "1 difference." : total + " differences.";
  }

  function choose(select, bundle) {
    if (Array.from(select.options).some((option) => option.value === bundle)) select.value = bundle;
  }

  function load() {
    const state = new URLSearchParams(location.search);
    if (state.get("from")) choose(from, state.get("from"));
    if (state.get("to")) choose(to, state.get("to"));
    show();
  }

  function store() {
    const state = new URLSearchParams({ from: from.value, to: to.value });
    try { history.replaceState(null, "", location.pathname + "?" + state); } catch (error) { /* from disk */ }
    show();
  }

  from.addEventListener("change", store);
  to.addEventListener("change", store);
  one("#swap").addEventListener("click", () => { [from.value, to.value] = [to.value, from.value]; store(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  load();
})();
