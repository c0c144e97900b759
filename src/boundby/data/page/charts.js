/* Charts: each takes the values as they are given and says how ECharts draws them. */
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif';
const drawn = [];

const axisStyle = () => ({
  axisLine: { show: false }, axisTick: { show: false },
  axisLabel: { color: style("--soft"), fontFamily: FONT, fontSize: 12, hideOverlap: true },
  nameTextStyle: { color: style("--soft"), fontFamily: FONT, fontSize: 12 },
  splitLine: { showMaxLine: false, lineStyle: { color: style("--line") } },
});
const tooltip = (lines) => ({
  confine: true, backgroundColor: style("--sheet"), borderColor: style("--soft"), padding: [5, 9], renderMode: "html",
  textStyle: { color: style("--ink"), fontFamily: FONT, fontSize: 12.5 }, extraCssText: "white-space:normal;max-width:420px;overflow-wrap:anywhere",
  formatter: (params) => {
    const box = element("div");
    lines(Array.isArray(params) ? params[0] : params).filter(Boolean).forEach((line, at) => box.append(element(at ? "div" : "b", line)));
    return box;
  },
});
const base = () => ({ animation: false, textStyle: { fontFamily: FONT, color: style("--ink") } });
const shorten = (text, most) => (text.length <= most ? text : `${text.slice(0, Math.ceil(most / 2) - 1)}…${text.slice(text.length - Math.floor(most / 2))}`);
/* A text in so many pixels; the middle goes, since names differ at their ends. */
const fitted = (text, room) => { let most = text.length; while (most > 6 && widest([shorten(text, most)]) > room) most -= 1; return shorten(text, most); };
const ruler = document.createElement("canvas").getContext("2d");
const widest = (texts) => { ruler.font = `12.5px ${FONT}`; return Math.max(0, ...texts.map((text) => ruler.measureText(text).width)); };
const nameRoom = (rows, width) => Math.min(widest(rows.map((row) => row.name)) + 16, Math.max(width * 0.36, 100));
const textRoom = (rows) => widest(rows.map((row) => row.text || "")) + 22;

const names = (rows, width) => ({
  ...axisStyle(), type: "category", inverse: true, data: rows.map((row) => row.name),
  axisLabel: { color: style("--ink"), fontFamily: FONT, fontSize: 12.5, interval: 0, formatter: (name) => fitted(name, nameRoom(rows, width) - 10) },
});
const amounts = (spec, most) => ({ ...axisStyle(), type: "value", min: 0, max: most, name: spec.axis, nameLocation: "middle", nameGap: 26, splitNumber: 4, axisLabel: { ...axisStyle().axisLabel, showMaxLabel: false } });

/* Indices of the dots whose names can be written below them without covering each other; the largest come first. */
function namesApart(dots, radius, [left, right, wide], [bottom, top, high]) {
  const taken = [], named = new Set(), part = (value, low, most) => Math.log10(value / low) / Math.log10(most / low);
  for (const dot of [...dots].sort((a, b) => b.size - a.size)) {
    const half = widest([shorten(dot.name, 26)]) / 2, x = part(dot.x, left, right) * wide, y = high - part(dot.y, bottom, top) * high + radius(dot) / 2 + 9;
    if (taken.every((other) => Math.abs(other.x - x) > other.half + half + 4 || Math.abs(other.y - y) > 14)) { taken.push({ x, y, half }); named.add(dots.indexOf(dot)); }
  }
  return named;
}

const CHARTS = {
  /* Bars that start at 0 or, as the parts of a waterfall, where the part before them ends. */
  bars(spec, width) {
    const { rows } = spec, reach = Math.max(...rows.map((row) => (row.from || 0) + row.size), 0);
    const beside = textRoom(rows), room = Math.max(width - nameRoom(rows, width) - beside, 60);
    return {
      ...base(), grid: { left: nameRoom(rows, width), right: beside, top: 6, bottom: 44 },
      xAxis: amounts(spec, spec.most || reach * 1.0001 || 1), yAxis: names(rows, width),
      tooltip: tooltip((p) => [rows[p.dataIndex].name, rows[p.dataIndex].text, rows[p.dataIndex].hint]),
      series: [
        { type: "bar", stack: "all", silent: true, itemStyle: { color: "transparent" }, data: rows.map((row) => row.from || 0) },
        {
          type: "bar", stack: "all", barMaxWidth: 22, barMinHeight: Math.min(2, room),
          data: rows.map((row) => ({ value: row.size, itemStyle: { color: colour(row.group), borderRadius: 2 } })),
          label: { show: false },
        },
        // The figures stand in a column of their own, so that none is clipped or covered.
        {
          type: "scatter", silent: true, symbolSize: 0.01, data: rows.map((row) => [(spec.most || reach * 1.0001 || 1), row.name]), clip: false,
          label: { show: true, position: "right", distance: 8, color: style("--ink"), fontFamily: FONT, fontSize: 12.5, formatter: (p) => rows[p.dataIndex].text },
        },
      ],
    };
  },
  /* An estimate with its range, beside the step of today. */
  ranges(spec, width) {
    const { rows } = spec, most = Math.max(spec.now || 0, ...rows.map((row) => row.high)) * 1.02 || 1;
    const beside = textRoom(rows);
    return {
      ...base(), grid: { left: nameRoom(rows, width), right: beside, top: 26, bottom: 44 },
      xAxis: amounts(spec, most), yAxis: names(rows, width),
      tooltip: tooltip((p) => [rows[p.dataIndex].name, rows[p.dataIndex].text, rows[p.dataIndex].hint]),
      series: [
        { type: "bar", stack: "all", silent: true, itemStyle: { color: "transparent" }, data: rows.map((row) => row.low) },
        {
          type: "bar", stack: "all", barWidth: 7, barMinHeight: 1, itemStyle: { color: "#56B4E9", borderRadius: 3, opacity: 0.75 }, data: rows.map((row) => row.high - row.low),
          markLine: spec.now ? {
            symbol: "none", silent: true, precision: 12, lineStyle: { color: style("--soft"), type: "dashed" }, data: [{ xAxis: spec.now }],
            label: { formatter: `now ${spec.now_text}`, position: "start", color: style("--soft"), fontFamily: FONT, fontSize: 12 },
          } : undefined,
        },
        { type: "scatter", symbol: "diamond", symbolSize: 11, itemStyle: { color: style("--ink"), borderColor: style("--paper"), borderWidth: 1 }, data: rows.map((row) => [row.value, row.name]) },
        {
          type: "scatter", silent: true, symbolSize: 0.01, data: rows.map((row) => [most, row.name]), clip: false,
          label: { show: true, position: "right", distance: 8, color: style("--ink"), fontFamily: FONT, fontSize: 12.5, formatter: (p) => rows[p.dataIndex].text },
        },
      ],
    };
  },
  /* Both roofs on logarithmic axes, and what stands under them. */
  roofline(spec, width) {
    const { dots, roofs, memory_gbs: bandwidth } = spec;
    const ridges = roofs.map((roof) => (roof.tflops * 1e3) / bandwidth);
    const left = 10 ** Math.floor(Math.log10(Math.min(...dots.map((dot) => dot.x), ...ridges, 1) * 0.8));
    const right = 10 ** Math.ceil(Math.log10(Math.max(...dots.map((dot) => dot.x), ...ridges.map((at) => at * 3)) * 1.2));
    const top = 10 ** Math.ceil(Math.log10(Math.max(...roofs.map((roof) => roof.tflops)) * 1.3));
    const bottom = 10 ** Math.floor(Math.log10(Math.min(...dots.map((dot) => dot.y), (bandwidth * left) / 1e3) * 0.8));
    const most = Math.max(...dots.map((dot) => dot.size), 1e-9);
    const log = (title, low, high, gap) => ({
      ...axisStyle(), type: "log", min: low, max: high, name: title, nameLocation: "middle", nameGap: gap,
      axisLabel: { ...axisStyle().axisLabel, formatter: (v) => (v >= 1e4 || v < 1e-3 ? v.toExponential(0).replace("+", "") : `${+v.toPrecision(1)}`) },
    });
    const line = (data, text, type) => ({
      type: "line", silent: true, symbol: "none", data, lineStyle: { color: style("--soft"), width: 1.5, type }, z: 1,
      markPoint: { silent: true, symbolSize: 0.01, data: [{ coord: data[data.length - 1], label: { show: true, position: [-4, -3], align: "right", verticalAlign: "bottom", color: style("--soft"), backgroundColor: style("--paper"), padding: [1, 3], fontFamily: FONT, fontSize: 11.5, formatter: text } }] },
    });
    const radius = (dot) => 6 + 26 * Math.sqrt(dot.size / most);
    const named = namesApart(dots, radius, [left, right, width - 86], [bottom, top, 336]);
    const steepest = Math.max(...ridges), atSlope = Math.sqrt(left * Math.min(...ridges));
    return {
      ...base(), grid: { left: 66, right: 20, top: 18, bottom: 46 },
      xAxis: log(width < 560 ? "FLOP per byte" : "arithmetic intensity, FLOP per byte (at most)", left, right, 28), yAxis: log("TFLOP/s", bottom, top, 46),
      tooltip: tooltip((p) => (p.data.dot ? [p.data.dot.name, p.data.dot.text, p.data.dot.hint] : [])),
      legend: { show: false },
      series: [
        {
          ...line([[left, (bandwidth * left) / 1e3], [steepest, (bandwidth * steepest) / 1e3]], "", "solid"),
          markPoint: { silent: true, symbolSize: 0.01, data: [{ coord: [atSlope, (bandwidth * atSlope) / 1e3], label: { show: true, position: [-8, -8], align: "right", verticalAlign: "bottom", color: style("--soft"), fontFamily: FONT, fontSize: 12, formatter: spec.memory_text } }] },
        },
        ...roofs.map((roof, at) => line([[ridges[at], roof.tflops], [right, roof.tflops]], roof.text, at ? "dashed" : "solid")),
        {
          type: "scatter", z: 3, data: dots.map((dot) => ({ value: [dot.x, dot.y], dot, symbol: dot.limit === "compute" ? "circle" : dot.limit === "memory" ? "rect" : "triangle" })),
          symbolSize: (_, p) => radius(p.data.dot),
          itemStyle: { color: (p) => colour(p.data.dot.limit), opacity: 0.8, borderColor: style("--paper"), borderWidth: 1 },
          label: { show: true, position: "bottom", color: style("--ink"), fontFamily: FONT, fontSize: 11.5, formatter: (p) => (named.has(p.dataIndex) ? shorten(p.data.dot.name, 26) : "") },
        },
      ],
    };
  },
  /* Curves over a common axis, steps between the points; marks above it. */
  curve(spec, width) {
    const parts = layers(spec), tone = (each, at) => (parts.length && !at ? style("--ink") : colour(each.group)), top = 24 + 22 * legendRows([...parts, ...spec.series], width - 74);
    const last = spec.x.length - 1, whole = last ? (spec.x[last] - spec.x[0]) / last : 1, end = spec.x[last] + (spec.ends ? whole : 0);
    const mark = (at, text, tone) => ({ xAxis: spec.x[at], label: { formatter: text, color: tone, fontFamily: FONT, fontSize: 12 }, lineStyle: { color: tone, type: "dashed" } });
    return {
      ...base(), grid: { left: 62, right: 24, top, bottom: 46 },
      legend: { top: 0, left: 50, icon: "roundRect", itemWidth: 14, itemHeight: 8, selectedMode: false, textStyle: { color: style("--ink"), fontFamily: FONT, fontSize: 12.5 } },
      xAxis: { ...axisStyle(), type: "value", minInterval: 1, min: spec.x[0], max: end, name: spec.axis, nameLocation: "middle", nameGap: 28, axisLabel: { ...axisStyle().axisLabel, showMaxLabel: false } },
      yAxis: { ...axisStyle(), type: "value", min: 0, name: spec.unit, nameLocation: "middle", nameGap: 44 },
      tooltip: { ...tooltip((p) => spec.hints[Math.min(p.dataIndex, last)]), trigger: "axis", axisPointer: { type: "line", lineStyle: { color: style("--soft") } } },
      series: [...parts, ...spec.series.map((each, at) => ({
        name: each.name, type: "line", step: "end", symbol: "none", data: [...spec.x.map((x, i) => [x, each.values[i]]), ...(spec.ends ? [[end, each.values[last]]] : [])],
        lineStyle: { width: at ? 1.5 : 1, type: at ? "dashed" : "solid", color: tone(each, at) }, itemStyle: { color: tone(each, at) },
        areaStyle: at || parts.length ? undefined : { color: colour(each.group), opacity: 0.35 },
        markLine: at ? undefined : { symbol: "none", silent: true, precision: 12, data: spec.marks.map((each_) => mark(each_.at, each_.text, each_.bad ? style("--fatal") : style("--ink"))) },
      }))],
    };
  },
};
/* Lines that a legend takes in so many pixels: one after the other, as ECharts lays them out. */
function legendRows(entries, room) {
  let rows = 1, at = 0;
  for (const each of entries) { const wide = widest([each.name]) + 30; if (at && at + wide > room) { rows += 1; at = 0; } at += wide; }
  return rows;
}
/* Parts of a curve as areas on top of each other: the sum of all is drawn first, the lowest part last. */
function layers(spec) {
  const sums = spec.x.map(() => 0);
  return (spec.parts || []).map((each) => ({
    name: each.name, type: "line", step: "end", symbol: "none", silent: true, data: spec.x.map((x, i) => [x, (sums[i] += each.values[i])]),
    lineStyle: { width: 0 }, itemStyle: { color: colour(each.group) }, areaStyle: { color: colour(each.group), opacity: 1 },
  })).reverse();
}

function drawChart(place, spec) {
  const width = place.clientWidth;
  const chart = echarts.init(place, null, { renderer: "svg", width, height: place.clientHeight });
  chart.setOption({ ...CHARTS[spec.kind](spec, width), aria: { enabled: false } });
  drawn.push({ place, spec, chart, width });
  place.dataset.drawn = "yes";
}
function redrawCharts(width) {
  for (const each of drawn) {
    each.width = width || each.place.clientWidth;
    each.chart.resize({ width: each.width, height: each.place.clientHeight });
    each.chart.setOption({ ...CHARTS[each.spec.kind](each.spec, each.width), aria: { enabled: false } }, { notMerge: true });
  }
}
