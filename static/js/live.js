// The live tail: lines as they happen, and the parts of the page that a line says have changed.
(function () {
  "use strict";

  const badge = document.getElementById("live");
  const list = document.getElementById("log");
  const follow = document.getElementById("follow");
  const panels = document.getElementById("panels");
  if (!badge || !window.EventSource) return;

  const LINES = 2000;
  const PANELS = 40;
  const SOON = 250;
  const changed = new Set();
  let timer = 0;

  function atBottom() {
    return list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  }

  function span(name, text) {
    const element = document.createElement("span");
    element.className = name;
    element.textContent = text;
    return element;
  }

  function line(event) {
    const item = document.createElement("li");
    item.id = `event-${event.id}`;
    item.className = `log-line ${event.level}`;
    const time = document.createElement("time");
    time.dateTime = event.at;
    time.dataset.show = "clock";
    const text = span("log-text", event.message);
    const step = span("log-step", event.step);
    text.dir = step.dir = "auto";
    item.append(time, span("log-kind", event.kind), step, text);
    return item;
  }

  function append(event) {
    if (document.getElementById(`event-${event.id}`)) return false;
    const empty = document.getElementById("log-empty");
    if (empty) empty.remove();
    const stay = atBottom();
    const item = line(event);
    // A line that was committed late still goes where its id says.
    let after = list.lastElementChild;
    while (after && after.id.startsWith("event-") && Number(after.id.slice(6)) > event.id) after = after.previousElementSibling;
    if (after) after.after(item); else list.prepend(item);
    window.vectorstep.localise(item.parentElement === list ? item : list);
    while (list.childElementCount > LINES) list.firstElementChild.remove();
    if (stay) list.scrollTop = list.scrollHeight; else follow.hidden = false;
    return true;
  }

  // Panels on their way: a second line about the same step must not fetch a second panel.
  const coming = new Set();
  // Steps that changed meanwhile.
  const again = new Set();

  function panelOf(name) {
    return [...panels.querySelectorAll("[data-step]")].find((panel) => panel.dataset.step === name);
  }

  // A branch is a line in the table of its group, and has a panel only where a reader opened it.
  function tableOf(name) {
    const group = name.slice(0, name.indexOf("/"));
    return [...panels.querySelectorAll("[data-branches]")].find((table) => table.dataset.branches === group);
  }

  const stale = new Set();
  let catching = 0;

  // A table stands still while one of its branches is open: lines must not move under who reads.
  function catchUp() {
    for (const id of stale) {
      const table = document.getElementById(id);
      if (table && (table.classList.contains("htmx-request") || table.querySelector(".branch[open]"))) continue;
      stale.delete(id);
      if (table) htmx.trigger(table, "refresh");
    }
    catching = stale.size ? setTimeout(catchUp, SOON) : 0;
  }

  document.addEventListener("htmx:beforeSwap", (event) => {
    const { elt, target } = event.detail;
    if (elt !== target || !target.matches(".branches") || !target.querySelector(".branch[open]")) return;
    event.detail.shouldSwap = false;
    stale.add(target.id);
    if (!catching) catching = setTimeout(catchUp, SOON);
  });

  function branches() {
    for (const name of changed) {
      if (!name.includes("/")) continue;
      changed.delete(name);
      if (tableOf(name)) stale.add(tableOf(name).id);
      if (panelOf(name)) htmx.trigger(panelOf(name), "refresh");
    }
    if (!catching) catchUp();
  }

  // By hand, not by htmx: that lets one element have one request at a time, and several steps may begin at once.
  async function fetchPanel(name) {
    coming.add(name);
    try {
      const address = `${panels.dataset.stepUrl}?name=${encodeURIComponent(name)}`;
      const response = await fetch(address, { headers: { "HX-Request": "true" } });
      if (!response.ok || response.redirected) return;
      panels.insertAdjacentHTML("beforeend", await response.text());
      htmx.process(panels.lastElementChild);
      window.vectorstep.localise(panels.lastElementChild);
    } catch {
      // The connection is gone: the tail comes back and says what has changed.
    } finally {
      coming.delete(name);
      if (again.delete(name) && panelOf(name)) htmx.trigger(panelOf(name), "refresh");
    }
  }

  function refresh() {
    timer = 0;
    htmx.trigger("#top", "refresh");
    htmx.trigger("#run-marks", "refresh");
    branches();
    for (const name of changed) {
      if (panelOf(name)) htmx.trigger(panelOf(name), "refresh");
      else if (coming.has(name)) again.add(name);
      else if (panels.childElementCount + coming.size < PANELS) fetchPanel(name);
    }
    changed.clear();
  }

  function note(event) {
    const ofStep = event.step && (event.kind.startsWith("step.") || event.kind.startsWith("signal."));
    if (ofStep) changed.add(event.step);
    if (ofStep || event.kind.startsWith("run.")) timer = timer || setTimeout(refresh, SOON);
  }

  const TRY_AGAIN = 5000;
  let source = null;
  let last = Number(new URL(badge.dataset.stream, location.href).searchParams.get("after"));
  let over = false;

  function show(text, lost) {
    badge.hidden = false;
    badge.classList.toggle("lost", lost);
    badge.lastElementChild.textContent = text;
  }

  function connect() {
    const address = new URL(badge.dataset.stream, location.href);
    address.searchParams.set("after", last);
    source = new EventSource(address);
    source.addEventListener("open", () => show("Live", false));
    source.addEventListener("error", () => {
      show("Connecting again", true);
      // A browser retries by itself unless it was answered with an error, as by a server that restarts.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => { if (!over) connect(); }, TRY_AGAIN);
    });
    source.addEventListener("log", (message) => {
      const event = JSON.parse(message.data);
      last = Math.max(last, event.id);
      if (append(event)) note(event);
    });
    source.addEventListener("end", finish);
  }

  function finish() {
    over = true;
    source.close();
    badge.hidden = true;
    document.getElementById("announce").textContent = "The run has ended";
    clearTimeout(timer);
    for (const panel of panels.querySelectorAll("[data-step]")) changed.add(panel.dataset.step);
    for (const table of panels.querySelectorAll("[data-branches]")) changed.add(`${table.dataset.branches}/`);
    for (const name of coming) changed.add(name);
    refresh();
    const cancel = document.getElementById("cancel-run");
    if (cancel) cancel.remove();
  }

  follow.addEventListener("click", () => { list.scrollTop = list.scrollHeight; follow.hidden = true; });
  list.addEventListener("scroll", () => { if (atBottom()) follow.hidden = true; });
  list.scrollTop = list.scrollHeight;
  window.addEventListener("pagehide", () => source.close());
  window.addEventListener("pageshow", (event) => { if (event.persisted && !over) connect(); });
  connect();
})();
