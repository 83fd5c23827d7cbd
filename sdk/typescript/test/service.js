// A service that follows SPECIFICATION.md, as small as possible, with faults on order.

import { createServer } from "node:http";
import { readFileSync } from "node:fs";

import { digest } from "../dist/index.js";

const vectors = JSON.parse(readFileSync(new URL("../../vectors.json", import.meta.url)));
export const TOKEN = "tacit_token";

/** A policy that is served for years. */
export function lasting(changed = {}) {
  const served = JSON.parse(vectors.served_policies.served);
  const content = { ...served, serve_until: "2998-01-01T00:00:00Z", close_at: "2999-01-01T00:00:00Z", ...changed };
  return { ...content, digest: digest(content) };
}

/** Run a service while `work` does: its state, and its address. */
export async function serving(work) {
  const state = { policy: JSON.stringify(lasting()), killed: [], rows: [], asked: [], fails: {}, closed: new Set(), take: undefined };
  const tags = new Map();
  const answer = (what, headers, text) => {
    const status = state.fails[what]?.shift() ?? 200;
    if (status !== 200) return [status, "{}"];
    if (what === "policy") return [200, state.policy];
    if (what === "kills") return [200, JSON.stringify({ killed: state.killed })];
    const rows = JSON.parse(text).replies;
    if (state.take) return state.take(rows);
    state.rows.push(...rows);
    const places = rows.map(([salt], place) => (state.closed.has(salt) ? place : -1)).filter((place) => place >= 0);
    return [202, JSON.stringify({ closed: places, malformed: [] })];
  };
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (piece) => (text += piece));
    request.on("end", () => {
      const what = request.url.split("?")[0].split("/").at(-1);
      state.asked.push({ what, headers: request.headers });
      if (request.url.startsWith("/v1/experiments/homepage/") && request.headers.authorization !== `Bearer ${TOKEN}`) {
        return response.writeHead(401).end();
      }
      const [status, content] = answer(what, request.headers, text);
      if (status === 0) return request.socket.destroy();
      if (!tags.has(content)) tags.set(content, `"${tags.size}"`);
      const unchanged = status === 200 && request.headers["if-none-match"] === tags.get(content);
      response.writeHead(unchanged ? 304 : status, { ETag: tags.get(content) }).end(unchanged ? "" : content);
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  try {
    await work(state, `http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
}
