import assert from "node:assert/strict";
import { createHash, createHmac, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import * as sdk from "../dist/index.js";
import { hex, sha256 } from "../dist/sha256.js";
import { check, many } from "./vectors.js";

const vectors = JSON.parse(readFileSync(new URL("../../vectors.json", import.meta.url)));

test("the published vectors", () => {
  assert.deepEqual(check(sdk, vectors), []);
});

test("the check finds a wrong SDK", () => {
  class Wrong extends sdk.Assignment {
    arm(pid) {
      return super.arm(pid) ? 0 : 1;
    }
  }
  assert.ok(check({ ...sdk, Assignment: Wrong }, vectors).length > 0);
});

test("a hundred thousand persons get the arms that they get in Python", () => {
  assert.equal(createHash("sha256").update(many(sdk, vectors.many)).digest("hex"), vectors.many.sha256);
});

test("SHA-256 and HMAC are those of node, for every length", () => {
  for (let length = 0; length < 300; length++) {
    const bytes = randomBytes(length);
    assert.equal(hex(sha256(bytes)), createHash("sha256").update(bytes).digest("hex"));
    const secret = randomBytes(16 + length);
    const expected = createHmac("sha256", secret).update(`tacit/person/1\0${"é".repeat(length + 1)}`).digest("hex");
    assert.equal(new sdk.PersonSecret(secret).pid("é".repeat(length + 1)), expected.slice(0, 32));
  }
});
