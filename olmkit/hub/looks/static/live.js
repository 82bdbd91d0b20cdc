// Served pages load again after a change of the catalog or the bundle: in `olmkit hub serve` only.
(function () {
  "use strict";
  const address = new URL("../revision.txt", document.currentScript.src);
  let known = "";
  async function look() {
    if (document.hidden) return;
    try {
      const answer = await fetch(address, { cache: "no-store" });
      const found = answer.ok ? await answer.text() : "";
      if (known && found && found !== known) location.reload();
      known = known || found;
    } catch (error) { /* the server is stopped: it may come back */ }
  }
  look();
  setInterval(look, 1500);
  addEventListener("visibilitychange", look);
})();
