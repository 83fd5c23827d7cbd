/**
 * Replies that wait to be sent: a bounded queue whose rows cannot hurt each other.
 *
 * Each row is checked and written as JSON before it waits, so that no value can spoil a batch. One person's rows cannot
 * fill the queue. Every row that is dropped is counted under its version and a reason.
 */

const TOKEN = /^([0-9a-f]{32})\.([0-9a-f]{32})$/;
/** Rows of one person and version that may wait. */
export const PER_PERSON = 32;
/** Versions under which drops are counted; those of further ones, which somebody has invented, are counted as "other". */
const MOST_NAMED = 1000;

/** A reply that waits. */
export interface Row {
  readonly salt: string;
  readonly token: string;
  readonly text: string;
  underWay: boolean;
}

/** The salt of a token; undefined for what is no token. */
export function saltOf(token: unknown): string | undefined {
  return typeof token === "string" ? TOKEN.exec(token)?.[1] : undefined;
}

/** The body of a request that sends these rows. */
export function body(rows: readonly Row[]): string {
  return `{"replies":[${rows.map((row) => row.text).join(",")}]}`;
}

/** Keeps rows until they are sent, oldest first. */
export class Replies {
  sent = 0;
  readonly #rows = new Set<Row>(); // in the order in which they came
  readonly #waiting = new Map<string, number>(); // by token
  readonly #dropped = new Map<string, Map<string, number>>(); // by salt and reason

  /** @param capacity how many rows may wait; beyond that the oldest is dropped for a new one. */
  constructor(readonly capacity: number) {}

  get size(): number {
    return this.#rows.size;
  }

  /** Take one reply in, if it is a good one; whether it was taken. */
  add(token: unknown, value: unknown, low: number, high: number): boolean {
    const salt = saltOf(token);
    const number = typeof value === "boolean" ? Number(value) : value;
    if (salt === undefined || typeof token !== "string") return this.count("", "token");
    if (typeof number !== "number" || !Number.isFinite(number) || number < low || number > high) {
      return this.count(salt, "value");
    }
    const waiting = this.#waiting.get(token) ?? 0;
    if (waiting >= PER_PERSON) return this.count(salt, "person");
    if (this.#rows.size >= this.capacity) {
      const [oldest] = this.#first(1);
      if (oldest === undefined) return this.count(salt, "full"); // all are under way
      this.drop([oldest], "full");
    }
    this.#waiting.set(token, waiting + 1);
    this.#rows.add({ salt, token, text: JSON.stringify([salt, token.slice(33), number]), underWay: false });
    return true;
  }

  /** Up to so many of the oldest rows, which are under way from now on. */
  take(count: number): Row[] {
    const rows = this.#first(count);
    for (const row of rows) row.underWay = true;
    return rows;
  }

  /** Let rows that were taken wait again. */
  putBack(rows: readonly Row[]): void {
    for (const row of rows) row.underWay = false;
  }

  /** Forget rows that were answered; `refused` has a reason for each place that was not taken. */
  acknowledge(rows: readonly Row[], refused: ReadonlyMap<number, string>): void {
    rows.forEach((row, place) => {
      const reason = refused.get(place);
      if (reason === undefined) this.sent++;
      this.drop([row], reason);
    });
  }

  /** Forget rows, and count them as dropped if there is a reason. */
  drop(rows: readonly Row[], reason?: string): void {
    for (const row of rows) {
      this.#rows.delete(row);
      const left = (this.#waiting.get(row.token) ?? 1) - 1;
      if (left > 0) this.#waiting.set(row.token, left);
      else this.#waiting.delete(row.token);
      if (reason !== undefined) this.count(row.salt, reason);
    }
  }

  /** Forget all rows that are not under way. */
  dropWaiting(reason: string): void {
    this.drop(this.#first(Infinity), reason);
  }

  /** Count a row as dropped; always false. */
  count(salt: string, reason: string): false {
    const known = this.#dropped.has(salt) || this.#dropped.size < MOST_NAMED ? salt : "other";
    const reasons = this.#dropped.get(known) ?? new Map<string, number>();
    this.#dropped.set(known, reasons.set(reason, (reasons.get(reason) ?? 0) + 1));
    return false;
  }

  /** How many rows were dropped, by version and reason. The version of what is no token is "". */
  dropped(): Record<string, Record<string, number>> {
    return Object.fromEntries([...this.#dropped].map(([salt, reasons]) => [salt, Object.fromEntries(reasons)]));
  }

  #first(count: number): Row[] {
    const found: Row[] = [];
    for (const row of this.#rows) {
      if (found.length >= count) break;
      if (!row.underWay) found.push(row);
    }
    return found;
  }
}
