/**
 * SHA-256 (FIPS 180-4), without waiting: what browsers offer (WebCrypto) is asynchronous, and a decision is not.
 */

const BLOCK = 64;

const K = new Int32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
  0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
  0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
  0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
  0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
  0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
]);

const START = new Int32Array([
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
]);

const W = new Int32Array(64);
const LENGTH = new Int32Array(2);

/** Absorb one block of 64 bytes. */
function compress(state: Int32Array, bytes: Uint8Array, at: number): void {
  for (let i = 0; i < 16; i++, at += 4) {
    W[i] = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
  }
  for (let i = 16; i < 64; i++) {
    const x = W[i - 15]!;
    const y = W[i - 2]!;
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    W[i] = (W[i - 16]! + s0 + W[i - 7]! + s1) | 0;
  }
  let a = state[0]!, b = state[1]!, c = state[2]!, d = state[3]!;
  let e = state[4]!, f = state[5]!, g = state[6]!, h = state[7]!;
  for (let i = 0; i < 64; i++) {
    const S1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + S1 + ((e & f) ^ (~e & g)) + K[i]! + W[i]!) | 0;
    const S0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (S0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g; g = f; f = e; e = (d + t1) | 0;
    d = c; c = b; b = a; a = (t1 + t2) | 0;
  }
  state[0] = (state[0]! + a) | 0; state[1] = (state[1]! + b) | 0;
  state[2] = (state[2]! + c) | 0; state[3] = (state[3]! + d) | 0;
  state[4] = (state[4]! + e) | 0; state[5] = (state[5]! + f) | 0;
  state[6] = (state[6]! + g) | 0; state[7] = (state[7]! + h) | 0;
}

/** A hash under way: what is the same for many texts is absorbed once, and gone on from by `continueFrom`. */
export class Sha256 {
  private readonly state = START.slice();
  private readonly rest = new Uint8Array(BLOCK);
  private held = 0;
  private total = 0;

  /** Forget everything, and go on from where another hash is. */
  continueFrom(other: Sha256): this {
    this.state.set(other.state);
    this.rest.set(other.rest);
    this.held = other.held;
    this.total = other.total;
    return this;
  }

  /** Absorb the first `length` of these bytes. */
  update(bytes: Uint8Array, length = bytes.length): this {
    this.total += length;
    for (let at = 0; at < length; ) {
      if (this.held === 0 && length - at >= BLOCK) {
        compress(this.state, bytes, at);
        at += BLOCK;
        continue;
      }
      this.rest[this.held++] = bytes[at++]!;
      if (this.held === BLOCK) {
        compress(this.state, this.rest, 0);
        this.held = 0;
      }
    }
    return this;
  }

  /** Finish: the eight words of the hash, which the next `continueFrom` overwrites. */
  words(): Int32Array {
    const { rest, state } = this;
    rest[this.held] = 0x80;
    rest.fill(0, this.held + 1);
    if (this.held >= BLOCK - 8) {
      compress(state, rest, 0);
      rest.fill(0);
    }
    LENGTH[0] = Math.floor(this.total / 2 ** 29);
    LENGTH[1] = this.total << 3;
    bytesOf(LENGTH, rest, BLOCK - 8);
    compress(state, rest, 0);
    return state;
  }
}

/** Write words big-endian. */
export function bytesOf(words: Int32Array, into = new Uint8Array(words.length * 4), at = 0): Uint8Array {
  for (let i = 0; i < words.length; i++, at += 4) {
    const word = words[i]!;
    into[at] = word >>> 24;
    into[at + 1] = word >>> 16;
    into[at + 2] = word >>> 8;
    into[at + 3] = word;
  }
  return into;
}

/** The SHA-256 of some bytes. */
export function sha256(bytes: Uint8Array): Uint8Array {
  return bytesOf(new Sha256().update(bytes).words());
}

const DIGITS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Bytes as lower-case hex digits. */
export function hex(bytes: Uint8Array, length = bytes.length): string {
  let text = "";
  for (let i = 0; i < length; i++) text += DIGITS[bytes[i]!];
  return text;
}
