import { writeNumber } from "./json-bytes.ts";
import { Fields } from "./fields.ts";
import type { RowWriter } from "./row-writer.ts";

const [openArray, closeArray, comma] = Buffer.from("[],");

/** Writes repeated numbers as arrays; `[]` for a field that a kind of message does not have. */
export class NumberLists {
  readonly #row: RowWriter;
  readonly #pair = new Fields({ fields: { 1: "fixed64", 2: "fixed64" } });

  constructor(row: RowWriter) {
    this.#row = row;
  }

  /** Writes unsigned whole numbers of 64 bits. */
  fixed64s(of: Fields, number: number | undefined): void {
    const { wire, out } = this.#row;
    this.#places(of, number, (place) => out.uint64(wire.uint32(place + 4), wire.uint32(place)));
  }

  doubles(of: Fields, number: number | undefined): void {
    const { wire, out } = this.#row;
    this.#places(of, number, (place) => writeNumber(out, wire.double(place)));
  }

  /** Writes unsigned whole numbers that are varints. */
  varints(of: Fields, number: number): void {
    const { wire, out } = this.#row;
    this.#array(of, number, (start, end, next) => {
      for (wire.at = start; wire.at < end;) {
        wire.varint(end);
        next();
        out.uint64(wire.high, wire.low);
      }
    });
  }

  /** Writes the double that is field `member` of each of the messages, which are at `depth`. */
  doublesOf(of: Fields, number: number, member: number, depth: number): void {
    const { wire, out } = this.#row;
    this.#array(of, number, (start, end, next) => {
      this.#pair.read(wire, start, end, depth);
      next();
      const place = this.#pair.start(member);
      writeNumber(out, place < 0 ? 0 : wire.double(place));
    });
  }

  #places(of: Fields, number: number | undefined, write: (place: number) => void): void {
    const { wire } = this.#row;
    this.#array(of, number, (start, end, next) => {
      for (wire.at = start; wire.at < end;) {
        const place = wire.take(8, end);
        next();
        write(place);
      }
    });
  }

  /** Reads the parts; `next` is called before each number. */
  #array(
    { parts, partCount }: Fields,
    number: number | undefined,
    part: (start: number, end: number, next: () => void) => void,
  ): void {
    const { out } = this.#row;
    out.byte(openArray!);
    let isFirst = true;
    const next = () => {
      if (!isFirst) out.byte(comma!);
      isFirst = false;
    };
    for (let at = 0; at < 3 * partCount; at += 3) {
      if (parts[at] === number) part(parts[at + 1]!, parts[at + 2]!, next);
    }
    out.byte(closeArray!);
  }
}
