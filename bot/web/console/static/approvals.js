// How long is left until a proposal expires, beside its date.
"use strict";

(() => {
  const words = (seconds) => {
    if (seconds <= 0) return "over";
    if (seconds < 60) return `${Math.floor(seconds)} s left`;
    const minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60), days = Math.floor(hours / 24);
    if (hours < 1) return `${minutes} min left`;
    if (days < 2) return `${hours} h ${minutes % 60} min left`;
    return `${days} days ${hours % 24} h left`;
  };
  const tick = () => {
    let soon = false;
    for (const each of document.querySelectorAll("[data-until]")) {
      const seconds = (Date.parse(each.dataset.until) - Date.now()) / 1000;
      each.textContent = words(seconds);
      each.classList.toggle("soon", seconds < 3600);
      soon = soon || (seconds > 0 && seconds < 120);
    }
    setTimeout(tick, soon ? 1000 : 20000);
  };
  tick();
})();
