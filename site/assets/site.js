// Navigation, colour scheme, copying, and the search over the index that the build writes.
(function () {
  "use strict";
  var html = document.documentElement;
  var root = document.querySelector("link[rel=root]").href;

  // The navigation of narrow screens.
  var menu = document.querySelector(".menu");
  function toggleMenu(open) {
    html.classList.toggle("nav-open", open);
    menu.setAttribute("aria-expanded", String(html.classList.contains("nav-open")));
  }
  menu.addEventListener("click", function () { toggleMenu(); });
  var here = document.querySelector("nav [aria-current]");
  if (here) {
    var nav = document.getElementById("nav");
    nav.scrollTop = here.offsetTop - nav.clientHeight / 2;
  }

  // Dark or light: the system's choice until the button is pressed.
  var theme = document.querySelector(".theme");
  theme.hidden = false;
  theme.addEventListener("click", function () {
    var dark = html.dataset.theme ? html.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    html.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("theme", html.dataset.theme); } catch (e) { /* only this page then */ }
  });

  // A button that copies a block of code, not of output; of a block with prompts, only the commands.
  document.querySelectorAll("article pre:has(code[data-lang])").forEach(function (pre) {
    var button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", function () {
      var text = pre.querySelector("code").textContent;
      if (/^\$ /.test(text)) {
        text = text.split("\n").filter(function (l) { return /^\$ /.test(l); }).map(function (l) { return l.slice(2); }).join("\n") + "\n";
      }
      copy(text).then(function () { say("Copied"); }, function () { say("Not copied"); });
    });
    function say(word) {
      button.textContent = word;
      setTimeout(function () { button.textContent = "Copy"; }, 1500);
    }
    var box = document.createElement("div");
    box.className = "code";
    (pre.closest(".highlight") || pre).replaceWith(box);
    box.append(pre, button);
  });
  function copy(text) {
    if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
    return new Promise(function (done, failed) { // pages that are opened as files
      var area = document.createElement("textarea");
      area.value = text;
      area.style.position = "fixed";
      area.style.opacity = "0";
      document.body.append(area);
      area.select();
      var ok = document.execCommand("copy");
      area.remove();
      if (ok) done(); else failed();
    });
  }

  // The search.
  var box = document.querySelector(".search"), input = document.getElementById("search"), list = document.getElementById("results");
  var chosen = -1, loading = null;
  box.hidden = false;
  function load() {
    loading = loading || new Promise(function (done, failed) {
      var script = document.createElement("script");
      script.src = new URL("search-index.js", root).href;
      script.onload = function () { done(window.kubewrightIndex); };
      script.onerror = failed;
      document.head.append(script);
    });
    return loading;
  }
  var letter = /[\p{L}\p{N}]/u;
  function words(text) { return text.toLowerCase().split(/[^\p{L}\p{N}_.@/-]+/u).filter(Boolean); }
  function score(entry, query) {
    var title = entry.t.toLowerCase(), heading = entry.h.toLowerCase(), text = entry.x.toLowerCase(), sum = 0;
    for (var i = 0; i < query.length; i++) {
      var w = query[i], points = 0;
      // Of two texts, the one that is more about the word: it has the word more often, or is shorter.
      points += 10 * match(heading, w) + 6 * match(title, w) + 4 * match(text, w) * (1 + Math.log2(Math.max(1, text.split(w).length - 1))) / (1 + text.length / 2000);
      if (!points) return 0;
      sum += points;
    }
    if (query.length > 1 && text.includes(query.join(" "))) sum += 12 * query.length;
    if (entry.h === entry.t) sum += 4;
    return /^examples\//.test(entry.u) ? sum / 3 : sum;
  }
  // 3 for a word of the text, 2 for the beginning of one, 0.5 for a part of one, 0 for none.
  function match(text, w) {
    var best = 0;
    for (var at = text.indexOf(w); at >= 0 && best < 3; at = text.indexOf(w, at + 1)) {
      var begins = at === 0 || !letter.test(text[at - 1]), ends = at + w.length >= text.length || !letter.test(text[at + w.length]);
      best = Math.max(best, begins && ends ? 3 : begins ? 2 : 0.5);
    }
    return best;
  }
  // The best sections, of one page two at most.
  function find(index, query) {
    var count = {};
    return index.map(function (e) { return { e: e, s: score(e, query) }; }).filter(function (r) { return r.s > 0; })
      .sort(function (a, b) { return b.s - a.s; })
      .filter(function (r) { count[r.e.t] = (count[r.e.t] || 0) + 1; return count[r.e.t] <= 2; })
      .slice(0, 12).map(function (r) { return r.e; });
  }
  // Text with the words of the query marked. Nothing of it is read as HTML.
  function marked(to, text, query) {
    var lower = text.toLowerCase(), at = 0;
    while (at < text.length) {
      var next = -1, length = 0;
      query.forEach(function (w) {
        var p = lower.indexOf(w, at);
        while (p > 0 && letter.test(lower[p - 1])) p = lower.indexOf(w, p + 1); // not within a word
        if (p >= 0 && (next < 0 || p < next)) { next = p; length = w.length; }
      });
      if (next < 0) break;
      to.append(text.slice(at, next));
      var m = document.createElement("mark");
      m.textContent = text.slice(next, next + length);
      to.append(m);
      at = next + length;
    }
    to.append(text.slice(at));
    return to;
  }
  function excerpt(text, query) {
    var lower = text.toLowerCase(), first = -1;
    query.forEach(function (w) { var p = lower.indexOf(w); if (p >= 0 && (first < 0 || p < first)) first = p; });
    var from = Math.max(0, first - 50);
    return (from > 0 ? "…" : "") + text.slice(from, from + 160) + (text.length > from + 160 ? "…" : "");
  }
  function element(name, className) {
    var e = document.createElement(name);
    e.className = className;
    return e;
  }
  function show(found, query) {
    list.replaceChildren();
    found.forEach(function (e, i) {
      var item = element("li", ""), a = element("a", "");
      item.setAttribute("role", "option");
      item.id = "result-" + i;
      a.href = new URL(e.u, root).href;
      a.tabIndex = -1;
      a.append(marked(element("strong", ""), e.t, query));
      if (e.h !== e.t) a.append(marked(element("span", "of"), e.h, query));
      a.append(marked(element("span", "text"), excerpt(e.x, query), query));
      item.append(a);
      list.append(item);
    });
    if (!found.length) {
      var none = element("li", "none");
      none.textContent = "Nothing found.";
      list.append(none);
    }
    choose(found.length ? 0 : -1);
    open(true);
  }
  function open(yes) {
    list.hidden = !yes;
    input.setAttribute("aria-expanded", String(yes));
  }
  function choose(i) {
    chosen = i;
    Array.prototype.forEach.call(list.children, function (item, j) { item.setAttribute("aria-selected", String(j === i)); });
    if (i >= 0) {
      input.setAttribute("aria-activedescendant", "result-" + i);
      list.children[i].scrollIntoView({ block: "nearest" });
    } else {
      input.removeAttribute("aria-activedescendant");
    }
  }
  function update() {
    var query = words(input.value);
    if (!query.length) { open(false); return; }
    load().then(function (index) { show(find(index, query), query); }, function () { loading = null; });
  }
  input.addEventListener("focus", function () { load().catch(function () { loading = null; }); if (input.value) update(); });
  input.addEventListener("input", update);
  input.addEventListener("keydown", function (event) {
    var links = list.querySelectorAll("a");
    if (event.key === "ArrowDown" && links.length) { choose((chosen + 1) % links.length); event.preventDefault(); }
    if (event.key === "ArrowUp" && links.length) { choose((chosen + links.length - 1) % links.length); event.preventDefault(); }
    if (event.key === "Enter" && !list.hidden && links[chosen]) { location.href = links[chosen].href; open(false); event.preventDefault(); }
    if (event.key === "Escape") { open(false); input.blur(); }
  });
  document.addEventListener("click", function (event) {
    if (!box.contains(event.target)) open(false);
    if (html.classList.contains("nav-open") && !event.target.closest("#nav, .menu")) toggleMenu(false);
  });
  document.addEventListener("keydown", function (event) {
    if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName) && !event.ctrlKey && !event.metaKey) {
      input.focus();
      event.preventDefault();
    }
    if (event.key === "Escape") toggleMenu(false);
  });
  list.addEventListener("click", function () { open(false); });
  // A link to a result can be shared: ?q=WORDS.
  var q = new URLSearchParams(location.search).get("q");
  if (q) { input.value = q; update(); }
})();
