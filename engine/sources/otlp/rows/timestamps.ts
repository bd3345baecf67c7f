import type { JsonBytes } from "./json-bytes.ts";

const billion = 1_000_000_000;
const secondsOfDay = 86_400;
/** Where the hour stands in a timestamp with its quote. */
const hourPlace = 12;
const [quote, point, letterZ, zero] = Buffer.from('".Z0');

/** Writes nanoseconds since the epoch as RFC 3339 in UTC, without zeros at the end: `"2024-01-15T10:50:00.5Z"`. */
export class Timestamps {
  /** The day that was written last: records that come together mostly share it. */
  #day = 0;
  readonly #text = Buffer.from('"1970-01-01T00:00:00');

  /** Takes the halves of an unsigned number of 64 bits. */
  write(out: JsonBytes, high: number, low: number): void {
    // Divided as by hand, in digits of 16 bits, so that each step is exact.
    const first = Math.floor(high / billion);
    const middle = (high - first * billion) * 65536 + (low >>> 16);
    const second = Math.floor(middle / billion);
    const least = (middle - second * billion) * 65536 + (low & 65535);
    const third = Math.floor(least / billion);
    this.#turnTo((first * 65536 + second) * 65536 + third);
    out.put(this.#text);
    const nanoseconds = least - third * billion;
    if (nanoseconds > 0) {
      out.byte(point!);
      writeFraction(out, nanoseconds);
    }
    const bytes = out.reserve(2);
    bytes[out.length] = letterZ!;
    bytes[out.length + 1] = quote!;
    out.length += 2;
  }

  #turnTo(second: number): void {
    const day = Math.floor(second / secondsOfDay);
    if (day !== this.#day) {
      this.#day = day;
      this.#text.write(new Date(day * secondsOfDay * 1000).toISOString().slice(0, 10), 1);
    }
    const rest = (second - day * secondsOfDay) | 0;
    const minutes = (rest / 60) | 0;
    const hours = (minutes / 60) | 0;
    writeTwo(this.#text, hourPlace, hours);
    writeTwo(this.#text, hourPlace + 3, minutes - 60 * hours);
    writeTwo(this.#text, hourPlace + 6, rest - 60 * minutes);
  }
}

/** Writes two digits. */
function writeTwo(text: Uint8Array, place: number, value: number): void {
  const tens = (value / 10) | 0;
  text[place] = zero! + tens;
  text[place + 1] = zero! + value - 10 * tens;
}

function writeFraction(out: JsonBytes, nanoseconds: number): void {
  let fraction = nanoseconds | 0;
  let width = 9;
  while (fraction % 10 === 0) {
    fraction /= 10;
    width -= 1;
  }
  out.padded(fraction, width);
}
