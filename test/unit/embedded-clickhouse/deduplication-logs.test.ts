import { mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { repairDeduplicationLogs } from "../../../engine/embedded-clickhouse/server/tokens/deduplication-logs.ts";
import { Parts } from "../../../engine/embedded-clickhouse/server/tokens/parts.ts";

describe("the rows of a part are there", () => {
  test.each<[string, string, string[]]>([
    ["where its folder is", "all_3_3_0", ["all_2_2_0", "all_3_3_0"]],
    ["where it was merged with others", "all_3_3_0", ["all_1_5_1"]],
    ["where it is the first of those merged", "all_3_3_0", ["all_3_5_1"]],
    ["where it is the last of those merged", "all_3_3_0", ["all_1_3_1"]],
    ["where it was mutated", "all_3_3_0", ["all_3_3_0_7"]],
    ["where it was merged, and that was mutated", "all_3_3_0", ["all_1_5_2_17"]],
    ["where a smaller one begins later than the one that holds it", "all_3_3_0", ["all_1_5_1", "all_2_2_0"]],
    ["where the one that holds it is named after others", "all_3_3_0", ["all_4_4_0", "all_2_2_0", "all_1_9_2"]],
    ["in a partition with a number below zero", "-5_3_3_0", ["-5_1_4_1"]],
    ["in a partition of several columns", "2024-1-7_3_3_0", ["2024-1-7_3_3_0"]],
    ["if its name is none of a part", "what is this", []],
  ])("%s", (_, part, folders) => {
    expect(new Parts(folders).hold(part)).toBe(true);
  });

  test.each<[string, string, string[]]>([
    ["where there is nothing", "all_3_3_0", []],
    ["in parts before and behind it", "all_3_3_0", ["all_1_2_1", "all_4_5_1"]],
    ["in a part that holds only the beginning", "all_3_5_1", ["all_1_4_1"]],
    ["in a part that holds only the end", "all_3_5_1", ["all_4_6_1"]],
    ["in two parts that hold one half each", "all_3_6_1", ["all_1_4_1", "all_5_9_1"]],
    ["in a part of another partition", "1_3_3_0", ["0_3_3_0", "11_1_5_1", "2_1_5_1"]],
    ["where it was not yet moved into place", "all_3_3_0", ["tmp_insert_all_3_3_0", "tmp_merge_all_1_5_1"]],
    ["where it is about to be removed", "all_3_3_0", ["delete_tmp_all_3_3_0"]],
    ["where it was detached", "all_3_3_0", ["detached", "deduplication_logs"]],
  ])("not %s", (_, part, folders) => {
    expect(new Parts(folders).hold(part)).toBe(false);
  });
});

let engine: string;
beforeEach(async () => {
  engine = await mkdtemp(join(tmpdir(), "sluice-deduplication-logs-"));
});
afterEach(() => rm(engine, { recursive: true, force: true }));

/** Makes a table that has part 1, and a part of 2 to 4; and logs, of which the first is the oldest. */
async function table(...logs: string[]): Promise<(number: number) => string> {
  const folder = join(engine, "store", "0ab", "0ab4c1de-0000-4000-8000-000000000000");
  for (const name of ["all_1_1_0", "all_2_4_1", "tmp_insert_all_5_5_0", "detached/all_6_6_0", "deduplication_logs"]) {
    await mkdir(join(folder, name), { recursive: true });
  }
  // A file is no part.
  await writeFile(join(folder, "all_7_7_0"), "");
  const path = (number: number): string => join(folder, "deduplication_logs", `deduplication_log_${number}.txt`);
  // Numbers of one and two digits: their order is not that of their names.
  for (const [index, text] of logs.entries()) await writeFile(path(index + 9), text, "latin1");
  return path;
}

describe("a log is mended", () => {
  test.each<[string, string[], string[], { tokens: number; lines: number }]>([
    [
      "not where every token has its rows, in its own part or in a merged one",
      ["1\tall_1_1_0\ta\n1\tall_2_2_0\tb\n", "1\tall_3_3_0\tc\n1\tall_4_4_0\td\n"],
      ["1\tall_1_1_0\ta\n1\tall_2_2_0\tb\n", "1\tall_3_3_0\tc\n1\tall_4_4_0\td\n"],
      { tokens: 0, lines: 0 },
    ],
    [
      "where tokens have no rows: these are forgotten, and no others",
      ["1\tall_1_1_0\ta\n1\tall_5_5_0\te\n1\tall_2_2_0\tb\n1\tall_6_6_0\tf\n1\tall_7_7_0\tg\n"],
      ["1\tall_1_1_0\ta\n2\tall_5_5_0\te\n1\tall_2_2_0\tb\n2\tall_6_6_0\tf\n2\tall_7_7_0\tg\n"],
      { tokens: 3, lines: 0 },
    ],
    [
      "in an older file too",
      ["1\tall_5_5_0\te\n", "1\tall_1_1_0\ta\n"],
      ["2\tall_5_5_0\te\n", "1\tall_1_1_0\ta\n"],
      { tokens: 1, lines: 0 },
    ],
    [
      "not where ClickHouse forgot the token itself",
      ["1\tall_5_5_0\te\n1\tall_6_6_0\tf\n2\tall_5_5_0\te\n", "2\tall_6_6_0\tf\n"],
      ["1\tall_5_5_0\te\n1\tall_6_6_0\tf\n2\tall_5_5_0\te\n", "2\tall_6_6_0\tf\n"],
      { tokens: 0, lines: 0 },
    ],
    [
      "not where the token was sent again and has rows now",
      ["1\tall_5_5_0\ta\n", "1\tall_1_1_0\ta\n"],
      ["1\tall_5_5_0\ta\n", "1\tall_1_1_0\ta\n"],
      { tokens: 0, lines: 0 },
    ],
    [
      "where the token was forgotten, and sent again without rows",
      ["1\tall_1_1_0\ta\n2\tall_1_1_0\ta\n", "1\tall_5_5_0\ta\n"],
      ["1\tall_1_1_0\ta\n2\tall_1_1_0\ta\n", "2\tall_5_5_0\ta\n"],
      { tokens: 1, lines: 0 },
    ],
    [
      "where its last line was cut off: it is gone, and the next line will be one of its own",
      ["1\tall_1_1_0\ta\n1\tall_2_2_0\tb\n1\tall_5_5"],
      ["1\tall_1_1_0\ta\n1\tall_2_2_0\tb\n"],
      { tokens: 0, lines: 1 },
    ],
    ["where its only line was cut off", ["1\tall_5_5_0\te"], [""], { tokens: 0, lines: 1 }],
    [
      "where it ends in zeroes, as after a power loss",
      ["1\tall_1_1_0\ta\n1\tall_2_\0\0\0\0"],
      ["1\tall_1_1_0\ta\n"],
      { tokens: 0, lines: 1 },
    ],
    [
      "where lines cannot be read: what is behind them counts again",
      ["1\tall_1_1_0\ta\n1\tall_51\tall_2_2_0\tb\n\0\0\0\xff\xfe\n1\tall_2_2_0\tc\n1\tall_5_5_0\te\n"],
      ["1\tall_1_1_0\ta\n2\t-----------------\t\n2\t--\t\n1\tall_2_2_0\tc\n2\tall_5_5_0\te\n"],
      { tokens: 1, lines: 2 },
    ],
    [
      "where a line is too short for a record: it goes with the next one",
      ["1\tall_1_1_0\ta\n\n1\tall_2_2_0\tb\n1\tall_3_3_0\tc\n\n"],
      ["1\tall_1_1_0\ta\n2\t-----------\t\n1\tall_3_3_0\tc\n"],
      { tokens: 0, lines: 2 },
    ],
    ["not where it is empty", ["", ""], ["", ""], { tokens: 0, lines: 0 }],
  ])("%s", async (_, before, after, expected) => {
    const path = await table(...before);
    expect(await repairDeduplicationLogs(engine)).toEqual(expected);
    const found = await Promise.all(before.map((_text, index) => readFile(path(index + 9), "latin1")));
    expect(found).toEqual(after);
    expect(await repairDeduplicationLogs(engine), "once mended, nothing is left to do").toEqual({
      tokens: 0,
      lines: 0,
    });
    expect(await readdir(join(path(9), "..")), "ClickHouse opens no table with other files here").toHaveLength(
      before.length,
    );
  });

  test("without a write, where nothing is to be mended", async () => {
    const path = await table("1\tall_1_1_0\ta\n");
    const { mtimeNs } = await stat(path(9), { bigint: true });
    await repairDeduplicationLogs(engine);
    expect((await stat(path(9), { bigint: true })).mtimeNs).toBe(mtimeNs);
  });

  test("at its end, where it is very long", async () => {
    const known = Array.from({ length: 10_000 }, (_, n) => long("all_2_2_0", n)).join("");
    const missing = long("all_5_5_0", 20_000);
    const path = await table(`${missing}${known}${missing}1\tall_9`);
    expect(await repairDeduplicationLogs(engine)).toEqual({ tokens: 1, lines: 1 });
    const found = await readFile(path(9), "latin1");
    expect(found === `${missing}${known}2${missing.slice(1)}`).toBe(true);
  });
});

function long(part: string, token: number): string {
  return `1\t${part}\t${String(token).padStart(200, "0")}\n`;
}

describe("logs are found", () => {
  const dangling = "1\tall_5_5_0\te\n";

  test.each([
    ["of a table by its UUID", "store/0ab/0ab4c1de-0000-4000-8000-000000000000"],
    ["of a table by its name, in an old database", "data/shop/orders"],
  ])("%s", async (_, folder) => {
    await mkdir(join(engine, folder, "deduplication_logs"), { recursive: true });
    await writeFile(join(engine, folder, "deduplication_logs", "deduplication_log_1.txt"), dangling);
    expect(await repairDeduplicationLogs(engine)).toEqual({ tokens: 1, lines: 0 });
  });

  test("once, where a link by name leads to a table too", async () => {
    await table(dangling);
    await mkdir(join(engine, "data", "default"), { recursive: true });
    await symlink(
      "../../store/0ab/0ab4c1de-0000-4000-8000-000000000000",
      join(engine, "data", "default", "orders"),
      "dir",
    );
    expect(await repairDeduplicationLogs(engine)).toEqual({ tokens: 1, lines: 0 });
  });

  test("not in a folder that is new, or that has other things", async () => {
    expect(await repairDeduplicationLogs(join(engine, "missing"))).toEqual({ tokens: 0, lines: 0 });
    await mkdir(join(engine, "store", "0ab", "0ab4c1de-0000-4000-8000-000000000000"), { recursive: true });
    await writeFile(join(engine, "store", "note.txt"), "x");
    await mkdir(join(engine, "data"));
    expect(await repairDeduplicationLogs(engine)).toEqual({ tokens: 0, lines: 0 });
  });
});
