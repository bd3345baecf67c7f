import type { Session } from "chdb";
import { expect, test } from "vitest";
import { Sessions } from "../../../engine/embedded-clickhouse/server/sessions.ts";

/** Sessions whose engine gives these answers, and what was asked of each. */
function sessionsThat(answer: (sql: string) => Promise<unknown>): {
  sessions: Sessions;
  asked: string[][];
  broken: number;
} {
  const asked: string[][] = [];
  const open = (): Session => {
    const mine: string[] = [];
    asked.push(mine);
    return {
      queryAsync: (sql: string) => (mine.push(sql), answer(sql)),
      close: () => mine.push("closed"),
    } as unknown as Session;
  };
  const made = { asked, broken: 0, sessions: undefined as unknown as Sessions };
  made.sessions = new Sessions(open, new Map([["a", "it's 1"]]), () => (made.broken += 1));
  return made;
}

const select = { sql: "SELECT 1", format: "CSV", leavesSessionUnchanged: true };
const none = { database: undefined, settings: new Map<string, string>(), params: new Map<string, string>() };

test("a session is set back before it is used again", async () => {
  const { sessions, asked } = sessionsThat(() => Promise.resolve({}));
  await sessions.run(select, {
    ...none,
    database: "d`b",
    settings: new Map([
      ["a", "2"],
      ["b", "\\'"],
    ]),
  });
  await new Promise((resolve) => void setImmediate(resolve));
  await sessions.run(select, none);
  expect(asked).toEqual([
    [
      "USE `d\\`b`",
      "SET a = '2', b = '\\\\\\''",
      "SELECT 1",
      "SET a = 'it\\'s 1', b = DEFAULT",
      "USE default",
      "SELECT 1",
    ],
  ]);
});

test.each([
  ["a parameter", select, { ...none, params: new Map([["param_x", "1"]]) }],
  ["a setting that forbids others", select, { ...none, settings: new Map([["readonly", "1"]]) }],
  ["a statement that may change it", { ...select, leavesSessionUnchanged: false }, none],
])("a session is closed after %s", async (_, run, under) => {
  const { sessions, asked } = sessionsThat(() => Promise.resolve({}));
  await sessions.run(run, under);
  await sessions.run(select, none);
  expect(asked.map((one) => one.includes("closed"))).toEqual([true, false]);
});

test("an engine that shut itself down is told", async () => {
  const fatal = "Code: 236. DB::Exception: server is shutting down due to a fatal error. (ABORTED)";
  const made = sessionsThat(() => Promise.reject(new Error(fatal)));
  await expect(made.sessions.run(select, none)).rejects.toMatchObject({ code: 236 });
  expect(made.broken).toBe(1);
});

test("while a long statement runs, only so many sessions may wait for their end", async () => {
  const release: (() => void)[] = [];
  const { sessions } = sessionsThat((sql) =>
    sql === "long" ? new Promise((resolve) => void release.push(() => resolve({}))) : Promise.resolve({}),
  );
  const long = sessions.run({ ...select, sql: "long" }, none);
  const dirty = { ...select, leavesSessionUnchanged: false };
  for (let i = 0; i < 500; i += 1) await sessions.run(dirty, none);
  await expect(sessions.run(dirty, none)).rejects.toMatchObject({ code: 202 });
  release[0]?.();
  await long;
  await new Promise((resolve) => void setImmediate(resolve));
  await sessions.run(dirty, none);
});
