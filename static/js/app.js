// Times, copy buttons, dialogs, keys and polling: everything here is an extra; pages can be read without it.
(function () {
  "use strict";

  const MINUTE = 60, HOUR = 3600, DAY = 86400;
  // The zone the page was made for. Until its reader has chosen one, the server learns here which is theirs.
  const timeZone = document.body.dataset.zone || undefined;
  document.cookie = `vectorstep_zone=${Intl.DateTimeFormat().resolvedOptions().timeZone}; path=/; max-age=31536000; SameSite=Lax`;
  const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long", timeZone });
  const shortDate = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone });
  const longDate = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric", timeZone });
  const year = new Intl.DateTimeFormat(undefined, { year: "numeric", timeZone });
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZone });
  const minute = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone });

  function ago(then, now) {
    const seconds = Math.round((now - then) / 1000);
    const apart = Math.abs(seconds);
    if (apart < 5) return "just now";
    if (apart >= 7 * DAY) return year.format(then) === year.format(now) ? shortDate.format(then) : longDate.format(then);
    const [size, unit] = apart < MINUTE ? [1, "s"] : apart < HOUR ? [MINUTE, "min"] : apart < DAY ? [HOUR, "h"] : [DAY, "d"];
    const text = `${Math.floor(apart / size)} ${unit}`;
    return seconds > 0 ? `${text} ago` : `in ${text}`;
  }

  function localise(root) {
    const now = new Date();
    for (const element of root.querySelectorAll("time[datetime]")) {
      const then = new Date(element.dateTime);
      if (Number.isNaN(then.getTime())) continue;
      element.title = exact.format(then);
      const text = { clock, minute }[element.dataset.show]?.format(then) ?? ago(then, now);
      if (element.textContent !== text) element.textContent = text;
    }
  }

  window.vectorstep = { localise };

  function copy(button) {
    navigator.clipboard.writeText(button.dataset.copy).then(() => {
      announce("Copied");
      button.classList.add("done");
      setTimeout(() => button.classList.remove("done"), 1200);
    });
  }

  function announce(text) {
    const region = document.getElementById("announce");
    if (region) region.textContent = text;
  }

  document.addEventListener("click", (event) => {
    const copier = event.target.closest("[data-copy]");
    if (copier) copy(copier);
    const opener = event.target.closest("[data-opens]");
    if (opener) {
      const dialog = document.getElementById(opener.dataset.opens);
      if (dialog) { event.preventDefault(); dialog.showModal(); }
    }
    const closer = event.target.closest("[data-closes]");
    if (closer) { event.preventDefault(); closer.closest("dialog").close(); }
    if (event.target instanceof HTMLDialogElement) event.target.close();
  });

  // JSON is checked where it is typed; the server checks it again.
  for (const field of document.querySelectorAll("textarea[data-json]")) {
    const problem = document.getElementById(field.getAttribute("aria-describedby"));
    const check = () => {
      let wrong = "";
      try {
        const value = JSON.parse(field.value || "{}");
        if (value === null || typeof value !== "object" || Array.isArray(value)) wrong = "The payload must be a JSON object, written in braces: {...}.";
      } catch (error) { wrong = `This is not valid JSON: ${error.message}`; }
      field.setAttribute("aria-invalid", wrong ? "true" : "false");
      if (problem) problem.textContent = wrong;
      return !wrong;
    };
    field.addEventListener("blur", check);
    field.addEventListener("input", () => { if (field.getAttribute("aria-invalid") === "true") check(); });
    field.form.addEventListener("submit", (event) => { if (!check()) { event.preventDefault(); field.focus(); } });
  }

  // A form that changes as its fields change still has its button for those without scripts.
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-auto]");
    if (form) form.requestSubmit();
  });
  document.addEventListener("submit", (event) => {
    for (const field of event.target.querySelectorAll("[data-drop-empty]")) if (!field.value) field.disabled = true;
  });
  window.addEventListener("pageshow", () => {
    for (const field of document.querySelectorAll("[data-drop-empty]")) field.disabled = false;
  });

  let prefix = "";
  let prefixTimer = 0;
  const GO = document.querySelectorAll("[data-key]");

  function typing(target) {
    return target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName);
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "/") {
      const field = [...document.querySelectorAll("input[type=search]")].find((item) => item.offsetParent);
      if (field) { event.preventDefault(); field.focus(); field.select(); }
    } else if (event.key === "?") {
      const sheet = document.getElementById("keys");
      if (sheet) { event.preventDefault(); sheet.showModal(); }
    } else if (prefix === "g") {
      for (const link of GO) if (link.dataset.key === event.key) { event.preventDefault(); link.click(); break; }
      prefix = "";
    } else if (event.key === "g") {
      prefix = "g";
      clearTimeout(prefixTimer);
      prefixTimer = setTimeout(() => { prefix = ""; }, 1500);
    }
  });

  // Elements with data-every ask for a refresh, never while nobody looks.
  for (const element of document.querySelectorAll("[data-every]")) {
    setInterval(() => {
      if (!document.hidden && element.isConnected && !document.querySelector("dialog[open]")) htmx.trigger(element, "refresh");
    }, Number(element.dataset.every) * 1000);
  }
  document.addEventListener("visibilitychange", () => {
    if (document.hidden || document.querySelector("dialog[open]")) return;
    for (const element of document.querySelectorAll("[data-every]")) htmx.trigger(element, "refresh");
  });

  // A part that is swapped keeps the disclosures its reader had opened.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const target = event.detail.target;
    if (target) event.detail.requestConfig.open = [...target.querySelectorAll("details[id]")].map((item) => [item.id, item.open]);
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    for (const [id, open] of event.detail.requestConfig.open || []) {
      const item = document.getElementById(id);
      if (item && item.open !== open) item.open = open;
    }
  });
  document.addEventListener("htmx:afterSettle", (event) => localise(event.detail.elt.parentElement || document));
  document.addEventListener("htmx:responseError", () => announce("That part could not be loaded"));
  document.addEventListener("toggle", (event) => { if (event.target.open) localise(event.target); }, true);

  localise(document);
  setInterval(() => { if (!document.hidden) localise(document); }, 10000);
  const asked = location.hash && document.getElementById(location.hash.slice(1));
  if (asked instanceof HTMLDialogElement && !asked.open) asked.showModal();
  for (const dialog of document.querySelectorAll("dialog[data-open-now]")) if (!dialog.open) dialog.showModal();
})();
