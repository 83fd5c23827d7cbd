// Processor time of a decision, and of one HMAC and one SHA-256 of node's own: `node test/speed.js COUNT REPEATS` prints JSON.

import { createHash, createHmac } from "node:crypto";

import { Client } from "../dist/index.js";
import { lasting } from "./service.js";

const [count, repeats] = process.argv.slice(2).map(Number);
const SECRET = "a secret of 32 bytes, for tests.";
const policy = lasting();
const client = new Client({
  url: "http://127.0.0.1:9", experiment: "homepage", secret: SECRET, default: "control", start: false, bootstrap: JSON.stringify(policy),
});
const people = Array.from({ length: count }, (_, number) => `user-${number}`);

function bare(person) {
  const pid = createHmac("sha256", SECRET).update(`tacit/person/1\0${person}`).digest("hex");
  return createHash("sha256").update(`tacit/assign/1\0${policy.salt}\0${pid.slice(0, 32)}`).digest();
}

function best(work) {
  let least = Infinity;
  for (let repeat = 0; repeat < repeats; repeat++) {
    const before = process.cpuUsage();
    for (const person of people) work(person);
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1e6);
  }
  return least;
}

const found = { decide: best((person) => client.decide(person)), bare: best(bare) };
if (client.decide("user-1").reason !== "policy") throw new Error("these are no decisions by the policy");
console.log(JSON.stringify(found));
