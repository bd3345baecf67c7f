const [quote, backslash, comma, colon, minus, plus, point, zero] = Buffer.from('"\\,:-+.0');
const [openObject, closeObject, openArray, closeArray, letterE, letterU] = Buffer.from("{}[]eu");
const shortEscapes = new Set(Buffer.from('"\\/bfnrt'));
const words = ["true", "false", "null"].map((word) => Buffer.from(word));

/**
 * Checks that bytes are JSON without making a value of them, in a time that depends on their number alone: JSON.parse
 * takes many times as long for an object of many small ones. The bytes are UTF-8, and nested no deeper than the stack
 * bears.
 */
export class JsonCheck {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The offset of the first byte that does not belong there; undefined where all is JSON. */
  brokenAt(): number | undefined {
    return this.#value() && this.#at === this.#bytes.length ? undefined : this.#at;
  }

  /** A value with the space around it. */
  #value(): boolean {
    this.#space();
    return this.#bare() && this.#space();
  }

  #bare(): boolean {
    const byte = this.#bytes[this.#at];
    if (byte === quote) return this.#text();
    if (byte === openObject) return this.#group(closeObject!, true);
    if (byte === openArray) return this.#group(closeArray!, false);
    if (byte === minus || isDigit(byte)) return this.#number();
    return words.some((word) => this.#word(word));
  }

  /** An object or an array. */
  #group(close: number, isObject: boolean): boolean {
    this.#at += 1;
    this.#space();
    if (this.#passes(close)) return true;
    for (;;) {
      if (isObject && !this.#key()) return false;
      if (!this.#value()) return false;
      if (this.#passes(close)) return true;
      if (!this.#passes(comma!)) return false;
    }
  }

  #key(): boolean {
    this.#space();
    return this.#bytes[this.#at] === quote && this.#text() && this.#space() && this.#passes(colon!);
  }

  #text(): boolean {
    for (this.#at += 1; ;) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined || byte < 0x20) return false;
      if (byte === backslash && !this.#escape()) return false;
      this.#at += 1;
      if (byte === quote) return true;
    }
  }

  /** Goes to the last byte of an escape. */
  #escape(): boolean {
    this.#at += 1;
    const letter = this.#bytes[this.#at];
    if (letter !== letterU) return letter !== undefined && shortEscapes.has(letter);
    for (let digit = 0; digit < 4; digit += 1) {
      this.#at += 1;
      if (!isHexadecimal(this.#bytes[this.#at])) return false;
    }
    return true;
  }

  #number(): boolean {
    this.#passes(minus!);
    if (!this.#passes(zero!) && !this.#digits()) return false;
    if (this.#passes(point!) && !this.#digits()) return false;
    if (((this.#bytes[this.#at] ?? 0) | 0x20) !== letterE) return true;
    this.#at += 1;
    if (!this.#passes(minus!)) this.#passes(plus!);
    return this.#digits();
  }

  /** At least one digit. */
  #digits(): boolean {
    const start = this.#at;
    while (isDigit(this.#bytes[this.#at])) this.#at += 1;
    return this.#at > start;
  }

  #word(word: Buffer): boolean {
    if (!word.equals(this.#bytes.subarray(this.#at, this.#at + word.length))) return false;
    this.#at += word.length;
    return true;
  }

  #space(): true {
    for (;;) {
      const byte = this.#bytes[this.#at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return true;
      this.#at += 1;
    }
  }

  #passes(byte: number): boolean {
    if (this.#bytes[this.#at] !== byte) return false;
    this.#at += 1;
    return true;
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function isHexadecimal(byte: number | undefined): boolean {
  const letter = ((byte ?? 0) | 0x20) - 0x61;
  return isDigit(byte) || (letter >= 0 && letter < 6);
}
