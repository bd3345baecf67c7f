import { expect } from "vitest";
import type { Answer, Sink } from "../../engine/core/sink.ts";
import { encoded } from "../support/encoded.ts";
import { blockOf, failureOf, patient, rowsOf, unreachable, type Fault, type Row, type SinkCase } from "./sink-scene.ts";

const ok: Answer = { kind: "ok" };
/** Of a connection that broke after the insert was sent, or a part of it. */
const lost = { class: "transient", name: "network_io", connection: "lost" } as const;
/** 12 MB: more than a server parses in one go. */
const largeBlock: Row[] = Array.from({ length: 5_000 }, (_, id) => ({ id, text: `${id}`.padEnd(2_400, ".") }));

/** Inserts otherwise. */
const inserts =
  (insert: (sink: Sink, ...args: Parameters<Sink["insert"]>) => Promise<Answer>): Fault =>
  (sink) => ({ insert: (...args) => insert(sink, ...args) });

/** Answers otherwise than the sink did. */
const answers = (change: (answer: Answer) => Answer): Fault =>
  inserts(async (sink, ...args) => change(await sink.insert(...args)));

const failsAs = (kind: "refused" | "unknown"): Fault =>
  answers((answer) => (answer.kind === "ok" ? answer : { ...answer, kind }));

const reportsAsOk = (kind: "refused" | "unknown"): Fault => answers((answer) => (answer.kind === kind ? ok : answer));

const writesTwice = inserts(async (sink, block, token, ...others) => {
  await sink.insert(block, `${token} again`, ...others);
  return sink.insert(block, token, ...others);
});

/** How a sink inserts blocks, and what it answers. */
export const insertingCases: readonly SinkCase[] = [
  {
    title: "the rows of a block that is inserted are in the target, each once",
    run: async (scene) => {
      const sink = await scene.opened();
      expect(await scene.insert(sink, rowsOf("a", "b", "c"), "token")).toEqual(ok);
      expect(await scene.rows()).toEqual(rowsOf("a", "b", "c"));
    },
    faults: {
      "reports OK and writes nothing": inserts(() => Promise.resolve(ok)),
      "writes twice": writesTwice,
    },
  },
  {
    title: "a repeat of a block with its token writes nothing, also from another start",
    run: async (scene) => {
      const first = await scene.opened();
      for (const sink of [first, first, await scene.opened()]) {
        expect(await scene.insert(sink, rowsOf("a", "b"), "token")).toEqual(ok);
        expect(await scene.rows()).toEqual(rowsOf("a", "b"));
      }
    },
    faults: {
      "draws tokens of its own": (sink) => {
        let drawn = 0;
        return { insert: (block, _token, ...others) => sink.insert(block, `${++drawn}`, ...others) };
      },
    },
  },
  {
    title: "the bytes of a block stay as they are until it is released",
    run: async (scene) => {
      const sink = await scene.opened();
      const block = blockOf(sink, largeBlock);
      const bytes = Buffer.from(block.body);
      expect(await sink.insert(block, "one", patient)).toEqual(ok);
      blockOf(sink, largeBlock.toReversed());
      expect(block.body.equals(bytes)).toBe(true);
      sink.release(block);
      const next = blockOf(sink, largeBlock.toReversed());
      expect(await sink.insert(next, "other", patient)).toEqual(ok);
      expect(await scene.rows()).toHaveLength(2 * largeBlock.length);
    },
    faults: {
      "releases a block by itself": inserts(async (sink, block, ...others) => {
        const answer = await sink.insert(block, ...others);
        sink.release(block);
        return answer;
      }),
      "writes other bytes than the block's": inserts((sink, block, ...others) => {
        block.body.write("?", 100);
        return sink.insert(block, ...others);
      }),
    },
  },
  {
    title: "the same rows with another token are written again",
    run: async (scene) => {
      const sink = await scene.opened();
      for (const token of ["one", "other"]) expect(await scene.insert(sink, rowsOf("a", "b"), token)).toEqual(ok);
      expect((await scene.rows()).map(({ text }) => text)).toEqual(["a", "a", "b", "b"]);
    },
    faults: {
      "derives tokens from rows": inserts((sink, block, _token, ...others) =>
        sink.insert(block, block.body.toString("hex"), ...others),
      ),
    },
  },
  {
    title: "a block without rows is OK, and nothing is sent",
    run: async (scene) => {
      const sink = await scene.opened();
      await scene.cut(sink);
      expect(await scene.insert(sink, [], "token")).toEqual(ok);
    },
    faults: {
      "sends blocks without rows": inserts((sink, block, ...others) =>
        sink.insert({ ...block, body: Buffer.from("\n") }, ...others),
      ),
    },
  },
  {
    title: "blocks that are inserted at the same time are all written",
    run: async (scene) => {
      const sink = await scene.opened();
      const rows = rowsOf("a", "b", "c", "d", "e");
      const all = await Promise.all(rows.map((row) => scene.insert(sink, [row], row.text)));
      expect(all).toEqual(rows.map(() => ok));
      expect(await scene.rows()).toEqual(rows);
    },
    faults: {
      "drops a block while another one is being sent": (sink) => {
        let isBusy = false;
        return {
          insert: async (...args) => {
            if (isBusy) return ok;
            isBusy = true;
            return sink.insert(...args).finally(() => (isBusy = false));
          },
        };
      },
    },
  },
  {
    title:
      "a block with a row that the server refuses is refused: the row is named, nothing is written, and the token can be used again",
    run: async (scene) => {
      const sink = await scene.opened();
      const { text, failure } = scene.target.refused;
      for (const [row, texts] of [
        [2, ["a", "b", text]],
        [0, [text, "b"]],
      ] as const) {
        const answer = await scene.insert(sink, rowsOf(...texts), "token");
        expect(answer.kind).toBe("refused");
        expect(failureOf(answer)).toMatchObject({ class: "row", row, ...failure });
        expect(await scene.rows()).toEqual([]);
      }
      expect(await scene.insert(sink, rowsOf("a", "b"), "token")).toEqual(ok);
      expect(await scene.rows()).toEqual(rowsOf("a", "b"));
    },
    faults: {
      "reports a refusal as OK": reportsAsOk("refused"),
      "reports a refusal as unknown": failsAs("unknown"),
    },
  },
  {
    title: "a large block is written as a whole or not at all",
    run: async (scene) => {
      const sink = await scene.opened();
      const last = { id: largeBlock.length, text: scene.target.refused.text };
      expect((await scene.insert(sink, [...largeBlock, last], "token")).kind).toBe("refused");
      expect(await scene.rows()).toEqual([]);
      const block = blockOf(sink, largeBlock);
      for (let each = 0; each < 2; each += 1) expect(await sink.insert(block, "token", patient)).toEqual(ok);
      expect(await scene.rows()).toHaveLength(largeBlock.length);
    },
    faults: {
      "sends a large block in parts": inserts(async (sink, block, token, ...others) => {
        const [events, middle] = [[...block.events], block.events.length >> 1];
        for (const part of [events.slice(0, middle), events.slice(middle)]) {
          const answer = await sink.insert(encoded(sink, part), token, ...others);
          if (answer.kind !== "ok") return answer;
        }
        return ok;
      }),
    },
  },
  {
    title: "an insert without the server is refused: nothing was sent, and the block can be inserted later",
    run: async (scene) => {
      const sink = await scene.opened();
      await scene.cut(sink);
      const answer = scene.insert(sink, rowsOf("a"), "token");
      await expect(answer).resolves.toMatchObject({ kind: "refused", failure: unreachable });
      await scene.network.mend();
      expect(await scene.insert(sink, rowsOf("a"), "token")).toEqual(ok);
      expect(await scene.rows()).toEqual(rowsOf("a"));
    },
    faults: {
      "reports an insert that was not sent as unknown": failsAs("unknown"),
      "throws without its server": answers((answer) => {
        if (answer.kind === "ok") return answer;
        throw new Error(answer.failure.text);
      }),
    },
  },
  {
    title: "an insert whose answer is lost is unknown, and its token completes it without a second row",
    run: async (scene) => {
      const sink = await scene.opened();
      scene.network.loseAnswers();
      const answer = await scene.insert(sink, rowsOf("a", "b"), "token");
      expect(answer).toMatchObject({ kind: "unknown", failure: lost });
      expect(await scene.rows()).toEqual(rowsOf("a", "b"));
      await scene.network.mend();
      expect(await scene.insert(sink, rowsOf("a", "b"), "token")).toEqual(ok);
      expect(await scene.rows()).toEqual(rowsOf("a", "b"));
    },
    faults: {
      "reports an unknown answer as OK": reportsAsOk("unknown"),
      "reports a lost answer as a refusal": failsAs("refused"),
      "sends it again under another token": inserts(async (sink, block, token, ...others) => {
        const answer = await sink.insert(block, token, ...others);
        if (answer.kind === "unknown") await sink.insert(block, `${token} again`, ...others);
        return answer;
      }),
    },
  },
  {
    title: "an insert that is lost before the server sees it is unknown too, and its token completes it",
    run: async (scene) => {
      const sink = await scene.opened();
      scene.network.loseInserts();
      const answer = await scene.insert(sink, rowsOf("a"), "token");
      expect(answer).toMatchObject({ kind: "unknown", failure: lost });
      await scene.network.mend();
      expect(await scene.rows()).toEqual([]);
      expect(await scene.insert(sink, rowsOf("a"), "token")).toEqual(ok);
      expect(await scene.rows()).toEqual(rowsOf("a"));
    },
    faults: {
      "reports an unknown answer as OK": reportsAsOk("unknown"),
      "reports a broken connection as a refusal": failsAs("refused"),
    },
  },
  {
    title: "an insert that is aborted before it is sent is refused, and nothing is written",
    run: async (scene) => {
      const sink = await scene.opened();
      const answer = await scene.insert(sink, rowsOf("a"), "token", AbortSignal.abort());
      expect(answer.kind).toBe("refused");
      expect(failureOf(answer).class).toBe("transient");
      expect(await scene.rows()).toEqual([]);
    },
    faults: {
      "ignores its signal": inserts((sink, block, token) => sink.insert(block, token, patient)),
    },
  },
  {
    title: "an insert that is aborted while it runs is unknown",
    run: async (scene) => {
      const sink = await scene.opened();
      const leave = new AbortController();
      scene.network.hold(() => leave.abort());
      const answer = scene.insert(sink, rowsOf("a"), "token", leave.signal);
      await expect(answer).resolves.toMatchObject({ kind: "unknown", failure: lost });
    },
    faults: {
      "reports an aborted insert as a refusal": failsAs("refused"),
      "throws the reason of its signal": inserts(async (sink, block, token, signal) => {
        const answer = await sink.insert(block, token, signal);
        signal.throwIfAborted();
        return answer;
      }),
    },
  },
  {
    title: "an insert that a view fails for is unknown, and its token completes the view once it is mended",
    run: async (scene) => {
      const views = await scene.target.feedViews();
      const sink = await scene.opened();
      const insert = () => scene.insert(sink, rowsOf("a", "bad"), "token");
      const answer = await insert();
      expect(answer.kind).toBe("unknown");
      expect(failureOf(answer).class).toBe("view");
      expect(answer).not.toHaveProperty("failure.row");
      expect(await scene.rows()).toEqual(rowsOf("a", "bad"));
      await views.mend();
      for (let each = 0; each < 2; each += 1) {
        expect(await insert()).toEqual(ok);
        expect(await scene.rows()).toEqual(rowsOf("a", "bad"));
        expect(await views.rows()).toEqual({ sound: 2, broken: 2 });
      }
    },
    faults: { "reports a failure of a view as a refusal": failsAs("refused") },
  },
  {
    title: "where errors of views are to be ignored, the target and the other views get the rows",
    run: async (scene) => {
      const views = await scene.target.feedViews();
      const sink = await scene.opened();
      const block = blockOf(sink, rowsOf("a", "bad"));
      expect(failureOf(await sink.insert(block, "token", patient)).class).toBe("view");
      expect(await sink.insert(block, "token", patient, { ignoreViews: true })).toEqual(ok);
      expect(await scene.rows()).toEqual(rowsOf("a", "bad"));
      expect(await views.rows()).toEqual({ sound: 2, broken: 0 });
    },
    faults: {
      "does not pass the option on": inserts((sink, block, token, signal) => sink.insert(block, token, signal)),
    },
  },
];
