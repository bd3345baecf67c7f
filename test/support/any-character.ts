import { integer, type Arbitrary } from "fast-check";

const surrogates = { first: 0xd800, count: 0x800 };

/** Any character, as the unit of a text. fast-check's own, "binary", takes nearly a second of each process to be made. */
export const anyCharacter: Arbitrary<string> = integer({ min: 0, max: 0x10ffff - surrogates.count }).map((number) =>
  String.fromCodePoint(number < surrogates.first ? number : number + surrogates.count),
);
