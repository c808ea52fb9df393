// Runs by how they went, stacked over time. The colours say what the legend below says in words and numbers.
(function () {
  "use strict";

  const box = document.getElementById("outcomes-chart");
  const { edges, series } = JSON.parse(document.getElementById("outcomes-data").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const HOUR = 3600000;

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  // How a legend's swatch looks is decided once, in the style sheet.
  function look(status) {
    const swatch = getComputedStyle(document.querySelector(`.swatch-${status}`));
    return { color: swatch.backgroundColor, pattern: { shape: swatch.getPropertyValue("--pattern").replace(/["'\s]/g, ""), fillmode: "overlay", size: 6, solidity: 0.3, fgcolor: colour("--surface") } };
  }

  // Where nothing is said of an offset, both ends of a bar are read alike.
  const starts = edges.slice(0, -1).map((edge) => new Date(`${edge}Z`).getTime());
  const ends = edges.slice(1).map((edge) => new Date(`${edge}Z`).getTime());
  const widths = starts.map((start, n) => Math.max(ends[n] - start, 1));
  const usual = [...widths].sort((one, other) => one - other)[Math.floor(widths.length / 2)];
  const format = usual < 2 * HOUR ? "%H:%M" : usual < 27 * 24 * HOUR ? "%-d %b" : "%b %Y";

  function draw() {
    const axis = { gridcolor: colour("--grid"), linecolor: colour("--line"), zeroline: false, tickfont: { color: colour("--faint"), size: 12 }, fixedrange: true };
    const traces = series.map(({ status, word, counts }) => ({
      type: "bar",
      name: word,
      x: starts,
      y: counts,
      width: widths.map((width) => width * 0.86),
      offset: 0,
      marker: look(status),
      hovertemplate: `%{y} ${word.toLowerCase()}, from %{x|%-d %b %H:%M}<extra></extra>`,
    }));
    const layout = {
      barmode: "stack",
      margin: { l: 44, r: 32, t: 8, b: 28 },
      paper_bgcolor: "transparent",
      plot_bgcolor: "transparent",
      font: { family: getComputedStyle(document.body).fontFamily },
      xaxis: { ...axis, type: "date", range: [starts[0], ends[ends.length - 1]], nticks: 6, tickformat: format, showgrid: false },
      yaxis: { ...axis, rangemode: "tozero", tickformat: ",d", nticks: 5 },
      hoverlabel: { bgcolor: colour("--surface"), bordercolor: colour("--line"), font: { color: colour("--ink") } },
      showlegend: false,
    };
    return Plotly.react(box, traces, layout, { displayModeBar: false, responsive: true });
  }

  draw();
  dark.addEventListener("change", draw);
})();
