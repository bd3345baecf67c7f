/**
 * The text of a deduplication log of ClickHouse: a line for each token that was noted (`1`) or forgotten (`2`), with the
 * part that it stands for and the block id, which is made of partition and token: `1\tall_7_7_0\tall_83…_19…\n`. When a
 * table is opened its logs are read from the oldest line to the newest.
 */
const form = /^([12])\t([^\t\n]*)\t([^\t\n]*)$/;
const forgotten = "2";
/** Bytes of the shortest record: less cannot be made into one. */
const shortest = 3;

/** Bytes to be overwritten by as many. */
export interface Edit {
  at: number;
  bytes: string;
}

export interface Mending {
  edits: Edit[];
  /** Where the last whole line ends. What is behind was cut off while it was written. */
  end: number;
  /** How many edits forget a token, and how many make an unreadable line readable. */
  tokens: number;
  lines: number;
}

/**
 * Finds what has to change in a log so that it names no token whose rows are not there, and can be read to its end.
 *
 * Every change keeps the length, so that the file is mended in place: also on a full disk, and without a second file,
 * which would keep the table from being opened if it were left over. A record is forgotten as ClickHouse itself does it
 * when it drops a part, and by one byte, so that a kill meanwhile leaves it as it was or as it should be.
 *
 * @param text one byte each character.
 * @param decided block ids that a newer line speaks of; those of this text are added.
 * @param isThere whether the rows of a part are there.
 */
export function mending(text: string, decided: Set<string>, isThere: (part: string) => boolean): Mending {
  const { records, unreadable, end } = read(text);
  const edits = unreadable.map(({ at, length }) => ({ at, bytes: `${forgotten}\t${"-".repeat(length - shortest)}\t` }));
  for (const { at, operation, part, blockId } of records.toReversed()) {
    if (decided.has(blockId)) continue;
    decided.add(blockId);
    if (operation !== forgotten && !isThere(part)) edits.push({ at, bytes: forgotten });
  }
  return { edits, end, tokens: edits.length - unreadable.length, lines: unreadable.length };
}

function read(text: string) {
  const records: { at: number; operation: string; part: string; blockId: string }[] = [];
  const unreadable: { at: number; length: number }[] = [];
  let at = 0;
  for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", end + 1)) {
    const [, operation, part, blockId] = form.exec(text.slice(at, end)) ?? [];
    if (operation !== undefined) records.push({ at, operation, part: part ?? "", blockId: blockId ?? "" });
    // ClickHouse reads no further than here, and so would forget every token behind.
    else if (end - at >= shortest) unreadable.push({ at, length: end - at });
    // It goes together with the next line.
    else continue;
    at = end + 1;
  }
  return { records, unreadable, end: at };
}
