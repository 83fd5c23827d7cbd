/**
 * Which arm a person gets: SHA-256 and integers only, so that every language gives the same answer.
 *
 *     pid = hex of the first 16 bytes of HMAC-SHA-256(secret, "tacit/person/1" 00 utf8(person))
 *     d   = SHA-256("tacit/assign/1" 00 salt 00 pid),  u = the first four bytes of d, big-endian
 *     arm = the number of entries of `upto` that are at most u
 */

import { Sha256, bytesOf, hex, sha256 } from "./sha256.js";

const SHORTEST_SECRET = 16;
const BLOCK = 64;
const encoder = new TextEncoder();

/** Bytes of a text in UTF-8, in a place that the next call overwrites; -1 for a lone surrogate. */
let written = new Uint8Array(256);

function encode(text: string): number {
  if (written.length < 3 * text.length) written = new Uint8Array(6 * text.length);
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i);
    if (code < 0x80) {
      written[at++] = code;
      continue;
    }
    if (code < 0x800) {
      written[at++] = 0xc0 | (code >> 6);
    } else {
      if (code >= 0xd800 && code < 0xe000) {
        const next = text.charCodeAt(++i);
        if (code >= 0xdc00 || !(next >= 0xdc00 && next < 0xe000)) return -1;
        code = 0x10000 + ((code - 0xd800) << 10) + (next - 0xdc00);
        written[at++] = 0xf0 | (code >> 18);
        written[at++] = 0x80 | ((code >> 12) & 0x3f);
      } else {
        written[at++] = 0xe0 | (code >> 12);
      }
      written[at++] = 0x80 | ((code >> 6) & 0x3f);
    }
    written[at++] = 0x80 | (code & 0x3f);
  }
  return at;
}

/** Whether a text is Unicode: no surrogate stands alone. */
export function isUnicode(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** Turns the ids of persons into pids under a secret key. */
export class PersonSecret {
  readonly #inner = new Sha256();
  readonly #outer = new Sha256();
  readonly #work = new Sha256();
  readonly #digest = new Uint8Array(32);

  /** @param secret at least 16 bytes, or text of which the UTF-8 bytes are taken. */
  constructor(secret: string | Uint8Array) {
    let key = typeof secret === "string" ? encoder.encode(secret) : Uint8Array.from(secret);
    if (key.length < SHORTEST_SECRET) throw new TypeError(`The person secret must have at least ${SHORTEST_SECRET} bytes.`);
    if (key.length > BLOCK) key = Uint8Array.from(sha256(key));
    const pad = new Uint8Array(BLOCK);
    pad.set(key);
    this.#inner.update(pad.map((byte) => byte ^ 0x36)).update(encoder.encode("tacit/person/1\0"));
    this.#outer.update(pad.map((byte) => byte ^ 0x5c));
  }

  /** The 32 hex digits that stand for a person; undefined for an empty text and for one with a lone surrogate. */
  pid(person: string): string | undefined {
    const length = encode(person);
    if (length <= 0) return undefined;
    bytesOf(this.#work.continueFrom(this.#inner).update(written, length).words(), this.#digest);
    bytesOf(this.#work.continueFrom(this.#outer).update(this.#digest).words(), this.#digest);
    return hex(this.#digest, 16);
  }
}

/** Gives each pid its arm in one version. */
export class Assignment {
  readonly #begin: Sha256;
  readonly #work = new Sha256();
  readonly #upto: readonly number[];

  /**
   * @param salt the version's random name.
   * @param upto cumulative shares as integers; the last one is 2^32.
   */
  constructor(salt: string, upto: readonly number[]) {
    this.#begin = new Sha256().update(encoder.encode(`tacit/assign/1\0${salt}\0`));
    this.#upto = [...upto];
  }

  /** The place of a pid's arm. */
  arm(pid: string): number {
    const u = this.#work.continueFrom(this.#begin).update(written, encode(pid)).words()[0]! >>> 0;
    let arm = 0;
    while (this.#upto[arm]! <= u) arm++;
    return arm;
  }
}
