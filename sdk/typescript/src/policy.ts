/**
 * The public document that says how one version of an experiment decides, and when a new one is refused.
 *
 * Policies are a hash chain. A client that has seen one refuses an older one and another one of the same number: after a
 * backup was restored by accident, the clients are the witnesses.
 */

import { isUnicode } from "./assignment.js";
import { hex, sha256 } from "./sha256.js";

const FORMAT = "tacit-policy/1";
const WHOLE = 2 ** 32;
/** Bytes that a policy may have. */
export const LONGEST = 2 ** 20;
const DEEPEST = 16;
const SALT = /^[0-9a-f]{32}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const TIME = /^((?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,6})?Z$/;

export type Refusal = "malformed" | "digest" | "experiment" | "older" | "altered" | "chain";

/** A policy that is not taken. */
export class Refused extends Error {
  constructor(readonly kind: Refusal, message: string) {
    super(message);
  }
}

/** One version's policy, checked. */
export interface Policy {
  readonly experiment: string;
  readonly incarnation: number;
  readonly version: number;
  readonly salt: string;
  readonly counting: boolean;
  readonly arms: readonly string[];
  readonly upto: readonly number[];
  readonly default: string;
  readonly low: number;
  readonly high: number;
  /** Milliseconds since 1970. */
  readonly closeAt: number;
  readonly previous: string;
  readonly digest: string;
}

/** Read and check a policy; whatever is wrong with it throws `Refused`. */
export function parsePolicy(text: string): Policy {
  if (new TextEncoder().encode(text).length > LONGEST) throw new Refused("malformed", `A policy has at most ${LONGEST} bytes.`);
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    throw new Refused("malformed", "A policy is JSON.");
  }
  const content = object(document, "A policy is an object.");
  const computed = digest(content);
  const policy = checked(content);
  if (computed !== policy.digest) throw new Refused("digest", "The digest of the policy is not that of its content.");
  return policy;
}

/** Throw `Refused` if a policy is not one of this experiment, or cannot come after one that is held. */
export function checkAfter(policy: Policy, experiment: string, held: Policy | undefined): void {
  if (policy.experiment !== experiment) throw new Refused("experiment", "The policy is that of another experiment.");
  if (held === undefined) return;
  const ahead = policy.incarnation - held.incarnation || policy.version - held.version;
  if (ahead < 0) throw new Refused("older", "The policy is older than the one held: was a backup restored?");
  if (ahead === 0 && policy.digest !== held.digest) {
    throw new Refused("altered", "The policy has the number of the one held and another content.");
  }
  const follows = policy.incarnation === held.incarnation && policy.version === held.version + 1;
  if (follows && policy.previous !== held.digest) {
    throw new Refused("chain", "The policy does not name the one held as the one before it.");
  }
}

/** The digest of a policy: SHA-256 of its canonical JSON (RFC 8785) without the member `digest`. */
export function digest(document: Record<string, unknown>): string {
  const { digest: _, ...content } = document;
  return "sha256:" + hex(sha256(new TextEncoder().encode(canonical(content))));
}

/** Canonical JSON (RFC 8785) of what `JSON.parse` gives, with numbers of at most 2^53 - 1. */
export function canonical(value: unknown, depth = 0): string {
  require(depth <= DEEPEST, "A policy is not nested so deeply.");
  if (Array.isArray(value)) return `[${value.map((entry) => canonical(entry, depth + 1)).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = value as Record<string, unknown>;
    const names = Object.keys(members).sort();
    return `{${names.map((name) => `${canonical(name)}:${canonical(members[name], depth + 1)}`).join(",")}}`;
  }
  if (typeof value === "number") number(value);
  if (typeof value === "string") require(isUnicode(value), "Texts have no lone surrogates.");
  return JSON.stringify(value);
}

function checked(content: Record<string, unknown>): Policy {
  const { experiment, arms, upto, counting, salt, previous, digest } = content;
  require(content["format"] === FORMAT, `The format of a policy is "${FORMAT}".`);
  require(typeof experiment === "string" && experiment !== "", "A policy names its experiment.");
  require(Array.isArray(arms) && Array.isArray(upto) && arms.length > 0, "A policy has arms and their shares.");
  require(arms.every((arm) => typeof arm === "string" && arm !== ""), "Each arm has a name.");
  require(new Set(arms).size === arms.length && upto.length === arms.length, "Each arm has one name and one share.");
  const bounds = upto.map((entry) => integer(entry, WHOLE));
  const rise = bounds.every((entry, place) => place === 0 || bounds[place - 1]! <= entry);
  require(rise && bounds[bounds.length - 1] === WHOLE, "Cumulative shares rise to 2^32.");
  const value = object(content["value"], "Values have a range.");
  const low = number(value["low"]);
  const high = number(value["high"]);
  require(low < high, "Values range from low to a larger high.");
  require(typeof content["default"] === "string" && arms.includes(content["default"]), "The default arm is one of the arms.");
  require(typeof counting === "boolean", "'counting' is true or false.");
  require(matches(SALT, salt), "A version is named by 32 hex digits.");
  require(previous === "" || matches(DIGEST, previous), "'previous' is a digest, or empty.");
  require(matches(DIGEST, digest), "'digest' is the SHA-256 of the content.");
  const from = time(content["serve_from"]);
  const until = time(content["serve_until"]);
  const closeAt = time(content["close_at"]);
  require(from < until && until <= closeAt, "A version is served, then closed.");
  return {
    experiment, salt, counting, low, high, closeAt, digest,
    previous: previous as string,
    incarnation: integer(content["incarnation"], Number.MAX_SAFE_INTEGER),
    version: integer(content["version"], Number.MAX_SAFE_INTEGER),
    arms: arms as string[],
    upto: bounds,
    default: content["default"],
  };
}

function object(value: unknown, message: string): Record<string, unknown> {
  require(typeof value === "object" && value !== null && !Array.isArray(value), message);
  return value as Record<string, unknown>;
}

function number(value: unknown): number {
  require(typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER, "Numbers are at most 2^53 - 1.");
  return value;
}

function integer(value: unknown, most: number): number {
  const found = number(value);
  require(Number.isInteger(found) && found >= 0 && found <= most, `This is not an integer from 0 to ${most}.`);
  return found;
}

function time(value: unknown): number {
  const parts = typeof value === "string" ? TIME.exec(value) : null;
  require(parts !== null, "Times are written as 2026-11-17T00:00:00Z.");
  const whole = Date.parse(`${parts[1]}Z`);
  // What there is not (the 30th of February, 24 o'clock) is not written back as it was read.
  require(!Number.isNaN(whole) && new Date(whole).toISOString().startsWith(parts[1]!), "There is no such time.");
  return whole + 1000 * Number(parts[2] ?? 0);
}

function matches(pattern: RegExp, value: unknown): value is string {
  return typeof value === "string" && pattern.test(value);
}

function require(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Refused("malformed", message);
}
