/* Colours, units and small helpers that charts, lanes and tables share. */
const PALETTE = {
  // What the host or a gap is about; told apart also by people who see few colours.
  data: ["#E69F00", "data loading"], sync: ["#D55E00", "wait for the device"], python: ["#AA4499", "Python"],
  submission: ["#C9B037", "submission"], launch: ["#A98F14", "launch call"], op: ["#DDCB77", "operator"], call: ["#B9B3A0", "other call"],
  allocator: ["#7A4A21", "allocator"], profiler: ["#A7A7A7", "profiler"], range: ["#C7CED6", "named range"], device: ["#C9D3DC", "the device itself"],
  compute: ["#0067AD", "compute"], memory: ["#56B4E9", "memory"], communication: ["#332288", "communication"], copy: ["#009E73", "copy"], other: ["#8C8C8C", "other"],
  // Families of kernels.
  matmul: ["#0067AD", "matmul"], convolution: ["#004477", "convolution"], attention: ["#332288", "attention"], elementwise: ["#56B4E9", "elementwise"],
  reduction: ["#88CCEE", "reduction"], softmax: ["#9BB7E0", "softmax"], norm: ["#6C8EBF", "norm"], index: ["#44AA99", "index"], sort: ["#2F7F73", "sort"],
  cast: ["#B5D9C7", "cast"], memset: ["#CFCFCF", "memset"], optimizer: ["#999933", "optimizer"], random: ["#DDAA99", "random"], transfer: ["#009E73", "host copy"],
  fft: ["#117733", "fft"], unknown: ["#8C8C8C", "unknown"], used: ["#0067AD", "in use"], free: ["#C9D3DC", "free"], step: ["#0067AD", "step"],
};
/* Lighter shades of what is too dark to be seen on a dark page. */
const ON_DARK = {
  compute: "#3D9BE0", matmul: "#3D9BE0", convolution: "#5B84D8", attention: "#9A8CF0", communication: "#9A8CF0", used: "#3D9BE0", step: "#3D9BE0",
  memory: "#A9DDF8", elementwise: "#A9DDF8", reduction: "#D3EEFB", allocator: "#B57B48", fft: "#43A862", index: "#44AA99", sort: "#3FA095", python: "#C763B4", launch: "#C0A51E",
};
let onDark = false;
const colour = (key) => (onDark && ON_DARK[key]) || (PALETTE[key] || PALETTE.unknown)[0];
const meaning = (key) => (PALETTE[key] || [0, key])[1];
const isLight = (hex) => {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return r * 0.299 + g * 0.587 + b * 0.114 > 140;
};
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const lookAtPaper = () => { onDark = !isLight(style("--paper")); };
const element = (tag, text, className) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
};
const digits = (value) => {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 99.95) return value.toFixed(0);
  if (size >= 9.995) return value.toFixed(1);
  if (size >= 0.9995) return value.toFixed(2);
  return size >= 0.09995 ? value.toFixed(3) : value.toPrecision(2);
};
/* A time in ns, in the unit that its size (or that of `like`) asks for. */
const timeText = (ns, like = ns) => {
  const size = Math.abs(like);
  if (size >= 0.9995e9) return `${digits(ns / 1e9)} s`;
  return size >= 0.9995e6 ? `${digits(ns / 1e6)} ms` : `${digits(ns / 1e3)} us`;
};
const bytesText = (count) => {
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) if (count >= size) return `${digits(count / size)} ${unit}`;
  return `${count} bytes`;
};
