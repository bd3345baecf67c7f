/** Texts that are remembered, and the letters of the longest. */
const [slots, longest] = [256, 32];

/** One in so many texts that are not known is remembered: those that come again and again soon are. */
const oneIn = 8;

/**
 * Makes texts of bytes, each of ASCII letters, and knows the short ones that come again and again, such as names and
 * levels: it takes much longer to make a text than to see that it is known.
 */
export class KnownTexts {
  readonly #texts: string[] = Array.from({ length: slots }, () => "");
  /** Of each slot the bytes of its text. */
  readonly #bytes = new Uint8Array(slots * longest);
  #unknown = 0;

  /** The text of the bytes from `start` until before `end`. */
  of(bytes: Buffer, start: number, end: number): string {
    const length = end - start;
    if (length > longest || length === 0) return bytes.toString("latin1", start, end);
    const slot = (31 * bytes[end - 1]! + 17 * bytes[start + (length >> 1)]! + 7 * bytes[start]! + length) % slots;
    const known = this.#texts[slot]!;
    if (known.length === length && this.#holds(slot, bytes, start, length)) return known;
    const text = bytes.toString("latin1", start, end);
    this.#unknown += 1;
    if (this.#unknown % oneIn === 0) this.#remember(slot, text, bytes, start);
    return text;
  }

  /** Texts that are alike, such as paths and numbers of orders, mostly differ at their ends. */
  #holds(slot: number, bytes: Buffer, start: number, length: number): boolean {
    const first = slot * longest;
    for (let at = length - 1; at >= 0; at -= 1) if (this.#bytes[first + at] !== bytes[start + at]) return false;
    return true;
  }

  #remember(slot: number, text: string, bytes: Buffer, start: number): void {
    for (let at = 0; at < text.length; at += 1) this.#bytes[slot * longest + at] = bytes[start + at]!;
    this.#texts[slot] = text;
  }
}
