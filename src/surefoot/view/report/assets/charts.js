// Draws every figure that names a chart; redraws with new rows, and when the reader's colours change.
"use strict";
(() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const printing = window.matchMedia("print");
  const drawn = new Map(); // name → {frame, view}
  let known = { configs: {}, charts: {} };

  const options = {
    ast: true, // expressions are interpreted, so the page needs no permission to evaluate text as code
    actions: false,
    renderer: "svg",
    logLevel: 1, // errors only
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
  };

  const look = () => known.configs[dark.matches && !printing.matches ? "dark" : "light"];

  // The chart without its rows and title, as wide as its figure.
  function fitted(spec, width) {
    const { datasets, title, ...frame } = spec;
    const config = { ...look(), background: "transparent" };
    const narrow = width < 500;
    if (narrow) config.axisY = { labelLimit: 0.52 * width, labelFontSize: 9.5 };
    const wordy = (datasets.arms || []).some((row) => (row.said || "").length > 12);
    const shown = narrow ? narrowed(frame, width, wordy) : frame;
    return { ...shown, width: "container", autosize: { type: "fit-x", contains: "padding" }, config };
  }

  // The same with one entry of a legend below the other, each as long as there is room, and without
  // names at marks where they are long.
  function narrowed(part, width, wordy) {
    if (Array.isArray(part)) return part.map((inner) => narrowed(inner, width, wordy));
    if (part === null || typeof part !== "object") return part;
    const copy = {};
    for (const [key, value] of Object.entries(part)) {
      copy[key] = narrowed(value, width, wordy);
      if (key !== "legend" || !value) continue;
      Object.assign(copy[key], { columns: 1, labelLimit: width - 60 });
      if (value.gradientLength) copy[key].gradientLength = Math.min(value.gradientLength, 0.35 * width);
    }
    if (wordy && part.type === "text" && part.fontSize === 10) copy.opacity = 0;
    return copy;
  }

  function caption(figure, title) {
    let place = figure.querySelector("figcaption");
    if (!place) {
      place = document.createElement("figcaption");
      place.append(document.createElement("strong"), document.createElement("span"));
      figure.prepend(place);
    }
    place.firstChild.textContent = title.text;
    place.lastChild.textContent = title.subtitle;
  }

  async function draw(name, spec) {
    const figure = document.querySelector(`[data-chart="${name}"]`);
    if (!figure) return;
    figure.hidden = false; // before its width is asked for
    caption(figure, spec.title);
    const frame = fitted(spec, figure.clientWidth);
    const signature = JSON.stringify(frame);
    const before = drawn.get(name);
    if (before && before.signature === signature) {
      for (const [table, rows] of Object.entries(spec.datasets)) before.view.data(table, rows);
      await before.view.resize().runAsync();
      return;
    }
    const place = figure.querySelector("div") || figure.appendChild(document.createElement("div"));
    const shown = await vegaEmbed(place, { ...frame, datasets: spec.datasets }, options);
    if (before) before.view.finalize();
    drawn.set(name, { signature, view: shown.view });
    figure.dataset.drawn = "yes";
  }

  async function drawAll(payload) {
    known = { ...known, ...payload, charts: { ...known.charts, ...payload.charts } };
    const waiting = document.getElementById("no-charts");
    if (waiting) waiting.hidden = Object.keys(known.charts).length > 0;
    for (const [name, spec] of Object.entries(known.charts)) {
      try {
        await draw(name, spec);
      } catch (error) {
        console.error(`chart ${name}:`, error);
      }
    }
  }

  dark.addEventListener("change", () => drawAll({}));
  printing.addEventListener("change", () => drawAll({}));
  window.surefoot = { drawAll, view: (name) => drawn.get(name)?.view };

  const given = document.getElementById("charts");
  if (given) drawAll(JSON.parse(given.textContent));
})();
