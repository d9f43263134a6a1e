// Numbers and times in words, and elements made of text: nothing here is ever parsed as HTML.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}

export function figure(value, form) {
  if (value === null || value === undefined) return "–";
  if (form === "seconds") return value > 0 && value < 0.1 ? `${significant(1000 * value)} ms` : value < 10 ? `${significant(value)} s` : duration(value);
  if (form === "fraction") return value.toFixed(value !== 0 && Math.abs(value) < 0.1 ? 3 : 2);
  if (form === "number") return significant(value);
  return count(value);
}

function significant(value) {
  if (value !== 0 && (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-3)) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}

export function count(value) {
  for (const [unit, suffix] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]])
    if (Math.abs(value) >= unit) return `${Number((value / (suffix === "k" ? 1e3 : unit)).toPrecision(3))}${suffix}`;
  return Math.round(value).toLocaleString("en");
}

export function duration(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 172800) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d`;
}

export function ago(seconds) {
  return seconds < 2 ? "now" : `${duration(seconds)} ago`;
}

export function clock(time, seconds = true) {
  return new Date(time * 1000).toLocaleTimeString("en-GB", {
    hour: "2-digit", minute: "2-digit", second: seconds ? "2-digit" : undefined,
  });
}

export function day(time) {
  return new Date(time * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
}

export function moment(time) {
  const today = new Date().toDateString() === new Date(time * 1000).toDateString();
  return today ? clock(time) : `${day(time)} ${clock(time)}`;
}

export async function ask(path, query) {
  const answer = await fetch(`${path}?${new URLSearchParams(query)}`);
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(told.error || `the server answers ${answer.status}`);
  return told;
}
