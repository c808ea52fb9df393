// The marking keys. Every one presses a button or link of the page, which works without them.
(function () {
  "use strict";

  let went = 0; // when g was pressed: the key after it belongs to the navigation

  function typing(target) {
    return target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName);
  }

  function shown(element) {
    return element.getClientRects().length > 0;
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.defaultPrevented) return;
    if (typing(event.target) || document.querySelector("dialog[open]")) return;
    if (event.key === "g") { went = Date.now(); return; }
    const led = Date.now() - went < 1500;
    went = 0;
    if (led) return;
    const target = [...document.querySelectorAll("[data-hotkey]")].find((item) => item.dataset.hotkey === event.key.toLowerCase() && shown(item));
    if (!target) return;
    event.preventDefault();
    if (target.matches("textarea")) target.focus();
    else target.click();
  });

  // One press is one mark, however slow the answer.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-once]")) return;
    if (document.body.dataset.sent) { event.preventDefault(); return; }
    document.body.dataset.sent = "1";
  });
  window.addEventListener("pageshow", (event) => {
    delete document.body.dataset.sent;
    if (event.persisted) location.reload();
  });
})();
