// Files go up one by one as bodies of their own, with their progress shown; then the page of the document opens.
"use strict";

(() => {
  const trouble = (html) => { document.getElementById("trouble").innerHTML = html; };

  function size(bytes) {
    return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
  }

  function send(form, file, told) {
    const asked = new URLSearchParams({ name: file.name });
    if (form.dataset.replaces) asked.set("replaces", form.dataset.replaces);
    for (const field of form.querySelectorAll("select, [type=checkbox]:checked")) asked.set(field.name, field.value);
    return new Promise((done, failed) => {
      const request = new XMLHttpRequest();
      request.open("POST", `/knowledge/files?${asked}`);
      request.setRequestHeader("X-CSRF", form.dataset.csrf);
      request.setRequestHeader("HX-Request", "true");
      request.setRequestHeader("Content-Type", file.type || "application/octet-stream");
      request.upload.addEventListener("progress", (event) => told(event.loaded, event.total));
      request.addEventListener("load", () => {
        const to = request.getResponseHeader("HX-Location") || request.getResponseHeader("HX-Redirect");
        if (to) done(to); else failed(request.responseText);
      });
      request.addEventListener("error", () => failed(""));
      request.send(file);
    });
  }

  async function all(form, files) {
    const [line, button] = [form.querySelector(".progress"), form.querySelector("button")];
    const [bar, words] = [line.querySelector("progress"), line.querySelector("span")];
    const limit = Number(form.dataset.limit);
    let to = "/knowledge";
    line.hidden = false;
    button.disabled = true;
    for (const file of files) {
      try {
        if (file.size > limit) throw `<p class="trouble">The file is larger than ${size(limit)}.</p>`;
        to = await send(form, file, (loaded, total) => {
          bar.max = total || 1;
          bar.value = loaded;
          words.textContent = `${file.name}: ${size(loaded)} of ${size(total)}`;
        });
      } catch (why) {
        line.hidden = true;
        trouble(typeof why === "string" && why ? why : '<p class="trouble">The file did not arrive. Try again.</p>');
        return;
      }
    }
    window.location.assign(files.length > 1 ? "/knowledge" : to);
  }

  for (const form of document.querySelectorAll("[data-upload]")) {
    const input = form.querySelector("[type=file]");
    input.addEventListener("change", () => { form.querySelector("button").disabled = !input.files.length; });
    form.addEventListener("submit", (event) => { event.preventDefault(); all(form, [...input.files]); });
    form.addEventListener("dragover", (event) => { event.preventDefault(); form.classList.add("over"); });
    form.addEventListener("dragleave", () => form.classList.remove("over"));
    form.addEventListener("drop", (event) => {
      event.preventDefault();
      form.classList.remove("over");
      if (event.dataTransfer.files.length) all(form, [...event.dataTransfer.files]);
    });
  }
})();
