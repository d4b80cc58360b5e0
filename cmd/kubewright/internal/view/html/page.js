"use strict";
// Opens what a link leads into, opens and closes everything, and filters by
// text and action. Nothing here writes markup.
const all = (selector) => [...document.querySelectorAll(selector)];
const tools = ["filter", "open", "close"].map((id) => document.getElementById(id));
tools.forEach((tool) => { tool.hidden = false; });
const [filter, open, close] = tools;
open.addEventListener("click", () => all("main details:not(.how)").forEach((d) => { d.open = true; }));
close.addEventListener("click", () => all("main details").forEach((d) => { d.open = false; }));
const reveal = () => {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  for (let d = target; d; d = d.parentElement) {
    if (d.tagName === "DETAILS") d.open = true;
  }
  if (target) target.scrollIntoView();
};
addEventListener("hashchange", reveal);
filter.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  all("#changes > details").forEach((d) => {
    const text = d.textContent.toLowerCase() + " " + d.dataset.action;
    d.hidden = !words.every((word) => text.includes(word));
  });
});
reveal();
document.documentElement.dataset.items = String(all("details.item").length);
