// Shows a page again when something was recorded about what it shows. Pages
// are whole without this script.
(() => {
  const address = document.body.dataset.live;
  const status = document.getElementById("live");
  if (!address || !window.EventSource) return;

  let busy = false;
  let again = false;
  const refresh = async () => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = page.querySelector("main");
        const shown = document.querySelector("main");
        if (fresh && shown.innerHTML !== fresh.innerHTML) shown.replaceChildren(...fresh.childNodes);
        document.title = page.title;
      }
    } catch {
      // The stream says when the gateway is back.
    }
    busy = false;
    if (again) {
      again = false;
      setTimeout(refresh, 200);
    }
  };

  const source = new EventSource(address);
  source.addEventListener("open", () => { status.textContent = "live"; refresh(); });
  source.addEventListener("error", () => { status.textContent = "not live"; });
  source.addEventListener("commit", refresh);
})();
