import { expect } from "vitest";
import type { Answer, Reading } from "../../engine/core/sink.ts";
import { failureOf, patient, replacing, rowsOf, unreachable, type Fault, type SinkCase } from "./sink-scene.ts";

const ok: Answer = { kind: "ok" };
const wrong = "n0t-the-passw0rd";
/** Requests of others until a connection that was closed is seen to be so: far fewer than while an unused one stays. */
const closing = 20;

const opensBlindly: Fault = () => ({ open: () => Promise.resolve(ok) });

/** Replaces readings. */
function reads(change: (reading: Reading, first: Reading) => Partial<Reading>): Fault {
  return (sink) => {
    let first: Reading | undefined;
    return {
      read: async (isFresh, signal) => {
        const answer = await sink.read(isFresh, signal);
        if (answer.kind !== "read") return answer;
        first ??= answer.reading;
        return { ...answer, reading: { ...answer.reading, ...change(answer.reading, first) } };
      },
    };
  };
}

/** How a sink is opened, reads its target and is closed. */
export const openingCases: readonly SinkCase[] = [
  {
    title: "opens a target that is there, as often as it is called",
    run: async (scene) => {
      const sink = scene.start();
      for (let each = 0; each < 2; each += 1) expect(await sink.open(patient)).toEqual(ok);
      expect(sink.atLeastOnce).toBeUndefined();
    },
    faults: {
      "opens once": (sink) => {
        let calls = 0;
        const failure = { class: "setup", name: "setup", text: "it is open" } as const;
        const second: Answer = { kind: "refused", failure };
        return { open: (signal) => (++calls === 1 ? sink.open(signal) : Promise.resolve(second)) };
      },
    },
  },
  {
    title: "refuses a target that is missing, until it is there",
    run: async (scene) => {
      await scene.target.drop();
      const sink = scene.start();
      const answer = await sink.open(patient);
      expect(answer.kind).toBe("refused");
      expect(failureOf(answer).class).toBe("setup");
      expect(failureOf(await sink.read(true, patient)).class).toBe("setup");
      await scene.target.create();
      expect(await sink.open(patient)).toEqual(ok);
      expect(await scene.insert(sink, rowsOf("a"), "token")).toEqual(ok);
      expect(await scene.rows()).toEqual(rowsOf("a"));
    },
    faults: { "reports a missing target as open": opensBlindly },
  },
  {
    title: "creates a missing target where that is asked for",
    run: async (scene) => {
      await scene.target.drop();
      const sink = scene.start({ create_table: true });
      expect(await sink.open(patient)).toEqual(ok);
      expect(sink.atLeastOnce).toBeUndefined();
      for (let each = 0; each < 2; each += 1) {
        expect(await scene.insert(sink, rowsOf("a"), "token")).toEqual(ok);
        expect(await scene.rows()).toEqual(rowsOf("a"));
      }
    },
    faults: { "reports it as open and creates nothing": opensBlindly },
  },
  {
    title: "reports at-least-once for a target that does not recognise repeats, and for no other",
    run: async (scene) => {
      const sink = await scene.opened();
      expect(sink.atLeastOnce).toBeUndefined();
      await scene.target.forgetRepeats();
      expect(await sink.open(patient)).toEqual(ok);
      expect(sink.atLeastOnce).toEqual(expect.stringMatching(/\w/));
      for (let each = 0; each < 2; each += 1) await scene.insert(sink, rowsOf("a"), "token");
      expect(await scene.rows()).toHaveLength(2);
    },
    faults: { "promises exactly-once": () => ({ atLeastOnce: undefined }) },
  },
  {
    title: "a wrong password is a failure of the setup, and no answer contains it",
    run: async (scene) => {
      const sink = scene.start({ password: wrong });
      for (const answer of [await sink.open(patient), await sink.read(true, patient)]) {
        expect(answer.kind).toBe("refused");
        expect(failureOf(answer)).toMatchObject({ class: "setup", ...scene.target.wrongLogin });
        expect(JSON.stringify(answer)).not.toContain(wrong);
      }
      const answer = await scene.insert(sink, rowsOf("a"), "token");
      expect(answer.kind).toBe("refused");
      expect(JSON.stringify(answer)).not.toContain(wrong);
    },
    faults: {
      "puts its password into an answer": (sink) => ({
        open: async (signal) => {
          const answer = await sink.open(signal);
          if (answer.kind === "ok") return answer;
          return { ...answer, failure: { ...answer.failure, text: `${answer.failure.text} (${wrong})` } };
        },
      }),
    },
  },
  {
    title: "open and read are refused without the server, and succeed when it is back",
    run: async (scene) => {
      const sink = await scene.opened();
      await scene.cut(sink);
      for (const ask of [() => sink.open(patient), () => sink.read(true, patient)]) {
        await expect(ask()).resolves.toMatchObject({ kind: "refused", failure: unreachable });
      }
      await scene.network.mend();
      expect(await sink.open(patient)).toEqual(ok);
      await scene.read(sink);
    },
    faults: {
      "throws without its server": (sink) => ({
        open: async (signal) => {
          const answer = await sink.open(signal);
          if (answer.kind === "ok") return answer;
          throw new Error(answer.failure.text);
        },
      }),
    },
  },
  {
    title: "open and read end with an answer when they are aborted, before they begin and while they run",
    run: async (scene) => {
      const sink = await scene.opened();
      const gone = AbortSignal.abort();
      expect(failureOf(await sink.open(gone)).class).toBe("transient");
      expect(failureOf(await sink.read(true, gone)).class).toBe("transient");
      let leave = new AbortController();
      scene.network.hold(() => leave.abort());
      await expect(sink.open(leave.signal)).resolves.toHaveProperty("failure.class", "transient");
      leave = new AbortController();
      await expect(sink.read(true, leave.signal)).resolves.toHaveProperty("failure.class", "transient");
    },
    faults: { "ignores its signal": (sink) => ({ open: () => sink.open(patient) }) },
  },
  {
    title: "is reachable while its server answers",
    run: async (scene) => {
      const sink = scene.start();
      expect(await sink.isReachable(patient)).toBe(true);
      await scene.network.cut();
      expect(await sink.isReachable(patient)).toBe(false);
      await scene.network.mend();
      expect(await sink.isReachable(patient)).toBe(true);
    },
    faults: { "is always reachable": () => ({ isReachable: () => Promise.resolve(true) }) },
  },
  {
    title: "a reading shows what was inserted since the one before it",
    run: async (scene) => {
      const sink = await scene.opened();
      const began = Date.now();
      const first = await scene.read(sink);
      expect(await scene.insert(sink, rowsOf("a"), "token")).toEqual(ok);
      const second = await scene.read(sink);
      const { table, description, window } = first;
      expect(second).toMatchObject({ table, description, window });
      expect(second.blocks).toBeGreaterThan(first.blocks!);
      expect(second.time).toBeGreaterThanOrEqual(first.time);
      expect(second.taken).toBeGreaterThanOrEqual(began);
      expect(second.taken).toBeLessThanOrEqual(Date.now());
      expect(window.entries).toBeGreaterThan(0);
    },
    faults: {
      "keeps its first reading": reads((_, first) => first),
      "does not note when it has read": reads(() => ({ taken: 0 })),
    },
  },
  {
    title: "another target of the same name has another identity",
    run: async (scene) => {
      const sink = await scene.opened();
      const first = await scene.read(sink);
      await scene.target.drop();
      await scene.target.create();
      expect((await scene.read(sink)).table).not.toBe(first.table);
    },
    faults: { "identifies targets by their names": reads(() => ({ table: "orders" })) },
  },
  {
    title: "a target that was altered has another description, and rows that were begun before are not current",
    run: async (scene) => {
      const sink = await scene.opened();
      const writer = sink.begin(0);
      const first = await scene.read(sink);
      expect(writer.isCurrent).toBe(true);
      await scene.target.alter();
      const second = await scene.read(sink);
      expect(second.table).toBe(first.table);
      expect(second.description).not.toBe(first.description);
      expect(writer.isCurrent).toBe(false);
      expect(sink.begin(0).isCurrent).toBe(true);
      expect(await scene.insert(sink, rowsOf("a"), "token")).toEqual(ok);
      expect(await scene.rows()).toEqual(rowsOf("a"));
    },
    faults: {
      "describes its target once": reads((_, { description }) => ({ description })),
      "reports rows for former columns as current": (sink) => ({
        begin: () => replacing(sink.begin(0), { isCurrent: true }),
      }),
    },
  },
  {
    title: "is closed twice, also before it is open, and leaves no connection",
    run: async (scene) => {
      const unopened = scene.start();
      for (let each = 0; each < 2; each += 1) await unopened.close();
      const other = scene.start();
      expect(await other.isReachable(patient)).toBe(true);
      const others = scene.network.connections();
      const sink = await scene.opened();
      expect(await scene.insert(sink, rowsOf("a"), "token")).toEqual(ok);
      expect(scene.network.connections()).toBeGreaterThan(others);
      for (let each = 0; each < 2; each += 1) await sink.close();
      for (let each = 0; each < closing && scene.network.connections() > others; each += 1) {
        await other.isReachable(patient);
      }
      expect(scene.network.connections()).toBeLessThanOrEqual(others);
    },
    faults: { "stays connected": () => ({ close: () => Promise.resolve() }) },
  },
];
