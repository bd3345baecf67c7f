import type { Dirent } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { Parts } from "./parts.ts";

/** Bytes that are read from the end of a file: about 10,000 tokens. A kill affects only the newest ones. */
const tailBytes = 1 << 20;

/** The repairs of all deduplication logs. */
export interface Repaired {
  /** Tokens that were logged without their rows, and were removed. */
  tokens: number;
  /** Lines that could not be read, or were cut off. */
  lines: number;
}

/**
 * Repairs the deduplication logs of all tables. ClickHouse logs the token of an insert before it moves its part into
 * place. If it is killed between the two, it would later answer OK when the insert is sent again, and drop its rows.
 *
 * Removing a token wrongly (its part was moved to another table, or emptied by its TTL) means that its insert, if sent
 * again, is written twice; keeping one wrongly means loss.
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

/**
 * The folders of all tables: named by UUID, or by table name in an old database. Links from names to UUID folders are
 * skipped.
 */
export async function* tables(engine: string): AsyncGenerator<string> {
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

/** The end of a file, from the start of a line. */
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

/** What is in a folder; nothing where there is none. */
export async function entries(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/**
 * The text of a deduplication log of ClickHouse: a line for each token that was added (`1`) or removed (`2`), with its
 * part and its block id, which consists of partition and token: `1\tall_7_7_0\tall_83…_19…\n`. When ClickHouse opens a
 * table it reads its logs from the oldest line to the newest.
 */
const form = /^([12])\t([^\t\n]*)\t([^\t\n]*)$/;
const forgotten = "2";
/** Bytes of the shortest record: a shorter line cannot be overwritten with one. */
const shortest = 3;

/** Bytes to write over as many old ones. */
interface Edit {
  at: number;
  bytes: string;
}

interface Repairs {
  edits: Edit[];
  /** The end of the last whole line. The rest was cut off while it was written. */
  end: number;
  /** The number of edits that remove a token, and of those that make an unreadable line readable. */
  tokens: number;
  lines: number;
}

/**
 * Finds the edits after which a log has no token without rows, and can be read to its end.
 *
 * Every edit keeps the length, so that the file is repaired in place: also on a full disk, and without a second file,
 * which would prevent opening the table if it were left over. A token is removed as ClickHouse does it when it drops a
 * part, by changing one byte, so that a kill meanwhile leaves the old or the new record.
 *
 * @param text one byte each character.
 * @param decided block ids of newer lines; those of this text are added.
 * @param isThere whether the rows of a part exist.
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
    // ClickHouse stops reading here, and so would lose all following tokens.
    else if (end - at >= shortest) unreadable.push({ at, length: end - at });
    // A line too short for a record is overwritten together with the next one.
    else continue;
    at = end + 1;
  }
  return { records, unreadable, end: at };
}
