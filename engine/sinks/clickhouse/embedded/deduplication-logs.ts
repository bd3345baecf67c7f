import type { Dirent } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { mending } from "./deduplication-log.ts";
import { Parts } from "./parts.ts";

/** Bytes that are looked at, from the end of a file: about 10,000 tokens, while what a kill leaves is among the newest. */
const lookedAt = 1 << 20;

/** What was wrong in all logs, and is no more. */
export interface Mended {
  /** Tokens that were noted without their rows, and are forgotten. */
  tokens: number;
  /** Lines that could not be read, or were cut off. */
  lines: number;
}

/**
 * Mends the deduplication logs of all tables. ClickHouse notes the token of an insert before it puts its part in place.
 * Where it was killed between the two, it would say OK to the insert when that is sent again, and drop its rows.
 *
 * A token too many that is forgotten (its part was moved to another table, or emptied by its TTL) means that an insert
 * from before that, sent again, is written again; a token too few that is forgotten means loss.
 *
 * @param engine the data folder of ClickHouse. Nothing may have it open.
 */
export async function mendDeduplicationLogs(engine: string): Promise<Mended> {
  const mended = { tokens: 0, lines: 0 };
  for await (const table of tables(engine)) {
    const { tokens, lines } = await mendTable(table);
    mended.tokens += tokens;
    mended.lines += lines;
  }
  return mended;
}

/** Every folder of a table: by its UUID, or by its name in an old database; there is a link by name to each UUID too. */
async function* tables(engine: string): AsyncGenerator<string> {
  for (const top of ["store", "data"].map((name) => join(engine, name))) {
    for (const group of await folders(top)) {
      for (const table of await folders(join(top, group))) yield join(top, group, table);
    }
  }
}

async function mendTable(table: string): Promise<Mended> {
  const logs = join(table, "deduplication_logs");
  const numbers = (await entries(logs)).flatMap(({ name }) => /^deduplication_log_(\d+)\.txt$/.exec(name)?.[1] ?? []);
  const mended = { tokens: 0, lines: 0 };
  if (numbers.length === 0) return mended;
  const parts = new Parts(await folders(table));
  const decided = new Set<string>();
  for (const number of numbers.toSorted((a, b) => Number(b) - Number(a))) {
    const { tokens, lines } = await mendFile(join(logs, `deduplication_log_${number}.txt`), decided, parts);
    mended.tokens += tokens;
    mended.lines += lines;
  }
  return mended;
}

async function mendFile(path: string, decided: Set<string>, parts: Parts): Promise<Mended> {
  const file = await open(path, "r+");
  try {
    const { size } = await file.stat();
    const { text, from } = await lastLines(file, size);
    const { edits, end, tokens, lines } = mending(text, decided, (part) => parts.hold(part));
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
  const start = Math.max(0, size - lookedAt);
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
