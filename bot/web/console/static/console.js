// What every page does in the browser: the menu, what changes while it is open, keys in lists.
"use strict";

// The menu on a narrow screen.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-menu]");
  if (button) {
    const open = document.getElementById("menu").classList.toggle("open");
    button.setAttribute("aria-expanded", String(open));
  }
});

// One stream of topics a page. A part says `hx-trigger="live:ledger from:body"` to be asked for again.
(() => {
  const where = document.body.dataset.events;
  if (!where || !document.querySelector("[hx-trigger*='live:'], [data-live]")) return;
  let source = null;
  const open = () => {
    source = new EventSource(where);
    source.onmessage = (event) => {
      for (const topic of event.data.split(" ")) {
        document.body.dispatchEvent(new CustomEvent(`live:${topic}`));
      }
    };
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) setTimeout(open, 30000);
    };
  };
  open();
  window.addEventListener("pagehide", () => source.close());
  window.addEventListener("pageshow", (event) => { if (event.persisted) open(); });
})();

// Keys in a list: j and k go down and up among its items, the letters on [data-key] do what they say for the chosen one.
document.addEventListener("keydown", (event) => {
  const list = document.querySelector("[data-keys]");
  if (!list || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const items = [...list.querySelectorAll("[data-item]")];
  const chosen = items.findIndex((item) => item.classList.contains("chosen"));
  if (event.key === "j" || event.key === "k") {
    const next = Math.min(items.length - 1, Math.max(0, chosen + (event.key === "j" ? 1 : -1)));
    items.forEach((item, at) => item.classList.toggle("chosen", at === next));
    if (items[next]) { items[next].focus({ preventScroll: true }); items[next].scrollIntoView({ block: "nearest" }); }
    event.preventDefault();
  } else if (chosen >= 0) {
    const wanted = items[chosen].querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (wanted) { wanted.click(); event.preventDefault(); }
  }
});
