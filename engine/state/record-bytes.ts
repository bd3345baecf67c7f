import { letterBytes } from "../core/dead-letter.ts";
import { lettersOf, rangesOf, type BatchRecord } from "../core/journal.ts";

/** A stored number takes at most this much, in bytes. */
const number = 9;
/** The other fields of a record or a range, with a feed's name of the usual size. */
const fields = 512;
/** Pages are at least half full. */
export const pageFill = 2;
/**
 * A letter that is removed, or one that stays among removed ones, may be alone in its page: that page and its parent.
 */
export const letterPages = 8192;

/** The most bytes that LMDB writes to store a record, to remove it, or to make its letters visible. */
export function recordBytes(record: BatchRecord): number {
  const { only = [], excluded, rejections, waiting, keys } = record;
  const [ranges, letters] = [rangesOf(record), lettersOf(record)];
  const numbers =
    letters.length + only.length + excluded.length + keys.reduce((sum, { positions }) => sum + positions.length, 0);
  const small = fields * (1 + ranges.length) + number * (numbers + 16 * waiting.length);
  const letterTexts = rejections.reduce((sum, rejection) => sum + letterBytes(rejection), 0);
  return (
    pageFill * (small + letterTexts + keys.reduce((sum, { prints }) => sum + prints.length, 0)) +
    letterPages * letters.length
  );
}
