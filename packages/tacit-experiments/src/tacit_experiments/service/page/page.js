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
  const state = byId("state"), pause = byId("pause");
  let stamp = document.body.dataset.version, paused = false, asking = false, timer = null;
  const say = (text, name) => { if (state.textContent !== text) state.textContent = text; state.dataset.state = name; };

  const put = (part, html) => { // what changes takes the focus from nobody, and closes nothing
    const held = part.contains(document.activeElement) ? document.activeElement : null;
    const { act, arm } = held?.dataset ?? {}, summary = held?.tagName === "SUMMARY", wide = held?.className === "wide";
    const open = part.querySelector(".trail")?.open, left = part.querySelector(".wide")?.scrollLeft;
    part.innerHTML = html; // made and escaped by the server
    ready(part);
    if (open) part.querySelector(".trail").open = true;
    if (left) part.querySelector(".wide").scrollLeft = left;
    if (act) [...part.querySelectorAll("[data-act]")].find(b => b.dataset.act === act && b.dataset.arm === arm)?.focus();
    if (summary) part.querySelector("summary")?.focus();
    if (wide) part.querySelector(".wide")?.focus();
  };
  const ready = part => part.querySelectorAll("[data-act]").forEach(button => { button.hidden = false; });
  const changes = {
    experiment({ key, html }) { put(byId(`experiment-${key}`).querySelector(".now"), html); },
    "experiment-made"({ key, html }) {
      byId("empty")?.remove();
      byId("experiments").hidden = false;
      if (byId(`experiment-${key}`)) return;
      byId("tried").insertAdjacentHTML("beforeend", html);
      ready(byId("tried"));
    },
    learners({ html }) {
      if (html) byId("empty")?.remove();
      byId("rows").innerHTML = html; // made and escaped by the server
      byId("learners").hidden = !html;
    },
    ledgers({ html }) {
      byId("ledgers").innerHTML = html;
      byId("budgets").hidden = !html;
    },
  };

  async function follow() { // once a second, while somebody looks
    clearTimeout(timer);
    if (asking || paused || document.hidden) return;
    asking = true;
    try {
      const answer = await fetch(`changes?since=${encodeURIComponent(stamp)}`);
      if (answer.status === 401 || answer.status === 403) return location.reload(); // the page itself asks for another token
      if (answer.ok) {
        const told = await answer.json();
        for (const [kind, content] of told.changes) changes[kind](content);
        stamp = told.version;
        say("live", "live");
      } else say("the store does not answer", "broken");
    } catch { say("connecting again", "broken"); }
    asking = false;
    if (paused) say("paused", "paused"); else timer = setTimeout(follow, 1000);
  }

  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    if (paused) say("paused", "paused"); else follow();
  });
  document.addEventListener("visibilitychange", follow);
  ready(document);
  follow();
}

function acting() { // the cookie can only look: an act is sent with a token of its own, which this page forgets
  const dialog = byId("act"), token = byId("act-token"), arm = byId("act-arm"), refused = byId("act-refused");
  let wanted = null;
  const bodies = {
    start: () => ["start", {}], freeze: () => ["stop", {}], end: () => ["stop", { end: true, promote: arm.value }],
    kill: () => ["kill", { arm: wanted.arm }],
  };

  byId("tried").addEventListener("click", event => {
    const button = event.target.closest("[data-act]");
    if (!button) return;
    const row = button.closest("article"), { act, words } = button.dataset, ends = act === "end";
    wanted = { act, name: row.dataset.name, arm: button.dataset.arm };
    const verb = act[0].toUpperCase() + act.slice(1);
    byId("act-title").textContent = `${verb} ${wanted.arm ? `the arm ${wanted.arm} of ` : ""}${wanted.name}?`;
    byId("act-words").textContent = words;
    byId("act-do").textContent = verb;
    arm.replaceChildren(...[...row.querySelectorAll("tbody tr[data-arm]")].map(line => new Option(line.dataset.arm)));
    arm.hidden = byId("act-choice").hidden = !ends;
    refused.textContent = "";
    dialog.showModal();
    (ends ? arm : token.value ? byId("act-do") : token).focus();
  });
  byId("act-cancel").addEventListener("click", () => dialog.close());
  dialog.querySelector("form").addEventListener("submit", async event => {
    event.preventDefault();
    const [verb, body] = bodies[wanted.act]();
    try {
      const answer = await fetch(`v1/experiments/${encodeURIComponent(wanted.name)}/${verb}`, {
        method: "POST", body: JSON.stringify(body),
        headers: { Authorization: `Bearer ${token.value.trim()}`, "Content-Type": "application/json" },
      });
      if (answer.ok) dialog.close();
      else refused.textContent = (await answer.json()).detail;
    } catch { refused.textContent = "The service does not answer: nothing is known of this act."; }
  });
}

const form = byId("sign-in");
if (form) signInByAddress(form); else { live(); acting(); }
