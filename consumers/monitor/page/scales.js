// Axes: where they begin and end, and what is written at them. Pure.

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];

// From zero, or below it, to something round, with two or three levels.
export function scale(low, high, form) {
  if (form === "fraction" && low >= 0 && high <= 1) return { low: 0, high: 1, ticks: [0, 0.5, 1], form: "number" };
  const top = Math.max(high, 0), bottom = Math.min(low, 0);
  const step = round((top - bottom || 1) / 2);
  const lowest = Math.floor(bottom / step) * step, highest = Math.max(Math.ceil(top / step - 1e-9) * step, lowest + step);
  const ticks = [];
  for (let level = lowest; level <= highest + step / 2; level += step) ticks.push(level);
  return { low: lowest, high: highest, ticks, form };
}

function round(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].find(factor => factor * power >= value * (1 - 1e-9)) * power;
}

// Round times between two moments, at most so many, with what to call them.
export function times(first, last, most) {
  const step = STEPS.find(seconds => (last - first) / seconds <= most) || (last - first) / most;
  const away = new Date(first * 1000).getTimezoneOffset() * 60;
  const made = [];
  for (let time = Math.ceil((first - away) / step) * step + away; time <= last; time += step)
    made.push({ time, words: name(time, step) });
  return made;
}

function name(time, step) {
  const date = new Date(time * 1000);
  const two = value => String(value).padStart(2, "0");
  if (step >= 43200 || (date.getHours() === 0 && date.getMinutes() === 0 && step >= 3600))
    return date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  const minutes = `${two(date.getHours())}:${two(date.getMinutes())}`;
  return step < 60 ? `${minutes}:${two(date.getSeconds())}` : minutes;
}

// Index of the point nearest to a time, in points that rise; -1 of none.
export function nearest(points, time) {
  let low = 0, high = points.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < time) low = middle + 1;
    else high = middle;
  }
  return low > 0 && time - points[low - 1][0] < points[low][0] - time ? low - 1 : Math.min(low, points.length - 1);
}
