// Applies the chosen colour scheme before the page is drawn.
(function () {
  var choice = null;
  try { choice = localStorage.getItem("theme"); } catch (e) { /* files may have no storage */ }
  if (choice === "dark" || choice === "light") document.documentElement.dataset.theme = choice;
})();
