// The charts of one step: reliability, threshold, said against shown. Their tables hold the same numbers.
(function () {
  "use strict";

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const SYMBOLS = { few: "circle-open", agrees: "circle", over: "triangle-down", under: "triangle-up" };
  const TONES = { few: "--edge", agrees: "--good", over: "--bad", under: "--warn" };
  const QUIET = { displayModeBar: false, responsive: true };

  function data(id) {
    const script = document.getElementById(id);
    return script ? JSON.parse(script.textContent) : null;
  }

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function percent(value) {
    return `${Math.round(value * 100)}%`;
  }

  function axis(title, more) {
    return {
      title: { text: title, font: { size: 12, color: colour("--soft") }, standoff: 8 },
      gridcolor: colour("--grid"), linecolor: colour("--line"), zeroline: false,
      tickfont: { color: colour("--faint"), size: 12 }, fixedrange: true, ...more,
    };
  }

  function shares(title) {
    return axis(title, { range: [-0.04, 1.04], tickformat: ".0%", tickvals: [0, 0.25, 0.5, 0.75, 1] });
  }

  function layout(xaxis, yaxis, more) {
    return {
      margin: { l: 56, r: 20, t: 12, b: 48 }, height: 324,
      paper_bgcolor: "transparent", plot_bgcolor: "transparent", showlegend: false,
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("--soft") },
      hoverlabel: { bgcolor: colour("--surface"), bordercolor: colour("--line"), font: { color: colour("--ink") } },
      xaxis, yaxis, ...more,
    };
  }

  function diagonal() {
    return {
      type: "scatter", mode: "lines", x: [0, 1], y: [0, 1], hoverinfo: "skip",
      line: { color: colour("--edge"), width: 1.5, dash: "dash" },
    };
  }

  // A chart is drawn again when the theme changes; a click on a point opens what is behind it.
  function show(id, draw, urlOf) {
    const box = document.getElementById(id);
    if (!box) return;
    draw(box).then(() => {
      if (!urlOf) return;
      box.on("plotly_click", (event) => {
        const url = urlOf(event.points[0]);
        if (url) window.location.href = url;
      });
    });
    dark.addEventListener("change", () => draw(box));
  }

  function drawReliability(box, bins) {
    const most = Math.max(...bins.map((bin) => bin.n));
    const reach = (bin, end) => (bin.n ? Math.abs(bin.interval[end] - bin.right) : null);
    const points = {
      type: "scatter", mode: "lines+markers", connectgaps: false, cliponaxis: false,
      x: bins.map((bin) => bin.said), y: bins.map((bin) => bin.right),
      text: bins.map((bin) => (bin.n ? `${bin.range}: ${bin.words}<br>says ${percent(bin.said)}, is right ${percent(bin.right)} of ${bin.n}<br>interval ${percent(bin.interval[0])} to ${percent(bin.interval[1])}` : "")),
      hovertemplate: "%{text}<extra></extra>",
      line: { color: colour("--edge"), width: 1 },
      error_y: { type: "data", symmetric: false, array: bins.map((bin) => reach(bin, 1)), arrayminus: bins.map((bin) => reach(bin, 0)), color: colour("--edge"), thickness: 1.25, width: 4 },
      marker: {
        size: bins.map((bin) => 9 + 17 * Math.sqrt(bin.n / most)),
        symbol: bins.map((bin) => SYMBOLS[bin.kind] || "circle-open"),
        color: bins.map((bin) => colour(TONES[bin.kind] || "--edge")),
        line: { width: 1.5, color: bins.map((bin) => (bin.kind === "few" ? colour("--edge") : colour("--surface"))) },
      },
    };
    const half = 0.5 / bins.length;
    const unknown = bins.filter((bin) => !bin.n).map((bin) => ({
      type: "rect", layer: "below", x0: bin.middle - half, x1: bin.middle + half, y0: 0, y1: 1, line: { width: 0 }, fillcolor: colour("--sunk"),
    }));
    return Plotly.react(box, [diagonal(), points], layout(shares("What it says"), shares("How often it is right"), { shapes: unknown }), QUIET);
  }

  function drawThresholds(box, history, at) {
    const passing = history.points.filter((point) => point.accuracy !== null);
    const wrong = (point) => 1 - point.accuracy;
    const band = {
      type: "scatter", mode: "lines", hoverinfo: "skip", line: { width: 0 }, fill: "toself", fillcolor: colour("--accent-soft"),
      x: [...passing, ...[...passing].reverse()].map((point) => point.passed),
      y: [...passing.map((point) => 1 - point.interval[0]), ...[...passing].reverse().map((point) => 1 - point.interval[1])],
    };
    const curve = {
      type: "scatter", mode: "lines", x: passing.map((point) => point.passed), y: passing.map(wrong),
      text: passing.map((point) => `threshold ${percent(point.threshold)}`),
      hovertemplate: "%{text}<br>%{x:.0%} let through, %{y:.0%} of them wrong<extra></extra>",
      line: { color: colour("--accent"), width: 2, shape: "linear" },
    };
    const spot = (point, symbol, label, size) => ({
      type: "scatter", mode: "markers+text", x: [point.passed], y: [wrong(point)], text: [label], textposition: "top center", hoverinfo: "skip", cliponaxis: false,
      textfont: { color: colour("--ink"), size: 12 },
      marker: { symbol, size, color: colour(symbol === "circle" ? "--accent" : "--surface"), line: { width: 2, color: colour("--ink") } },
    });
    const spots = [];
    const now = passing.find((point) => point.threshold === history.current);
    const chosen = history.points[at];
    if (now) spots.push(spot(now, "diamond", "now", 13));
    if (chosen && chosen.accuracy !== null && chosen !== now) spots.push(spot(chosen, "circle", percent(chosen.threshold), 11));
    const highest = Math.max(0.1, ...passing.map((point) => 1 - point.interval[0]));
    const rate = axis("Wrong of those let through", { range: [0, Math.min(1, highest * 1.08)], tickformat: ".0%" });
    return Plotly.react(box, [band, curve, ...spots], layout(shares("Let through without a person"), rate), QUIET);
  }

  function exploreThresholds(history) {
    const slider = document.getElementById("threshold");
    const start = history.points.findIndex((point) => point.threshold === history.current);
    slider.value = start >= 0 ? start : Math.floor(history.points.length / 2);
    const box = document.getElementById("threshold-chart");
    function tell() {
      const point = history.points[slider.value];
      document.getElementById("threshold-value").textContent = `${+(point.threshold * 100).toFixed(2)}%`;
      slider.setAttribute("aria-valuetext", `${+(point.threshold * 100).toFixed(2)}%`);
      document.getElementById("threshold-told").textContent = point.told;
    }
    tell();
    slider.addEventListener("input", () => { tell(); drawThresholds(box, history, slider.value); });
    show("threshold-chart", (chart) => drawThresholds(chart, history, slider.value));
  }

  function series(answers, key, tone, symbol, name) {
    return {
      type: "scatter", mode: "markers", name, x: answers.map((one) => one.at), y: answers.map((one) => one[key]),
      hovertemplate: `${name} %{y:.0%}<br>%{x|%d %b %H:%M}<extra></extra>`,
      marker: { color: colour(tone), symbol, size: 6, opacity: 0.45 },
    };
  }

  function mean(answers, values, tone, dash, name) {
    return { type: "scatter", mode: "lines", name: `${name}, mean of 15`, x: answers.map((one) => one.at), y: values, hoverinfo: "skip", line: { color: colour(tone), width: 2, dash } };
  }

  function drawOverTime(box, shown) {
    const traces = [
      series(shown.answers, "said", "--s", "circle", "said"), series(shown.answers, "shown", "--g", "diamond", "shown"),
      mean(shown.answers, shown.saidMeans, "--s", "dot", "said"), mean(shown.answers, shown.shownMeans, "--g", "solid", "shown"),
    ];
    const days = axis("", { nticks: 5, tickformatstops: [{ dtickrange: [null, 86399999], value: "%H:%M" }, { dtickrange: [86400000, null], value: "%-d %b" }] });
    const legend = { showlegend: true, legend: { orientation: "h", y: -0.14, font: { size: 12, color: colour("--soft") } } };
    return Plotly.react(box, traces, layout(days, shares(""), legend), QUIET);
  }

  function drawScatter(box, shown) {
    const points = {
      type: "scatter", mode: "markers", cliponaxis: false, x: shown.answers.map((one) => one.said), y: shown.answers.map((one) => one.shown),
      text: shown.answers.map((one) => (one.wide ? "a wide gap" : "close")),
      hovertemplate: "said %{x:.0%}, showed %{y:.0%}: %{text}<extra></extra>",
      marker: {
        size: 8, opacity: 0.7, symbol: shown.answers.map((one) => (one.wide ? "diamond-open" : "circle")),
        color: shown.answers.map((one) => colour(one.wide ? "--bad" : "--g")),
      },
    };
    return Plotly.react(box, [diagonal(), points], layout(shares("What it said"), shares("What its evidence showed")), QUIET);
  }

  const bins = data("reliability-data");
  if (bins) show("reliability-chart", (box) => drawReliability(box, bins), (point) => point.curveNumber === 1 && bins[point.pointIndex].url);
  const history = data("threshold-data");
  if (history) exploreThresholds(history);
  const shown = data("shown-data");
  if (shown) {
    const url = (point) => shown.answers[point.pointIndex].url;
    show("shown-time", (box) => drawOverTime(box, shown), url);
    show("shown-scatter", (box) => drawScatter(box, shown), (point) => (point.curveNumber === 1 ? url(point) : null));
  }
})();
