// The chat while it is open: what is written is said, and said again until it was taken; drafts and answers appear as
// they come; files go up one by one. Without it the page is a form.
"use strict";

(() => {
  const talk = document.querySelector("[data-chat]");
  const composer = document.getElementById("composer");
  if (!talk || !composer) return;
  const [chat, csrf, largest] = [talk.dataset.chat, talk.dataset.csrf, Number(talk.dataset.largest)];
  const at = (id) => document.getElementById(id);
  const text = at("text");
  const headers = { "X-CSRF": csrf, "HX-Request": "true" };
  const fresh = () => [...crypto.getRandomValues(new Uint8Array(12))].map((n) => n.toString(16).padStart(2, "0")).join("");
  const nearEnd = () => window.innerHeight + window.scrollY > document.body.scrollHeight - 160;
  const toEnd = () => window.scrollTo({ top: document.body.scrollHeight });
  const trouble = (words) => {
    const place = at("trouble");
    place.replaceChildren();
    if (!words) return;
    const line = document.createElement("p");
    line.className = "trouble";
    line.textContent = words;
    place.append(line);
  };

  // --- what stands there ---

  function merge(came) {
    const follow = nearEnd();
    const list = talk.querySelector("ol.lines");
    const lines = [...came.querySelectorAll("li.line")];
    // What is not there any more was erased; what stands before the first is only on an earlier page.
    const first = lines.length ? document.getElementById(lines[0].id) : list.firstElementChild;
    const there = new Set(lines.map((line) => line.id));
    for (let line = first; line;) {
      const next = line.nextElementSibling;
      if (!there.has(line.id)) line.remove();
      line = next;
    }
    let last = null;
    for (const line of lines) {
      const known = document.getElementById(line.id);
      const same = known && shape(known) === shape(line);
      const now = same ? known : document.importNode(line, true);
      if (known && !same) known.replaceWith(now);
      if (!known) { if (last) last.after(now); else list.append(now); }
      last = now;
    }
    if (list.children.length && at("nothing")) at("nothing").remove();
    if (list.lastElementChild && !list.lastElementChild.classList.contains("mine")) draft(null);
    busy(Boolean(list.querySelector(".tag.info")));
    if (follow) toEnd();
  }

  // The ids of presses are fresh in every answer: they make no line another one.
  const shape = (line) => line.outerHTML.replace(/name="id" value="[^"]*"/g, "");

  // Answers may overtake each other: one that was asked for before what stands here is asked for again.
  let [asked, shown] = [0, 0];
  async function take(number, answer) {
    const came = new DOMParser().parseFromString(await answer.text(), "text/html");
    const told = came.getElementById("told");
    if (told && told.textContent.trim()) at("told").replaceChildren(...told.childNodes);
    if (number < shown) { look(); return; }
    shown = number;
    merge(came);
  }

  async function look() {
    const number = ++asked;
    try {
      const answer = await fetch(chat, { headers });
      if (answer.status === 401) { window.location.reload(); return; }
      if (answer.ok) await take(number, answer);
      if (talk.querySelector("ol.lines li")) begun();
    } catch { /* the stream comes back and asks again */ }
  }

  function draft(html) {
    const place = at("draft");
    if (html === null) { place.hidden = true; place.querySelector(".words").replaceChildren(); return; }
    const follow = nearEnd();
    place.hidden = false;
    if (html) place.querySelector(".words").innerHTML = html;
    if (follow) toEnd();
  }

  function busy(now) {
    at("stop").hidden = !now;
    if (!now) draft(null);
  }

  // A new conversation has an address and stands in the list once something was said in it.
  async function begun() {
    if (window.location.pathname !== chat) window.history.replaceState(null, "", chat);
    const list = document.querySelector(".beside");
    if (list.querySelector(`a[href="${chat}"][data-named]`)) return;
    const answer = await fetch(chat).catch(() => null);
    const came = answer && answer.ok && new DOMParser().parseFromString(await answer.text(), "text/html").querySelector(".beside");
    if (came) list.replaceChildren(...came.childNodes);
  }

  // --- saying ---

  const waiting = [];
  let saying = false;

  async function pump() {
    if (saying) return;
    saying = true;
    let wait = 1000;
    while (waiting.length) {
      const one = waiting[0];
      const body = new URLSearchParams({ id: one.id, text: one.text });
      one.files.forEach((file) => body.append("file", file));
      const number = ++asked;
      try {
        const answer = await fetch(`${chat}/say`, { method: "POST", headers, body });
        if (answer.ok) {
          await take(number, answer);
          trouble("");
          begun();
        } else if (answer.status === 401) {
          window.location.reload();
          return;
        } else if (answer.status === 503 || answer.status === 500) {
          throw new Error("later");
        } else {
          const words = new DOMParser().parseFromString(await answer.text(), "text/html").body.textContent.trim();
          trouble(words || "That was not taken.");
          if (!text.value) text.value = one.text;
        }
        waiting.shift();
        one.line.remove();
        wait = 1000;
      } catch {
        one.line.querySelector(".tag").textContent = "not sent yet; trying again";
        await new Promise((done) => { setTimeout(done, wait); });
        wait = Math.min(wait * 2, 15000);
      }
    }
    saying = false;
  }

  function say() {
    const words = text.value;
    if ((!words.trim() && !sent.length) || loading) return;
    const line = document.createElement("li");
    line.className = "line mine";
    line.innerHTML = '<p class="who"><span class="name">You</span></p><div class="words plain"></div><p class="state"><span class="tag">being sent</span></p>';
    line.querySelector(".words").textContent = words || sent.map((file) => file.name).join(", ");
    at("unsent").append(line);
    waiting.push({ id: fresh(), text: words, files: sent.map((file) => file.handle), line });
    text.value = "";
    sent.length = 0;
    at("files").replaceChildren();
    grow();
    toEnd();
    text.focus();
    pump();
  }

  composer.addEventListener("submit", (event) => {
    if (event.submitter && event.submitter.id === "stop") {
      event.preventDefault();
      const number = ++asked;
      fetch(`${chat}/stop`, { method: "POST", headers }).then((answer) => (answer.ok ? take(number, answer) : null), () => trouble("It could not be stopped: try again."));
      return;
    }
    event.preventDefault();
    say();
  });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); say(); }
  });
  const grow = () => { text.rows = Math.min(12, Math.max(2, text.value.split("\n").length)); };
  text.addEventListener("input", grow);
  window.addEventListener("beforeunload", (event) => { if (waiting.length || loading) event.preventDefault(); });

  talk.addEventListener("submit", async (event) => {
    const form = event.target.closest("[data-press]");
    if (!form) return;
    event.preventDefault();
    const buttons = [...form.parentElement.querySelectorAll("button")];
    buttons.forEach((button) => { button.disabled = true; });
    const number = ++asked;
    try {
      const answer = await fetch(form.action, { method: "POST", headers, body: new URLSearchParams(new FormData(form)) });
      if (answer.ok) await take(number, answer); else trouble("That was not done: load the page again.");
    } catch {
      trouble("That could not be sent: try again.");
    }
    buttons.forEach((button) => { button.disabled = false; });
  });

  // --- files ---

  const sent = [];
  let loading = 0;

  function add(file) {
    const line = document.createElement("li");
    line.innerHTML = '<span class="name"></span> <progress max="1" value="0"></progress> <button type="button" class="plain">Remove</button>';
    line.querySelector(".name").textContent = file.name;
    line.querySelector("progress").setAttribute("aria-label", `${file.name} is being sent`);
    at("files").append(line);
    if (file.size > largest) { line.remove(); trouble(`${file.name} is larger than ${Math.floor(largest / 1e6)} MB.`); return; }
    const request = new XMLHttpRequest();
    let kept = null;
    line.querySelector("button").addEventListener("click", () => {
      request.abort();
      if (kept) sent.splice(sent.indexOf(kept), 1);
      line.remove();
    });
    loading += 1;
    request.open("POST", `${chat}/upload?${new URLSearchParams({ name: file.name })}`);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.addEventListener("progress", (event) => { line.querySelector("progress").value = event.loaded / (event.total || 1); });
    request.addEventListener("loadend", () => {
      loading -= 1;
      if (request.status === 200) {
        kept = JSON.parse(request.responseText);
        sent.push(kept);
        line.querySelector("progress").remove();
      } else if (line.isConnected) {
        line.remove();
        trouble(`${file.name} did not arrive: try again.`);
      }
    });
    request.send(file);
  }

  at("attach").hidden = false;
  at("hint").textContent = "Enter sends, Shift and Enter begins a line; /help tells which words are commands.";
  at("pick").addEventListener("click", () => at("file").click());
  at("file").addEventListener("change", () => { [...at("file").files].forEach(add); at("file").value = ""; });
  talk.addEventListener("dragover", (event) => { event.preventDefault(); composer.classList.add("over"); });
  talk.addEventListener("dragleave", () => composer.classList.remove("over"));
  talk.addEventListener("drop", (event) => {
    event.preventDefault();
    composer.classList.remove("over");
    [...event.dataTransfer.files].forEach(add);
  });
  text.addEventListener("paste", (event) => { [...event.clipboardData.files].forEach(add); });

  // --- what comes ---

  let source = null;
  let writing = false;
  function listen() {
    source = new EventSource(`${chat}/stream`);
    source.addEventListener("changed", () => { writing = false; look(); });
    source.addEventListener("state", () => { if (!at("stop").hidden) look(); });
    source.addEventListener("draft", (event) => {
      if (!writing) { writing = true; look(); }
      draft(JSON.parse(event.data) || "");
      busy(true);
    });
    source.onerror = () => { if (source.readyState === EventSource.CLOSED) { look(); setTimeout(listen, 15000); } };
  }
  listen();
  window.addEventListener("pagehide", () => source.close());
  window.addEventListener("pageshow", (event) => { if (event.persisted) listen(); });
  busy(Boolean(talk.querySelector(".tag.info")));
  grow();
  toEnd();
})();
