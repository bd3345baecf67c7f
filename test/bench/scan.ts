import { Event } from "../../engine/event/event.ts";
import type { Transform } from "../../engine/core/transform.ts";
import { RowEncoder } from "../../engine/sinks/clickhouse/encode/row-encoder.ts";
import { DeclaredFields } from "../../engine/transforms/declared-fields/declared-fields.ts";
import { DedupTransform } from "../../engine/transforms/dedup/dedup.ts";
import { Fingerprints } from "../../engine/keys/fingerprint.ts";
import { RememberedKeys } from "../../engine/transforms/dedup/remembered-keys.ts";
import { FilterTransform } from "../../engine/transforms/filter/filter.ts";
import { StatelessTransform } from "../../engine/transforms/stateless/stateless.ts";
import { large } from "./kafka-large.ts";
import { eventText, type Shape } from "./kafka-shape.ts";
import { small } from "./kafka-small.ts";
import { encoded } from "../support/encoded.ts";

/** As many as a source hands out at once. */
const EVENTS = 4096;
/** Bytes between two values, as records of a topic have them. */
const FRAME = 10;
/** Runs of each measurement, of which the median counts, and times that one run goes over the events. */
const [RUNS, PASSES] = [5, 25];

interface Given {
  bytes: Buffer;
  starts: Int32Array;
  ends: Int32Array;
}

interface Stages {
  filter?: boolean;
  dedup?: boolean;
  stateless?: boolean;
}

/** What can be done with the events, by its name. */
type Works = Readonly<Record<string, () => unknown>>;

/**
 * Prints what happens to events between a source and an insert, in CPU time: they are checked, go through transforms and
 * become the body of an insert. Beside it what a parse of them costs, and a copy.
 */
export function run(): Promise<void> {
  for (const shape of [large, small]) {
    const given = receive(shape);
    const size = Math.round(given.bytes.length / EVENTS - FRAME);
    console.log(`${EVENTS} events of ${size} bytes and ${shape.fields.length} fields, medians of ${RUNS} runs`);
    report({
      "JSON.parse": () => parse(given),
      "copy of the bytes": () => copy(given),
      "checked, into the body": lineOf(shape, given, {}),
      "  with a filter": lineOf(shape, given, { filter: true }),
      "  with dedup": lineOf(shape, given, { dedup: true }),
      [`  with ${shape.outputs.length} outputs`]: lineOf(shape, given, { stateless: true }),
      "  with all three": lineOf(shape, given, { filter: true, dedup: true, stateless: true }),
    });
  }
  return Promise.resolve();
}

function receive(shape: Shape): Given {
  const [starts, ends] = [new Int32Array(EVENTS), new Int32Array(EVENTS)];
  const parts: Buffer[] = [];
  let at = 0;
  for (let index = 0; index < EVENTS; index += 1) {
    const event = Buffer.from(eventText(shape, index));
    parts.push(Buffer.alloc(FRAME), event);
    starts[index] = at + FRAME;
    at += FRAME + event.length;
    ends[index] = at;
  }
  return { bytes: Buffer.concat(parts), starts, ends };
}

function parse({ bytes, starts, ends }: Given): void {
  for (let index = 0; index < EVENTS; index += 1) JSON.parse(bytes.toString("latin1", starts[index], ends[index]));
}

function copy({ bytes, starts, ends }: Given): void {
  const body = Buffer.allocUnsafe(bytes.length);
  let at = 0;
  for (let index = 0; index < EVENTS; index += 1) at += bytes.copy(body, at, starts[index], ends[index]);
}

/** Does with the events what a pipeline does between its source and its insert. */
function lineOf(shape: Shape, { bytes, starts, ends }: Given, stages: Stages): () => unknown {
  const transforms = transformsOf(shape, stages);
  const encoder = encoderOf(shape, stages, transforms);
  const rows = stages.stateless === true ? () => undefined : () => encoder.rowWalks;
  const keys = transforms.flatMap(({ reads = [] }) => reads);
  const line = [new DeclaredFields(shape.fields, { keys, rows }), ...transforms];
  const first = passOf(line, bytes, starts, ends);
  if (first.length < EVENTS / 2) throw new Error(`expected most events to pass, found ${first.length}`);
  return () => encoded(encoder, passOf(line, bytes, starts, ends));
}

let batches = 0;

function passOf(line: readonly Transform[], bytes: Buffer, starts: Int32Array, ends: Int32Array): readonly Event[] {
  const received: Event[] = [];
  for (let index = 0; index < EVENTS; index += 1) received.push(new Event(index, 0, bytes, starts[index], ends[index]));
  const context = { clock: 1, batch: (batches += 1) };
  let events = received;
  for (const transform of line) events = transform.apply(events, context).passed;
  return events;
}

function transformsOf({ fields, filter, outputs }: Shape, stages: Stages): Transform[] {
  const list = outputs.map(({ name, expression, type }) => ({ output_name: name, expression, output_type: type }));
  return [
    ...(stages.filter === true ? [new FilterTransform(filter, fields)] : []),
    ...(stages.dedup === true ? [forgetful()] : []),
    ...(stages.stateless === true ? [new StatelessTransform(list, fields)] : []),
  ];
}

/** Dedup that forgets each batch at the next one, so that each run finds the same. */
function forgetful(): Transform {
  const keys = new RememberedKeys({ storage: Infinity, memory: Infinity });
  const dedup = new DedupTransform("id", 60_000, keys, new Fingerprints(Buffer.alloc(16, 1)));
  return {
    name: "dedup",
    reads: dedup.reads,
    apply(events, context) {
      const result = dedup.apply(events, context);
      keys.release(context.batch);
      return result;
    },
  };
}

function encoderOf({ fields, outputs }: Shape, { stateless }: Stages, transforms: readonly Transform[]): RowEncoder {
  const columns = stateless === true ? outputs : fields;
  const mapping = columns.map(({ name, column_type }) => ({ name, column_name: name, column_type }));
  const made = transforms.find((transform) => transform instanceof StatelessTransform);
  return new RowEncoder(mapping, made?.outputs ?? fields);
}

/** Prints the median of each, in microseconds of CPU per event. They take turns; the first turn, which compiles, is not counted. */
function report(works: Works): void {
  const costs = Object.keys(works).map((name) => ({ name, runs: [] as number[] }));
  for (let turn = 0; turn <= RUNS; turn += 1) {
    for (const { name, runs } of costs) {
      const before = process.cpuUsage();
      for (let pass = 0; pass < PASSES; pass += 1) works[name]!();
      const { user, system } = process.cpuUsage(before);
      if (turn > 0) runs.push((user + system) / EVENTS / PASSES);
    }
  }
  const medians = costs.map(({ name, runs }) => ({ name, cost: runs.toSorted((a, b) => a - b)[RUNS >> 1]! }));
  for (const { name, cost } of medians) {
    const share = (100 * cost) / medians[0]!.cost;
    console.log(
      `  ${name.padEnd(26)} ${cost.toFixed(3).padStart(8)} us/event ${share.toFixed(0).padStart(5)} % of the parse`,
    );
  }
}
