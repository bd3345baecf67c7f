import type { Dirent } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { Parts } from "./parts.ts";
import type { Repaired } from "./protocol.ts";

/** Bytes that are looked at, from the end of a file: about 10,000 tokens, while what a kill leaves is among the newest. */
const tailBytes = 1 << 20;

/**
 * Repairs the deduplication logs of all tables. ClickHouse notes the token of an insert before it puts its part in place.
 * Where it was killed between the two, it would say OK to the insert when that is sent again, and drop its rows.
 *
 * A token too many that is forgotten (its part was moved to another table, or emptied by its TTL) means that an insert
 * from before that, sent again, is written again; a token too few that is forgotten means loss.
 *
 * @param engine the data folder of ClickHouse. Nothing may have it open.
 */
export async function repairDeduplicationLogs(engine: string): Promise<Repaired> {
  const repaired = { tokens: 0, lines: 0 };
  for await (const table of tables(engine)) {
    const { tokens, lines } = await repairTable(table);
    repaired.tokens += tokens;
    repaired.lines += lines;
  }
  return repaired;
}

/** Every folder of a table: by its UUID, or by its name in an old database; there is a link by name to each UUID too. */
async function* tables(engine: string): AsyncGenerator<string> {
  for (const top of ["store", "data"].map((name) => join(engine, name))) {
    for (const group of await folders(top)) {
      for (const table of await folders(join(top, group))) yield join(top, group, table);
    }
  }
}

async function repairTable(table: string): Promise<Repaired> {
  const logs = join(table, "deduplication_logs");
  const numbers = (await entries(logs)).flatMap(({ name }) => /^deduplication_log_(\d+)\.txt$/.exec(name)?.[1] ?? []);
  const repaired = { tokens: 0, lines: 0 };
  if (numbers.length === 0) return repaired;
  const parts = new Parts(await folders(table));
  const decided = new Set<string>();
  for (const number of numbers.toSorted((a, b) => Number(b) - Number(a))) {
    const { tokens, lines } = await repairFile(join(logs, `deduplication_log_${number}.txt`), decided, parts);
    repaired.tokens += tokens;
    repaired.lines += lines;
  }
  return repaired;
}

async function repairFile(path: string, decided: Set<string>, parts: Parts): Promise<Repaired> {
  const file = await open(path, "r+");
  try {
    const { size } = await file.stat();
    const { text, from } = await lastLines(file, size);
    const { edits, end, tokens, lines } = repairsOf(text, decided, (part) => parts.hold(part));
    const isCut = from + end < size;
    if (isCut) await file.truncate(from + end);
    for (const { at, bytes } of edits) await file.write(bytes, from + at, "latin1");
    if (isCut || edits.length > 0) await file.datasync();
    return { tokens, lines: lines + (isCut ? 1 : 0) };
  } finally {
    await file.close();
  }
}

/** The end of a file, from the beginning of a line. */
async function lastLines(file: FileHandle, size: number): Promise<{ text: string; from: number }> {
  const start = Math.max(0, size - tailBytes);
  const buffer = Buffer.alloc(size - start);
  const { bytesRead } = await file.read(buffer, 0, buffer.length, start);
  const text = buffer.toString("latin1", 0, bytesRead);
  const first = start === 0 ? 0 : text.indexOf("\n") + 1;
  return { text: text.slice(first), from: start + first };
}

/** The names of the folders in a folder; no links. */
async function folders(folder: string): Promise<string[]> {
  return (await entries(folder)).filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

async function entries(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

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
interface Edit {
  at: number;
  bytes: string;
}

interface Repairs {
  edits: Edit[];
  /** Where the last whole line ends. What follows was cut off while it was written. */
  end: number;
  /** How many edits forget a token, and how many make an unreadable line readable. */
  tokens: number;
  lines: number;
}

/**
 * Finds what has to change in a log so that it names no token whose rows are not there, and can be read to its end.
 *
 * Every change keeps the length, so that the file is repaired in place: also on a full disk, and without a second file,
 * which would keep the table from being opened if it were left over. A record is forgotten as ClickHouse itself does it
 * when it drops a part, and by one byte, so that a kill meanwhile leaves it as it was or as it should be.
 *
 * @param text one byte each character.
 * @param decided block ids that a newer line speaks of; those of this text are added.
 * @param isThere whether the rows of a part are there.
 */
export function repairsOf(text: string, decided: Set<string>, isThere: (part: string) => boolean): Repairs {
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
    // ClickHouse reads no further than here, and so would forget all following tokens.
    else if (end - at >= shortest) unreadable.push({ at, length: end - at });
    // It goes together with the next line.
    else continue;
    at = end + 1;
  }
  return { records, unreadable, end: at };
}
