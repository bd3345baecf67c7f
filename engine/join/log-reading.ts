import { EngineError } from "../core/errors.ts";
import type { DiskFile } from "../core/disk.ts";
import type { Location } from "./buffered-events.ts";
import { type LogFiles, readAll } from "./log-files.ts";
import {
  decodeHead,
  decodeSegmentHead,
  type Entry,
  EntryTable,
  entryPrefix,
  fixedHead,
  headLengthOf,
  isWhole,
  type PartHead,
  type SegmentHead,
  segmentHeadLength,
} from "./part.ts";

/** An entry of the log, with the place of its bytes. */
export type FoundEntry = Entry & Location & { isMoved: boolean };

/** Gets what a log has, in its order. */
export interface LogReader {
  /** A step at this time, in milliseconds since the epoch; its entries follow. */
  step(clock: number): void;
  entry(entry: FoundEntry): void;
}

/** A part as it lies in a segment. */
export interface LoadedPart {
  head: PartHead;
  offset: number;
  number: number;
}

/** The segments of a folder with their heads, in their order. Throws STORAGE_FAILED where one is damaged. */
export async function readSegments(files: LogFiles): Promise<{ number: number; head: SegmentHead }[]> {
  const found: { number: number; head: SegmentHead }[] = [];
  for (const number of await files.numbers()) {
    const bytes = Buffer.alloc(segmentHeadLength);
    await files.use(number, (file) => readAll(file, bytes, 0));
    const head = decodeSegmentHead(bytes);
    if (head === undefined) throw damaged(files.path(number), 0);
    found.push({ number, head });
  }
  return found;
}

/**
 * The parts of the whole steps of a segment. After the last whole step of the newest segment there may be a step that a
 * crash cut short: it was never durable, and is left out. Anything else that is broken is damage.
 */
export async function readParts(
  files: LogFiles,
  number: number,
  isNewest: boolean,
): Promise<{ parts: LoadedPart[]; end: number }> {
  return files.use(number, async (file) => {
    const size = await file.size();
    const parts: LoadedPart[] = [];
    let open: LoadedPart[] = [];
    let end = segmentHeadLength;
    for (let at = end; at < size;) {
      const head = await readPart(file, at);
      const next = head === undefined ? Infinity : at + head.headLength + head.dataLength;
      if (head === undefined || next > size || (isNewest && !(await hasWholeData(file, head, at)))) break;
      open.push({ head, offset: at, number });
      at = next;
      if (!head.isLast) continue;
      parts.push(...open);
      open = [];
      end = at;
    }
    if (end < size && (!isNewest || (await holdsLaterStep(file, end, size)))) throw damaged(files.path(number), end);
    return { parts, end };
  });
}

/** The head of the part at `at`; undefined where there is no whole one. */
export async function readPart(file: DiskFile, at: number): Promise<PartHead | undefined> {
  const fixed = Buffer.alloc(fixedHead);
  if ((await readAll(file, fixed, at)) < fixedHead) return undefined;
  const length = headLengthOf(fixed);
  if (length === undefined) return undefined;
  const head = Buffer.alloc(length);
  return (await readAll(file, head, at)) < length ? undefined : decodeHead(head);
}

async function hasWholeData(file: DiskFile, head: PartHead, at: number): Promise<boolean> {
  const data = Buffer.allocUnsafe(head.dataLength);
  return (await readAll(file, data, at + head.headLength)) === data.length && isWhole(head, data);
}

/**
 * Whether a step was begun after the broken one was durable. A step is durable before the next one begins, so parts of
 * two batches after the broken place show that it was not a crash that broke it.
 */
async function holdsLaterStep(file: DiskFile, from: number, size: number): Promise<boolean> {
  const bytes = Buffer.alloc(size - from);
  await readAll(file, bytes, from);
  let before: string | undefined;
  for (let at = 0; at + fixedHead <= bytes.length; at += 1) {
    const length = headLengthOf(bytes.subarray(at, at + fixedHead));
    if (length === undefined || at + length > bytes.length) continue;
    const head = decodeHead(bytes.subarray(at, at + length));
    if (head === undefined) continue;
    if (at > 0 && before === undefined && head.isLast) return true;
    if (before !== undefined && head.token !== before) return true;
    before = head.token;
  }
  return false;
}

/** Each entry that `reader` gets is good until the next one. */
export function readEntries({ head, offset, number: segment }: LoadedPart, reader: LogReader): void {
  const { entries, isMoved } = head;
  let at = offset + head.headLength + head.rowBytes;
  const entry: FoundEntry = {
    side: "left",
    print: new Uint32Array(4),
    id: 0,
    time: 0,
    length: 0,
    segment,
    offset: at,
    isMoved,
  };
  for (let index = 0; index < entries.count; index += 1) {
    entries.read(index, entry);
    entry.offset = at;
    reader.entry(entry);
    at += entryPrefix + entry.length;
  }
}

export const noEntries = new EntryTable(Buffer.alloc(0));

/** The error for a log that is not as it was written. */
export function damaged(path: string, offset: number): EngineError {
  return new EngineError("STORAGE_FAILED", `${path}: the part at byte ${offset} is damaged: restore the folder`);
}
