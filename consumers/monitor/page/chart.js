// One panel: lines over time, with axes, a band for what was put together, and a cursor for mouse, finger and keys.
import { element, figure, moment } from "./words.js";
import { nearest, scale, times } from "./scales.js";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 132;
const LEFT = 38, RIGHT = 10, TOP = 8, BOTTOM = 20;
const [TIME, VALUE, LOW, HIGH, VERSION] = [0, 1, 2, 3, 4];

export class Chart {
  // `moved` is given the time under the cursor, or null.
  constructor(panel, moved) {
    this.panel = panel;
    this.moved = moved;
    this.lines = [];
    this.values = panel.lines.map((line, i) => element("span", { class: `value line${i}` }, "–"));
    this.note = element("p", { class: "note" }, panel.note);
    this.svg = svg("svg", {
      tabindex: 0, role: "slider", "aria-label": `${panel.title} over time`, "aria-orientation": "horizontal",
      "aria-valuemin": 0, "aria-valuemax": 0, "aria-valuenow": 0, "aria-valuetext": "not measured yet", height: HEIGHT,
    });
    const values = panel.lines.map((line, i) =>
      element("span", { class: "reading" }, line.label ? element("span", { class: `key line${i}` }, line.label) : null, this.values[i]));
    this.figure = element("figure", { class: "card" },
      element("figcaption", {}, element("h3", {}, panel.title), element("p", { class: "readings" }, ...values)), this.note, this.svg);
    this.svg.addEventListener("pointermove", event => this.moved(this.at(event)));
    this.svg.addEventListener("pointerdown", event => this.moved(this.at(event)));
    this.svg.addEventListener("pointerleave", event => event.pointerType === "mouse" && this.moved(null));
    this.svg.addEventListener("keydown", event => this.key(event));
    this.svg.addEventListener("blur", () => this.moved(null));
  }

  draw(points, range) {
    const width = this.figure.clientWidth - 2 * parseFloat(getComputedStyle(this.figure).paddingLeft) || 300;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.lines = this.panel.lines.map(line => within(points.get(line.name) || [], range));
    const all = this.lines.flat();
    this.x = null;
    if (!range || !all.length) {
      this.svg.replaceChildren(svg("text", { x: width / 2, y: HEIGHT / 2, class: "empty" }, "not measured yet"));
      return;
    }
    const [first, last] = range[0] < range[1] ? range : [range[0] - 1, range[1]];
    const y = scale(Math.min(...all.map(p => p[LOW])), Math.max(...all.map(p => p[HIGH])), this.panel.form);
    this.range = [first, last];
    this.x = time => LEFT + (time - first) / (last - first) * (width - LEFT - RIGHT);
    this.y = value => TOP + (y.high - value) / (y.high - y.low) * (HEIGHT - TOP - BOTTOM);
    this.marks = svg("g", { class: "marks" });
    this.svg.replaceChildren(...this.grid(y, width), ...this.lines.flatMap((line, i) => this.line(line, i)), this.marks);
    this.svg.setAttribute("aria-valuemax", Math.max(0, this.lines[0].length - 1));
  }

  grid(y, width) {
    const level = y.ticks.flatMap(value => [
      svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: this.y(value), y2: this.y(value) }),
      svg("text", { class: "tick end", x: LEFT - 6, y: this.y(value) + 3.5 }, figure(value, y.form)),
    ]);
    const upright = times(...this.range, (width - LEFT) / 74).map(({ time, words }) => {
      const x = this.x(time);
      const side = x < LEFT + 18 ? "start" : x > width - RIGHT - 18 ? "end" : "middle";
      return svg("text", { class: `tick ${side}`, x, y: HEIGHT - 5 }, words);
    });
    return [...level, ...upright];
  }

  line(points, i) {
    if (!points.length) return [];
    const at = (point, what) => `${this.x(point[TIME]).toFixed(1)},${this.y(point[what]).toFixed(1)}`;
    const [last] = points.slice(-1);
    const made = [
      svg("polyline", { class: `curve line${i}`, points: points.map(p => at(p, VALUE)).join(" ") }),
      svg("circle", { class: `dot line${i}`, cx: this.x(last[TIME]), cy: this.y(last[VALUE]), r: 3 }),
    ];
    if (points.some(p => p[HIGH] > p[LOW])) {
      const edge = [...points.map(p => at(p, HIGH)), ...points.toReversed().map(p => at(p, LOW))];
      made.unshift(svg("polygon", { class: `band line${i}`, points: edge.join(" ") }));
    }
    return made;
  }

  // The readings under the cursor, or the newest ones: of rates that over the last groups, one version has few.
  point(time, rates = {}) {
    this.marks?.replaceChildren();
    const found = this.lines.map(line => (time === null ? line.at(-1) : line[nearest(line, time)]));
    found.forEach((point, i) => {
      const { name } = this.panel.lines[i];
      const value = time === null && name in rates ? rates[name] ?? undefined : point?.[VALUE];
      this.values[i].textContent = figure(value, this.panel.form);
    });
    const one = found.find(Boolean);
    const version = one && one[VERSION] !== null ? `, policy ${one[VERSION]}` : "";
    this.note.textContent = time === null || !one ? this.panel.note : moment(one[TIME]) + version;
    if (!one || !this.x) return;
    const said = this.panel.lines.map((line, i) => `${line.label} ${this.values[i].textContent}`.trim()).join(", ");
    this.svg.setAttribute("aria-valuenow", Math.max(0, this.lines[0].indexOf(one)));
    this.svg.setAttribute("aria-valuetext", `${said} at ${moment(one[TIME])}${version}`);
    if (time === null) return;
    const x = this.x(one[TIME]);
    this.marks.append(svg("line", { class: "cursor", x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }));
    found.forEach((p, i) => p && this.marks.append(
      svg("circle", { class: `dot line${i}`, cx: this.x(p[TIME]), cy: this.y(p[VALUE]), r: 4 })));
    this.time = one[TIME];
  }

  at(event) {
    if (!this.x) return null;
    const box = this.svg.getBoundingClientRect();
    const width = this.svg.viewBox.baseVal.width;
    const share = ((event.clientX - box.left) / box.width * width - LEFT) / (width - LEFT - RIGHT);
    return this.range[0] + Math.min(1, Math.max(0, share)) * (this.range[1] - this.range[0]);
  }

  key(event) {
    const line = this.lines[0] || [];
    const now = nearest(line, this.time ?? Infinity);
    const page = Math.max(1, Math.round(line.length / 10));
    const to = {
      ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1,
      PageDown: now - page, PageUp: now + page, Home: 0, End: line.length - 1,
    }[event.key];
    if (event.key === "Escape") this.moved(null);
    if (to === undefined || !line.length) return;
    event.preventDefault();
    this.moved(line[Math.min(line.length - 1, Math.max(0, to))][TIME]);
  }
}

function svg(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// The points of a range, and the one before, so that the line enters from the left.
function within(points, range) {
  if (!range) return [];
  const begin = points.findIndex(point => point[TIME] >= range[0]);
  return begin < 0 ? [] : points.slice(begin);
}
