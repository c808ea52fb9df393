// The lowest trust of each recent run over time; a click opens the run.
(function () {
  "use strict";

  const box = document.getElementById("trust-chart");
  const runs = JSON.parse(document.getElementById("trust-data").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const SYMBOLS = { completed: "circle", escalated: "triangle-up", aborted: "octagon", failed: "x", stopped: "square" };
  const TONES = { completed: "--good", escalated: "--warn", aborted: "--bad", failed: "--bad" };

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function draw() {
    const axis = { gridcolor: colour("--grid"), linecolor: colour("--line"), zeroline: false, tickfont: { color: colour("--faint"), size: 12 }, fixedrange: true };
    const trace = {
      type: "scatter",
      mode: "markers",
      cliponaxis: false,
      x: runs.map((run) => run.at),
      y: runs.map((run) => run.trust),
      text: runs.map((run) => run.status),
      hovertemplate: "%{y:.0%}, %{text}<br>%{x|%d %b %H:%M}<extra></extra>",
      marker: { size: 9, symbol: runs.map((run) => SYMBOLS[run.status] || "circle-open"), color: runs.map((run) => colour(TONES[run.status] || "--s")) },
    };
    const layout = {
      margin: { l: 44, r: 28, t: 8, b: 28 },
      height: 220,
      paper_bgcolor: "transparent",
      plot_bgcolor: "transparent",
      font: { family: getComputedStyle(document.body).fontFamily },
      xaxis: { ...axis, nticks: 4, tickformatstops: [{ dtickrange: [null, 59999], value: "%H:%M:%S" }, { dtickrange: [60000, 86399999], value: "%H:%M" }, { dtickrange: [86400000, null], value: "%-d %b" }] },
      yaxis: { ...axis, range: [-0.04, 1.06], tickformat: ".0%", tickvals: [0, 0.25, 0.5, 0.75, 1] },
      hoverlabel: { bgcolor: colour("--surface"), bordercolor: colour("--line"), font: { color: colour("--ink") } },
      showlegend: false,
    };
    return Plotly.react(box, [trace], layout, { displayModeBar: false, responsive: true });
  }

  draw().then(() => {
    box.on("plotly_click", (event) => { window.location.href = runs[event.points[0].pointIndex].url; });
  });
  dark.addEventListener("change", draw);
})();
