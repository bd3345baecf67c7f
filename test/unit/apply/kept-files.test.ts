import { appendFile, mkdtemp, open, readFile, rm, writeFile, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Journal } from "../../../reconciler/apply/journal.ts";
import type { Beginning } from "../../../reconciler/apply/operation.ts";
import { ConcurrencyLimit } from "../../../reconciler/apply/concurrency-limit.ts";
import { OperationHistory } from "../../../reconciler/apply/history.ts";
import { records } from "../../integration/api/sample.ts";

let folder: string;

const journalPath = (): string => join(folder, "operations.ndjson");
const journalText = (): Promise<string> => readFile(journalPath(), "utf8");
const record = (id: number, pipeline_id: string) => ({ ...records[0]!, id, pipeline_id });

beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "sluice-kept-"))));
// A journal that was read last still notes in its file that the process before has ended.
afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));

describe("the journal of operations", () => {
  const what: Beginning = {
    pipeline_id: "orders",
    origin: { revision: "test@1" },
    plan: records[0]!.plan,
    content: { salt: "", digest: "" },
    calls: ["stop", "update", "resume"],
    ranBefore: true,
  };

  /** A journal with one operation in the middle of its stop. */
  async function begun(): Promise<Journal> {
    const journal = Journal.read(folder);
    await Promise.all([journal.say({ op: 1, says: "begin", what }), journal.say({ op: 1, says: "calling", index: 0 })]);
    return journal;
  }

  test("tells after a crash what was under way", async () => {
    await begun();
    const [operation] = Journal.read(folder).open.values();
    expect(operation).toMatchObject({ pipeline_id: "orders", interruptions: 1, off: { isOwed: true } });
    expect(operation?.calling).toBeUndefined();
  });

  test("is empty when nothing is open", async () => {
    const journal = await begun();
    await journal.say({ op: 1, says: "called", index: 0, result: "success", seconds: 1 });
    expect(await journalText()).not.toBe("");
    await journal.say({ op: 1, says: "end" });
    expect(await journalText()).toBe("");
  });

  test("forgets a last line that was cut off, and goes on after it", async () => {
    await begun();
    await appendFile(journalPath(), '{"op":1,"says":"cal');
    const journal = Journal.read(folder);
    await journal.say({ op: 1, says: "again", calls: ["update", "resume"] });
    expect(Journal.read(folder).open.get(1)).toMatchObject({ tries: 2, interruptions: 2 });
  });

  test("is read in the spelling of earlier versions", async () => {
    const at = "2026-01-01T00:00:00.000Z";
    const kept = { ...what, id: 1, began: at, tries: 1, interruptions: 0, errors: 1, drained: 0, made: [] };
    const rests = { result: "failed", message: "update: refused" };
    const lines = [
      { op: 1, at, says: "stands", operation: { ...kept, off: { since: at, isOwed: true }, rests } },
      { op: 2, at, says: "begin", what: { ...what, pipeline_id: "payments", off: { since: at, isOwed: true } } },
      { op: 2, at: "2026-01-01T00:00:01.000Z", says: "back" },
      { op: 2, at, says: "rests", result: "waiting" },
    ];
    await writeFile(journalPath(), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const [first, second] = Journal.read(folder).open.values();
    expect(first).toMatchObject({ lastAttempt: rests, off: { isOwed: true }, interruptions: 0 });
    expect(first).not.toHaveProperty("rests");
    expect(second).toMatchObject({ lastAttempt: { result: "waiting" }, pause: 1000 });
    expect(second?.off).toBeUndefined();
  });

  test("forgets a last write of several lines in which a power cut left zeros", async () => {
    const journal = await begun();
    const before = (await journalText()).length;
    const calls = ["stop", "update", "resume"] as const;
    // The first of them is written at once, the others together.
    await Promise.all(calls.map((call) => journal.say({ op: 1, says: "again", calls: [call] })));
    const bytes = Buffer.from(await journalText());
    const second = bytes.indexOf("\n", before) + 1;
    await writeFile(journalPath(), bytes.fill(0, second + 3, second + 20));
    expect(Journal.read(folder).open.get(1)).toMatchObject({ tries: 2 });
  });

  test("holds nothing that follows from what could not be written", async () => {
    const handle = await open(folder, "r");
    const datasync = vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, "datasync");
    await handle.close();
    datasync.mockRejectedValue(new Error("ENOSPC: no space left on device"));
    const journal = Journal.read(folder);
    // The second is said while the first is being written.
    const said = [journal.say({ op: 1, says: "begin", what }), journal.say({ op: 1, says: "calling", index: 0 })];
    await expect(Promise.allSettled(said)).resolves.toMatchObject([{ status: "rejected" }, { status: "rejected" }]);
    datasync.mockRestore();
    expect(() => Journal.read(folder)).not.toThrow();
    await journal.say({ op: 1, says: "again", calls: ["resume"] });
    expect(Journal.read(folder).open.get(1)).toMatchObject({ tries: 2 });
  });

  test("that is damaged elsewhere is an error that says what to do", async () => {
    await begun();
    await writeFile(journalPath(), `{"op":1,"s\n${await journalText()}`);
    expect(() => Journal.read(folder)).toThrow(
      /operations\.ndjson:1: expected a line .* restore the file from a backup/,
    );
  });

  test("does not grow with the tries of one operation", async () => {
    const journal = await begun();
    for (let index = 0; index < 1_000; index += 1) void journal.say({ op: 1, says: "again", calls: ["resume"] });
    await journal.say({ op: 1, says: "calling", index: 0 });
    expect((await journalText()).split("\n").length).toBeLessThan(500);
    expect(Journal.read(folder).open.get(1)).toMatchObject({ tries: 1_001 });
  });

  test("catches up after a write that failed", async () => {
    const journal = Journal.read(join(folder, "not-there"));
    await expect(journal.say({ op: 1, says: "begin", what })).rejects.toThrow("ENOENT");
    await expect(journal.say({ op: 1, says: "calling", index: 0 })).rejects.toThrow("ENOENT");
  });
});

describe("the history", () => {
  test("keeps the newest of each pipeline over restarts, each operation once, and does not grow", async () => {
    const history = OperationHistory.read(folder);
    for (let id = 1; id <= 300; id += 1) void history.put(record(id, id % 100 === 0 ? "rare" : "often"));
    void history.put({ ...record(300, "rare"), result: "failed" });
    await history.put({ ...record(300, "rare"), result: "applied" });
    const again = OperationHistory.read(folder);
    expect(again.page({ pipeline_id: "often", limit: 1000 }).records.map(({ id }) => id)).toHaveLength(50);
    const rare = again.page({ pipeline_id: "rare", limit: 2 });
    expect(rare.records.map(({ id, result }) => `${id} ${result}`)).toEqual(["300 applied", "200 applied"]);
    expect(again.page({ pipeline_id: "rare", limit: 2, cursor: rare.next_cursor! })).toMatchObject({
      records: [{ id: 100 }],
    });
    expect((await readFile(join(folder, "history.ndjson"), "utf8")).split("\n").length).toBeLessThan(200);
  });

  test("leaves out what it cannot understand", async () => {
    await OperationHistory.read(folder).put(record(1, "orders"));
    await appendFile(join(folder, "history.ndjson"), 'no json\n{"id":"x"}\n{"id":2,"pipel');
    const history = OperationHistory.read(folder);
    await history.put(record(3, "orders"));
    expect(
      OperationHistory.read(folder)
        .page({ limit: 10 })
        .records.map(({ id }) => id),
    ).toEqual([3, 1]);
  });
});

describe("slots", () => {
  test("are given in order, and taken from work that is slow", async () => {
    vi.useFakeTimers();
    try {
      const limit = new ConcurrencyLimit(1, 1_000);
      const begun: string[] = [];
      let end: (() => void) | undefined;
      void limit.run(() => new Promise<void>((done) => (begun.push("slow"), (end = done))));
      const quick = limit.run(async () => void begun.push("quick"));
      const last = limit.run(async () => void begun.push("last"));
      await vi.advanceTimersByTimeAsync(999);
      expect(begun).toEqual(["slow"]);
      await vi.advanceTimersByTimeAsync(1);
      await Promise.all([quick, last]);
      expect(begun).toEqual(["slow", "quick", "last"]);
      end?.();
    } finally {
      vi.useRealTimers();
    }
  });
});
