"use strict";
// Opens what a link leads into, opens and closes everything, filters by text and
// action, shows what a step of the graph waits for and what waits for it, and keeps
// the names of its lanes in sight.
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
  const has = (text) => words.every((word) => text.toLowerCase().includes(word));
  // What a step waits for is about others.
  const text = (d, parts) => [...d.querySelectorAll(parts)].map((e) => e.textContent).join(" ") + " " + d.dataset.action + " ";
  const everything = "summary, pre, li";
  let none = true;
  all("#changes > details").forEach((d) => {
    const own = text(d, ":scope > summary");
    const phases = [...d.querySelectorAll("details.phase")];
    const found = phases.filter((p) => has(own + text(p, everything)));
    d.hidden = !has(text(d, everything));
    // Of a resource that has the words in some phases only, those are shown.
    phases.forEach((p) => { p.hidden = found.length > 0 && !found.includes(p); });
    d.open ||= !d.hidden && !has(own);
    none &&= d.hidden;
  });
  document.getElementById("none").hidden = !none || !words.length;
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
all(".scroll").forEach((scroll) => scroll.addEventListener("scroll", () => {
  scroll.querySelectorAll(".lanename").forEach((name) => name.setAttribute("x", 8 + scroll.scrollLeft));
}));
reveal();
document.documentElement.dataset.items = String(all("details.item").length);
