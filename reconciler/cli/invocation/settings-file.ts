import { createReadStream } from "node:fs";
import { readFile, realpath } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { EVENT_ID, FAILSAFE_SCHEMA, YAMLException, constructFromEvents, getScalarValue, parseEvents } from "js-yaml";
import type { Event } from "js-yaml";
import { isObject } from "../../../schemas/index.ts";
import { CliError } from "./cli-error.ts";
import { isWithin, workTreeOf } from "./work-tree-of.ts";

/** One key of a settings file, with its value and both places. */
export interface FileEntry {
  key: string;
  /** Of a mapping, the texts of its values as they are written. */
  value: unknown;
  /** The text of a single value as it is written; absent for another kind of value. */
  text?: string;
  /** `sluice.yaml:3:1`, of the key. */
  keyAt: string;
  /** `sluice.yaml:3:11`, of the value. */
  valueAt: string;
}

/** An entry of each kind of file, for messages. */
const examples = { settings: "interval: 30s", variables: "TOPIC: orders" } as const;

/** What a file holds. */
type Content = keyof typeof examples;

/** Bytes. Settings take about a page; a larger file is probably another file. */
const largestFile = 64 * 1024;

/**
 * The entries of a settings file in their order; none where `optional` and there is no such file. Throws CliError with
 * file:line:column for what is not a YAML mapping of single values.
 */
export async function readSettingsFile(
  file: string,
  { optional, what = "settings", read = readFew }: { optional: boolean; what?: Content; read?: typeof readText },
): Promise<FileEntry[]> {
  let text: string;
  try {
    text = await read(file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (optional && code === "ENOENT") return [];
    throw new CliError(`cannot read the ${what} file ${file}: ${message}`, { cause: error });
  }
  if (text.length > largestFile) throw new CliError(`${file}: a ${what} file has at most ${largestFile} bytes`);
  return parseSettings(file, text, what);
}

/** The text of a file on this machine. */
export function readText(file: string): Promise<string> {
  return readFile(file, "utf8");
}

/** As `readText`, of a file of settings or variables: one that is larger is not read whole. */
async function readFew(file: string): Promise<string> {
  const parts: Buffer[] = [];
  // A character takes three bytes at the most: what is read of a larger file is more than it may have.
  for await (const part of createReadStream(file, { end: 3 * largestFile })) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}

/**
 * The text of a file of variables. Throws where it is a link in a Git work tree that leads out of it: whoever may push a
 * link could have any file of this machine shown.
 */
export async function readVariablesFile(file: string): Promise<string> {
  const tree = await workTreeOf(dirname(resolve(file)));
  if (tree !== undefined && !isWithin(tree, await realpath(file)))
    throw new Error(`expected a file in the Git work tree ${tree}, found a link out of it`);
  return readFew(file);
}

export function parseSettings(file: string, text: string, what: Content = "settings"): FileEntry[] {
  const source = text.replace(/^\uFEFF/, "");
  try {
    const events = parseEvents(source, { filename: file });
    const [document, ...others] = constructFromEvents(events, { source, filename: file });
    if (document === undefined || document === null) return [];
    if (others.length > 0) throw new CliError(`${file}: expected one YAML document, found ${others.length + 1}`);
    if (typeof document !== "object" || Array.isArray(document)) {
      throw new CliError(`${file}:1:1: expected a mapping of ${what} such as "${examples[what]}"`);
    }
    return entriesOf(file, source, events, document as Record<string, unknown>);
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { line = 0, column = 0 } = error.mark ?? {};
    throw new CliError(`${file}:${line + 1}:${column + 1}: ${error.reason}`, { cause: error });
  }
}

/** Pairs the keys at the top of the document with their parser events. */
function entriesOf(file: string, source: string, events: Event[], document: Record<string, unknown>): FileEntry[] {
  const nodes = topNodes(events);
  const texts = Object.values(document).some(isObject) ? asTexts(file, source, events) : {};
  const entries: FileEntry[] = [];
  for (let index = 0; index + 1 < nodes.length; index += 2) {
    const [key, value] = [nodes[index], nodes[index + 1]];
    if (key?.type !== EVENT_ID.SCALAR || value === undefined) continue;
    const name = getScalarValue(source, key);
    entries.push({
      key: name,
      value: isObject(document[name]) ? texts[name] : document[name],
      ...(value.type === EVENT_ID.SCALAR && { text: getScalarValue(source, value) }),
      keyAt: `${file}:${position(source, startOf(key))}`,
      valueAt: `${file}:${position(source, startOf(value))}`,
    });
  }
  return entries;
}

/** The document with every single value as the text that is written. */
function asTexts(file: string, source: string, events: Event[]): Record<string, unknown> {
  const [written] = constructFromEvents(events, { source, filename: file, schema: FAILSAFE_SCHEMA });
  return written as Record<string, unknown>;
}

/** Keys and values of the mapping at the root, in turn; what is nested in them is left out. */
function topNodes(events: Event[]): Event[] {
  const nodes: Event[] = [];
  let depth = 0;
  for (const event of events) {
    if (event.type === EVENT_ID.POP) depth--;
    else if (depth === 2) nodes.push(event);
    if (event.type === EVENT_ID.DOCUMENT || event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE)
      depth++;
  }
  return nodes;
}

function startOf(event: Event): number {
  if (event.type === EVENT_ID.SCALAR) return event.valueStart;
  if (event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE) return event.start;
  return event.type === EVENT_ID.ALIAS ? event.anchorStart : 0;
}

/** `line:column` of an offset, both from 1. */
function position(source: string, offset: number): string {
  const before = source.slice(0, offset).split("\n");
  return `${before.length}:${(before.at(-1) ?? "").length + 1}`;
}
