/* Lanes of events over a common axis (time or bytes): drawn on a canvas, so that tens of thousands move smoothly. */
const AXIS = 24, GAP = 6, BAR = 16, LEVELS_SHOWN = 8, LEAST_SPAN = 20;

class Lanes {
  constructor(root, data) {
    this.root = root; this.data = data;
    this.canvas = root.querySelector("canvas"); this.pen = this.canvas.getContext("2d");
    this.hover = root.querySelector(".hover"); this.detail = root.querySelector(".detail");
    this.view = [0, data.length]; this.allLevels = false; this.dimmed = null; this.wanted = "";
    this.tracks = data.tracks.map((track) => this.unpack(track));
    this.selected = null;
    this.addLegend(); this.addTools(); this.addPointer(); this.addKeys();
    this.resize();
  }

  /* Columns as typed arrays; rows of one level do not overlap, so each can be searched. */
  unpack(track) {
    const count = track.d.length, start = new Float64Array(count), end = new Float64Array(count);
    let at = 0;
    for (let i = 0; i < count; i += 1) { at += track.s[i]; start[i] = at; end[i] = at + track.d[i]; }
    const levels = Array.from({ length: track.levels || 1 }, () => []);
    for (let i = 0; i < count; i += 1) levels[track.l ? track.l[i] : 0].push(i);
    return { ...track, start, end, levels: levels.map((rows) => Int32Array.from(rows)) };
  }

  /* ---- Layout ---- */

  resize(width) {
    for (const track of this.tracks) { track.fills = track.kinds.map(colour); track.inks = track.fills.map((fill) => (isLight(fill) ? "#111" : "#fff")); }
    for (const swatch of this.root.querySelectorAll(".legend i")) swatch.style.background = colour(swatch.dataset.key);
    this.width = width || this.canvas.parentNode.clientWidth;
    this.left = this.width < 620 ? 0 : 132;
    let top = AXIS;
    for (const track of this.tracks) {
      track.shown = this.allLevels ? track.levels.length : Math.min(track.levels.length, LEVELS_SHOWN);
      track.bar = track.height || BAR;
      track.top = top + (this.left ? 0 : 15);
      top = track.top + track.shown * track.bar + GAP;
    }
    if (this.data.depth) { this.depthTop = top + (this.left ? 4 : 17); top = this.depthTop + 46 + GAP; }
    this.height = top + 2;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * ratio); this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.height = `${this.height}px`;
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.draw();
  }
  get room() { return this.width - this.left - 2; }
  x(at) { return this.left + ((at - this.view[0]) / (this.view[1] - this.view[0])) * this.room; }
  at(x) { return this.view[0] + ((x - this.left) / this.room) * (this.view[1] - this.view[0]); }
  text(value, like) { return this.data.unit === "bytes" ? bytesText(Math.round(value)) : timeText(value, like); }

  ask() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; this.draw(); });
  }

  /* ---- Drawing ---- */

  draw() {
    const began = performance.now(), { pen } = this;
    pen.clearRect(0, 0, this.width, this.height);
    pen.font = `11.5px ${FONT}`; pen.textBaseline = "middle"; pen.textAlign = "left";
    this.soft = style("--soft");
    this.drawAxis();
    pen.save();
    pen.beginPath(); pen.rect(this.left, 0, this.width - this.left, this.height); pen.clip();
    for (const track of this.tracks) for (let level = 0; level < track.shown; level += 1) this.drawLevel(track, level);
    if (this.data.depth) this.drawDepth();
    this.drawSelected();
    pen.restore();
    this.drawNames();
    this.root.dataset.drawMs = (performance.now() - began).toFixed(1);
    this.root.dataset.view = this.view.map(Math.round).join(" ");
  }
  ticks() {
    const span = this.view[1] - this.view[0], rough = span / Math.max(Math.floor(this.room / 110), 2);
    const bytes = this.data.unit === "bytes";
    const power = bytes ? 2 ** Math.floor(Math.log2(rough)) : 10 ** Math.floor(Math.log10(rough));
    const step = power * ((bytes ? [1, 2, 4] : [1, 2, 5, 10]).find((m) => power * m >= rough) || 10);
    const found = [];
    for (let at = Math.ceil(this.view[0] / step) * step; at <= this.view[1]; at += step) found.push(at);
    return [found, step];
  }
  drawAxis() {
    const { pen } = this, [ticks, step] = this.ticks(), soft = style("--soft"), line = style("--line");
    let last = -1e9;
    for (const at of ticks) {
      const x = this.x(at), text = this.tickText(at, step), size = pen.measureText(text).width;
      pen.fillStyle = line; pen.fillRect(Math.round(x), AXIS - 6, 1, this.height - AXIS);
      if (x + size + 4 < this.width && x > last) { pen.fillStyle = soft; pen.fillText(text, x + 4, 10); last = x + size + 16; }
    }
  }
  tickText(at, step) {
    if (this.data.unit === "bytes") return bytesText(at);
    const [unit, size] = this.view[1] >= 0.9995e9 ? ["s", 1e9] : this.view[1] >= 0.9995e6 ? ["ms", 1e6] : ["us", 1e3];
    const places = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
    return `${(at / size).toFixed(Math.min(places, 6))} ${unit}`;
  }
  momentText(ns) {
    const [unit, size] = this.data.length >= 0.9995e9 ? ["s", 1e9] : this.data.length >= 0.9995e6 ? ["ms", 1e6] : ["us", 1e3];
    return `${(ns / size).toFixed(size === 1e9 ? 6 : 3)} ${unit}`;
  }
  /* First row of a level that ends after a time. */
  first(track, rows, time) {
    let low = 0, high = rows.length;
    while (low < high) { const middle = (low + high) >> 1; if (track.end[rows[middle]] <= time) low = middle + 1; else high = middle; }
    return low;
  }
  drawLevel(track, level) {
    const { pen, left, view: [low, high] } = this, rows = track.levels[level], scale = this.room / (high - low);
    const top = track.top + level * track.bar, tall = track.bar - 1, edge = this.width + 2, plain = !this.dimmed && !this.hits && !track.o;
    const least = track.says ? 0.06 : 0.3;  // how faint a nearly empty pixel is; idle time must not look longer than it is
    let pixel = -1, filled = 0, widest = 0, most = 0, lit = 1, drawn = -1, alpha = 1;
    const paint = (kind, seen) => {
      if (seen !== alpha) { alpha = seen; pen.globalAlpha = seen; }
      if (kind !== drawn) { drawn = kind; pen.fillStyle = track.fills[kind]; }
    };
    const flush = () => {
      if (pixel < 0) return;
      paint(most, lit * Math.min(least + (1 - least) * filled, 1));
      pen.fillRect(pixel, top, 1, tall);
      pixel = -1; filled = 0; widest = 0;
    };
    pen.globalAlpha = 1;
    for (let at = this.first(track, rows, low); at < rows.length; at += 1) {
      const row = rows[at];
      if (track.start[row] >= high) break;
      const from = Math.max(left + (track.start[row] - low) * scale, left - 2);
      const wide = Math.min(left + (track.end[row] - low) * scale, edge) - from, kind = track.k[row];
      const seen = plain ? 1 : this.isFaint(track, row, track.kinds[kind]) ? 0.16 : track.o && !track.o[row] ? 0.42 : 1;
      if (wide < 1) {  // all that share a pixel are drawn as one: the longest, as dense as they fill it
        const here = from | 0;
        if (here !== pixel) { flush(); pixel = here; lit = seen; }
        filled += wide;
        if (wide > widest) { widest = wide; most = kind; }
        lit = Math.max(lit, seen);
        continue;
      }
      flush();
      paint(kind, seen);
      pen.fillRect(from, top, wide > 3 ? wide - 0.6 : wide, tall);
      if (wide > 34 && tall > 10) {
        pen.fillStyle = alpha < 0.5 ? this.soft : track.inks[kind];
        pen.fillText(this.name(track, row).slice(0, Math.floor((wide - 8) / 6.5)), from + 4, top + tall / 2 + 0.5);
        drawn = -1;
      }
    }
    flush();
    pen.globalAlpha = 1;
  }
  isFaint(track, row, key) {
    if (this.dimmed && this.dimmed !== key) return true;
    return Boolean(this.hits) && !this.hits.has(track.n[row]);
  }
  drawDepth() {
    const { pen, data: { depth } } = this, top = this.depthTop, high = 46, most = Math.max(depth.most, 1);
    const y = (value) => top + high - (value / most) * (high - 4);
    pen.beginPath();
    let low = 0, end = depth.t.length;
    while (low < end) { const middle = (low + end) >> 1; if (depth.t[middle] <= this.view[0]) low = middle + 1; else end = middle; }
    let value = low ? depth.v[low - 1] : 0;
    pen.moveTo(this.left, top + high); pen.lineTo(this.left, y(value));
    for (let i = low; i < depth.t.length && depth.t[i] < this.view[1]; i += 1) { const x = this.x(depth.t[i]); pen.lineTo(x, y(value)); value = depth.v[i]; pen.lineTo(x, y(value)); }
    const last = Math.min(this.x(this.data.length), this.width);
    pen.lineTo(last, y(value)); pen.lineTo(last, top + high); pen.closePath();
    pen.fillStyle = "#6C8EBF55"; pen.fill(); pen.strokeStyle = "#6C8EBF"; pen.lineWidth = 1; pen.stroke();
  }
  drawNames() {
    const { pen } = this, label = (text, top, tone, isBold) => {
      pen.font = `${isBold ? "600 " : ""}12px ${FONT}`; pen.fillStyle = tone;
      let shown = text;
      while (shown.length > 4 && this.left && pen.measureText(shown).width > this.left - 12) shown = `${shown.slice(0, -2).trimEnd()}…`;
      pen.fillText(shown, 6, top);
    };
    if (this.left) { pen.fillStyle = style("--sheet"); pen.fillRect(0, 0, this.left - 1, this.height); pen.fillStyle = style("--line"); pen.fillRect(this.left - 1, 0, 1, this.height); }
    for (const track of this.tracks) {
      label(track.name, this.left ? track.top + track.bar / 2 : track.top - 7, style("--ink"), true);
      if (this.left && track.note && track.shown > 1) label(track.note, track.top + track.bar * 1.5, style("--soft"));
    }
    if (this.data.depth) {
      const most = `up to ${this.data.depth.most} launch${this.data.depth.most === 1 ? "" : "es"}`;
      label(this.left ? "queue depth" : `queue depth, ${most}`, this.left ? this.depthTop + 8 : this.depthTop - 7, style("--ink"), true);
      if (this.left) label(most, this.depthTop + 24, style("--soft"));
    }
  }
  box(track, row) {
    const level = track.l ? track.l[row] : 0;
    return [this.x(track.start[row]), track.top + level * track.bar, this.x(track.end[row]), track.bar - 1];
  }
  drawSelected() {
    if (!this.selected) return;
    const { pen } = this, [track, row] = this.selected, ink = style("--ink");
    const [from, top, to, high] = this.box(track, row);
    pen.strokeStyle = ink; pen.lineWidth = 2; pen.strokeRect(from, top, Math.max(to - from, 2), high);
    const by = this.launcher(track, row);
    if (!by) return;
    const [callFrom, callTop, , callHigh] = this.box(...by);
    pen.lineWidth = 1.2; pen.setLineDash([4, 3]); pen.beginPath(); pen.moveTo(callFrom, callTop + callHigh); pen.lineTo(from, top); pen.stroke(); pen.setLineDash([]);
  }

  /* ---- What a row is ---- */

  name(track, row) {
    const named = track.n ? track.n[row] : -1;
    return named >= 0 ? this.data.names[named] : meaning(track.kinds[track.k[row]]);
  }
  launcher(track, row) {
    if (!track.ht || track.ht[row] < 0) return null;
    const by = this.tracks[track.ht[row]], at = track.hi[row], level = by.l ? by.l[at] : 0;
    return level < by.shown ? [by, at] : null;
  }
  told(track, row) {
    const kind = track.kinds[track.k[row]], lines = [this.name(track, row)];
    const span = this.text(track.end[row] - track.start[row]);
    lines.push(this.data.unit === "bytes" ? `${meaning(kind)}, ${span} at ${this.text(track.start[row])}` : `${track.says || meaning(kind)}, ${span}, from ${this.momentText(track.start[row])}`);
    if (track.says) lines.push(`waits for: ${meaning(kind)}`);
    const from = track.ht && track.ht[row] >= 0 ? [this.tracks[track.ht[row]], track.hi[row]] : null;
    const [owner, at] = from || [track, row], around = this.around(owner, at);
    const shaped = owner.g ? around.find((each) => owner.g[each] >= 0) : undefined;
    if (shaped !== undefined) lines.push(`shapes ${this.data.shapes[owner.g[shaped]]}`);
    if (owner.p && owner.p[at] >= 0 && this.data.places[owner.p[at]] !== lines[0]) lines.push(`in ${this.data.places[owner.p[at]]}`);
    if (from) {
      const by = around.find((each) => owner.kinds[owner.k[each]] === "op");
      lines.push(`launched ${this.text(track.start[row] - owner.start[at])} before it began, by ${this.name(owner, by === undefined ? at : by)}`);
    }
    if (track.o && !track.o[row]) lines.push("launched by another step");
    return lines;
  }
  /* A row and the rows around it, from the inside out. */
  around(track, row) {
    const found = [row];
    for (let level = (track.l ? track.l[row] : 0) - 1; level >= 0; level -= 1) {
      const rows = track.levels[level], at = this.first(track, rows, track.start[row]);
      if (at < rows.length && track.start[rows[at]] <= track.start[row]) found.push(rows[at]);
    }
    return found;
  }
  hit(x, y) {
    if (x < this.left) return null;
    for (const track of this.tracks) {
      const level = Math.floor((y - track.top) / track.bar);
      if (level < 0 || level >= track.shown) continue;
      const rows = track.levels[level], slack = ((this.view[1] - this.view[0]) / this.room) * 2;
      const at = this.first(track, rows, this.at(x) - slack);
      if (at < rows.length && track.start[rows[at]] <= this.at(x) + slack) return [track, rows[at]];
    }
    return null;
  }
  select(found) {
    this.selected = found;
    this.detail.replaceChildren(...(found ? this.told(...found).map((line, at) => element(at ? "span" : "b", line)) : []));
    this.ask();
  }

  /* ---- Moving ---- */

  show(from, to) {
    const whole = this.data.length, span = Math.min(Math.max(to - from, Math.min(LEAST_SPAN, whole)), whole);
    const start = Math.min(Math.max(from, 0), whole - span);
    this.view = [start, start + span];
    this.hover.hidden = true;
    this.ask();
  }
  zoom(factor, around = (this.view[0] + this.view[1]) / 2) { this.show(around - (around - this.view[0]) * factor, around + (this.view[1] - around) * factor); }
  move(part) { const by = (this.view[1] - this.view[0]) * part; this.show(this.view[0] + by, this.view[1] + by); }
  all() { this.show(0, this.data.length); }

  addTools() {
    const act = { in: () => this.zoom(0.5), out: () => this.zoom(2), left: () => this.move(-0.25), right: () => this.move(0.25), all: () => this.all(), levels: () => { this.allLevels = !this.allLevels; this.resize(); } };
    for (const button of this.root.querySelectorAll("[data-do]")) {
      button.addEventListener("click", () => { act[button.dataset.do](); if (button.dataset.do === "levels") button.textContent = this.allLevels ? "Fewer levels" : "All levels"; });
      if (button.dataset.do === "levels") button.hidden = this.tracks.every((track) => track.levels.length <= LEVELS_SHOWN);
    }
    const find = this.root.querySelector("input");
    if (find) find.addEventListener("input", () => this.find(find.value));
  }
  find(text) {
    const wanted = text.trim().toLowerCase(), out = this.root.querySelector(".found");
    this.hits = wanted ? new Set(this.data.names.flatMap((name, at) => (name.toLowerCase().includes(wanted) ? [at] : []))) : null;
    let count = 0;
    if (this.hits) for (const track of this.tracks) if (track.n) for (const name of track.n) count += this.hits.has(name);
    out.textContent = wanted ? `${count} events` : "";
    this.ask();
  }
  addLegend() {
    const box = this.root.querySelector(".legend"), present = new Set();
    for (const track of this.tracks) { const used = new Set(track.k); for (const at of used) present.add(track.kinds[at]); }
    for (const key of present) {
      const button = element("button"), swatch = element("i");
      swatch.dataset.key = key;
      button.type = "button"; button.setAttribute("aria-pressed", "false"); button.append(swatch, meaning(key));
      button.addEventListener("click", () => {
        this.dimmed = this.dimmed === key ? null : key;
        for (const other of box.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button && this.dimmed === key));
        this.ask();
      });
      const item = element("li"); item.append(button); box.append(item);
    }
  }
  addPointer() {
    const { canvas } = this;
    let held = null;
    const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    canvas.addEventListener("pointerdown", (event) => { held = { x: at(event)[0], view: this.view, moved: false }; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = at(event);
      if (held && event.buttons) {
        const by = ((held.x - x) / this.room) * (held.view[1] - held.view[0]);
        held.moved ||= Math.abs(held.x - x) > 3;
        if (held.moved) this.show(held.view[0] + by, held.view[1] + by);
      } else this.tell(this.hit(x, y), x, y);
    });
    canvas.addEventListener("pointerup", (event) => { if (held && !held.moved) this.select(this.hit(...at(event))); held = null; });
    canvas.addEventListener("pointerleave", () => { this.hover.hidden = true; });
    canvas.addEventListener("dblclick", (event) => { const found = this.hit(...at(event)); if (found) this.showRow(...found); });
    canvas.addEventListener("wheel", (event) => {
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
      if (!sideways && !event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;  // the page scrolls on
      event.preventDefault();
      if (sideways) this.move((event.deltaX || event.deltaY) / this.room); else this.zoom(Math.exp(event.deltaY * 0.0016), this.at(at(event)[0]));
    }, { passive: false });
  }
  tell(found, x, y) {
    this.hover.hidden = !found;
    if (!found) return;
    this.hover.replaceChildren(...this.told(...found).map((line, at) => element(at ? "span" : "b", line)));
    const wide = this.hover.offsetWidth, high = this.hover.offsetHeight;
    this.hover.style.left = `${Math.max(Math.min(x + 14, this.width - wide - 6), 4)}px`;
    this.hover.style.top = `${y + high + 22 > this.height ? Math.max(y - high - 12, 2) : y + 18}px`;
  }
  showRow(track, row) {
    const around = Math.max(track.end[row] - track.start[row], LEAST_SPAN);
    this.show(track.start[row] - around * 0.6, track.end[row] + around * 0.6);
  }
  addKeys() {
    const walk = (by) => {
      const track = this.selected ? this.selected[0] : this.tracks.find((each) => each.start.length);
      if (!track) return;
      const level = this.selected && track.l ? track.l[this.selected[1]] : 0, rows = track.levels[level];
      const here = this.selected ? rows.indexOf(this.selected[1]) + by : this.first(track, rows, this.view[0]);
      if (here < 0 || here >= rows.length) return;
      this.select([track, rows[here]]);
      if (track.start[rows[here]] >= this.view[1] || track.end[rows[here]] <= this.view[0]) this.show(track.start[rows[here]] - (this.view[1] - this.view[0]) / 2, track.start[rows[here]] + (this.view[1] - this.view[0]) / 2);
    };
    const change = (by) => {
      const lines = this.tracks.flatMap((track) => track.levels.slice(0, track.shown).map((rows, level) => [track, rows, level])).filter(([, rows]) => rows.length);
      const now = this.selected ? lines.findIndex(([track, , level]) => track === this.selected[0] && level === (track.l ? track.l[this.selected[1]] : 0)) : -by;
      const next = lines[Math.min(Math.max(now + by, 0), lines.length - 1)];
      if (!next) return;
      const time = this.selected ? this.selected[0].start[this.selected[1]] : this.view[0];
      this.select([next[0], next[1][Math.min(this.first(next[0], next[1], time), next[1].length - 1)]]);
    };
    const keys = {
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), w: () => this.zoom(0.5), "-": () => this.zoom(2), s: () => this.zoom(2), 0: () => this.all(), Home: () => this.all(),
      ArrowLeft: () => this.move(-0.2), a: () => this.move(-0.2), ArrowRight: () => this.move(0.2), d: () => this.move(0.2), n: () => walk(1), p: () => walk(-1), ArrowDown: () => change(1), ArrowUp: () => change(-1),
      Enter: () => this.selected && this.showRow(...this.selected), Escape: () => this.select(null),
    };
    this.canvas.addEventListener("keydown", (event) => {
      const act = keys[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault(); act();
    });
  }
}
