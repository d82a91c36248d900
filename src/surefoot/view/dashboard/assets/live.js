// Keeps a page up to date from server-sent events. All text goes in as text, never as markup.
"use strict";
(() => {
  const page = document.body.dataset;
  const connection = document.getElementById("connection");
  let drawn = page.version;
  let fetching = false;
  let boundsDrawn = false;

  function fill(place, fields) {
    for (const element of place.querySelectorAll("[data-field]")) {
      const text = String(fields[element.dataset.field] ?? "");
      if (element.textContent !== text) element.textContent = text;
      if (element.hasAttribute("title")) element.title = text;
      if ("hideEmpty" in element.dataset) element.hidden = text === "";
    }
    for (const badge of place.querySelectorAll("[data-badge]")) badge.className = `badge ${fields.look}`;
    for (const bar of place.querySelectorAll("progress")) {
      if (fields.done === null || fields.done === undefined) bar.removeAttribute("value");
      else bar.value = fields.done;
      bar.hidden = bar.position < 0 && fields.state !== "running";
    }
  }

  function row(cells) {
    const line = document.createElement("tr");
    for (const [tag, kind, text] of cells) {
      const cell = document.createElement(tag);
      if (kind) cell.className = kind;
      if (tag === "th") cell.scope = "row";
      cell.textContent = text;
      line.append(cell);
    }
    return line;
  }

  function fillArms(arms) {
    const body = document.getElementById("arms");
    body.replaceChildren(
      ...arms.map((arm) => {
        const line = row([
          ["th", "", arm.arm], ["td", "number", arm.value], ["td", "number", arm.low], ["td", "number", arm.high],
          ["td", "", arm.worst], ["td", "number", arm.pulls], ["td", "", arm.kind],
        ]);
        line.className = arm.kind;
        return line;
      }),
    );
  }

  function fillFailures(failures) {
    document.getElementById("trouble").hidden = failures.length === 0;
    document.getElementById("failures").replaceChildren(
      ...failures.map((pull) =>
        row([
          ["td", "number", pull.id], ["td", "", pull.state], ["td", "number", pull.attempts],
          ["td", "number", pull.losses], ["td", "", pull.error],
        ]),
      ),
    );
  }

  function fillCertificate(facts) {
    const body = document.getElementById("certificate");
    if (!body) return;
    body.replaceChildren(
      ...facts.map((fact) => {
        const line = row([["th", "", fact.name], ["td", "", fact.value], ["td", "note", fact.note]]);
        const small = document.createElement("span");
        small.className = "small-note note";
        small.textContent = fact.note;
        line.children[1].append(small);
        return line;
      }),
    );
  }

  async function redraw(fields) {
    if (fetching || fields.version === drawn) return;
    fetching = true;
    try {
      const answer = await fetch(`/study/${page.study}/details.json`);
      if (!answer.ok) return;
      const details = await answer.json();
      fillArms(details.arms);
      fillCertificate(details.certificate);
      fillFailures(details.failures);
      await window.surefoot.drawAll(details);
      drawn = details.version;
      document.body.dataset.version = drawn;
    } finally {
      fetching = false;
    }
  }

  async function drawBounds(fields) {
    if (boundsDrawn || fields.state !== "finished") return;
    boundsDrawn = true;
    const answer = await fetch(`/study/${page.study}/bounds.json`);
    if (answer.ok) await window.surefoot.drawAll(await answer.json());
  }

  function updateStudy(fields) {
    fill(document, fields);
    const answer = document.querySelector(".answer");
    answer.classList.toggle("certified", Boolean(fields.certified));
    answer.classList.toggle("trouble", ["missing", "broken"].includes(fields.state));
    for (const id of ["seen", "download"]) document.getElementById(id).hidden = !fields.seen;
    document.title = `${fields.name}: ${fields.state}`;
    redraw(fields).then(() => drawBounds(fields)).catch((error) => console.error(error));
  }

  function updateList(studies) {
    for (const fields of studies) fill(document.getElementById(`study-${fields.number}`), fields);
  }

  const source = new EventSource(page.study ? `/study/${page.study}/events` : "/events");
  source.onmessage = (event) => {
    const news = JSON.parse(event.data);
    page.study ? updateStudy(news) : updateList(news);
    connection.textContent = "live";
  };
  source.onerror = () => {
    connection.textContent = "not connected: trying again";
  };
  window.addEventListener("pagehide", () => source.close());
})();
