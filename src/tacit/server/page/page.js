// The page as the server sent it is complete; this keeps it up to date, and signs in by an address with a token.
const byId = id => document.getElementById(id);

function signInByAddress(form) {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  history.replaceState(null, "", location.pathname); // neither the history nor a copied address shall hold the token
  form.elements.token.value = token;
  form.submit();
}

function live() {
  const state = byId("state"), pause = byId("pause"), rows = byId("rows");
  let source = null, stamp = document.body.dataset.version, paused = false;
  const say = (text, name) => { if (state.textContent !== text) state.textContent = text; state.dataset.state = name; };

  const changes = {
    learner({ number, html, problem }) {
      const row = byId(`learner-${number}`);
      row.querySelector(".now").innerHTML = html; // made and escaped by the server
      row.querySelector("[data-part=problem]").textContent = problem;
    },
    made({ number, html }) {
      byId("empty")?.remove();
      if (!byId(`learner-${number}`)) rows.insertAdjacentHTML("beforeend", html);
    },
    ledgers({ html }) {
      byId("ledgers").innerHTML = html;
      byId("budgets").hidden = !html;
    },
    trouble() { say("the store does not answer", "broken"); },
    fine() { say("live", "live"); },
  };

  function open() {
    if (source || paused || document.hidden) return;
    source = new EventSource(`events?since=${encodeURIComponent(stamp)}`);
    source.onopen = changes.fine;
    source.onerror = () => {
      say("connecting again", "broken");
      if (source.readyState === EventSource.CLOSED) { close(); setTimeout(again, 5000); } // refused
    };
    for (const [kind, change] of Object.entries(changes))
      source.addEventListener(kind, event => { if (event.lastEventId) stamp = event.lastEventId; change(JSON.parse(event.data)); });
  }
  async function again() { // the page itself says whether the token is still good
    try { if ((await fetch("./")).status === 401) location.reload(); else open(); } catch { setTimeout(again, 5000); }
  }
  function close() { source?.close(); source = null; }

  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    if (paused) { close(); say("paused", "paused"); } else open();
  });
  document.addEventListener("visibilitychange", () => document.hidden ? close() : open());
  addEventListener("pagehide", close);
  open();
}

const form = byId("sign-in");
if (form) signInByAddress(form); else live();
