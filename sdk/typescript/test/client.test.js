import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";

import { Client, PersonSecret } from "../dist/index.js";
import { Replies, PER_PERSON } from "../dist/replies.js";
import { TOKEN, lasting, serving } from "./service.js";

const SECRET = "a secret of 32 bytes, for tests.";
const SALT = lasting().salt;

function made(url, options = {}) {
  return new Client({ url, token: TOKEN, experiment: "homepage", secret: SECRET, default: "control", start: false, ...options });
}

function someone(client, arm) {
  for (let number = 0; ; number++) if (client.decide(`user-${number}`).arm === arm) return `user-${number}`;
}

async function until(condition) {
  for (let tries = 0; tries < 1000; tries++) {
    if (condition()) return;
    await new Promise((done) => setTimeout(done, 10));
  }
  assert.fail("this never came about");
}

test("without a service it is the default arm, and nothing throws", async () => {
  const client = made("http://127.0.0.1:9");
  await client.poll();
  assert.deepEqual(client.decide("alice"), { arm: "control", token: null, version: null, reason: "none" });
  assert.deepEqual(client.counters().errors, { "policy: no answer": 1, "kills: no answer": 1 });
  for (const person of [undefined, null, 7, {}, "", "\ud800", Symbol("a")]) assert.equal(client.decide(person).reason, "person");
  assert.equal(client.reply(null, 1), false);
});

test("policies are asked for by their tag; older and altered ones are refused", () =>
  serving(async (service, url) => {
    const client = made(url);
    await client.poll();
    await client.poll();
    const tags = service.asked.filter(({ what }) => what === "policy").map(({ headers }) => headers["if-none-match"]);
    assert.equal(tags[0], undefined);
    assert.ok(tags[1]);
    const held = client.counters().policy;
    for (const [changed, kind] of [
      [{ version: 16 }, "older"], [{ counting: false }, "altered"], [{ version: 18 }, "chain"], [{ experiment: "other" }, "experiment"],
    ]) {
      service.policy = JSON.stringify(lasting(changed));
      await client.poll();
      assert.equal(client.counters().errors[`policy: ${kind}`], 1);
      assert.deepEqual(client.counters().policy, held);
    }
    service.policy = "\ufeff{}";
    await client.poll();
    assert.equal(client.counters().errors["policy: malformed"], 1);
    service.policy = JSON.stringify(lasting({ version: 18, previous: held.digest }));
    await client.poll();
    assert.equal(client.counters().policy.version, 18);
  }));

test("a policy from elsewhere gets no token", () =>
  serving(async (service, url) => {
    const client = made("http://127.0.0.1:9", { policyUrl: `${url}/public/policy?v=1` });
    await client.poll();
    assert.equal(client.decide("alice").reason, "policy");
    assert.ok(service.asked.every(({ headers }) => headers.authorization === undefined));
  }));

test("killed arms, overrides and objections give no token", () =>
  serving(async (service, url) => {
    const client = made(url);
    await client.poll();
    const person = someone(client, "video");
    service.killed = ["video"];
    await client.poll();
    assert.deepEqual(client.decide(person), { arm: "control", token: null, version: 17, reason: "killed" });
    service.fails.kills = [500, 0];
    await client.poll();
    await client.poll();
    assert.equal(client.decide(person).reason, "killed");
    service.killed = [];
    await client.poll();
    assert.equal(client.decide(person).arm, "video");
    client.kill("video");
    assert.equal(client.decide(person).reason, "killed");
    client.kill("video", false);
    client.override(person, "short");
    assert.deepEqual(client.decide(person), { arm: "short", token: null, version: 17, reason: "override" });
    client.override(person, null);
    assert.deepEqual(client.decide(person, { optOut: true }), { arm: "control", token: null, version: 17, reason: "opted out" });
    service.killed = "video";
    await client.poll();
    assert.equal(client.counters().errors["kills: malformed"], 1);
  }));

test("a row that is no row hurts no other", () =>
  serving(async (service, url) => {
    const client = made(url);
    await client.poll();
    const { token } = client.decide("alice");
    for (const value of [null, undefined, "1", NaN, Infinity, 1.01, -0.01, 1n, {}, [1]]) assert.equal(client.reply(token, value), false);
    for (const wrong of [7, "", "x", `${SALT}.${SALT.toUpperCase()}`, {}]) assert.equal(client.reply(wrong, 1), false);
    assert.ok(client.reply(token, true) && client.reply(token, 0.5));
    assert.ok(await client.flush());
    assert.deepEqual(service.rows.map(([, , value]) => value), [1, 0.5]);
    assert.deepEqual(client.counters().dropped, { [SALT]: { value: 10 }, "": { token: 5 } });
  }));

test("one person cannot fill the queue, and a full queue drops the oldest", () => {
  const replies = new Replies(40);
  const token = (number) => `${SALT}.${number.toString(16).padStart(32, "0")}`;
  for (let number = 0; number < 100; number++) replies.add(token(0), 1, 0, 1);
  assert.deepEqual([replies.size, replies.dropped()], [PER_PERSON, { [SALT]: { person: 100 - PER_PERSON } }]);
  for (let number = 1; number <= 10; number++) assert.ok(replies.add(token(number), 1, 0, 1));
  assert.deepEqual([replies.size, replies.dropped()[SALT].full], [40, 2]);
  const rows = replies.take(100);
  assert.ok(!replies.add(token(0), 1, 0, 1));
  assert.deepEqual(rows.map((row) => row.token), [...Array(PER_PERSON - 2).fill(token(0)), ...Array.from({ length: 10 }, (_, i) => token(i + 1))]);
  replies.acknowledge(rows, new Map([[0, "closed"]]));
  assert.deepEqual([replies.size, replies.sent, replies.dropped()[SALT].closed], [0, 39, 1]);
});

test("invented versions fill no memory", () => {
  const replies = new Replies(10);
  for (let number = 0; number < 3000; number++) replies.add(`${number.toString(16).padStart(32, "0")}.${SALT}`, 2, 0, 1);
  assert.deepEqual(replies.dropped().other, { value: 2000 });
  assert.equal(Object.keys(replies.dropped()).length, 1001);
});

test("rows are sent again until they are answered", () =>
  serving(async (service, url) => {
    const client = made(url);
    await client.poll();
    const tokens = Array.from({ length: 1200 }, (_, number) => client.decide(`user-${number}`).token);
    for (const token of tokens) assert.ok(client.reply(token, 1));
    service.fails.replies = [503, 401];
    assert.deepEqual([await client.flush(), await client.flush(), await client.flush()], [false, false, true]);
    assert.deepEqual(new Set(service.rows.map(([salt, pid]) => `${salt}.${pid}`)), new Set(tokens));
    assert.deepEqual([client.counters().sent, client.counters().queue], [1200, 0]);
    service.closed.add("ab".repeat(16));
    client.reply(`${"ab".repeat(16)}.${SALT}`, 1);
    assert.ok(await client.flush());
    assert.deepEqual(client.counters().dropped, { ["ab".repeat(16)]: { closed: 1 } });
  }));

test("a batch that is refused is halved until one row is left", () =>
  serving(async (service, url) => {
    const client = made(url);
    await client.poll();
    const bad = new PersonSecret(SECRET).pid("user-333");
    const taken = new Set();
    service.take = (rows) => {
      if (rows.some(([, pid]) => pid === bad)) return [422, "{}"];
      for (const [, pid] of rows) taken.add(pid);
      return [202, "strange"];
    };
    for (let number = 0; number < 500; number++) client.reply(client.decide(`user-${number}`).token, 1);
    assert.ok(await client.flush());
    assert.equal(taken.size, 499);
    assert.deepEqual(client.counters().dropped, { [SALT]: { refused: 1 } });
  }));

test("a client works by itself, and closes in time", () =>
  serving(async (service, url) => {
    const client = made(url, { start: true });
    assert.equal(client.decide("alice").reason, "none");
    await until(() => client.decide("alice").token);
    client.reply(client.decide("alice").token, 1);
    await client.close();
    assert.equal(service.rows.length, 1);
    assert.equal(client.reply(client.decide("alice").token, 1), false);
    const lonely = made("http://127.0.0.1:9");
    lonely.reply(`${SALT}.${SALT}`, 1);
    const began = performance.now();
    await lonely.close(100);
    assert.ok(performance.now() - began < 1500);
    assert.deepEqual(lonely.counters().dropped, { [SALT]: { exit: 1 } });
  }));

test("a program that ends sends what waits, and does not stay for a client", () =>
  serving(async (service, url) => {
    const program = `
      import { Client } from ${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)};
      const client = new Client({ url: ${JSON.stringify(url)}, token: "${TOKEN}", experiment: "homepage", secret: "${SECRET}", default: "control" });
      client.reply("${SALT}.${SALT}", 0.25);`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: "inherit" });
    assert.equal(await new Promise((done) => child.once("exit", done)), 0);
    assert.deepEqual(service.rows, [[SALT, SALT, 0.25]]);
  }));

test("a browser's persons are pids", () =>
  serving(async (service, url) => {
    const pid = new PersonSecret(SECRET).pid("alice");
    const known = made(url);
    const shown = made(url, { secret: null });
    await Promise.all([known.poll(), shown.poll()]);
    assert.deepEqual(shown.decide(pid), known.decide("alice"));
    assert.equal(shown.decide("alice").reason, "person");
  }));

test("a client that cannot work is refused when it is made", () => {
  for (const changed of [
    { secret: "short" }, { default: "" }, { token: "a b" }, { url: "ftp://x" }, { url: "http://user:word@x" }, { url: "x" }, { experiment: "" },
    { policyUrl: "file:///policy" },
  ]) {
    assert.throws(() => made("http://x", changed), TypeError);
  }
});

test("what a client shows holds no secret and no person", () => {
  const client = made("http://127.0.0.1:9");
  client.reply(`${SALT}.${SALT}`, 1);
  assert.equal(JSON.stringify(client), "{}");
  assert.ok(!JSON.stringify(client.counters()).includes(SALT));
});
