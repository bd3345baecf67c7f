import { expect } from "vitest";
import { EventList, Event } from "../../engine/event/event.ts";
import { blockOf as blockOfWriter, type Block, type Probe, type Sink } from "../../engine/core/sink.ts";
import { DeclaredFields } from "../../engine/transforms/declared-fields/declared-fields.ts";
import {
  blockOf,
  eventsOf,
  failureOf,
  patient,
  replacing,
  rowsOf,
  unreachable,
  type SinkCase,
  type SinkScene,
} from "./sink-scene.ts";

/** Texts that mean something to whoever pastes them into a statement, a line or a row. */
const hostile = [
  "line\nbreak",
  "\n\nDROP TABLE d.hostile;\n\n",
  '"}\n\nDROP DATABASE d;\n{"',
  "'; DROP TABLE d.hostile; --",
  "tab\tcr\r\0nul\u2028\u2029",
  "😀 ñ é \u{10ffff}",
  "\\N \\n \\",
  '`back` "quotes"',
  "{param:String} ${env:HOME}",
];

/** Events that are rows as they are, and events whose bytes are not; the last one does not fit its column. */
const lines = [
  '{"id":1,"text":"plain"}',
  ' { "text" : "turned" , "id" : 2 } ',
  '{"id":3,"text":"more","extra":[1,{"id":9}]}',
  '{"id":4,"text":"first","text":"last"}',
  '{"id":5,"text":"esc\\u0061ped \\ud83d\\ude00"}',
  '{"id":6,"text":"\\ud800"}',
];

/** Their block after the first step of a pipeline has walked over their bytes, by the walks of the sink or by none. */
function walked(sink: Sink, hasWalks: boolean): Block {
  const events = lines.map((line, index) => new Event(index + 1, 0, Buffer.from(line)));
  const rows = () => (hasWalks ? sink.rowWalks(undefined) : undefined);
  const fields = [{ name: "id", type: "int" } as const, { name: "text", type: "string" } as const];
  const { passed } = new DeclaredFields(fields, { keys: [], rows }).apply(events);
  const writer = sink.begin(0);
  return blockOfWriter(EventList.of(passed), writer, writer.add(passed));
}

/** Rows of which the server refuses the second and the last. */
function mixedRows({ target }: SinkScene): ReturnType<typeof rowsOf> {
  const { text } = target.refused;
  return rowsOf("a", text, "c", "d", text);
}

function asAscii({ position, text }: Event): Event {
  return new Event(position, 0, Buffer.from(text.replaceAll(/[^ -~]/g, "")));
}

const finds = (rows: Extract<Probe, { kind: "found" }>["rows"]) => () => ({
  probe: (): Promise<Probe> => Promise.resolve({ kind: "found", rows }),
});

/** How rows are written for a block, and how bad ones are found. */
export const rowCases: readonly SinkCase[] = [
  {
    title: "values arrive as they are, whatever they look like",
    run: async (scene) => {
      const sink = await scene.opened();
      expect(await scene.insert(sink, rowsOf(...hostile), "token")).toEqual({ kind: "ok" });
      expect(await scene.rows()).toEqual(rowsOf(...hostile));
    },
    faults: {
      "leaves out what is not ASCII": (sink) => ({
        begin: () => {
          const writer = sink.begin(0);
          return replacing(writer, { add: (events) => writer.add(events.map(asAscii)) });
        },
      }),
    },
  },
  {
    title: "events that do not fit their columns are rejected, and the others are written",
    run: async (scene) => {
      const sink = await scene.opened();
      const events = eventsOf(rowsOf("a", scene.target.misfit, "c"));
      const writer = sink.begin(0);
      expect(writer.size).toBe(0);
      const rejected = writer.add(events);
      expect(rejected).toMatchObject([
        { component: "sink", reason: "schema_mismatch", position: 2, original_message: events[1]!.text },
      ]);
      expect(rejected[0]!.error).toMatch(/\w/);
      expect(writer.size).toBeGreaterThan(0);
      const block = blockOfWriter(EventList.of(events), writer, rejected);
      expect([...block.events].map(({ position }) => position)).toEqual([1, 3]);
      expect(await sink.insert(block, "token", patient)).toEqual({ kind: "ok" });
      expect(await scene.rows()).toEqual([
        { id: 1, text: "a" },
        { id: 3, text: "c" },
      ]);
    },
    faults: {
      "leaves out events that do not fit without a rejection": (sink) => ({
        begin: () => {
          const writer = sink.begin(0);
          return replacing(writer, { add: (events) => writer.add(events).slice(1) });
        },
      }),
    },
  },
  {
    title: "events whose bytes were walked over become the same rows as others",
    run: async (scene) => {
      const sink = await scene.opened();
      for (const hasWalks of [true, false]) {
        const block = walked(sink, hasWalks);
        expect(block.rejected.map(({ position }) => position)).toEqual([lines.length]);
        expect(await sink.insert(block, `walked: ${hasWalks}`, patient)).toEqual({ kind: "ok" });
      }
      const rows = rowsOf("plain", "turned", "more", "last", "escaped 😀");
      expect(await scene.rows()).toEqual(rows.flatMap((row) => [row, row]));
    },
    faults: {
      "sends the bytes of any event as its row": (sink) => ({
        begin: () => {
          const writer = sink.begin(0);
          return replacing(writer, {
            add: (events) => {
              const walks = sink.rowWalks(undefined);
              if (walks !== undefined) for (const event of events) event.judge(walks, true);
              return writer.add(events);
            },
          });
        },
      }),
    },
  },
  {
    title: "a probe finds the rows that the server would refuse, and writes nothing",
    run: async (scene) => {
      const sink = await scene.opened();
      const before = await scene.read(sink);
      const probe = await sink.probe(blockOf(sink, mixedRows(scene)), patient);
      const failure = { class: "row", ...scene.target.refused.failure };
      expect(probe).toMatchObject({
        kind: "found",
        rows: [1, 4].map((row) => ({ row, failure: { ...failure, row } })),
      });
      expect(await scene.rows()).toEqual([]);
      expect((await scene.read(sink)).blocks).toBe(before.blocks);
    },
    faults: {
      "finds no bad row": finds([]),
      "inserts rows to try them": (sink) => ({
        probe: async (block, signal) => {
          await sink.insert(blockOf(sink, rowsOf("a")), "tried", signal);
          return sink.probe(block, signal);
        },
      }),
    },
  },
  {
    title: "a probe finds nothing where each row fits",
    run: async (scene) => {
      const sink = await scene.opened();
      const probe = await sink.probe(blockOf(sink, rowsOf("a", "b")), patient);
      expect(probe).toEqual({ kind: "found", rows: [] });
    },
    faults: {
      "reports a good row as bad": finds([
        { row: 0, failure: { class: "row", name: "BAD", text: "a bad row", row: 0 } },
      ]),
    },
  },
  {
    title: "a probe without the server, or one that is aborted, reports a failure and no rows",
    run: async (scene) => {
      const sink = await scene.opened();
      const block = blockOf(sink, mixedRows(scene));
      const given = await sink.probe(block, AbortSignal.abort());
      expect(given.kind).toBe("failed");
      failureOf(given);
      await scene.cut(sink);
      expect(await sink.probe(block, patient)).toMatchObject({ kind: "failed", failure: unreachable });
    },
    faults: { "reports good rows without its server": finds([]) },
  },
  {
    title:
      "a table that takes rows takes any, also with a constraint; that is tried without writing, and unknown without the server",
    run: async (scene) => {
      const sink = await scene.opened();
      const before = await scene.read(sink);
      expect(await sink.takesAny(patient)).toBe("yes");
      expect(await scene.rows()).toEqual([]);
      expect((await scene.read(sink)).blocks).toBe(before.blocks);
      await scene.cut(sink);
      expect(await sink.takesAny(patient)).toBe("unknown");
    },
    faults: {
      "takes a constraint for a table that takes nothing": () => ({ takesAny: () => Promise.resolve("no") }),
      "does not ask its server": () => ({ takesAny: () => Promise.resolve("yes") }),
    },
  },
];
