const [lineBreak, quote, backslash, minus, zero] = Buffer.from('\n"\\-0') as unknown as [
  number,
  number,
  number,
  number,
  number,
];

/** Bytes above the guess: rows that are made may be longer than their events. */
const slack = 4096;

/** Shorter texts are written letter by letter: it takes longer to call what writes long ones fast. */
const short = 64;

/** Most bytes of a character of a text, which is one or two of its units. */
const widest = 3;

/** Numbers of up to 31 bits, and the most digits that they have. */
const [mostWhole, mostDigits] = [2 ** 31 - 1, 10];

/** The body of an insert while it grows, row by row: bytes of events that are rows as they are, and values as JSON. */
export class RowBody {
  #bytes: Buffer;
  #end = 0;

  /** `size` is a guess at its bytes. */
  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafe(size + slack);
  }

  get length(): number {
    return this.#end;
  }

  /** Takes back what was added since it had that length. */
  cutTo(length: number): void {
    this.#end = length;
  }

  /** Bytes that lie among others, such as a row without its line break. */
  addBytes(bytes: Buffer, start = 0, end = bytes.length): void {
    this.#reserve(end - start);
    bytes.copy(this.#bytes, this.#end, start, end);
    this.#end += end - start;
  }

  /** A few bytes. */
  addShort(few: Uint8Array): void {
    this.#reserve(few.length);
    for (let at = 0; at < few.length; at += 1) this.#bytes[this.#end + at] = few[at]!;
    this.#end += few.length;
  }

  endRow(): void {
    this.#reserve(1);
    this.#bytes[this.#end] = lineBreak;
    this.#end += 1;
  }

  /** JSON. */
  addJson(text: string): void {
    this.#reserve(widest * text.length);
    const start = this.#end;
    if (text.length > short) this.#end += this.#bytes.write(text, start);
    else if (!this.#addShortAscii(text)) this.#end = start + this.#bytes.write(text, start);
  }

  /** A text as JSON, if it is short, and JSON spells each of its letters as itself in one byte; else adds nothing. */
  addShortText(text: string): boolean {
    const { length } = text;
    if (length > short) return false;
    this.#reserve(length + 2);
    const bytes = this.#bytes;
    let end = this.#end;
    bytes[end++] = quote;
    for (let at = 0; at < length; at += 1) {
      const letter = text.charCodeAt(at);
      if (letter < 0x20 || letter > 0x7e || letter === quote || letter === backslash) return false;
      bytes[end++] = letter;
    }
    bytes[end++] = quote;
    this.#end = end;
    return true;
  }

  /** A whole number, if it is at most `mostWhole` on either side of 0; else adds nothing. */
  addShortWhole(value: number): boolean {
    if (value < -mostWhole || value > mostWhole) return false;
    this.#reserve(mostDigits + 1);
    let rest = value;
    if (value < 0) {
      rest = -value;
      this.#bytes[this.#end++] = minus;
    }
    const end = this.#end + digitsOf(rest);
    this.#end = end;
    for (let at = end - 1; ; at -= 1) {
      const tens = (rest / 10) | 0;
      this.#bytes[at] = zero + rest - 10 * tens;
      if (tens === 0) return true;
      rest = tens;
    }
  }

  toBytes(): Buffer {
    return this.#bytes.subarray(0, this.#end);
  }

  #addShortAscii(text: string): boolean {
    const bytes = this.#bytes;
    let end = this.#end;
    for (let at = 0; at < text.length; at += 1) {
      const letter = text.charCodeAt(at);
      if (letter > 0x7f) return false;
      bytes[end++] = letter;
    }
    this.#end = end;
    return true;
  }

  #reserve(size: number): void {
    const needed = this.#end + size;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(grown, 0, 0, this.#end);
    this.#bytes = grown;
  }
}

/** How many digits a whole number of up to 31 bits has. */
function digitsOf(value: number): number {
  let digits = 1;
  for (let limit = 10; digits < mostDigits && value >= limit; limit *= 10) digits += 1;
  return digits;
}
