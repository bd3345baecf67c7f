import type { Rejection } from "../core/dead-letter.ts";
import { lettersOf, rangesOf, type BatchRecord } from "../core/journal.ts";

/** A number as it is kept takes at most this much, in bytes. */
const number = 9;
/** The fields of a record or a range beside what is counted, with a feed's name of the usual size. */
const fields = 512;
/** The same of a rejection, without its texts and its feed. */
const rejectionFields = 192;
/** Pages are half full at the least. */
const pageFill = 2;
/** A letter that goes, or that stays among those that go, may be the only one in its page: that page and the one above. */
export const letterPages = 8192;

/** What LMDB writes at the most to keep a record, to take it out, or to make its letters visible. */
export function recordBytes(record: BatchRecord): number {
  const { only = [], excluded, rejections, waiting, keys } = record;
  const [ranges, letters] = [rangesOf(record), lettersOf(record)];
  const numbers =
    letters.length + only.length + excluded.length + keys.reduce((sum, { positions }) => sum + positions.length, 0);
  const small = fields * (1 + ranges.length) + number * (numbers + 16 * waiting.length);
  const letterTexts = rejections.reduce((sum, rejection) => sum + rejectionBytes(rejection), 0);
  return (
    pageFill * (small + letterTexts + keys.reduce((sum, { prints }) => sum + prints.length, 0)) +
    letterPages * letters.length
  );
}

function rejectionBytes({ error, original_message, source_message = "", feed = "", origin = "" }: Rejection): number {
  const texts = [error, original_message, source_message, feed, origin];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), rejectionFields);
}
