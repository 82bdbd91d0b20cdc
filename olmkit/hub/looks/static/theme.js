// Before the first paint: the stored theme, and that scripts run.
(function () {
  "use strict";
  var root = document.documentElement;
  root.setAttribute("data-js", "");
  try {
    var theme = localStorage.getItem("olmkit-hub-theme");
    if (theme === "light" || theme === "dark") root.setAttribute("data-theme", theme);
  } catch (error) { /* storage may be switched off */ }
})();
