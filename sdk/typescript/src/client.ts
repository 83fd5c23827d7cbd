/**
 * Decisions inside the caller's process, and replies in batches.
 *
 * A decision is a function of a public policy and a person: no request, no wait. In the background a client asks for the
 * policy every 30 seconds and for killed arms every two seconds, and sends replies every second.
 */

import { Assignment, PersonSecret } from "./assignment.js";
import { LONGEST, Refused, checkAfter, parsePolicy, type Policy } from "./policy.js";
import { Replies, body, saltOf, type Row } from "./replies.js";

const POLICY_EVERY = 30_000;
const KILLS_EVERY = 2_000;
const SEND_EVERY = 1_000;
const BATCH = 500;
const CAPACITY = 100_000;
const POLL_TIMEOUT = 2_000;
const SEND_TIMEOUT = 10_000;
const SHORTEST_PAUSE = 50;
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 30_000;
const AT_EXIT = 2_000;
/** Answers that no repetition changes: the batch is halved, until the row that they are about is alone. */
const SPLIT = [400, 413, 422];
const PID = /^[0-9a-f]{32}$/;

/**
 * Why a person got an arm: "policy"; "frozen" (by the policy, but nothing counts); "override"; or why it is the default arm:
 * "none" (no policy yet), "closed" (the policy's time is over), "killed", "person" (an empty or impossible id) and "opted out".
 */
export type Reason = "policy" | "frozen" | "override" | "none" | "closed" | "killed" | "person" | "opted out";

/** What to show one person. */
export interface Decision {
  /** The arm's name. */
  readonly arm: string;
  /** What `reply` needs; null if no reply counts. */
  readonly token: string | null;
  /** The number of the policy's version, or null. */
  readonly version: number | null;
  readonly reason: Reason;
}

export interface Options {
  /** Where the service is, such as "https://decisions.example.org"; in a browser, a server of yours that passes requests on. */
  readonly url: string;
  /** The experiment's name. */
  readonly experiment: string;
  /**
   * The person secret, at least 16 bytes, the same wherever this experiment is decided. In a browser it would be secret no
   * more: `null` says that persons are given as pids, which a server of yours has computed.
   */
  readonly secret: string | Uint8Array | null;
  /** The arm that is shown before the first policy is there. */
  readonly default: string;
  /** A token of the service with the scope `sdk`. Leave it out in a browser. */
  readonly token?: string;
  /** The text of a policy for the time until the first answer. */
  readonly bootstrap?: string;
  /** Where else the policy is, such as a CDN; the token is not sent there. */
  readonly policyUrl?: string;
  /** The arm of a few persons, for tests by hand. Their decisions have no token. */
  readonly overrides?: Readonly<Record<string, string>>;
  /** Whether to ask and send by itself (default: yes). Without it only `poll()` and `flush()` do. */
  readonly start?: boolean;
  /** What sends requests (default: the global `fetch`). */
  readonly fetch?: typeof fetch;
}

export interface Counters {
  readonly decisions: Readonly<Record<string, number>>;
  readonly policy: { readonly version: number; readonly digest: string } | null;
  readonly policyAgeSeconds: number;
  readonly killed: readonly string[];
  readonly queue: number;
  readonly sent: number;
  readonly dropped: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly errors: Readonly<Record<string, number>>;
}

/** All that a decision reads, changed as one. */
interface Serving {
  readonly default: string;
  readonly version: number | null;
  readonly salt: string;
  readonly closeAt: number;
  readonly assignment: Assignment | null;
  readonly outcomes: readonly (readonly [arm: string, reason: Reason])[];
}

interface Answer {
  readonly status: number;
  readonly etag: string | null;
  readonly text: string;
}

/** Decides for persons in one experiment, and reports what came of it. `decide` and `reply` neither wait nor throw. */
export class Client {
  readonly #options: Options;
  readonly #base: string;
  readonly #fetch: typeof fetch;
  readonly #secret: PersonSecret | null;
  readonly #overrides: Map<string, string>;
  readonly #replies = new Replies(CAPACITY);
  readonly #decisions: Record<string, number> = {};
  readonly #errors: Record<string, number> = {};
  readonly #killedHere = new Set<string>();
  #killed: readonly string[] = [];
  #policy: Policy | undefined;
  #policyTag: string | null = null;
  #killsTag: string | null = null;
  #confirmed = Date.now();
  #serving!: Serving;
  #timers = new Map<string, ReturnType<typeof setTimeout>>();
  #sending: Promise<boolean> | undefined;
  #pause = FIRST_PAUSE;
  #closed = false;
  /** Send what waits while a page goes away, or all of it before a program ends. */
  readonly #leave = (page: boolean): Promise<unknown> => (page ? this.#flush(true) : this.close());

  constructor(options: Options) {
    for (const name of ["experiment", "default"] as const) {
      if (typeof options[name] !== "string" || options[name] === "") throw new TypeError(`The '${name}' of a client must be a name.`);
    }
    if (options.token !== undefined && !/^[!-~]+$/.test(options.token)) throw new TypeError("The token must be what `tacit token` printed.");
    this.#options = { ...options };
    this.#base = `${checkUrl(options.url).replace(/\/+$/, "")}/v1/experiments/${encodeURIComponent(options.experiment)}`;
    if (options.policyUrl !== undefined) checkUrl(options.policyUrl);
    this.#secret = options.secret === null ? null : new PersonSecret(options.secret);
    this.#overrides = new Map(Object.entries(options.overrides ?? {}));
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
    this.#serve();
    if (options.bootstrap !== undefined) this.#take(options.bootstrap, null);
    if (options.start ?? true) {
      leaving.add(this.#leave);
      listen();
      this.#repeat("policy", 0, POLICY_EVERY, () => this.#pollPolicy());
      this.#repeat("kills", 0, KILLS_EVERY, () => this.#pollKills());
      this.#later("send", SEND_EVERY, () => this.#send());
    }
  }

  /**
   * The arm of a person, at once.
   *
   * @param person whom it is for, by the id that they always have. An empty one gets the default arm.
   * @param optOut whether this person objected: then it is the default arm, and nothing is sent.
   */
  decide(person: string, { optOut = false }: { readonly optOut?: boolean } = {}): Decision {
    const serving = this.#serving;
    let arm = serving.default;
    let token: string | null = null;
    let reason: Reason = "person";
    if (optOut) {
      reason = "opted out";
    } else if (typeof person === "string" && person !== "") {
      const pid = this.#pid(person);
      const chosen = this.#overrides.size > 0 ? this.#overrides.get(person) : undefined;
      if (pid === undefined) {
        reason = "person";
      } else if (chosen !== undefined) {
        arm = chosen;
        reason = "override";
      } else if (serving.assignment === null) {
        reason = "none";
      } else if (Date.now() >= serving.closeAt) {
        reason = "closed";
      } else {
        [arm, reason] = serving.outcomes[serving.assignment.arm(pid)]!;
        if (reason === "policy") token = `${serving.salt}.${pid}`;
      }
    }
    this.#decisions[reason] = (this.#decisions[reason] ?? 0) + 1;
    return { arm, token, version: serving.version, reason };
  }

  /**
   * Report what came of a decision; whether it waits to be sent.
   *
   * @param token the decision's token. A decision without one has no reply: nothing happens.
   * @param value a number in the experiment's range; true and false are 1 and 0.
   */
  reply(token: string | null, value: number | boolean): boolean {
    if (token === null || token === undefined) return false;
    if (this.#closed) return this.#replies.count(saltOf(token) ?? "", "exit");
    const taken = this.#replies.add(token, value, this.#policy?.low ?? -Infinity, this.#policy?.high ?? Infinity);
    if (this.#replies.size >= BATCH && this.#timers.has("send") && this.#pause === FIRST_PAUSE) {
      this.#later("send", 0, () => this.#send());
    }
    return taken;
  }

  /** Give one person an arm, for tests by hand; null takes that back. */
  override(person: string, arm: string | null): void {
    if (arm === null) this.#overrides.delete(person);
    else this.#overrides.set(person, arm);
  }

  /** Show the default arm in place of this one, here, whatever the service says; or end that. */
  kill(arm: string, killed = true): void {
    if (killed) this.#killedHere.add(arm);
    else this.#killedHere.delete(arm);
    this.#serve();
  }

  /** What happened so far, for metrics. Nothing of it names a person. */
  counters(): Counters {
    return {
      decisions: { ...this.#decisions },
      policy: this.#policy ? { version: this.#policy.version, digest: this.#policy.digest } : null,
      policyAgeSeconds: (Date.now() - this.#confirmed) / 1000,
      killed: [...new Set([...this.#killed, ...this.#killedHere])].sort(),
      queue: this.#replies.size,
      sent: this.#replies.sent,
      dropped: this.#replies.dropped(),
      errors: { ...this.#errors },
    };
  }

  /** Ask for the policy and for killed arms. The promise is never rejected. */
  async poll(): Promise<void> {
    await this.#pollPolicy();
    await this.#pollKills();
  }

  /** Send what waits; whether nothing waits any more. The promise is never rejected. */
  flush(): Promise<boolean> {
    return this.#flush(false);
  }

  /** Send what waits, for at most so many milliseconds, and count the rest as dropped. Decisions go on by the last policy. */
  async close(timeout = AT_EXIT): Promise<void> {
    this.#closed = true;
    leaving.delete(this.#leave);
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    let over = false;
    let ring = (): void => {};
    const bell = new Promise<void>((done) => (ring = done));
    const timer = setTimeout(() => ((over = true), ring()), timeout);
    while (!over && !(await Promise.race([this.#flush(false), bell.then(() => true)]))) {
      await new Promise((done) => setTimeout(done, SHORTEST_PAUSE));
    }
    clearTimeout(timer);
    this.#replies.dropWaiting("exit");
  }

  #pid(person: string): string | undefined {
    if (this.#secret === null) return PID.test(person) ? person : undefined;
    return this.#secret.pid(person);
  }

  /** Put policy and killed arms together into what the next decisions are made from. */
  #serve(): void {
    const policy = this.#policy;
    const none = { default: this.#options.default, version: null, salt: "", closeAt: Infinity, assignment: null, outcomes: [] };
    if (policy === undefined) {
      this.#serving = none;
      return;
    }
    const killed = new Set([...this.#killed, ...this.#killedHere]);
    const counted: Reason = policy.counting ? "policy" : "frozen";
    this.#serving = {
      default: policy.default,
      version: policy.version,
      salt: policy.salt,
      closeAt: policy.closeAt,
      assignment: new Assignment(policy.salt, policy.upto),
      outcomes: policy.arms.map((arm) => (killed.has(arm) ? [policy.default, "killed"] : [arm, counted])),
    };
  }

  /** Use a policy from now on, unless it is refused. */
  #take(text: string, etag: string | null): void {
    try {
      const policy = parsePolicy(text);
      checkAfter(policy, this.#options.experiment, this.#policy);
      this.#policy = policy;
      this.#policyTag = etag;
      this.#confirmed = Date.now();
      this.#serve();
    } catch (error) {
      this.#error(`policy: ${error instanceof Refused ? error.kind : "malformed"}`);
    }
  }

  async #pollPolicy(): Promise<void> {
    const { policyUrl } = this.#options;
    const answer = await this.#ask("GET", policyUrl ?? `${this.#base}/policy`, POLL_TIMEOUT, {
      etag: this.#policyTag,
      open: policyUrl !== undefined,
    });
    if (answer === undefined) this.#error("policy: no answer");
    else if (answer.status === 304) this.#confirmed = Date.now();
    else if (answer.status === 200) this.#take(answer.text, answer.etag);
    else this.#error(`policy: ${answer.status}`);
  }

  async #pollKills(): Promise<void> {
    const answer = await this.#ask("GET", `${this.#base}/kills`, POLL_TIMEOUT, { etag: this.#killsTag });
    if (answer === undefined) return this.#error("kills: no answer");
    if (answer.status === 304) return;
    if (answer.status !== 200) return this.#error(`kills: ${answer.status}`);
    try {
      const { killed } = JSON.parse(answer.text) as { killed: unknown };
      if (!Array.isArray(killed) || !killed.every((arm) => typeof arm === "string")) throw new TypeError();
      this.#killed = killed;
      this.#killsTag = answer.etag;
      this.#serve();
    } catch {
      this.#error("kills: malformed");
    }
  }

  /** Send after a pause that grows while the service does not take anything. */
  async #send(): Promise<void> {
    const done = await this.#flush(false);
    if (this.#closed) return;
    this.#later("send", done ? SEND_EVERY : jittered(this.#pause), () => this.#send());
    this.#pause = done ? FIRST_PAUSE : Math.min(2 * this.#pause, LONGEST_PAUSE);
  }

  #flush(keepalive: boolean): Promise<boolean> {
    this.#sending ??= this.#sendAll(keepalive).finally(() => (this.#sending = undefined));
    return this.#sending;
  }

  /** Send batches until nothing waits (true) or the service cannot take one now (false: its rows wait again). */
  async #sendAll(keepalive: boolean): Promise<boolean> {
    for (let rows = this.#replies.take(BATCH); rows.length > 0; rows = this.#replies.take(BATCH)) {
      const parts = [rows];
      for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
        const answer = await this.#ask("POST", `${this.#base}/replies`, SEND_TIMEOUT, { body: body(part), keepalive });
        if (answer !== undefined && answer.status >= 200 && answer.status < 300) {
          this.#replies.acknowledge(part, this.#refused(answer.text, part));
          continue;
        }
        this.#error(`replies: ${answer?.status ?? "no answer"}`);
        if (answer === undefined || !SPLIT.includes(answer.status)) {
          this.#replies.putBack([part, ...parts].flat());
          return false;
        }
        const half = part.length >> 1;
        if (half === 0) this.#replies.drop(part, "refused");
        else parts.push(part.slice(half), part.slice(0, half));
      }
    }
    return true;
  }

  /** A reason for each place that was not taken. */
  #refused(text: string, rows: readonly Row[]): Map<number, string> {
    const refused = new Map<number, string>();
    try {
      const told = JSON.parse(text) as Record<string, readonly unknown[]>;
      for (const reason of ["closed", "malformed"]) {
        for (const place of told[reason] ?? []) {
          if (typeof place === "number" && place in rows) refused.set(place, reason);
        }
      }
    } catch {
      this.#error("replies: malformed answer");
    }
    return refused;
  }

  /** One request; undefined if there is no answer. */
  async #ask(
    method: string,
    url: string,
    timeout: number,
    { etag = null, body, open = false, keepalive = false }: { etag?: string | null; body?: string; open?: boolean; keepalive?: boolean },
  ): Promise<Answer | undefined> {
    const headers: Record<string, string> = {};
    if (this.#options.token !== undefined && !open) headers["Authorization"] = `Bearer ${this.#options.token}`;
    if (etag !== null) headers["If-None-Match"] = etag;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    try {
      const response = await this.#fetch(url, {
        method, headers, keepalive,
        body: body ?? null,
        redirect: "error",
        credentials: "same-origin",
        cache: "no-store",
        signal: AbortSignal.timeout(timeout),
      });
      const bytes = await response.arrayBuffer();
      if (bytes.byteLength > LONGEST) return undefined;
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
      return { status: response.status, etag: response.headers.get("ETag"), text };
    } catch {
      return undefined;
    }
  }

  #error(kind: string): void {
    this.#errors[kind] = (this.#errors[kind] ?? 0) + 1;
  }

  #repeat(name: string, first: number, every: number, work: () => Promise<void>): void {
    this.#later(name, first, async () => {
      await work();
      if (!this.#closed) this.#repeat(name, jittered(every), every, work);
    });
  }

  /** Do something after a while, in place of what was to be done under this name. The program may end before. */
  #later(name: string, milliseconds: number, work: () => Promise<void>): void {
    clearTimeout(this.#timers.get(name));
    const timer = setTimeout(() => void work(), milliseconds);
    (timer as unknown as { unref?: () => void }).unref?.();
    this.#timers.set(name, timer);
  }
}

/** What clients do that work by themselves when the page or program ends. */
const leaving = new Set<(page: boolean) => Promise<unknown>>();
let listening = false;

function listen(): void {
  if (listening) return;
  listening = true;
  const { process } = globalThis as { process?: { once?: (event: string, done: () => void) => void } };
  if (typeof process?.once === "function") {
    process.once("beforeExit", () => leaving.forEach((leave) => void leave(false)));
  } else {
    globalThis.addEventListener?.("pagehide", () => leaving.forEach((leave) => void leave(true)));
  }
}

/** Up to a tenth less: clients that were started together drift apart, and none waits for longer. */
function jittered(milliseconds: number): number {
  return milliseconds * (0.9 + 0.1 * Math.random());
}

function checkUrl(url: string): string {
  let where: URL | undefined;
  try {
    where = new URL(url, (globalThis as { location?: { href: string } }).location?.href);
  } catch {
    where = undefined;
  }
  if (where === undefined || !/^https?:$/.test(where.protocol) || where.username !== "" || where.hash !== "") {
    throw new TypeError("An address must be http or https, with a host and without a password.");
  }
  return url;
}
