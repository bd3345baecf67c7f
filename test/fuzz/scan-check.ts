import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import { Event } from "../../engine/event/event.ts";
import { fieldReader, keysRead } from "../../engine/event/field-path.ts";
import { FieldPick } from "../../engine/event/fields.ts";
import type { TransformResult } from "../../engine/core/transform.ts";
import { DeclaredFields } from "../../engine/transforms/declared-fields/declared-fields.ts";
import { RowEncoder } from "../../engine/sinks/clickhouse/encode/row-encoder.ts";
import { dedupKeyText, keyReader } from "../../engine/keys/key-reader.ts";
import { Fingerprints } from "../../engine/keys/fingerprint.ts";
import type { SchemaField } from "../../schemas/pipeline.ts";
import { asParsed, asReceived, type ScannedBatch } from "./scanned-events.ts";
import { columnOfField } from "../support/column-of-field.ts";
import { encoded } from "../support/encoded.ts";

/** What was met, so that a run that tells nothing is seen. */
export interface Met {
  walked: number;
  parsed: number;
  refused: number;
  rows: number;
}

/** Checks that a walk over the bytes of events tells of each what a parse of it tells, and counts what it met. */
export function checkScan(batch: ScannedBatch, met: Met): void {
  const { fields } = batch;
  const names = new Set(["id", "missing", ...fields.flatMap(({ name }) => keysRead(name))]);
  const encoder = encoderOf(fields);
  const [received, rows] = [asReceived(batch), encoder.rowWalks];
  const before = Buffer.from(received[0]!.within!);
  const walking = new DeclaredFields(fields, { keys: [...names].flatMap(keysRead), rows: () => rows });
  const [walked, parsed] = [walking.apply(received), new DeclaredFields(fields).apply(asParsed(batch))];
  expect(verdictOf(walked, "")).toEqual(verdictOf(parsed, " "));
  expect(received[0]!.within!.equals(before)).toBe(true);
  for (const name of names) checkField(name, walked.passed, parsed.passed);
  checkRows(walked.passed, fields, encoder);
  const seen = walked.passed.filter(({ notes }) => notes !== undefined);
  met.walked += seen.length;
  met.parsed += walked.passed.length - seen.length;
  met.refused += walked.rejected.length;
  met.rows += rows === undefined ? 0 : walked.passed.filter((event) => event.isRowBy(rows)).length;
}

function encoderOf(fields: readonly SchemaField[]): RowEncoder {
  const mapping = fields.map(({ name, type }) => ({ name, column_name: name, column_type: columnOfField[type] }));
  return new RowEncoder(mapping, fields);
}

/** What was received. Bytes that are no text are there as base64. */
function textOf({ encoding, original_message: text }: TransformResult["rejected"][number]): string {
  return encoding === undefined ? text : Buffer.from(text, encoding).toString("latin1");
}

/** `before` stands before each event, so that places in its text are others. */
function verdictOf({ passed, rejected }: TransformResult, before: string): unknown {
  const without = (text: string): string => text.replace(new RegExp(`^(\ufeff?)${before}`), "$1");
  return {
    passed: passed.map(({ position }) => position),
    rejected: rejected.map((rejection) => ({
      ...rejection,
      error: rejection.error.replace(/(expected a JSON object).*/s, "$1"),
      original_message: without(textOf(rejection)),
    })),
  };
}

const prints = new Fingerprints(Buffer.alloc(16, 7));

/** A field has the value that it has in the parsed event, and as a key the fingerprint of that value. */
function checkField(name: string, events: readonly Event[], parsed: readonly Event[]): void {
  const [read, key] = [fieldReader(name), keyReader([name], prints)];
  const [pick, dotted] = [new FieldPick([name]), new FieldPick(keysRead(name))];
  for (const [index, event] of events.entries()) {
    const record = parsed[index]!.record!;
    const own = Object.hasOwn(record, name) ? record[name] : undefined;
    const value = read(record);
    expect(isDeepStrictEqual([pick.of(event)![name], read(dotted.of(event)!)], [own, value])).toBe(true);
    const text = dedupKeyText(value);
    const print = new Uint32Array(4);
    if (text !== undefined) prints.of(text, print, 0);
    expect([key.makePrint(event), text === undefined ? print : key.print]).toEqual([text !== undefined, print]);
  }
}

/** What the walk took for rows are those that the sink takes, and all others become the rows of their values. */
function checkRows(events: readonly Event[], fields: readonly SchemaField[], encoder: RowEncoder): void {
  const unseen = events.map(({ position, receivedAt, bytes }) => new Event(position, receivedAt, bytes));
  const [one, other] = [encoded(encoder, events), encoded(encoderOf(fields), unseen)];
  expect(one.body.toString("latin1")).toBe(other.body.toString("latin1"));
  expect(one.rejected).toEqual(other.rejected);
}
