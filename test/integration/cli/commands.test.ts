import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { load } from "js-yaml";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { EngineError } from "../../../engine/index.ts";
import { controlApi } from "../../../reconciler/cli/control/routes.ts";
import type { ControlSources } from "../../../reconciler/cli/control/routes.ts";
import { listenControl } from "../../../reconciler/cli/control/server.ts";
import type { ControlServer } from "../../../reconciler/cli/control/server.ts";
import type { ReconcileSnapshot } from "../../../reconciler/reconciler.ts";
import type { PipelineStatus } from "../../../reconciler/status/status.ts";
import { actual, config, history, info, restingEngine, snapshot, unaskedOperator, view } from "../api/sample.ts";
import { type Printed, runCommand } from "../../support/command.ts";

let dataDir: string;
let daemon: ControlServer;
let engine: ControlSources["engine"];

const token = { created_at: "2026-01-01T00:00:00.000Z", last_used_at: null, brought: false };

const since = "2026-01-03T00:00:00.000Z";
const revision = "main@sha1:0123456789abcdef0123456789abcdef01234567";

/** What the reconciler knows: nothing of the pipeline `kafka`, which no file describes. */
const reconciled: ReconcileSnapshot = {
  ...snapshot("ended"),
  lastAppliedRevision: revision,
  conditions: [{ type: "Ready", status: "True", reason: "Applied", message: "all of it", lastTransitionTime: since }],
  pipelines: ["orders", "paused", "refused"].map((pipeline_id): PipelineStatus => {
    const isWell = pipeline_id === "orders";
    const ready = isWell
      ? ({ status: "True", reason: "ReconciliationSucceeded", message: "it runs" } as const)
      : ({ status: "False", reason: "ImmutableField", message: `a.yaml:3:1: ${"x".repeat(200)}\u001b[2J` } as const);
    return {
      pipeline_id,
      file: `${pipeline_id}.yaml`,
      conditions: [{ type: "Ready", ...ready, lastTransitionTime: since }],
      suspended: isWell,
      ...(isWell && { suspension: { since, by: "ada", reason: "a freeze" }, lastAppliedRevision: revision }),
      change: {
        pipeline_id,
        kind: isWell ? "no-op" : "refuse",
        cause: isWell ? "InSync" : "ImmutableField",
        effect: "none",
        why: { code: "InSync", facts: { status: "Running" } },
        reason: "it is Running and matches its file",
        calls: [],
        after: [],
        fields: isWell ? [] : [{ path: "resources.nats.stream.max_bytes", from: "0", to: "64Mi", effect: "refuse" }],
      } as unknown as PipelineStatus["change"],
    };
  }),
};

function serve(served: ControlSources["engine"]): Promise<ControlServer> {
  const reconciler = { snapshot: () => reconciled, history, actual, operator: unaskedOperator };
  return listenControl(dataDir, controlApi({ engine: served, reconciler, registry: new Registry(), info: () => info }));
}

const rewound = {
  pipeline_id: "orders",
  partitions: [{ feed: "c/shop/0", topic: "shop", partition: 0, from: 60, to: 20, first: 0 }],
  events: 40,
  keys: 7,
  recent: 5,
};

function refuse(): never {
  throw new EngineError("NOT_SUPPORTED", "pipeline orders has no webhook source: it has no token");
}

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "sluice-cli-"));
  engine = {
    ...restingEngine([
      view(),
      view({ pipeline_id: "paused", status: "Failed", failure: "gone\u001b[2J" }),
      view({ pipeline_id: "kafka" }),
    ]),
    tokens: {
      show: (id: string) => (engine.get(id), token),
      rotate: async (id, given) => `new-token-of-${id}${given?.now === true ? "-now" : ""}`,
    },
    rewind: async () => rewound,
    rewindPlan: async () => rewound,
    reprocess: async () => ({
      request_id: "dlq-reprocess-1",
      status: "partial" as const,
      accepted_count: 1,
      unknown: ["7"],
    }),
    sample: async () => ({ events: [{ text: '{"id":1}' }], left_out: 1 }),
    sql: async (query: string, format?: string) => {
      if (query.includes("nothing")) throw new Error("Table default.nothing does not exist. (UNKNOWN_TABLE)");
      return `${query} as ${format}: \u001b[2J\n`;
    },
  };
  daemon = await serve(engine);
});

afterEach(async () => {
  await daemon.close();
  await rm(dataDir, { recursive: true, force: true });
});

function sluice(...argv: string[]): Promise<Printed> {
  return runCommand(argv, { env: { SLUICE_DATA_DIR: dataDir } });
}

describe("the history", () => {
  test("of all is a table, that of one tells plan and outcome", async () => {
    const all = (await sluice("history")).out.split("\n");
    expect(all).toHaveLength(3);
    expect(all[1]).toMatch(/orders +update +applied +1\.5 +321 ms +12 +main@sha1:0123456789ab +Ada +Raise the limit/);
    const { out } = await sluice("history", "orders");
    for (const line of [
      /^planned: +sink\.table changed$/m,
      /^pause: +321 ms$/m,
      /^interrupted: +1 times, and completed after each$/m,
    ])
      expect(out).toMatch(line);
    expect(JSON.parse((await sluice("history", "gone", "--output", "json")).out)).toMatchObject({
      records: [{ id: 3 }],
    });
    expect((await sluice("history", "unknown")).code).toBe(1);
  });

  test("that has no prediction of figures says so", async () => {
    expect(await sluice("history", "--accuracy")).toMatchObject({
      code: 0,
      out: "There are no changes yet whose plan can be compared.",
    });
  });
});

describe("for people", () => {
  test("get lists the pipelines in columns", async () => {
    const { code, out } = await sluice("get");
    expect(code).toBe(0);
    expect(out.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
      ["NAME", "READY", "STATUS", "REASON", "REVISION", "SUSPENDED", "MESSAGE"],
      ["source", "True", "Applied", "main@sha1:0123456789ab", "false", "all of it"],
      ["orders", "True", "Running", "ReconciliationSucceeded", "main@sha1:0123456789ab", "true", "it runs"],
      ["paused", "False", "Failed", "ImmutableField", "false", `a.yaml:3:1: ${"x".repeat(200)}\\u001b[2J`],
      ["kafka", "Unknown", "Running", "NotLookedAt", "false", "the source was not looked at yet"],
      ["refused", "False", "ImmutableField", "false", `a.yaml:3:1: ${"x".repeat(200)}\\u001b[2J`],
    ]);
  });

  test("get --wide shows what each pipeline writes, what waits, how fresh its rows are, and its dead letters", async () => {
    const { code, out } = await sluice("get", "--wide");
    expect(code).toBe(0);
    expect(out.split("\n").map((line) => line.split(/ {2,}/).slice(0, -1))).toEqual([
      ["NAME", "READY", "STATUS", "REASON", "REVISION", "SUSPENDED", "ROWS/S", "WAITS", "FRESHNESS", "DEAD LETTERS"],
      ["source", "True", "Applied", "main@sha1:0123456789ab", "false"],
      [
        "orders",
        "True",
        "Running",
        "ReconciliationSucceeded",
        "main@sha1:0123456789ab",
        "true",
        "2.5",
        "3",
        "13 s",
        "2",
      ],
      ["paused", "False", "Failed", "ImmutableField", "false", "2.5", "3", "13 s", "2"],
      ["kafka", "Unknown", "Running", "NotLookedAt", "false", "2.5", "42", "13 s", "2"],
      ["refused", "False", "ImmutableField", "false"],
    ]);
    const [, , kafka] = load((await sluice("get", "--wide", "--output", "yaml")).out) as { health: object }[];
    expect(kafka!.health).toMatchObject({ freshness_seconds: 12.3, rows_per_second: 2.5 });
    expect((await sluice("get", "--wide", "--watch")).err).toContain("leave out --watch");
    expect((await sluice("get", "orders", "--wide")).err).toContain("leave out the ID");
  });

  test("get --watch goes on until it is stopped", async () => {
    expect((await sluice("get", "--watch")).out).toBe((await sluice("get")).out);
  });

  test("get ID shows the file of a pipeline, and above it how it is", async () => {
    const { out } = await sluice("get", "orders");
    expect(load(out)).toEqual(config);
    expect(out).toMatch(/^# Ready: +True, ReconciliationSucceeded since 2026-01-03T00:00:00.000Z: it runs$/m);
    expect(out).toMatch(/^# suspended by: +ada: a freeze$/m);
    expect(out).toMatch(/^# oldest event not yet a row: +13 s$/m);
  });

  test("get ID shows what a file asks for and is refused, also where the engine has no such pipeline", async () => {
    const { out } = await sluice("get", "refused");
    expect(out).toMatch(/^# Ready: +False, ImmutableField since .*x{200}\\u001b\[2J$/m);
    expect(out).toContain("\n# what the file asks for:\n# refused  refuse");
    expect(out).toContain("\n#     resources.nats.stream.max_bytes\n#       - 0\n#       + 64Mi");
    for (const line of out.split("\n")) expect(line).toMatch(/^#/);
  });

  test("health ID shows the conditions", async () => {
    expect((await sluice("health", "paused")).out).toMatch(/^Ready: +False, ImmutableField since /m);
  });

  test("health says what keeps a pipeline from working, without obeying it", async () => {
    expect((await sluice("health", "paused")).out).toContain("\nfailed because:              gone\\u001b[2J\n");
    expect((await sluice("health")).out).toContain("gone\\u001b[2J");
  });

  test("health says how far a pipeline is behind its topic, and who else reads for it", async () => {
    const members = "app\\u001b[2J, and 1 more, whose partitions are not read here";
    expect((await sluice("health")).out.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
      ["ID", "STATUS", "BUFFERED", "LAG", "FRESHNESS", "ROWS WRITTEN", "DEAD LETTERS", "REMARK"],
      ["orders", "Running", "3", "13 s", "3", "2"],
      ["paused", "Failed", "3", "13 s", "3", "2", "gone\\u001b[2J"],
      ["kafka", "Running", "42", "13 s", "3", "2", `group member ${members}`],
    ]);
    const { out } = await sluice("health", "kafka");
    expect(out).toMatch(/^partitions read: +30$/m);
    expect(out).toMatch(/^consumer lag in offsets: +42$/m);
    expect(out).toMatch(/^consumer lag in seconds: +12$/m);
    expect(out.match(/^partition that lags: .*$/gm)).toHaveLength(20);
    expect(out).toMatch(/^partition that lags: +orders\/0: 1 in offsets, unknown in seconds$/m);
    expect(out).toMatch(/^partition that lags: +orders\/1: 1 in offsets, 12 in seconds$/m);
    expect(out).toMatch(/^more partitions that lag: +5$/m);
    expect(out).toMatch(/^offsets not yet committed to the group: +5$/m);
    expect(out).toContain(members);
    expect(out).not.toContain("events buffered");
    expect((await sluice("health", "orders")).out).toMatch(/^events buffered: +3$/m);
  });

  test("health says what a join buffers, and why it makes no rows", async () => {
    const held = {
      left: { events: 12, bytes: 340 },
      right: { events: 0, bytes: 0 },
      waiting: 3,
      memory: 99,
      storage: 500,
    };
    await daemon.close();
    daemon = await serve({ ...engine, health: (id) => ({ ...engine.health(id), join: held }) });
    const { out } = await sluice("health", "orders");
    expect(out).toMatch(/^left events that the join buffers: +12 in 340 bytes$/m);
    expect(out).toMatch(/^right events that the join buffers: +0 in 0 bytes$/m);
    expect(out).toMatch(/^joined rows that wait for the table: +3$/m);
    expect(out).toMatch(/^join: +99 bytes in memory, 500 on disk$/m);
    expect((await sluice("health")).out).toContain("left events come, and the join buffers no right event");
  });

  test.each([
    ["where the daemon listens", ["info"], "api:         127.0.0.1:8081"],
    ["how many dead letters there are", ["dlq", "state", "orders"], "dead letters:     2"],
    ["when a token was used", ["token", "show", "orders"], "last used:  never"],
  ])("facts stand one a line: %s", async (_, argv, expected) => {
    const { code, out } = await sluice(...argv);
    expect([code, out.split("\n")]).toEqual([0, expect.arrayContaining([expected])]);
  });

  test("dlq list says how to see the next page", async () => {
    const { out, err } = await sluice("dlq", "list", "orders", "--limit", "1");
    expect(out.split("\n")).toHaveLength(2);
    expect(err).toBe("There are more: sluice dlq list orders 1");
    const next = await sluice("dlq", "list", "orders", "1");
    expect([next.out.split("\n").at(-1), next.err]).toEqual([expect.stringMatching(/^2 .*\{"id":2\}$/), ""]);
  });

  test("dlq list asks for a component, a reason and a time, and says so for the next page", async () => {
    const flags = ["--component", "sink", "--reason", "x", "--since", "2026-01-01", "--until", "1h"];
    const { code, err } = await sluice("dlq", "list", "orders", "--limit", "1", ...flags);
    expect(code).toBe(0);
    expect(err).toMatch(
      /^There are more: sluice dlq list orders 1 --component sink --reason x --since 2026-01-01T00:00:00.000Z --until 20\d\d-/,
    );
    const wrong = await sluice("dlq", "list", "orders", "--component", "kafka", "--since", "yesterday");
    expect(wrong.err).toContain('--since: expected a time in ISO 8601, or how long ago, such as "2h"');
    expect(wrong.err).toMatch(/--component: expected .*otlp-receiver/);
  });

  test("rewind says what is read again, and what dedup drops of that", async () => {
    const dry = await sluice("rewind", "orders", "--to", "2h", "--dry-run");
    expect(dry.out.split("\n")).toEqual([
      "orders would read 40 offsets again.",
      "Dedup remembers 7 keys, and drops those of these events that have one: about 5, as so many offsets are within its window. The others become rows once more.",
      "PARTITION  NEXT OFFSET  REWOUND TO  FIRST OFFSET",
      "shop/0     60           20          0",
    ]);
    expect((await sluice("rewind", "orders", "--to", "shop/0=20")).out).toContain("orders reads 40 offsets again.");
    const wrong = await sluice("rewind", "orders", "--to", "the beginning");
    expect([wrong.code, wrong.err]).toEqual([
      1,
      expect.stringContaining("--to: expected earliest, a time in ISO 8601"),
    ]);
  });

  test("token rotate prints the new token alone", async () => {
    const { out, err } = await sluice("token", "rotate", "orders");
    expect([out, err]).toEqual([
      "new-token-of-orders",
      "This is shown once. The earlier token is accepted for ten minutes more.",
    ]);
    const now = await sluice("token", "rotate", "orders", "--now");
    expect([now.out, now.err]).toEqual([
      "new-token-of-orders-now",
      "This is shown once. The earlier token is refused from now on.",
    ]);
  });

  test.each([
    ["a pipe gets plain columns with their names", [], "SELECT 1 as TabSeparatedWithNames: \u001b[2J"],
    ["--output json", ["--output", "json"], "SELECT 1 as JSON: \u001b[2J"],
    ["a format for people is made safe", ["--format", "PrettyCompact"], "SELECT 1 as PrettyCompact: \\u001b[2J"],
    ["a format for machines stays as it is", ["--format", "TSV"], "SELECT 1 as TSV: \u001b[2J"],
  ])("sql: %s", async (_, flags, expected) => {
    expect((await sluice("sql", "SELECT 1", ...flags)).out).toBe(expected);
  });
});

describe("for machines", () => {
  test.each([
    ["get", ["get"]],
    ["get ID", ["get", "orders"]],
    ["health", ["health"]],
    ["health ID", ["health", "paused"]],
    ["info", ["info"]],
    ["dlq state", ["dlq", "state", "orders"]],
    ["dlq list", ["dlq", "list", "orders"]],
    ["token show", ["token", "show", "orders"]],
    ["token rotate", ["token", "rotate", "orders"]],
  ])("%s --output json prints one JSON document", async (_, argv) => {
    const { code, out } = await sluice(...argv, "--output", "json");
    expect([code, typeof JSON.parse(out)]).toEqual([0, "object"]);
  });
});

describe("what cannot be done is one sentence, and exit code 1", () => {
  test.each([
    ["an unknown pipeline", ["get", "none"], "sluice: there is no pipeline none"],
    ["the health of an unknown pipeline", ["health", "none"], "sluice: there is no pipeline none"],
    ["the token of an unknown pipeline", ["token", "show", "none"], "sluice: there is no pipeline none"],
    [
      "a query that ClickHouse refuses",
      ["sql", "SELECT * FROM nothing"],
      "sluice: Table default.nothing does not exist. (UNKNOWN_TABLE)",
    ],
    ["an empty query", ["sql", " "], "sluice: query: expected an SQL statement"],
    [
      "a format with a blank",
      ["sql", "SELECT 1", "--format", "T V"],
      'sluice: --format: expected the name of a ClickHouse format such as JSONEachRow, found "T V"',
    ],
    [
      "a cursor that is none",
      ["dlq", "list", "orders", "x"],
      "sluice: cursor: expected the next_cursor of an earlier page, a decimal number",
    ],
    [
      "a page that is too long",
      ["dlq", "list", "orders", "--limit", "1001"],
      "sluice: --limit: expected a whole number from 1 to 1000, found 1001",
    ],
    [
      "a settings file that is not there",
      ["--config", "/none.yaml", "get"],
      "sluice: cannot read the settings file /none.yaml",
    ],
    ["run without pipelines", ["run"], "sluice: expected --repo URL|PATH or --dir PATH: where are the pipelines?"],
    ["run with two origins", ["run", "--repo", "a", "--dir", "b"], "sluice: --repo and --dir exclude each other"],
    ["a command that is none", ["rum"], "error: unknown command 'rum'\n(Did you mean run?)"],
    ["a flag that is none", ["get", "--outptu", "json"], "error: unknown option '--outptu'\n(Did you mean --output?)"],
    ["a missing argument", ["token", "show"], "error: missing required argument 'ID'"],
    ["an argument too many", ["get", "a", "b"], "error: too many arguments for 'get'"],
  ])("%s", async (_, argv, expected) => {
    const { code, out, err } = await sluice(...argv);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain(expected);
  });

  test("no daemon", async () => {
    await daemon.close();
    const { code, err } = await sluice("get");
    expect([code, err]).toEqual([1, expect.stringContaining(`sluice: no sluice is running on data dir "${dataDir}"`)]);
  });

  test("an engine that refuses tells why", async () => {
    await daemon.close();
    daemon = await serve({
      ...restingEngine([view()]),
      tokens: { show: refuse, rotate: refuse },
      sql: refuse,
      sample: refuse,
      reprocess: refuse,
      rewind: refuse,
      rewindPlan: refuse,
    });
    expect((await sluice("token", "rotate", "orders")).err).toBe(
      "sluice: pipeline orders has no webhook source: it has no token",
    );
  });
});

describe("help", () => {
  test.each([["--help"], ["run --help"], ["validate --help"], ["dlq --help"], ["dlq list --help"]])(
    "sluice %s",
    async (line) => {
      const { code, out, err } = await sluice(...line.split(" "));
      expect([code, err]).toEqual([0, ""]);
      expect(out).toMatch(/^Usage: sluice/);
    },
  );

  test("names the variable and the default of each setting", async () => {
    const { out } = await sluice("run", "--help");
    const text = out.replace(/\s+/g, " ");
    expect(text).toContain("--interval <DURATION> how often to poll for a new revision [SLUICE_INTERVAL, default: 1m]");
    expect(text).toContain("(one of text, json) [SLUICE_LOG_FORMAT, default: text]");
  });
});

describe("init", () => {
  test("writes a repository whose files no second init writes over", async () => {
    const folder = join(dataDir, "new");
    expect((await sluice("init", folder)).code).toBe(0);
    const file = join(folder, "pipelines", "orders.yaml");
    await writeFile(file, "mine");
    const again = await sluice("init", folder);
    expect([again.code, again.err]).toEqual([1, expect.stringContaining(`${file} exists already`)]);
    expect(await readFile(file, "utf8")).toBe("mine");
  });

  test("says how to go on from where it was called", async () => {
    const [folder, here] = [join(dataDir, "elsewhere"), join(dataDir, "here")];
    expect((await sluice("init", folder)).err).toBe(`Go on with: cd ${folder} && sluice --config sluice.yaml run`);
    const cwd = vi.spyOn(process, "cwd").mockReturnValue(here);
    try {
      expect((await sluice("init", here)).err).toBe("Go on with: sluice --config sluice.yaml run");
    } finally {
      cwd.mockRestore();
    }
  });
});
