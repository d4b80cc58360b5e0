"use strict";
// Opens what a link leads into, opens and closes everything, filters by text and
// action, and shows what a step of the graph waits for and what waits for it.
// Nothing here writes markup.
const all = (selector) => [...document.querySelectorAll(selector)];
const tool = (id, event, then) => {
  const element = document.getElementById(id);
  if (!element) return;
  element.hidden = false;
  element.addEventListener(event, () => then(element));
};
tool("open", "click", () => all("main details:not(.how)").forEach((d) => { d.open = true; }));
tool("close", "click", () => all("main details").forEach((d) => { d.open = false; }));
const reveal = () => {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  for (let d = target; d; d = d.parentElement) {
    if (d.tagName === "DETAILS") d.open = true;
  }
  if (target) target.scrollIntoView();
};
addEventListener("hashchange", reveal);
tool("filter", "input", (filter) => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  all("#changes > details").forEach((d) => {
    const text = d.textContent.toLowerCase() + " " + d.dataset.action;
    d.hidden = !words.every((word) => text.includes(word));
  });
});
all("a.step").forEach((step) => {
  const svg = step.ownerSVGElement;
  const edges = all("path.edge").filter((e) => e.dataset.from === step.dataset.box || e.dataset.to === step.dataset.box);
  const light = (on) => {
    svg.classList.toggle("lit", on);
    edges.forEach((e) => e.classList.toggle("lit", on));
  };
  step.addEventListener("mouseenter", () => light(true));
  step.addEventListener("mouseleave", () => light(false));
});
reveal();
document.documentElement.dataset.items = String(all("details.item").length);
