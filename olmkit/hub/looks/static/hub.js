// The hub works without this script; it adds search, filters, copy buttons and the theme switch.
// Text from the catalog is only ever set with textContent.
(function () {
  "use strict";
  const root = document.documentElement;
  const all = (selector, from) => Array.from((from || document).querySelectorAll(selector));
  const one = (selector, from) => (from || document).querySelector(selector);

  // Theme: the opposite of what is shown, stored.
  const theme = one("#theme");
  if (theme) {
    const sun = '<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="4.2"/><path d="M12 2.8v2.4M12 18.8v2.4M2.8 12h2.4M18.8 12h2.4M5.5 5.5l1.7 1.7M16.8 16.8l1.7 1.7M5.5 18.5l1.7-1.7M16.8 7.2l1.7-1.7"/></svg>';
    theme.append(new DOMParser().parseFromString(sun, "text/html").body.firstChild);
    const dark = () => root.dataset.theme ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    const label = () => theme.setAttribute("aria-pressed", String(dark()));
    label();
    theme.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      label();
      try { localStorage.setItem("olmkit-hub-theme", root.dataset.theme); } catch (error) { /* off */ }
    });
  }

  // Copy and download.
  const live = document.createElement("div");
  live.id = "live";
  live.className = "visually-hidden";
  live.setAttribute("role", "status");
  document.body.append(live);
  const announce = (text) => { live.textContent = ""; setTimeout(() => { live.textContent = text; }, 30); };
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch (error) { // pages from disk in some browsers
      const area = document.createElement("textarea");
      area.value = text;
      area.setAttribute("readonly", "");
      area.className = "visually-hidden";
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }
  // The text that is shown: other choices of the instructions are hidden in it.
  function visible(node, except) {
    if (node.nodeType !== Node.ELEMENT_NODE) return node.data || "";
    if ((except && node.matches(except)) || getComputedStyle(node).display === "none") return "";
    return Array.from(node.childNodes, (child) => visible(child, except)).join("");
  }
  for (const box of all(".copyable")) {
    const pre = one("pre", box);
    if (!pre) continue;
    const bar = document.createElement("div");
    bar.className = "bar";
    // Manifests are in the command that applies them, which is of the class `sh`.
    const inner = () => visible(pre, ".sh");
    const add = (label, name, text) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = label;
      button.setAttribute("aria-label", "Copy " + name);
      button.addEventListener("click", async () => {
        const done = await copy(text());
        button.textContent = done ? "Copied" : "Press Ctrl+C";
        announce(done ? "Copied to the clipboard" : "Cannot copy; select the text");
        setTimeout(() => { button.textContent = label; }, 1800);
      });
      bar.append(button);
    };
    add("Copy", box.dataset.name || "text", inner);
    if (one(".sh", pre)) add("Copy command", "kubectl command", () => visible(pre, ""));
    if (box.dataset.file) {
      const save = document.createElement("button");
      save.type = "button";
      save.textContent = "Download";
      save.setAttribute("aria-label", "Download " + box.dataset.file);
      save.addEventListener("click", () => {
        const link = document.createElement("a");
        const url = URL.createObjectURL(new Blob([inner()], { type: "text/plain" }));
        link.href = url;
        link.download = box.dataset.file;
        link.click();
        setTimeout(() => URL.revokeObjectURL(url), 1000);
      });
      bar.append(save);
    }
    box.append(bar);
  }

  for (const button of all("[data-copy]")) {
    const label = button.textContent;
    button.addEventListener("click", async () => {
      const done = await copy(all(button.dataset.copy).map((node) => node.textContent).join("\n") + "\n");
      button.textContent = done ? "Copied" : "Cannot copy; select the text";
      announce(button.textContent);
      setTimeout(() => { button.textContent = label; }, 1800);
    });
  }

  // Menus that navigate: the choice is a link of this page.
  for (const select of all("select[data-goto]")) {
    select.addEventListener("change", () => { if (select.value) location.href = select.value; });
  }

  // An anchor inside a closed <details> opens it.
  function reveal() {
    let target = null;
    try { target = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch (error) { return; }
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    if (target) {
      const own = one(":scope > details", target);
      if (own) own.open = true;
      target.scrollIntoView();
    }
  }
  if (location.hash) reveal();
  addEventListener("hashchange", reveal);

  // Which section is read: the mark in the bar of sections.
  const jumps = all(".jump a");
  if (jumps.length && "IntersectionObserver" in window) {
    const seen = new Map();
    const watcher = new IntersectionObserver((entries) => {
      for (const entry of entries) seen.set(entry.target.id, entry.isIntersecting);
      const current = jumps.find((link) => seen.get(link.hash.slice(1)));
      for (const link of jumps) {
        if (link === current) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
      }
    }, { rootMargin: "-20% 0px -60% 0px" });
    for (const link of jumps) {
      const target = document.getElementById(link.hash.slice(1));
      if (target) watcher.observe(target);
    }
  }

  // A long description is cut, so that what follows is near; a target or the focus in it shows all.
  const prose = one("#text");
  if (prose && prose.scrollHeight > 1.5 * 44 * 16) {
    const hasTarget = () => {
      try { return prose.contains(document.getElementById(decodeURIComponent(location.hash.slice(1)))); } catch (error) { return false; }
    };
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Show the whole description";
    const show = () => { prose.classList.remove("cut"); button.remove(); };
    button.addEventListener("click", () => { show(); prose.tabIndex = -1; prose.focus({ preventScroll: true }); });
    prose.addEventListener("focusin", show);
    addEventListener("hashchange", () => { if (hasTarget()) { show(); reveal(); } });
    if (!hasTarget()) { prose.classList.add("cut"); prose.after(button); }
  }

  // The table of versions, by channel.
  const ofChannel = one("#of-channel");
  if (ofChannel) {
    const show = () => {
      for (const row of all("#all-versions [data-of]")) {
        row.hidden = ofChannel.value !== "" && !JSON.parse(row.dataset.of).includes(ofChannel.value);
      }
    };
    ofChannel.addEventListener("change", show);
    show();
  }

  // Filter of fields, by their path.
  const fieldBox = one("#field-filter");
  if (fieldBox) {
    const items = all(".fields li");
    fieldBox.addEventListener("input", () => {
      const words = fold(fieldBox.value).split(" ").filter(Boolean);
      const shown = new Set();
      for (const item of items) {
        const path = fold(item.id);
        if (words.every((word) => path.includes(word))) {
          for (let node = item; node && !node.matches(".field-root"); node = node.parentElement) shown.add(node);
        }
      }
      for (const item of items) {
        item.hidden = words.length > 0 && !shown.has(item);
        const details = one(":scope > details", item);
        if (details && words.length && shown.has(item)) details.open = true;
      }
    });
  }

  // "I have version …": the hops from there are shown, the others hidden.
  const have = one("#have");
  if (have) {
    const show = () => {
      for (const box of all("[data-from]")) box.hidden = box.dataset.from !== have.value;
    };
    have.addEventListener("change", show);
    show();
  }

  function fold(text) {
    return String(text || "").normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase()
      .replace(/[-_\s]+/g, " ").trim();
  }

  const list = one("#tiles");
  if (!list) return;

  // Search: points for each word, the best field counts; every word must be found.
  const tiles = all(":scope > li", list);
  const facts = tiles.map((tile, number) => {
    const data = (window.hubIndex || [])[number] || {};
    const texts = (value) => (Array.isArray(value) ? value : value ? [value] : []).map(fold);
    const names = texts([data.name, data.displayName, data.alternativeName].filter(Boolean));
    return {
      tile, number, names,
      words: names.join(" ").split(" "),
      kinds: texts(data.kinds), keywords: texts(data.keywords),
      provider: fold(data.provider), categories: texts(data.categories).join(" "),
      summary: " " + fold(data.summary),
      deprecated: tile.dataset.deprecated === "yes",
      changed: tile.dataset.changed ? Number(tile.dataset.changed) : Infinity,
      title: fold(data.displayName || data.name),
      facets: facetsOf(tile),
    };
  });

  function facetsOf(tile) {
    const found = {};
    for (const key of Object.keys(tile.dataset)) {
      try {
        const value = JSON.parse(tile.dataset[key]);
        if (Array.isArray(value)) found[key] = value.map(String);
      } catch (error) { /* not a facet */ }
    }
    return found;
  }

  function near(word, other) { // edit distance at most 1, or 2 for words of 8 characters
    if (word === other) return true; // short words have no wrong letters
    const most = word.length >= 8 ? 2 : word.length >= 4 ? 1 : 0;
    if (!most || Math.abs(word.length - other.length) > most) return false;
    let row = Array.from({ length: other.length + 1 }, (_, index) => index);
    let before = row;
    for (let i = 1; i <= word.length; i++) {
      const next = [i];
      for (let j = 1; j <= other.length; j++) {
        next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (word[i - 1] === other[j - 1] ? 0 : 1));
        if (i > 1 && j > 1 && word[i - 1] === other[j - 2] && word[i - 2] === other[j - 1]) {
          next[j] = Math.min(next[j], before[j - 2] + 1);
        }
      }
      before = row;
      row = next;
    }
    return row[other.length] <= most;
  }

  function points(word, fact, fuzzy) {
    if (fuzzy) {
      const same = (text) => text.split(" ").some((part) => near(word, part)) || near(word, text);
      return fact.names.some(same) ? 30 : fact.kinds.some(same) ? 20 : fact.keywords.some(same) ? 15 : 0;
    }
    let best = 0;
    const say = (value) => { if (value > best) best = value; };
    for (const name of fact.names) {
      if (name === word) return 100;
      if (name.startsWith(word)) say(60); else if (name.includes(word)) say(30);
    }
    for (const kind of fact.kinds) { if (kind === word) say(50); else if (kind.startsWith(word)) say(25); }
    if (fact.words.some((part) => part.startsWith(word))) say(45);
    for (const keyword of fact.keywords) { if (keyword === word) say(40); else if (keyword.startsWith(word)) say(20); }
    if (fact.provider.includes(word)) say(15);
    if (fact.categories.includes(word)) say(12);
    if (fact.summary.includes(" " + word)) say(8);
    if (!best && fact.description && fact.description.includes(" " + word)) say(3);
    return best;
  }

  // Descriptions are long: they are loaded when the reader begins to search.
  let asked = false;
  function loadDescriptions() {
    if (asked || !list.dataset.descriptions) return;
    asked = true;
    const script = document.createElement("script");
    script.src = list.dataset.descriptions;
    script.addEventListener("load", () => {
      for (const fact of facts) fact.description = " " + fold((window.hubDescriptions || [])[fact.number]);
      if (box.value.trim()) apply();
    });
    document.head.append(script);
  }

  function wordsOf(query) {
    const found = [];
    for (const match of query.matchAll(/"([^"]+)"|(\S+)/g)) {
      const word = fold(match[1] || match[2].replace(/"/g, ""));
      if (word) found.push(word);
    }
    return found;
  }

  function search(query) { // number of the tile -> points, or null for every tile
    const words = wordsOf(query.slice(0, 200));
    if (!words.length) return { scores: null, fuzzy: false };
    const whole = fold(query);
    for (const fuzzy of [false, true]) {
      const scores = new Map();
      for (const fact of facts) {
        let total = 0;
        for (const word of words) {
          const value = points(word, fact, fuzzy);
          if (!value) { total = 0; break; }
          total += value;
        }
        if (total && fact.names.includes(whole)) total += 100;
        if (total) scores.set(fact.number, total);
      }
      if (scores.size) return { scores, fuzzy };
    }
    return { scores: new Map(), fuzzy: false };
  }

  // State: the address, and nothing else.
  const box = one("#q");
  const sort = one("#sort");
  const clear = one("#clear");
  const count = one("#count");
  const empty = one("#empty");
  const boxes = all(".facets input[type=checkbox]");
  const names = Array.from(new Set(boxes.map((input) => input.name)));
  const hide = one("input[name=deprecated][value=hide]") ? all("input[name=deprecated]") : [];
  const params = () => new URLSearchParams(location.search);

  function load() {
    const state = params();
    box.value = state.get("q") || "";
    sort.value = state.get("sort") || "";
    if (sort.selectedIndex < 0) sort.value = "";
    for (const input of boxes) input.checked = state.getAll(input.name).includes(input.value);
    for (const input of hide) input.checked = input.value === (state.get("deprecated") || "show");
    if (box.value) loadDescriptions();
    apply();
  }

  function store(replace) {
    const state = new URLSearchParams();
    if (box.value.trim()) state.set("q", box.value.trim());
    if (sort.value) state.set("sort", sort.value);
    for (const input of boxes) if (input.checked) state.append(input.name, input.value);
    for (const input of hide) if (input.checked && input.value !== "show") state.set("deprecated", input.value);
    const text = state.toString();
    const url = location.pathname + (text ? "?" + text : "");
    try { history[replace ? "replaceState" : "pushState"](null, "", url); } catch (error) { /* from disk */ }
    apply();
  }

  function apply() {
    const { scores, fuzzy } = search(box.value);
    const chosen = {};
    for (const input of boxes) if (input.checked) (chosen[input.name] = chosen[input.name] || new Set()).add(input.value);
    const rule = (hide.find((input) => input.checked) || { value: "show" }).value;
    const passes = (fact, except) => {
      if (scores && !scores.has(fact.number)) return false;
      if (except !== "deprecated" && rule !== "show" && fact.deprecated !== (rule === "only")) return false;
      for (const name in chosen) {
        if (name !== except && !(fact.facets[name] || []).some((value) => chosen[name].has(value))) return false;
      }
      return true;
    };
    const shown = facts.filter((fact) => passes(fact, ""));
    const order = shown.slice();
    const byName = (a, b) => a.title < b.title ? -1 : a.title > b.title ? 1 : a.number - b.number;
    if (sort.value === "name") order.sort(byName);
    else if (sort.value === "provider") order.sort((a, b) => a.provider < b.provider ? -1 : a.provider > b.provider ? 1 : byName(a, b));
    else if (sort.value === "changed") order.sort((a, b) => a.changed < b.changed ? -1 : a.changed > b.changed ? 1 : byName(a, b));
    else if (scores) {
      order.sort((a, b) => scores.get(b.number) - scores.get(a.number) || a.deprecated - b.deprecated || byName(a, b));
    }
    const visible = new Set(shown);
    for (const fact of facts) fact.tile.hidden = !visible.has(fact);
    const now = all(":scope > li:not([hidden])", list);
    if (order.some((fact, index) => now[index] !== fact.tile)) list.append(...order.map((fact) => fact.tile));

    for (const name of names) {
      const totals = new Map();
      for (const fact of facts) {
        if (passes(fact, name)) for (const value of fact.facets[name] || []) totals.set(value, (totals.get(value) || 0) + 1);
      }
      for (const input of boxes) {
        if (input.name !== name) continue;
        const label = input.closest("label");
        const total = totals.get(input.value) || 0;
        one(".count", label).textContent = String(total);
        label.toggleAttribute("data-empty", total === 0);
      }
    }
    const number = shown.length;
    const some = scores || Object.keys(chosen).length || rule !== "show";
    count.textContent = (fuzzy ? "No exact match; similar: " : "") +
      (some ? number + " of " + facts.length : String(number)) + (facts.length === 1 ? " operator" : " operators");
    clear.hidden = !some;
    empty.hidden = number > 0;
  }

  box.addEventListener("focus", loadDescriptions);
  box.addEventListener("input", () => { loadDescriptions(); store(true); });
  sort.addEventListener("change", () => store(false));
  for (const input of [...boxes, ...hide]) input.addEventListener("change", () => store(false));
  for (const button of all(".clear")) {
    button.addEventListener("click", () => {
      box.value = "";
      for (const input of boxes) input.checked = false;
      for (const input of hide) input.checked = input.value === "show";
      store(false);
      box.focus();
    });
  }
  for (const button of all(".facets .more")) {
    button.addEventListener("click", () => {
      const rest = all("label[data-rest]", button.closest("fieldset"));
      for (const label of rest) { label.hidden = false; label.removeAttribute("data-rest"); }
      button.remove();
      const input = rest.length && one("input", rest[0]);
      if (input) input.focus();
    });
  }
  addEventListener("popstate", load);

  // Keyboard: / to the search box, Esc clears it, arrows go through the tiles.
  const open = () => all(":scope > li:not([hidden]) h2 a", list);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input:not([type=checkbox]):not([type=radio]), select, textarea");
    if (event.key === "/" && !typing) { event.preventDefault(); box.focus(); box.select(); return; }
    if (event.key === "Escape" && event.target === box) { box.value = ""; store(true); return; }
    const links = open();
    const place = links.indexOf(document.activeElement);
    if (event.target === box && event.key === "ArrowDown" && links.length) { event.preventDefault(); links[0].focus(); return; }
    if (event.target === box && event.key === "Enter" && links.length && box.value.trim()) { links[0].click(); return; }
    if (place < 0) return;
    const columns = Math.max(1, getComputedStyle(list).gridTemplateColumns.split(" ").length);
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    if (!step) return;
    event.preventDefault();
    if (place + step < 0) box.focus();
    else if (links[place + step]) links[place + step].focus();
  });

  // On wide screens the filters are open; on a phone the reader opens them.
  const facets = one("details.facets");
  if (facets) {
    const wide = matchMedia("(min-width: 62rem)");
    const adapt = () => { facets.open = wide.matches; };
    adapt();
    wide.addEventListener("change", adapt);
  }
  load();
})();
