import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Holds } from "../../../reconciler/holds/holds.ts";

let dataDir: string;
let file: string;
const since = expect.stringMatching(/^\d{4}-.*Z$/) as string;
const pin = { commit: "a".repeat(40), head: "b".repeat(40), revision: `main@sha1:${"a".repeat(40)}` };

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "sluice-holds-"));
  file = join(dataDir, "holds.json");
});

afterEach(() => rm(dataDir, { recursive: true, force: true }));

describe("what is held", () => {
  test("stays over a restart, with who and why", async () => {
    const holds = Holds.read(dataDir);
    await holds.suspend("orders", { by: "ada", reason: "the table\nis moved\u001b[2J" });
    await holds.suspend("constructor", {});
    await holds.suspend(undefined, { by: "eve" });
    await holds.pin({ ...pin, by: "ada" });
    const again = Holds.read(dataDir);
    expect(again.state).toEqual(holds.state);
    expect(again.state).toEqual({
      version: 1,
      everything: { since, by: "eve" },
      pipelines: { orders: { since, by: "ada", reason: "the table is moved [2J" }, constructor: { since } },
      pin: { ...pin, since, by: "ada" },
    });
    expect(again.of("orders")?.by).toBe("ada");
    expect(again.of("toString")?.by).toBe("eve");
  });

  test("is lifted one by one", async () => {
    const holds = Holds.read(dataDir);
    await holds.suspend("orders", {});
    await holds.suspend(undefined, {});
    await holds.pin(pin);
    await holds.resume(undefined);
    expect(holds.of("orders")).toEqual({ since });
    await holds.resume("orders");
    await holds.unpin();
    expect(Holds.read(dataDir).state).toEqual({ version: 1, pipelines: {} });
    expect(holds.of("toString")).toBeUndefined();
  });

  test("by many at once is all there", async () => {
    const holds = Holds.read(dataDir);
    await Promise.all(Array.from({ length: 20 }, (_, index) => holds.suspend(`orders-${index}`, {})));
    expect(Object.keys(Holds.read(dataDir).state.pipelines)).toHaveLength(20);
  });

  test.each([
    ["twice", (holds: Holds) => holds.suspend("orders", {}), /^orders is suspended already: by ada since .*: why$/],
    ["resumed that was not", (holds: Holds) => holds.resume("sales"), "sales is not suspended individually"],
    ["everything, resumed that was not", (holds: Holds) => holds.resume(undefined), "suspended individually: orders"],
    [
      "with a reason without end",
      (holds: Holds) => holds.suspend("sales", { reason: "x".repeat(501) }),
      "expected at most 500 characters, found 501",
    ],
  ])("%s is refused", async (_, act, message) => {
    const holds = Holds.read(dataDir);
    await holds.suspend("orders", { by: "ada", reason: "why" });
    await expect(act(holds)).rejects.toThrow(message);
  });

  test("that cannot be saved is not held", async () => {
    const holds = Holds.read(join(dataDir, "gone"));
    await expect(holds.suspend("orders", {})).rejects.toThrow("ENOENT");
    expect(holds.of("orders")).toBeUndefined();
    await holds.unpin().catch(() => undefined);
    expect(holds.state).toEqual({ version: 1, pipelines: {} });
  });
});

describe("a file that is damaged", () => {
  test.each([
    ["cut off", '{"version": 1, "pipel'],
    ["empty", ""],
    ["of another version", '{"version": 2, "pipelines": {}}'],
    ["without pipelines", '{"version": 1}'],
    ["with a suspension that is none", '{"version": 1, "pipelines": {"orders": true}}'],
    ["with a time that is none", '{"version": 1, "pipelines": {"orders": {"since": "then"}}}'],
    ["with half a pin", '{"version": 1, "pipelines": {}, "pin": {"since": "2026-01-01T00:00:00Z", "commit": "a"}}'],
    ["null", "null"],
  ])("%s holds everything back, until a person says otherwise", async (_, text) => {
    await writeFile(file, text);
    const holds = Holds.read(dataDir);
    expect(holds.of("orders")?.reason).toBe(holds.damage);
    expect(holds.damage).toMatch(
      /holds\.json is damaged, so it is unknown .*Restore it and restart, or run "sluice resume"/,
    );
    await expect(holds.suspend("orders", {})).rejects.toThrow("holds.json is damaged");
    await expect(holds.pin(pin)).rejects.toThrow("holds.json is damaged");
    expect(await readFile(file, "utf8")).toBe(text);
    await holds.resume(undefined);
    expect([holds.damage, holds.of("orders")]).toEqual([undefined, undefined]);
    expect(await readFile(`${file}.damaged`, "utf8")).toBe(text);
    expect(Holds.read(dataDir).damage).toBeUndefined();
  });

  test("that cannot be read counts as one", async () => {
    await mkdir(file);
    expect(Holds.read(dataDir).damage).toContain("cannot be read (EISDIR)");
  });
});
