// What the published vectors ask of an SDK, for node and for browsers: a list of what differs.

export function* persons(seed, count) {
  let state = seed;
  const below = (limit) => {
    state = (Math.imul(1664525, state) + 1013904223) >>> 0;
    return (state >>> 8) % limit;
  };
  for (let i = 0; i < count; i++) {
    let text = "";
    for (let left = 1 + below(16); left > 0; left--) {
      const code = below([0x80, 0x800, 0x10000, 0x110000][below(4)]);
      text += String.fromCodePoint(code >= 0xd800 && code < 0xe000 ? code - 0xd800 : code);
    }
    yield text;
  }
}

export function bytes(hex) {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function attempt(work) {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

/** The lines "pid arm" of many persons. */
export function many(sdk, { secret, salt, upto, seed, count }) {
  const key = new sdk.PersonSecret(bytes(secret));
  const assignment = new sdk.Assignment(salt, upto);
  const lines = [];
  for (const person of persons(seed, count)) {
    const pid = key.pid(person);
    lines.push(`${pid} ${assignment.arm(pid)}\n`);
  }
  return lines.join("");
}

export function check(sdk, vectors) {
  const differ = [];
  const same = (found, wanted, about) => {
    if (JSON.stringify(found) !== JSON.stringify(wanted)) differ.push(`${about}: ${JSON.stringify(found)} is not ${JSON.stringify(wanted)}`);
  };
  for (const { secret, person, pid } of vectors.pids) same(new sdk.PersonSecret(bytes(secret)).pid(person), pid, `pid of ${person}`);
  for (const person of vectors.impossible_persons) same(new sdk.PersonSecret("x".repeat(16)).pid(person), undefined, "no pid");
  for (const secret of vectors.short_secrets) same(attempt(() => new sdk.PersonSecret(bytes(secret))) instanceof TypeError, true, "a short secret");
  for (const { salt, upto, pid, arm } of vectors.assignments) same(new sdk.Assignment(salt, upto).arm(pid), arm, `arm of ${pid}`);
  for (const [written, text] of Object.entries(vectors.numbers)) same(sdk.canonical(JSON.parse(written)), text, `the number ${written}`);
  for (const { about, steps } of vectors.policies) {
    let held;
    for (const { text, refused } of steps) {
      const found = attempt(() => {
        const policy = sdk.parsePolicy(text);
        sdk.checkAfter(policy, "homepage", held);
        held = policy;
        return { kind: null };
      });
      same(found.kind, refused, `policies: ${about}`);
    }
  }
  const clock = Date.now;
  for (const { secret, person, policy, now, killed, ...wanted } of vectors.decisions) {
    Date.now = () => Date.parse(now);
    const client = new sdk.Client({
      url: "http://127.0.0.1:9", experiment: "homepage", secret: bytes(secret), default: "control", start: false,
      ...(policy === null ? {} : { bootstrap: vectors.served_policies[policy] }),
    });
    for (const arm of killed) client.kill(arm);
    const { arm, token, reason } = client.decide(person);
    same({ arm, token, reason }, { arm: wanted.arm, token: wanted.token, reason: wanted.reason }, `decision for ${person}`);
    same(client.counters().errors, {}, "errors");
  }
  Date.now = clock;
  const client = new sdk.Client({ url: "http://127.0.0.1:9", experiment: "homepage", secret: "x".repeat(16), default: "control", start: false });
  for (const token of vectors.tokens.good) same(client.reply(token, 1), true, "a token");
  for (const token of vectors.tokens.bad) same(client.reply(token, 1), false, "no token");
  return differ;
}
