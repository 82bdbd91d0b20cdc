// The page of an operator: channel, namespaces and approval in the address and in the instructions.
// The page is complete without this script; text is only ever set with textContent.
(function () {
  "use strict";
  const all = (selector, from) => Array.from((from || document).querySelectorAll(selector));
  const one = (selector, from) => (from || document).querySelector(selector);
  const params = () => new URLSearchParams(location.search);
  const box = one("#instructions");
  const place = one("#choose");
  const own = place ? place.dataset.bundle : "";
  const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    made.append(...children);
    return made;
  }

  // Menus: all pages of the package share their file. Pages on disk have `index.html` in links.
  function menuOf(id, title, listed, option) {
    const made = element("select", { id });
    for (const one of listed) made.append(option(one));
    return element("label", {}, title, made);
  }
  const file = one("script[src$='menus.js']");
  const menus = place && file && window.hubMenus;
  if (menus) {
    const index = one(".brand").getAttribute("href").endsWith("index.html") ? "index.html" : "";
    const address = (href) => {
      const found = new URL("./" + href, file.src);
      if (found.pathname.endsWith("/")) found.pathname += index;
      return found.href;
    };
    const shownIn = (menus.versions.find((version) => version.bundle === own) || { in: [] }).in;
    const listed = menus.channels.map((channel, number) => ({ ...channel, number }));
    place.prepend(
      menuOf("channel", "Channel", listed, (channel) => {
        const made = element("option", { value: address(channel.href), "data-name": channel.name,
          "data-head": channel.head, "data-version": channel.version }, channel.label.slice(0, 80));
        if (shownIn.includes(channel.number)) made.dataset.has = "";
        made.defaultSelected = made.selected = channel.name === place.dataset.channel;
        return made;
      }),
      menuOf("version", "Version", menus.versions, (version) => {
        const made = element("option", { value: address(version.href), "data-bundle": version.bundle,
          "data-in": version.in.join(" ") }, version.label.slice(0, 80));
        made.defaultSelected = made.selected = version.bundle === own;
        return made;
      }));
  }
  const menu = one("#channel");
  const versions = one("#version");

  // Channel: `?channel=`, else the one that the page was rendered for.
  const channels = menu ? Array.from(menu.options) : [];
  const rendered = channels.find((option) => option.defaultSelected) || channels[0];
  let channel = rendered;
  const wanted = params().get("channel");
  if (wanted !== null && channels.length) {
    const found = channels.find((option) => option.dataset.name === wanted);
    if (!found) {
      const note = one("#unknown-channel");
      one("bdi", note).textContent = wanted.slice(0, 80);
      note.hidden = false;
    } else if (!("has" in found.dataset)) {
      location.replace(found.value); // the head of that channel is another version
      return;
    } else {
      channel = found;
    }
  }

  // The phase of support that applies today: a page itself knows no date.
  const today = new Date().toISOString().slice(0, 10);
  for (const mark of all("[data-begin][data-end]")) {
    mark.hidden = !(mark.dataset.begin <= today && today <= mark.dataset.end);
  }

  function withChannel(address, name) { // the default channel needs no query
    const url = new URL(address, location.href);
    if (name === channels[0].dataset.name) url.searchParams.delete("channel"); else url.searchParams.set("channel", name);
    return url.href;
  }

  // A choice opens its page; with arrow keys, which pass over the choices between, Enter does.
  function navigates(select, address) {
    let byKeys = false;
    const go = () => { location.href = address(); };
    select.addEventListener("pointerdown", () => { byKeys = false; });
    select.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && byKeys) { event.preventDefault(); go(); return; }
      byKeys = !(event.key === " " || event.altKey); // those open the list
    });
    select.addEventListener("change", () => {
      if (!byKeys) { go(); return; }
      one("#live").textContent = "Press Enter to open " + select.selectedOptions[0].textContent;
    });
  }

  function showChannel() {
    channel.selected = true;
    const place = String(channels.indexOf(channel));
    const head = channel.dataset.head;
    for (const option of versions ? Array.from(versions.options) : []) {
      option.hidden = option.disabled = !option.dataset.in.split(" ").includes(place);
      const text = option.dataset.text || (option.dataset.text = option.textContent);
      option.textContent = text + (option.dataset.bundle === head ? " (head)" : "");
    }
    for (const note of all("[data-of-channel]")) note.hidden = note.dataset.ofChannel !== channel.dataset.name;
    const newer = one("#newer");
    newer.hidden = own === head;
    one("[data-newer=channel]", newer).textContent = channel.dataset.name;
    const link = one("[data-newer=version]", newer);
    link.textContent = channel.dataset.version;
    link.href = channel.value;
  }

  if (menu && channel) {
    navigates(menu, () => withChannel(menu.value, menu.selectedOptions[0].dataset.name));
    navigates(versions, () => withChannel(versions.value, channel.dataset.name));
    showChannel();
  }
  if (!box) return;

  // Instructions: the fields and buttons, kept in the address.
  const named = (name) => element("input", { type: "text", name, autocomplete: "off", spellcheck: "false", maxlength: "63" });
  const form = element("form", { class: "edit", id: "values", "aria-label": "Values of the instructions" },
    element("label", {}, "Namespace", named("namespace")),
    element("label", {}, "Watched namespace", named("watched")),
    element("label", {}, "Another watched namespace", named("watched-2")),
    element("label", {}, "Approval of upgrades", element("select", { name: "approval" },
      element("option", { value: "Automatic" }, "automatic"), element("option", { value: "Manual" }, "manual"))),
    element("p", { class: "invalid", role: "alert", hidden: "" },
      "A namespace has lower case letters, digits and hyphens only, at most 63 characters."));
  one(".pickers", box).after(form);
  const fields = { namespace: form.elements.namespace, watched: form.elements.watched, "watched-2": form.elements["watched-2"] };
  const approval = form.elements.approval;
  const radios = all(".pickers input[type=radio]", box);
  const marks = all("[data-e]", box);
  for (const mark of marks) mark.dataset.first = mark.textContent;

  const yaml = (value) => /^[A-Za-z][\w.-]*$/.test(value) && !/^(y|n|yes|no|on|off|true|false|null)$/i.test(value)
    ? value : "'" + value.replace(/'/g, "''") + "'";
  const shell = (value) => /^[\w@%+=:,./-]+$/.test(value) ? value : "'" + value.replace(/'/g, "'\"'\"'") + "'";
  const shown = () => all(".variant", box).find((variant) => fits(variant));

  // The choices as the parts of the instructions have them, in `data-o`, `data-p` and `data-m`.
  const CODES = { v0: "0", v1: "1", "v1-account": "2", kubernetes: "k", openshift: "o",
    AllNamespaces: "a", MultiNamespace: "m", SingleNamespace: "s", OwnNamespace: "o" };

  // Whether the chosen buttons show a part: the style sheet hides the others in the same way.
  function fits(node) {
    const chosen = {};
    for (const radio of radios) if (radio.checked) chosen[radio.name] = radio.value;
    for (let part = node; part !== box; part = part.parentElement) {
      for (const name of ["olm", "platform", "mode"]) {
        const of = part.dataset[name[0]];
        if (of && chosen[name] && !of.split(" ").includes(CODES[chosen[name]])) return false;
      }
    }
    return true;
  }

  // What a namespace needs that is not there on every cluster.
  const placed = (name) => [
    "apiVersion: v1", "kind: Namespace", "metadata:", "  name: " + yaml(name), "---",
    "apiVersion: operators.coreos.com/v1", "kind: OperatorGroup", "metadata:", "  name: " + name + "-group",
    "  namespace: " + yaml(name), "spec: {}", "---", "",
  ].join("\n");

  function valueOf(name) { // null: as rendered
    const text = fields[name].value.trim();
    return text && LABEL.test(text) ? text : null;
  }

  function write() {
    const isPinned = channel && channel.dataset.head !== own;
    const isManual = isPinned || approval.value === "Manual";
    for (const variant of all(".variant", box)) {
      const fitting = all("[data-e]", variant).filter(fits);
      const first = fitting.find((mark) => mark.dataset.e === "ns");
      const shared = first ? first.dataset.first : "";
      const namespace = valueOf("namespace") || shared;
      for (const mark of fitting) {
        const quote = mark.closest(".yaml") ? yaml : shell;
        let value = mark.dataset.first;
        switch (mark.dataset.e) {
          case "ns": if (namespace !== shared) value = quote(namespace); break;
          case "watched": case "watched-2": {
            const given = valueOf(mark.dataset.e);
            if (given) value = quote(given);
            break;
          }
          case "channel": if (channel && channel !== rendered) value = quote(channel.dataset.name); break;
          case "approval": value = isManual ? "Manual" : "Automatic"; break;
          case "pin": value = isPinned ? mark.dataset.text || mark.dataset.first : ""; break;
          case "manual": value = isManual ? " --approval manual" : ""; break;
          case "approve": value = isManual ? "\nkubectl -n " + namespace + " patch installplan NAME --type merge -p '{\"spec\":{\"approved\":true}}'" : ""; break;
          case "place": value = namespace !== shared ? placed(namespace) : ""; break;
        }
        if (mark.textContent !== value) mark.textContent = value;
      }
    }
    const variant = shown();
    const find = (name) => variant ? all("[data-e='" + (name === "namespace" ? "ns" : name) + "']", variant).find(fits) : undefined;
    const has = (name) => Boolean(find(name));
    let bad = false;
    for (const name in fields) {
      const field = fields[name];
      const label = field.closest("label");
      label.hidden = !has(name);
      const mark = find(name);
      if (mark) field.placeholder = mark.dataset.first;
      const invalid = !label.hidden && field.value.trim() !== "" && !LABEL.test(field.value.trim());
      if (invalid) field.setAttribute("aria-invalid", "true"); else field.removeAttribute("aria-invalid");
      bad = bad || invalid;
    }
    one(".invalid", form).hidden = !bad;
    approval.closest("label").hidden = !has("approval");
    approval.disabled = isPinned;
    approval.value = isManual ? "Manual" : "Automatic";
    form.hidden = all("label", form).every((label) => label.hidden);
  }

  function load() {
    const state = params();
    for (const radio of radios) if (state.get(radio.name) === radio.value) radio.checked = true;
    for (const name in fields) fields[name].value = (state.get(name) || "").slice(0, 63);
    if (state.get("approval") === "manual") approval.value = "Manual";
    write();
  }

  function store() {
    write();
    const state = params();
    const put = (name, value) => { if (value) state.set(name, value); else state.delete(name); };
    for (const radio of radios) if (radio.checked) put(radio.name, radio.defaultChecked ? "" : radio.value);
    for (const name in fields) put(name, valueOf(name));
    put("approval", approval.value === "Manual" && !approval.disabled ? "manual" : "");
    const text = state.toString();
    try { history.replaceState(null, "", location.pathname + (text ? "?" + text : "") + location.hash); } catch (error) { /* from disk */ }
  }

  for (const field of [...radios, approval]) field.addEventListener("change", store);
  for (const name in fields) fields[name].addEventListener("input", store);
  form.addEventListener("submit", (event) => event.preventDefault());
  load();
})();
