import { describe, expect, test } from "vitest";
import { insertAnswer, statementAnswer } from "../../../engine/sinks/clickhouse/transport/failures.ts";
import type { Target } from "../../../engine/sinks/clickhouse/transport/failures.ts";
import type { RequestFailure } from "../../../engine/sinks/clickhouse/transport/request-error.ts";

const plain: Target = { views: [], rows: 10, isOneBlock: true };
/** Its server may cut an insert into blocks, and writes one after the other. */
const cut: Target = { ...plain, isOneBlock: false };
const viewed: Target = { ...plain, views: ["d.mv", "d.mv2", "d.o'd`d"] };

function server(code: number, text = "Something."): RequestFailure {
  return { from: "server", code, name: `NAME_${code}`, text };
}

function judged(trouble: RequestFailure, target: Target): string {
  const answer = insertAnswer(trouble, target);
  return `${answer.kind} ${answer.failure.class} ${answer.failure.row ?? ""}`.trim();
}

const violated =
  "Constraint `c` for table d.t (uuid) is violated at row 3. Expression: (id < 9). Column values: s = 'x'";
const parsing = "Cannot parse input: expected '\"' before: 'a': (while reading the value of key id): (at row 2)";

describe("a server's error is", () => {
  test.each<readonly [string, RequestFailure, string]>([
    ...[159, 198, 201, 202, 203, 209, 210, 236, 241, 242, 243, 244, 252, 254, 265, 279, 285, 286, 289].map(
      (code) => [`${code}`, server(code), "unknown transient"] as const,
    ),
    ...[290, 297, 319, 364, 384, 394, 425, 439, 745, 999, 1000].map(
      (code) => [`${code}`, server(code), "unknown transient"] as const,
    ),
    ...[27, 6, 53, 72, 69, 117, 131, 349, 467, 469, 691, 321].map(
      (code) => [`${code} without a row`, server(code), "unknown row"] as const,
    ),
    ...[16, 47, 60, 81, 192, 193, 194, 195, 291, 497, 516, 164].map(
      (code) => [`${code}`, server(code), "refused setup"] as const,
    ),
    ["an unheard-of code", server(4711), "unknown setup"],
    ["27 with a row", server(27, parsing), "refused row 1"],
    ["469 with a row", server(469, violated), "refused row 2"],
    ["252 about too many parts", server(252, "Too many parts (300). Merges are slower."), "unknown transient"],
    [
      "252 about partitions",
      server(252, "The limit is controlled by 'max_partitions_per_insert_block' setting."),
      "refused partitions",
    ],
  ])("%s", (_title, trouble, expected) => {
    expect(judged(trouble, plain)).toBe(expected);
  });
});

describe("where an insert may be cut into blocks, a server's error is", () => {
  test.each([
    ["of a row that it names, and earlier blocks may be written", server(27, parsing), "unknown row 1"],
    ["before all blocks", server(60), "refused setup"],
  ])("%s", (_title, trouble, expected) => {
    expect(judged(trouble, cut)).toBe(expected);
  });
});

describe("an error in a view", () => {
  test.each<[title: string, text: string, expected: string, code?: number]>([
    ["is told by its view", "Cannot parse 'x' as UInt64: while pushing to view d.mv.", "unknown view"],
    ["is told from one whose name begins alike", "Cannot parse: while pushing to view d.mv2 (uuid).", "unknown view"],
    ["is not what an event says before the row", "got 'a: while pushing to view d.mv' (at row 2)", "refused row 1"],
    ["is told by an odd name", "No: while pushing to view d.`o'd\\`d`.", "unknown view"],
    ["is not of a view that is not there", "Cannot parse: while pushing to view d.other.", "unknown row"],
    [
      "is told by its end, with what the server adds",
      "No: while pushing to view d.mv (uuid): While executing X.",
      "unknown view",
    ],
    [
      "is not what an event says in a constraint",
      `${violated.slice(0, -3)}'x: while pushing to view d.mv'`,
      "refused row 2",
      469,
    ],
    [
      "of a constraint behind it names no row of ours",
      "Constraint `c` for table d.out is violated at row 1. Expression: (n < 3). Column values: n = 5: while pushing to view d.mv2: while pushing to view d.mv",
      "unknown view",
      469,
    ],
    [
      "that nobody knows may have written the table all the same",
      "Constraint `c` for table d.out is violated at row 1. Expression: (n < 3). Column values: n = 5: while pushing to view d.new",
      "unknown row",
      469,
    ],
    ["is not of a view with a longer name", "Cannot parse: while pushing to view d.mv3.", "unknown row"],
  ])("%s", (_title, text, expected, code = 6) => {
    expect(judged(server(code, text), viewed)).toBe(expected);
  });

  test("that passes is tried again with the same token", () => {
    expect(judged(server(241, "Memory limit: while pushing to view d.mv"), viewed)).toBe("unknown transient");
  });
});

describe("a row is", () => {
  test.each([
    ["the last that a parse error names", 27, "before: '(at row 9)': (at row 2)", "refused row 1"],
    ["the first that a constraint names", 469, `${violated}, 'is violated at row 9. Expression: '`, "refused row 2"],
    ["not one that the block has not", 27, "(at row 11)", "unknown row"],
    ["not row 0, which is none", 27, "(at row 0)", "unknown row"],
  ])("%s", (_title, code, text, expected) => {
    expect(judged(server(code, text), plain)).toBe(expected);
  });
});

describe("without an answer of ClickHouse", () => {
  test.each<[string, RequestFailure, string]>([
    ["nothing was sent", { from: "network", sent: false, text: "refused" }, "refused transient"],
    ["it was sent", { from: "network", sent: true, text: "reset" }, "unknown transient"],
    ["a proxy is busy", { from: "http", status: 503, text: "busy" }, "unknown transient"],
    ["a proxy says no", { from: "http", status: 413, text: "too large" }, "unknown setup"],
    ["the port is a native one", { from: "protocol", text: "Port 9000 is" }, "refused setup"],
    ["it is no HTTP", { from: "garbled", text: "HPE" }, "unknown transient"],
    ["it is another's", { from: "foreign", text: "an empty 200" }, "unknown transient"],
    ["the certificate is bad", { from: "settings", text: "self-signed" }, "refused setup"],
  ])("%s", (_title, trouble, expected) => {
    expect(judged(trouble, plain)).toBe(expected);
  });
});

describe("a server that lacks something for a while is tried again, and says what it lacks", () => {
  test.each<[string, number, string, string]>([
    [
      "files",
      76,
      "Cannot open file /var/lib/clickhouse/store/a/data.bin, errno: 24, strerror: Too many open files.",
      "too many files open: raise its limit of open files",
    ],
    [
      "files, for its own waits",
      573,
      "Cannot open epoll descriptor: errno: 24, strerror: Too many open files.",
      "too many files open: raise its limit of open files",
    ],
    [
      "files, of a listing",
      1001,
      "std::__fs::filesystem::filesystem_error: in directory_iterator: Too many open files",
      "too many files",
    ],
    [
      "files of its machine",
      76,
      "Cannot open file a, errno: 23, strerror: Too many open files in system.",
      "fs.file-max",
    ],
    ["room", 75, "Cannot write to file a, errno: 28, strerror: No space left on device.", "one of its disks is full"],
    [
      "room, of a folder",
      1001,
      "filesystem error: in create_directories: No space left on device",
      "one of its disks is full",
    ],
    ["room, as it says itself", 243, "Cannot reserve 1.00 MiB, not enough space.", "one of its disks is full"],
    ["room by a quota", 75, "Cannot write to file a, errno: 122, strerror: Disk quota exceeded.", "quota"],
    ["memory", 173, "Allocator: Cannot mmap 1.00 GiB., errno: 12, strerror: Cannot allocate memory.", "out of memory"],
    ["memory for the insert", 241, "Memory limit (total) exceeded", "more memory than it allows"],
    ["threads", 439, "Cannot schedule a task: failed to start the thread: Resource temporarily unavailable", "threads"],
    ["Keeper", 999, "Coordination::Exception: Session expired.", "Keeper"],
    ["Keeper at all", 225, "Can't create replicated table without ZooKeeper.", "Keeper"],
    [
      "Keeper for a table",
      242,
      "Table is in readonly mode since the coordination service session is expired",
      "Keeper",
    ],
    ["its tables, while it is started", 722, "Load job failed", "being started"],
  ])("%s", (_title, code, text, says) => {
    for (const target of [plain, viewed]) expect(judged(server(code, text), target)).toBe("unknown transient");
    expect(statementAnswer(server(code, text)).failure).toMatchObject({
      class: "transient",
      text: expect.stringMatching(
        new RegExp(`^ClickHouse cannot run this now: .*${says}.*ClickHouse says NAME_${code}`),
      ) as string,
    });
  });

  test.each([
    ["a file that it may not open", 76, "Cannot open file a, errno: 13, strerror: Permission denied."],
    ["a file that is gone", 107, "File a doesn't exist."],
    ["a table that stays read-only", 774, "Table is in permanently read-only mode"],
    ["a column that is named like it", 47, "Missing columns: 'Too many open files'"],
  ])("but not %s", (_title, code, text) => {
    expect(statementAnswer(server(code, text)).failure.class).toBe("setup");
  });

  test.each([
    95, 96, 394, 411, 416, 473, 499, 500, 667, 677, 695, 696, 700, 734, 735, 738, 749, 762, 771, 776, 777, 778,
  ])("%i", (code) => expect(judged(server(code), plain)).toBe("unknown transient"));
});

test("a statement that writes no rows is always refused, and no row is at fault", () => {
  expect(statementAnswer(server(27, parsing))).toMatchObject({
    kind: "refused",
    failure: { class: "setup", code: 27 },
  });
});

test("the text names code and name, for a person and for a metric", () => {
  expect(insertAnswer(server(60, "Table d.t does not exist."), plain)).toMatchObject({
    failure: { code: 60, name: "NAME_60", text: "ClickHouse says NAME_60 (code 60): Table d.t does not exist." },
  });
});
