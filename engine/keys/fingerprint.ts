/** Length of the secret, in bytes. */
const secretLength = 16;

/** Words of a fingerprint, and of a block of eight UTF-16 units. */
const width = 4;
const unitsPerBlock = 2 * width;

/**
 * 128-bit fingerprints of texts, under a secret: Chaskey-12 (ISO/IEC 29192-6), a keyed function that needs only
 * additions, rotations and XORs of 32-bit words, over the UTF-16 units of the text, low byte first. Different texts
 * have different inputs, also those with lone surrogates.
 *
 * Two different keys do not collide in practice: without the secret the words look random, so the probability that any
 * two of n keys collide is n * n / 2^129, which is 1.5e-25 for ten million keys, even if an attacker chose them. The
 * secret must be random, be kept as long as its fingerprints, and never be shown; nor may a fingerprint.
 *
 * Not safe for two threads: an instance reuses its memory.
 */
export class Fingerprints {
  readonly #secret: Int32Array;
  /** Masks of the last block: of a full one, and of a padded one. */
  readonly #full: Int32Array;
  readonly #padded: Int32Array;
  readonly #state = new Int32Array(width);

  /** `secret` has 16 bytes, which are copied. Throws a RangeError for another length. */
  constructor(secret: Buffer) {
    if (secret.length !== secretLength) {
      throw new RangeError(`secret of fingerprints: expected ${secretLength} bytes, found ${secret.length}`);
    }
    this.#secret = Int32Array.from({ length: width }, (_, word) => secret.readInt32LE(4 * word));
    this.#full = doubled(this.#secret);
    this.#padded = doubled(this.#full);
  }

  /** Writes the four words of `text` into `into`, from the index `at` on. */
  of(text: string, into: Uint32Array, at: number): void {
    const state = this.#begin();
    const { length } = text;
    let unit = 0;
    for (; unit + unitsPerBlock < length; unit += unitsPerBlock) {
      mix(state, 0, text.charCodeAt(unit) | (text.charCodeAt(unit + 1) << 16));
      mix(state, 1, text.charCodeAt(unit + 2) | (text.charCodeAt(unit + 3) << 16));
      mix(state, 2, text.charCodeAt(unit + 4) | (text.charCodeAt(unit + 5) << 16));
      mix(state, 3, text.charCodeAt(unit + 6) | (text.charCodeAt(unit + 7) << 16));
      permute(state);
    }
    const rest = length - unit;
    for (let place = 0; place < rest; place += 1) mixUnit(state, place, text.charCodeAt(unit + place));
    this.#finish(rest, into, at);
  }

  /** The same for a text of ASCII letters, which are the bytes from `start` until before `end`. */
  ofLetters(bytes: Uint8Array, start: number, end: number, into: Uint32Array, at: number): void {
    const state = this.#begin();
    let unit = start;
    for (; unit + unitsPerBlock < end; unit += unitsPerBlock) {
      mix(state, 0, bytes[unit]! | (bytes[unit + 1]! << 16));
      mix(state, 1, bytes[unit + 2]! | (bytes[unit + 3]! << 16));
      mix(state, 2, bytes[unit + 4]! | (bytes[unit + 5]! << 16));
      mix(state, 3, bytes[unit + 6]! | (bytes[unit + 7]! << 16));
      permute(state);
    }
    const rest = end - unit;
    for (let place = 0; place < rest; place += 1) mixUnit(state, place, bytes[unit + place]!);
    this.#finish(rest, into, at);
  }

  #begin(): Int32Array {
    const state = this.#state;
    for (let word = 0; word < width; word += 1) state[word] = this.#secret[word] as number;
    return state;
  }

  /** Ends the fingerprint after the last block, which has `rest` units. */
  #finish(rest: number, into: Uint32Array, at: number): void {
    const state = this.#state;
    const mask = rest === unitsPerBlock ? this.#full : this.#padded;
    // A 1 begins the padding, so that a text differs from the same text with zeros after it.
    if (mask === this.#padded) mixUnit(state, rest, 1);
    mixAll(state, mask);
    permute(state);
    mixAll(state, mask);
    for (let word = 0; word < width; word += 1) into[at + word] = state[word] as number;
  }
}

function mix(state: Int32Array, word: number, value: number): void {
  state[word] = (state[word] as number) ^ value;
}

function mixUnit(state: Int32Array, place: number, unit: number): void {
  mix(state, place >> 1, place % 2 === 0 ? unit : unit << 16);
}

function mixAll(state: Int32Array, mask: Int32Array): void {
  for (let word = 0; word < width; word += 1) mix(state, word, mask[word] as number);
}

/** Doubles the words, as an element of the field of 2^128 elements with x^128 + x^7 + x^2 + x + 1. */
function doubled(words: Int32Array): Int32Array {
  const [first, second, third, fourth] = words as unknown as [number, number, number, number];
  return Int32Array.of(
    (first << 1) ^ (fourth < 0 ? 0x87 : 0),
    (second << 1) | (first >>> 31),
    (third << 1) | (second >>> 31),
    (fourth << 1) | (third >>> 31),
  );
}

/** Twelve rounds; the words are in local variables meanwhile, which makes them fast. */
function permute(state: Int32Array): void {
  let a = state[0] as number;
  let b = state[1] as number;
  let c = state[2] as number;
  let d = state[3] as number;
  for (let round = 0; round < 12; round += 1) {
    a = (a + b) | 0;
    b = ((b << 5) | (b >>> 27)) ^ a;
    a = (a << 16) | (a >>> 16);
    c = (c + d) | 0;
    d = ((d << 8) | (d >>> 24)) ^ c;
    a = (a + d) | 0;
    d = ((d << 13) | (d >>> 19)) ^ a;
    c = (c + b) | 0;
    b = ((b << 7) | (b >>> 25)) ^ c;
    c = (c << 16) | (c >>> 16);
  }
  state[0] = a;
  state[1] = b;
  state[2] = c;
  state[3] = d;
}
