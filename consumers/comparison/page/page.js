"use strict";
const form = document.querySelector("form");
const list = document.querySelector("#questions");
const all = [...list.children];
const kinds = {
  all: () => true,
  differ: one => Number(one.dataset.difference) !== 0,
  first: one => Number(one.dataset.difference) > 0,
  second: one => Number(one.dataset.difference) < 0,
  missing: one => one.dataset.missing === "1",
  words: one => one.dataset.same === "0",
};
const orders = {
  recorded: (one, other) => one.dataset.place - other.dataset.place,
  most: (one, other) => Math.abs(other.dataset.difference) - Math.abs(one.dataset.difference)
    || one.dataset.place - other.dataset.place,
};
let order = "recorded";

function show() {
  const words = form.search.value.toLowerCase();
  const wanted = kinds[form.kind.value];
  if (form.order.value !== order) {
    order = form.order.value;
    list.append(...all.sort(orders[order]));
  }
  let shown = 0;
  for (const one of all) {
    one.hidden = !(wanted(one) && one.textContent.toLowerCase().includes(words));
    shown += !one.hidden;
  }
  form.querySelector("output").textContent = `${shown} of ${all.length} questions`;
}

function step(by) {
  const open = all.filter(one => !one.hidden);
  const next = open[open.indexOf(document.activeElement.closest("article")) + by];
  if (next) next.focus();
}

form.addEventListener("input", show);
form.addEventListener("submit", event => event.preventDefault());
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input, select");
  if (event.key === "Escape" && typing) event.target.blur();
  if (typing) return;
  if (event.key === "/") { event.preventDefault(); form.search.focus(); }
  if (event.key === "j") step(1);
  if (event.key === "k") step(-1);
});
show();
