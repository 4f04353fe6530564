"use strict";
// One table, drawn anew from its own cells whenever its order, layout or filter changes.
const $ = (id) => document.getElementById(id);
const make = (tag, text = "", attributes = {}) => {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};

// The confidence level of all intervals of the page.
const confidence = document.documentElement.dataset.confidence;

// Open what a link into a page names.
function reveal() {
  const target = location.hash && !location.hash.includes("=") && $(location.hash.slice(1));
  if (!target) return;
  if (target.tagName === "DETAILS") target.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", reveal);
addEventListener("beforeprint", () => { document.querySelectorAll('[role="tooltip"]').forEach((tip) => { tip.hidden = true; }); });
reveal();

// All items of a row are in blocks of the page, which are decoded when the row is first opened.
const OUTCOMES = { r: "right", w: "wrong", t: "tie", u: "undecidable", h: "undecidable (half known)",
  o: "undecided by order", n: "no answer" };
const AT_ONCE = 20;
async function decoded(name) {
  const bytes = Uint8Array.from(atob($(name).content.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// The words of a sentence: before each stands how it is joined to the one before, then perhaps that it differs.
const wordsOf = (text) => ` ${text}`.split(/(?=[ \x1f])/).map((piece) => ({
  joined: piece[0] !== " ", differs: piece[1] === "\x02", text: piece.slice(piece[1] === "\x02" ? 2 : 1),
}));

// An item of a row: its sentences, each with its words and their surprisals, on one scale.
function itemOf(texts, answers, starts, place) {
  const labels = texts.labels[texts.label[place]], first = starts[place];
  const sentences = labels.map((label, number) => {
    const at = first + number, surprisals = answers.words[at] || null;
    const words = wordsOf(texts.texts[at]), total = answers.totals[at];
    const sum = surprisals ? surprisals.reduce((a, b) => a + b, 0) : 0;
    return {
      label, words, surprisals: surprisals?.map((value) => value / 100) ?? null, seen: answers.seen[at],
      logprob: total === null ? null : -(total + sum) / 100, chosen: answers.chosen?.[at],
    };
  });
  const margin = answers.margins[place];
  return {
    place, sentences, outcome: OUTCOMES[answers.outcomes[place]], margin: margin === null ? null : margin / 1000,
    name: `${texts.cases[texts.case[place]]}[${texts.item[place]}]`,
    highest: Math.max(1, ...sentences.flatMap((sentence) => sentence.surprisals ?? [])),
  };
}

// What stands beside a sentence: how often a model that was asked chose it, or else its log-probability.
function numberOf(sentence) {
  if (sentence.chosen !== undefined) return `chosen ${sentence.chosen} of 2`;
  return sentence.logprob === null ? "not scored" : sentence.logprob.toFixed(2);
}

function drawSentence(sentence, highest) {
  const line = make("p", "", { class: "sentence" });
  const words = make("span", "", { class: sentence.surprisals ? "bars" : "words", dir: "auto" });
  sentence.words.forEach((word, number) => {
    const surprisal = sentence.surprisals?.[number];
    const text = make(word.differs ? "mark" : "span", word.text);
    if (surprisal === undefined) {
      words.append(word.joined || !number ? "" : " ", text);
      return;
    }
    const cell = make("span", "", { class: word.joined ? "bar joined" : "bar" });
    const height = make("i", "", { "aria-hidden": "true" });
    height.style.height = `${(Math.max(0, surprisal) / highest * 2.5).toFixed(2)}rem`;
    cell.append(height, text, make("small", surprisal.toFixed(2), { dir: "ltr" }));
    words.append(number ? " " : "", cell);
  });
  line.append(make("span", sentence.label, { class: "label" }), words,
    make("span", numberOf(sentence), { class: "num" }));
  if (sentence.seen !== undefined) {
    const seen = make("span", "as the model sees it: ", { class: "seen" });
    seen.append(make("bdi", sentence.seen));
    line.append(seen);
  }
  return line;
}

function drawItem(item) {
  const entry = make("li", "", { class: item.outcome }), head = make("p");
  const by = item.margin === null ? "" : ` by ${Number(Math.abs(item.margin).toPrecision(3))} nats`;
  head.append(make("strong", item.outcome), `${by} · `, make("span", item.name, { class: "muted" }));
  entry.append(head, ...item.sentences.map((sentence) => drawSentence(sentence, item.highest)));
  return entry;
}

const ORDERS = {
  worst: ["most wrong first", (a, b) => a - b],
  closest: ["smallest margin first", (a, b) => Math.abs(a) - Math.abs(b)],
  best: ["most right first", (a, b) => b - a],
  suite: ["as in the suite", null],
};
const KINDS = {
  all: ["all", () => true],
  wrong: ["wrong (with ties)", (outcome) => "wto".includes(outcome)],
  right: ["right", (outcome) => outcome === "r"],
  undecidable: ["undecidable", (outcome) => "uhn".includes(outcome)],
};

async function openRow(row) {
  const all = row.querySelector(".all");
  if (!all?.hidden || typeof DecompressionStream === "undefined") return;
  all.hidden = false;
  const [texts, answers] = await Promise.all([decoded(all.dataset.texts), decoded(all.dataset.answers)]);
  const starts = [];
  let next = 0;
  for (const label of texts.label) {
    starts.push(next);
    next += texts.labels[label].length;
  }
  const item = (place) => itemOf(texts, answers, starts, place);
  // The items that the page has without a script get their bars.
  for (const entry of row.querySelectorAll(".items > li[data-place]")) {
    const known = item(Number(entry.dataset.place));
    entry.querySelectorAll(".sentence").forEach((line, number) => line.replaceWith(drawSentence(known.sentences[number], known.highest)));
  }
  const hasBars = answers.words.some((surprisals) => surprisals);
  document.querySelectorAll(".bars-note").forEach((note) => { note.hidden &&= "bars" in note.dataset && !hasBars; });

  const n = texts.label.length, places = [...Array(n).keys()];
  let searched = null;
  const textOf = (place) => [`${texts.cases[texts.case[place]]}[${texts.item[place]}]`,
    ...texts.texts.slice(starts[place], starts[place + 1])].join("\n").replace(/[\x02\x1f]/g, "").toLowerCase();
  const controls = make("div", "", { class: "controls" });
  const field = (label, control) => {
    const around = make("label", `${label} `);
    around.append(control);
    controls.append(around);
    return control;
  };
  const choice = (options) => {
    const select = make("select");
    for (const [value, [text]] of Object.entries(options)) select.append(make("option", text, { value }));
    return select;
  };
  const search = field("Search", make("input", "", { type: "search", placeholder: "part of a sentence", autocomplete: "off" }));
  const kind = field("Items", choice(KINDS)), order = field("Order", choice(ORDERS));
  const status = make("p", "", { role: "status", class: "muted" }), list = make("ol", "", { class: "found" });
  const more = make("button", "", { type: "button" });
  let found = [], shown = 0;
  const show = () => {
    const now = found.slice(shown, shown + AT_ONCE);
    list.append(...now.map((place) => drawItem(item(place))));
    shown += now.length;
    status.textContent = `${shown.toLocaleString("en")} of ${found.length.toLocaleString("en")} items`
      + (found.length < n ? `, of ${n.toLocaleString("en")} in the row` : "");
    more.hidden = shown === found.length;
    more.textContent = `Show ${Math.min(AT_ONCE, found.length - shown)} more`;
  };
  const update = () => {
    const wanted = search.value.trim().toLowerCase(), has = KINDS[kind.value][1], by = ORDERS[order.value][1];
    if (wanted) searched ??= places.map(textOf);
    found = places.filter((place) => has(answers.outcomes[place]) && (!wanted || searched[place].includes(wanted)));
    if (by) {
      const margins = answers.margins;
      found.sort((a, b) => (margins[a] === null) - (margins[b] === null) || by(margins[a], margins[b]) || a - b);
    }
    shown = 0;
    list.replaceChildren();
    show();
  };
  search.addEventListener("input", update);
  for (const control of [kind, order]) control.addEventListener("change", update);
  more.addEventListener("click", show);
  all.append(make("h4", `All ${n.toLocaleString("en")} items`), controls, status, list, more);
  update();
}
// A toggle does not bubble.
document.querySelectorAll("details.near").forEach((row) => {
  row.addEventListener("toggle", () => { if (row.open) openRow(row); });
  if (row.open) openRow(row);
});

// A page of several suites has a table of each, whose parts have names that begin alike.
for (const source of document.querySelectorAll("script[data-table]")) {
  const data = JSON.parse(source.textContent), at = source.id.slice(0, -"data".length);
  const $ = (id) => document.getElementById(at + id);
  let row = 0;
  const lines = data.lines.map((line) => {
    if (line.kind !== "row") return line;
    const [values, texts] = [data.values[row], data.texts?.[row]];
    return { ...line, values, texts, number: row++ };
  });
  const rows = lines.filter((line) => line.values);
  const last = (part) => rows.filter((line) => line.part === part).at(-1);
  const textOf = (cell) => cell.querySelector(".v").firstChild?.textContent ?? "";
  // People stand behind the models, whatever these are sorted by.
  const names = [...data.models, ...data.people];
  const compare = (one, other, sign) =>
    one === null || other === null ? (one === null) - (other === null) : sign * (one - other);
  const overall = last("means") ?? last("body"); // a single row has no mean
  const ranked = [...data.models.keys()].sort((a, b) => compare(overall.values[a], overall.values[b], -1));
  if ($("board")) drawTable();
  if (data.models.length > 1) comparePairs();

  function drawTable() {
  const table = $("board"), tip = $("tip");
  const corner = table.tHead.rows[0].cells[0].textContent;
  const drawn = [...table.tBodies[0].rows];
  const people = names.map((_, place) => place).slice(data.models.length);
  // What all cells of a line say stands once.
  const said = (what, line, model) => Array.isArray(data[what][line.number]) ? data[what][line.number][model] : data[what][line.number];
  lines.forEach((line, place) => {
    if (!line.values) return;
    line.cells = [...drawn[place].cells].slice(1);
    line.cells.forEach((cell, model) => {
      const link = line.part === "body" && data.links[model];
      const shown = make(link ? "a" : "span", cell.textContent, { class: "v", ...link && { href: link + line.number } });
      const [interval, rank, items] = ["intervals", "ranks", "items"].map((what) => said(what, line, model));
      if (rank) shown.dataset.rank = rank;
      if (items) shown.dataset.items = items;
      if (interval) shown.append(make("small", ` ${interval}`));
      cell.replaceChildren(shown);
    });
  });

  // Entries whose evidence looks implausible are marked; the list below the table says why.
  const marked = (m) => data.flags?.[m] ? `${names[m]} ⚠` : names[m];

  // What is sorted by: models by the values of a line or by name, the rows of a group by those of a model.
  const state = { models: null, rows: null };
  const chosenModels = () => {
    const wanted = $("filter").value.trim().toLowerCase();
    const has = (m) => names[m].toLowerCase().includes(wanted);
    const found = [...data.models.keys()].filter(has), by = state.models;
    if (by === "name") found.sort((a, b) => names[a].localeCompare(names[b]));
    else if (by) found.sort((a, b) => compare(by.line.values[a], by.line.values[b], by.sign));
    return [...found, ...people.filter(has)];
  };
  // Sections and groups with their rows; those of the body that are filtered out, and what is then empty, left out.
  const chosenRows = () => {
    const wanted = $("phenomenon").value, found = [];
    let section = "";
    for (const line of lines) {
      if (line.kind === "section") section = line.label;
      if (line.cells && (line.part !== "body" || !wanted || line.group === wanted)) found.push({ section, line });
    }
    const by = state.rows;
    if (!by) return found;
    const place = new Map(found.map((one, at) => [one, at]));
    const first = new Map();
    const key = (one) => one.line.part + "\n" + one.section + "\n" + one.line.group;
    found.forEach((one, at) => { if (!first.has(key(one))) first.set(key(one), at); });
    return found.sort((a, b) => first.get(key(a)) - first.get(key(b)) || (a.line.part !== "body" ? 0
      : compare(a.line.values[by.model], b.line.values[by.model], by.sign)) || place.get(a) - place.get(b));
  };
  const header = (label, active, sign, action) => {
    const head = make("th", "", { scope: "col" });
    const button = make("button", label, { type: "button", title: label });
    if (active) head.setAttribute("aria-sort", sign < 0 ? "descending" : "ascending");
    button.addEventListener("click", () => {
      action();
      draw();
      [...table.tHead.querySelectorAll("button")].find((one) => one.textContent === label)?.focus();
    });
    head.append(button);
    return head;
  };
  // The first click sorts the best to the front, the second the other way round, the third not at all.
  const turned = (now, same, best, more) => !same ? { ...more, sign: best } : now.sign === best ? { ...more, sign: -best } : null;

  function drawRows(models, shown) {
    const head = make("tr");
    head.append(make("th", corner, { scope: "col" }));
    for (const m of models) {
      const active = state.rows?.model === m;
      head.append(header(marked(m), active, state.rows?.sign, () => {
        state.rows = turned(state.rows, active, -1, { model: m });
      }));
    }
    const body = [];
    let section = null, group = null;
    for (const one of shown) {
      const heading = (kind, label) => {
        const line = make("tr", "", { class: kind });
        line.append(make("th", label, { colspan: models.length + 1 }));
        body.push(line);
      };
      if (one.section !== section && one.section) heading("section", one.section);
      if (one.line.group && (one.line.group !== group || one.section !== section)) heading("group", one.line.group);
      ({ section } = one);
      ({ group } = one.line);
      const line = make("tr");
      line.append(make("th", one.line.label, { scope: "row" }), ...models.map((m) => one.line.cells[m]));
      body.push(line);
    }
    return [[head], body];
  }

  const named = (m) => {
    const head = make("th", data.links[m] ? "" : marked(m), { scope: "row", title: names[m] });
    if (data.links[m]) head.append(make("a", marked(m), { href: data.links[m].replace(/-?r$|#r$/, "") }));
    return head;
  };

  // Beside the name stand what models are ranked by, and the ranks; then everything else.
  function drawFlipped(models, all) {
    const leads = [last("means"), last("rank"), last("hidden")].filter(Boolean);
    const shown = [
      ...leads.map((line) => ({ section: "", line: { ...line, group: "" }, lead: line })),
      ...all.filter((one) => !leads.includes(one.line)),
    ];
    const heads = [make("tr", "", { class: "section" }), make("tr", "", { class: "group" }), make("tr")];
    heads[0].append(make("th", corner, { scope: "col", rowspan: 3 }));
    const spans = (line, label) => {
      let before = null, cell;
      for (const one of shown) {
        const own = label(one), key = one.section + "\n" + own;
        if (key === before) cell.colSpan += 1;
        else line.append(cell = own ? make("th", own, { scope: "colgroup" }) : make("td"));
        before = key;
      }
    };
    spans(heads[0], (one) => one.section);
    spans(heads[1], (one) => one.line.group);
    for (const one of shown) {
      const line = one.lead ?? one.line, active = state.models?.line === line;
      heads[2].append(header(line.part === "means" ? `Mean, ${line.label.toLowerCase()}` : line.label, active, state.models?.sign, () => {
        state.models = turned(state.models, active, line.part.startsWith("rank") ? 1 : -1, { line });
        $("order").value = "board";
      }));
    }
    return [heads, models.map((m) => {
      const line = make("tr");
      line.append(named(m), ...shown.map((one) => one.line.cells[m]));
      return line;
    })];
  }

  function draw() {
    const models = chosenModels(), shown = chosenRows();
    const [heads, body] = ($("flip").checked ? drawFlipped : drawRows)(models, shown);
    table.classList.toggle("flipped", $("flip").checked);
    table.tHead.replaceChildren(...heads);
    table.tBodies[0].replaceChildren(...body);
    table.tHead.querySelectorAll("button").forEach((button) => { button.tabIndex = -1; });
    table.querySelectorAll(".v").forEach((cell, place) => { cell.tabIndex = place ? -1 : 0; });
    remember();
    const inBody = (all) => all.filter((one) => (one.line ?? one).part === "body").length;
    $("status").textContent = `${models.filter((m) => m < data.models.length).length} of ${data.models.length} models, ${inBody(shown)} of ${inBody(rows)} rows`;
    tip.hidden = true;
  }

  // Everything that is known of a cell, beside it, while the pointer is over it or it has the focus.
  function tell(cell) {
    const model = cell.closest("td"), line = rows.find((one) => one.cells.includes(model));
    const name = names[line.cells.indexOf(model)];
    const parts = [make("strong", `${name}: ${textOf(model)}`), make("span", [line.group, line.label].filter(Boolean).join(", "))];
    const small = cell.querySelector("small");
    if (small) parts.push(make("span", `${confidence} interval ${small.textContent.trim()}`));
    const rank = cell.dataset.rank;
    if (rank) parts.push(make("span", `rank ${rank} of ${data.models.length}${rank.includes("[") ? ", possible ranks in brackets" : ""}`));
    if (cell.dataset.items) parts.push(make("span", cell.dataset.items));
    if (cell.href) parts.push(make("em", "open: its parts and items"));
    tip.replaceChildren(...parts);
    tip.hidden = false;
    cell.setAttribute("aria-describedby", "tip");
    const at = model.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const below = at.bottom + 6 + own.height < innerHeight;
    tip.style.left = `${Math.max(8, Math.min(at.left, innerWidth - own.width - 8))}px`;
    tip.style.top = `${below ? at.bottom + 6 : at.top - own.height - 6}px`;
  }
  const buttons = () => [...table.tHead.querySelectorAll("button")];
  const cellOf = (event) => event.target.closest?.("td")?.querySelector(".v");
  table.addEventListener("pointerover", (event) => { cellOf(event) ? tell(cellOf(event)) : (tip.hidden = true); });
  table.addEventListener("pointerleave", () => { tip.hidden = true; });
  table.addEventListener("focusin", (event) => {
    if (!event.target.matches(".v")) return;
    table.querySelectorAll('.v[tabindex="0"]').forEach((cell) => { cell.tabIndex = -1; });
    event.target.tabIndex = 0;
    tell(event.target);
  });
  table.addEventListener("focusout", () => { tip.hidden = true; });
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
  addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
  table.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -1e6], End: [0, 1e6] };
    const step = steps[event.key], cell = event.target.closest(".v, thead button");
    if (!step || !cell) return;
    event.preventDefault();
    const all = [...table.tBodies[0].rows].filter((line) => line.querySelector(".v"));
    const within = (place, length) => Math.max(0, Math.min(place, length - 1));
    const own = cell.closest("td"), at = own ? own.cellIndex - 1 : buttons().indexOf(cell);
    const next = (own ? all.indexOf(own.closest("tr")) : -1) + step[0];
    // The table is one stop of the keyboard: from its first line the arrows lead to what sorts it.
    const cells = next < 0 && buttons().length ? buttons() : [...all[within(next, all.length)].querySelectorAll(".v")];
    cells[within(at + step[1], cells.length)].focus();
  });

  for (const name of new Set(rows.filter((line) => line.part === "body").map((line) => line.group))) $("phenomenon").append(make("option", name, { value: name }));
  const orders = { accuracy: [overall, -1, last("means") ? "mean accuracy" : "accuracy"] };
  if (last("ranks")) orders.rank = [last("ranks"), 1, "mean rank"];
  for (const [value, [, , label]] of Object.entries(orders)) $("order").append(make("option", label, { value }));
  const orderBy = (value) => {
    state.models = value in orders ? { line: orders[value][0], sign: orders[value][1] } : value === "board" ? null : value;
  };
  $("order").addEventListener("change", ({ target: { value } }) => {
    orderBy(value);
    draw();
  });

  // Layout, order and filters stand in the address, so that what one sees can be sent to others.
  const usual = { order: data.order ?? "accuracy", layout: data.models.length > 8 ? "models" : "rows", models: "", phenomenon: "", intervals: "" };
  function remember() {
    if (at) return; // an address has room for one table
    const now = {
      order: $("order").value, layout: $("flip").checked ? "models" : "rows", models: $("filter").value,
      phenomenon: $("phenomenon").value, intervals: $("intervals").checked ? "1" : "",
    };
    const changed = Object.entries(now).filter(([name, value]) => value !== usual[name]);
    const wanted = changed.length ? `#${new URLSearchParams(changed)}` : "";
    if (changed.length || location.hash.includes("=")) history.replaceState(null, "", wanted || location.pathname + location.search);
  }
  function recall() {
    const wanted = { ...usual, ...!at && location.hash.includes("=") && Object.fromEntries(new URLSearchParams(location.hash.slice(1))) };
    $("order").value = wanted.order in orders || wanted.order === "name" ? wanted.order : "board";
    orderBy($("order").value);
    $("flip").checked = wanted.layout === "models";
    $("filter").value = wanted.models;
    $("phenomenon").value = wanted.phenomenon;
    $("intervals").checked = wanted.intervals === "1";
    table.classList.toggle("intervals", $("intervals").checked);
  }
  addEventListener("hashchange", () => { if (location.hash.includes("=")) { recall(); draw(); } });
  $("filter").addEventListener("input", draw);
  $("phenomenon").addEventListener("change", draw);
  $("flip").addEventListener("change", draw);
  $("intervals").addEventListener("change", (event) => { table.classList.toggle("intervals", event.target.checked); remember(); });
  document.querySelector(".skip")?.addEventListener("click", (event) => {
    event.preventDefault();
    table.querySelector('.v[tabindex="0"]')?.focus();
  });
  $("controls").hidden = $("choices").hidden = false;
  // On a small screen the table comes first, and what changes it is folded.
  if (innerWidth <= 640) $("choices").open = false;
  recall();
  draw();
  }

  // Two models: here, or, of many, on a page of the first.
  function comparePairs() {
  const thousandths = (n, sign = "") => `${n < 0 ? "-" : n > 0 ? sign : ""}${(Math.abs(n) / 1000).toFixed(3)}`;
  const of = (first, second, place) => {
    const pair = data.pairs?.[`${Math.min(first, second)}-${Math.max(first, second)}`];
    if (!pair || pair[4 * place] === null) return null;
    const [value, low, high, word] = pair.slice(4 * place, 4 * place + 4);
    return first < second ? { value, low, high, word: data.outcomes[word] }
      : { value: -value, low: -high, high: -low, word: data.outcomes[word < 2 ? 1 - word : word] };
  };
  function picture(found, widest) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const put = (tag, attributes) => {
      const shape = document.createElementNS(svg.namespaceURI, tag);
      for (const [name, value] of Object.entries(attributes)) shape.setAttribute(name, value);
      svg.append(shape);
    };
    const x = (value) => 70 + 66 * value / widest;
    for (const [name, value] of Object.entries({ viewBox: "0 0 140 16", width: 140, height: 16, "aria-hidden": "true", class: found.word.split(" ")[0] })) svg.setAttribute(name, value);
    put("line", { x1: 70, x2: 70, y1: 0, y2: 16, class: "zero" });
    put("line", { x1: x(found.low), x2: x(found.high), y1: 8, y2: 8 });
    put("circle", { cx: x(found.value), cy: 8, r: 3.5 });
    return svg;
  }
  function drawPair() {
    const [first, second] = [data.first ?? Number($("first").value), Number($("second").value)];
    const told = rows.filter((line) => line.part === "body" || line.part === "means");
    const found = told.map((line, place) => of(first, second, place));
    const widest = Math.max(1, ...found.filter((one) => one).flatMap((one) => [Math.abs(one.low), Math.abs(one.high)]));
    const body = told.map((line, place) => {
      const one = found[place], values = [line.values[first], line.values[second]];
      const plain = values.includes(null) ? null : Math.trunc(Math.round((values[0] - values[1]) * 1e9) / 1e6);
      const value = one ? one.value : data.pairs ? null : plain;
      const row = make("tr", "", { class: line.part });
      row.append(
        make("th", line.part === "means" ? `Mean: ${line.label}` : [line.group, line.label].join(", "), { scope: "row" }),
        ...[first, second].map((m) => make("td", (line.texts ? line.texts[m] : textOf(line.cells[m])), { class: "num" })),
        make("td", value === null ? "–" : thousandths(value, "+"), { class: "num" }),
        make("td", one ? `${thousandths(one.low)} to ${thousandths(one.high)}` : "–", { class: "num" }),
        make("td"), make("td", one ? one.word : "–", { class: `outcome ${one?.word ?? ""}` }),
      );
      if (one) row.cells[5].append(picture(one, widest));
      return row;
    });
    $("pair").tBodies[0].replaceChildren(...body);
    const all = found.at(-1) ?? null, [one, other] = [names[first], names[second]];
    const heads = $("pair").tHead.rows[0].cells;
    for (const [place, text] of [[1, one], [2, other], [6, `${one} is`]]) heads[place].textContent = text;
    $("pair").caption.textContent = `${one} less ${other}`;
    const over = () => last("means") ? `Over ${overall.label.toLowerCase()}, ${one}` : `In ${overall.label}, ${one}`;
    $("said").textContent = first === second ? "Choose two different models."
      : all?.word === "same verdicts" ? `${over()} has the same verdicts as ${other}, item by item; with other words the difference is ${thousandths(all.low)} to ${thousandths(all.high)}.` : all
      ? `${over()} is ${all.word}${all.word === "equivalent" ? " to" : all.word === "undecided" ? " against" : " than"} ${other}: ${thousandths(all.value, "+")}, ${confidence} interval ${thousandths(all.low)} to ${thousandths(all.high)}.`
      : `${one} and ${other}: differences of what is printed.`;
    const where = data.where && first !== second && (data.pairs || data.tested === false) ? [data.where[first], data.where[second], data.against[second]] : null;
    $("pair-command").textContent = where ? `tseval table ${where[0]} ${where[1]} --against ${where[2]}` : "";
  }
  const others = "first" in data ? ranked.filter((one) => one !== data.first) : ranked;
  for (const [id, chosen] of [["first", others[0]], ["second", "first" in data ? others[0] : others[1]]]) {
    if (!$(id)) continue;
    (id === "first" || !("first" in data) ? data.models.map((_, m) => m) : others).forEach((m) => $(id).append(make("option", names[m], { value: m })));
    $(id).value = chosen;
  }
  const wanted = "first" in data ? data.models.indexOf(decodeURIComponent(location.hash.slice(1))) : -1;
  if (wanted >= 0) $("second").value = wanted;
  const update = data.apart ? () => {
    const [first, second] = [$("first"), $("second")].map((one) => names[Number(one.value)]);
    $("apart").href = `pairs/${first}.html#${encodeURIComponent(second)}`;
  } : drawPair;
  for (const id of ["first", "second"]) $(id)?.addEventListener("change", update);
  $("compare").hidden = false;
  update();
  }

  // Downloads are made of what the page holds.
  if (data.files?.csv) {
    $("downloads").addEventListener("click", ({ target }) => {
      const form = target.dataset.file;
      if (!form) return;
      const url = URL.createObjectURL(new Blob([data.files[form]], { type: "text/plain" }));
      make("a", "", { href: url, download: `${data.name.replace(/[^A-Za-z0-9._-]+/g, "-")}.${form}` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    });
    $("downloads").hidden = false;
  }
}

// A table that is wider than the screen says so, and the keyboard can scroll it.
for (const area of document.querySelectorAll(".scroll")) {
  const hint = make("p", "Scroll sideways to see more columns.", { class: "hint" });
  hint.hidden = true;
  area.before(hint);
  const update = () => {
    const wide = area.scrollWidth > area.clientWidth + 1;
    hint.hidden = !wide;
    const name = area.querySelector("caption")?.textContent ?? "Table";
    const attributes = { tabindex: "0", role: "region", "aria-label": name };
    for (const [key, value] of Object.entries(attributes)) wide ? area.setAttribute(key, value) : area.removeAttribute(key);
  };
  new ResizeObserver(update).observe(area.querySelector("table") ?? area);
}
