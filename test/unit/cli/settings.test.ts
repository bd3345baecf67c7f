import { describe, expect, test } from "vitest";
import { defaultKafkaSettings } from "../../../engine/index.ts";
import { kafkaSettings } from "../../../reconciler/cli/daemon/daemon-settings.ts";
import {
  misspeltVariables,
  resolveSettings,
  type SettingOrigins,
} from "../../../reconciler/cli/invocation/resolve-settings.ts";
import { parseSettings } from "../../../reconciler/cli/invocation/settings-file.ts";
import { settings } from "../../../reconciler/cli/invocation/settings-table.ts";
import { parseDeletionLimit } from "../../../reconciler/plan/budget.ts";

function resolve(origins: { flags?: SettingOrigins["flags"]; env?: SettingOrigins["env"]; yaml?: string }) {
  const file = parseSettings("sluice.yaml", origins.yaml ?? "");
  return resolveSettings("run", { flags: origins.flags ?? {}, env: origins.env ?? {}, file });
}

function problem(origins: Parameters<typeof resolve>[0]): string {
  try {
    resolve(origins);
  } catch (error) {
    return (error as Error).message;
  }
  return "no problem";
}

describe("a setting comes from its strongest origin", () => {
  const flags = { data_dir: "from-flag" };
  const env = { SLUICE_DATA_DIR: "from-env" };
  const yaml = "data_dir: from-file";
  test.each([
    ["a flag before all others", { flags, env, yaml }, "from-flag", "--data-dir"],
    ["the environment before the file", { env, yaml }, "from-env", "SLUICE_DATA_DIR"],
    ["the file before the default", { yaml }, "from-file", "data_dir (sluice.yaml:1:1)"],
    ["the default at last", {}, ".sluice", "the default of --data-dir"],
    ["an empty variable is not set", { env: { SLUICE_DATA_DIR: "" }, yaml }, "from-file", "data_dir (sluice.yaml:1:1)"],
  ])("%s", (_, origins, value, origin) => {
    const resolved = resolve(origins);
    expect([resolved.text("data_dir"), resolved.origin("data_dir")]).toEqual([value, origin]);
  });
});

describe("a setting replaces, from a weaker origin, those that it excludes", () => {
  const names = ["repo", "dir", "branch", "tag", "commit", "git_token", "git_password", "verify_gpg"] as const;
  test.each([
    ["a repository of a flag, the folder of the file", { flags: { repo: "r" }, yaml: "dir: d" }, { repo: "r" }],
    [
      "a folder of the environment, the repository of the file and what belongs to it",
      { env: { SLUICE_DIR: "d" }, yaml: "repo: r\nbranch: b\nverify_gpg: k" },
      { dir: "d" },
    ],
    [
      "a tag of a flag, the branch of the file",
      { flags: { tag: "t" }, yaml: "repo: r\nbranch: b" },
      { repo: "r", tag: "t" },
    ],
    [
      "a token of the environment, the password of the file",
      { env: { SLUICE_GIT_TOKEN: "t" }, yaml: "repo: r\ngit_password: p" },
      { repo: "r", git_token: "t" },
    ],
    ["nothing of its own origin", { yaml: "repo: r\ndir: d" }, { repo: "r", dir: "d" }],
    ["nothing of a stronger origin", { flags: { dir: "d" }, env: { SLUICE_REPO: "r" } }, { dir: "d" }],
  ])("%s", (_, origins, expected) => {
    const resolved = resolve(origins);
    const given = names.flatMap((name) => {
      const value = resolved.optional(name);
      return value === undefined ? [] : [[name, value] as const];
    });
    expect(Object.fromEntries(given)).toEqual(expected);
  });
});

describe("values are read as what they mean", () => {
  test.each([
    ["an interval in milliseconds", { flags: { interval: "1m30s" } }, "interval", 90_000],
    ["the limit of a drain by its default", {}, "drain_limit", 300_000],
    ["the limit of a drain", { env: { SLUICE_DRAIN_LIMIT: "90s" } }, "drain_limit", 90_000],
    ["a listener", { env: { SLUICE_API: "[::1]:0" } }, "api", { host: "::1", port: 0 }],
    ["no listener", { yaml: "events: off" }, "events", "off"],
    ["a listener of OTLP by its default", {}, "otlp_grpc", { host: "127.0.0.1", port: 4317 }],
    ["a number", { env: { SLUICE_MAX_CONNECTIONS: "7" } }, "max_connections", 7],
    ["a switch that is given", { flags: { standby: true } }, "standby", true],
    ["a switch of the environment", { env: { SLUICE_STANDBY: "1" } }, "standby", true],
    ["a switch that a flag takes back", { flags: { standby: false }, yaml: "standby: true" }, "standby", false],
    ["a switch that nobody gives", {}, "standby", false],
    ["nothing without a default", {}, "repo", undefined],
  ] as const)("%s", (_, origins, name, expected) => {
    const resolved = resolve(origins);
    const read = {
      interval: "duration",
      drain_limit: "duration",
      api: "listener",
      events: "listener",
      otlp_grpc: "listener",
      max_connections: "number",
      standby: "isOn",
      repo: "optional",
    } as const;
    expect(resolved[read[name]](name)).toEqual(expected);
  });
});

describe("how many pipelines one revision may delete", () => {
  test.each([
    ["a number", { flags: { max_deletions: "10" } }, "10"],
    ["a share", { env: { SLUICE_MAX_DELETIONS: "20%" } }, "20%"],
    ["both", { yaml: "max_deletions: 3 or 10%" }, "3 or 10%"],
    ["the default", {}, "5 or 20%"],
  ])("is given as %s", (_, origins, expected) => {
    const text = resolve(origins).text("max_deletions");
    expect(text).toBe(expected);
    expect(() => parseDeletionLimit(text)).not.toThrow();
  });

  test.each(["101%", "many", "-1", "5 or 20"])("is refused as %s", (value) => {
    expect(problem({ flags: { max_deletions: value } })).toContain(
      '--max-deletions: expected a number of pipelines, a share or both, such as "5", "20%" or "5 or 20%"',
    );
  });
});

const kafka = (origins: Parameters<typeof resolve>[0] = {}) => kafkaSettings(resolve(origins));

describe("how Kafka is read", () => {
  const { fetchMinBytes: _fixed, ...defaults } = defaultKafkaSettings;

  test("is the engine's default where nobody says anything", () => {
    expect(kafka()).toEqual(defaults);
  });

  test.each([
    ["a flag", { flags: { kafka_session_timeout: "45s" } }, { sessionTimeout: 45_000 }],
    ["a variable", { env: { SLUICE_KAFKA_HEARTBEAT_INTERVAL: "1.5s" } }, { heartbeatInterval: 1_500 }],
    ["the file", { yaml: "kafka_fetch_size: 20MB" }, { fetchMaxBytes: 20 * 1024 * 1024 }],
    ["bytes", { yaml: 'kafka_partition_fetch_size: "65536"' }, { partitionMaxBytes: 65_536 }],
    ["a part of a millisecond, which counts as one", { flags: { kafka_fetch_wait: "10.2ms" } }, { fetchWait: 11 }],
    ["how often it is looked for partitions", { flags: { kafka_metadata_age: "5m" } }, { metadataMaxAge: 300_000 }],
    ["where this machine is", { env: { SLUICE_KAFKA_RACK: "eu-west-1a" } }, { rack: "eu-west-1a" }],
  ] as const)("is set by %s", (_, origins, expected) => {
    expect(kafka(origins)).toEqual({ ...defaults, ...expected });
  });

  test.each([
    [
      "a session shorter than two heartbeats",
      { flags: { kafka_heartbeat_interval: "15s" } },
      '--kafka-heartbeat-interval: expected less than half of the 30s of the default of --kafka-session-timeout, found "15s"',
    ],
    [
      "heartbeats that are too rare for the session that is set",
      { yaml: "kafka_session_timeout: 6s" },
      'the default of --kafka-heartbeat-interval: expected less than half of the 6s of kafka_session_timeout (sluice.yaml:1:1), found "3s"',
    ],
    [
      "more of one partition than of all",
      { env: { SLUICE_KAFKA_FETCH_SIZE: "128Ki" } },
      'the default of --kafka-partition-fetch-size: expected at most the 128Ki of SLUICE_KAFKA_FETCH_SIZE, found "256Ki"',
    ],
    [
      "a session that no broker allows",
      { flags: { kafka_session_timeout: "31m" } },
      "--kafka-session-timeout: expected a duration from 1s to 30m",
    ],
    [
      "a rack without a name",
      { flags: { kafka_rack: "" } },
      '--kafka-rack: expected the broker.rack of the brokers that are near, such as "eu-west-1a"',
    ],
    [
      "no wait at all",
      { flags: { kafka_fetch_wait: "0" } },
      "--kafka-fetch-wait: expected a duration from 10ms to 10s",
    ],
    [
      "a size without a unit that is none",
      { flags: { kafka_fetch_size: "ten" } },
      '--kafka-fetch-size: expected a size from 1Ki to 128Mi, such as "10Mi", found "ten"',
    ],
    [
      "a fetch larger than the memory for it",
      { yaml: "kafka_fetch_size: 1Gi" },
      "sluice.yaml:1:19: kafka_fetch_size: expected a size from 1Ki to 128Mi",
    ],
    [
      "a number for a size",
      { yaml: "kafka_fetch_size: 1048576" },
      'kafka_fetch_size: expected a size from 1Ki to 128Mi, such as "10Mi", found 1048576',
    ],
    [
      "a fetch of a few bytes",
      { flags: { kafka_partition_fetch_size: "100" } },
      "--kafka-partition-fetch-size: expected a size from 1Ki",
    ],
  ])("is refused: %s", (_, origins, expected) => {
    expect(() => kafka(origins)).toThrow(expected);
  });
});

describe("what does not fit is named with its place, what was expected and what was found", () => {
  test.each([
    [
      "an unknown key",
      { yaml: "repo: x\nintervall: 30s" },
      'sluice.yaml:2:1: unknown setting "intervall": expected one of repo, branch',
    ],
    [
      "a wrong value in the file",
      { yaml: "\ninterval:   soon" },
      "sluice.yaml:2:13: interval: expected a duration from 1s to 24h",
    ],
    ["a number for a text", { yaml: "repo: 7" }, "sluice.yaml:1:7: repo: expected a text that is not empty, found 7"],
    [
      "a list for a text",
      { yaml: "repo: [a]" },
      'sluice.yaml:1:7: repo: expected a text that is not empty, found ["a"]',
    ],
    ["a key without a value", { yaml: "repo:" }, "repo: expected a text that is not empty, found null"],
    ["a wrong flag", { flags: { api: "8081" } }, '--api: expected HOST:PORT, [IPv6]:PORT or "off", found "8081"'],
    [
      "a wrong variable",
      { env: { SLUICE_LOG_LEVEL: "loud" } },
      'SLUICE_LOG_LEVEL: expected one of debug, info, warn, error, found "loud"',
    ],
    [
      "a switch that is no switch",
      { env: { SLUICE_STANDBY: "maybe" } },
      'SLUICE_STANDBY: expected true or false, found "maybe"',
    ],
    ["an interval of nothing", { flags: { interval: "0s" } }, "--interval: expected a duration from 1s to 24h"],
    [
      "an interval that no timer counts",
      { flags: { interval: "48h" } },
      "--interval: expected a duration from 1s to 24h",
    ],
    ["a key that is there twice", { yaml: "repo: a\nrepo: b" }, "sluice.yaml:2:1: duplicated mapping key"],
    ["YAML that does not parse", { yaml: "repo: 'a" }, "sluice.yaml:1:"],
    ["a list instead of a mapping", { yaml: "- repo" }, "sluice.yaml:1:1: expected a mapping of settings"],
    ["two documents", { yaml: "repo: a\n---\nrepo: b" }, "sluice.yaml: expected one YAML document, found 2"],
    [
      "a key of another command that does not fit",
      { yaml: "dlq_limit: 0" },
      "sluice.yaml:1:12: dlq_limit: expected a whole number from 1 to 1000, found 0",
    ],
  ])("%s", (_, origins, expected) => {
    expect(problem(origins)).toContain(expected);
  });

  test("every problem is named, not only the first", () => {
    expect(problem({ yaml: "repo: 7\nnothing: 1", flags: { api: "x" } }).split("\n")).toHaveLength(3);
  });

  test.each(["", "# only a comment\n", "\uFEFFdata_dir: d"])("a file without problems has none: %j", (yaml) => {
    expect(problem({ yaml })).toBe("no problem");
  });
});

describe("the table of settings", () => {
  test("names one variable and at least one command for each", () => {
    for (const { variable, commands, flag } of settings) {
      expect(variable).toMatch(/^SLUICE_[A-Z_]+$/);
      expect(flag).toMatch(/^--[a-z-]+$/);
      expect(commands.length).toBeGreaterThan(0);
    }
    expect(new Set(settings.map(({ variable }) => variable)).size).toBe(settings.length);
  });

  test("gives no command one flag for two settings", () => {
    const pairs = settings.flatMap(({ flag, commands }) => commands.map((command) => `${command} ${flag}`));
    expect(new Set(pairs).size).toBe(pairs.length);
  });
});

test.each([
  ["SLUICE_INTERVALL", "SLUICE_INTERVAL"],
  ["SLUICE_DATADIR", "SLUICE_DATA_DIR"],
  ["SLUICE_CONFG", "SLUICE_CONFIG"],
])("the variable %s, which is misspelt, is told", (name, meant) => {
  expect(misspeltVariables({ [name]: "1" })).toEqual([
    `${name} is the variable of no setting, and is not read: did you mean ${meant}?`,
  ]);
});

test("a variable that is like none of a setting is told as well", () => {
  expect(misspeltVariables({ SLUICE_LISTEN_ADDRESS_OF_API: "1" })).toEqual([
    "SLUICE_LISTEN_ADDRESS_OF_API is the variable of no setting, and is read only where a pipeline refers to it",
  ]);
});

test("variables of settings, of secrets and of others are none that are misspelt", () => {
  const names = [
    "SLUICE_INTERVAL",
    "SLUICE_CONFIG",
    "SLUICE_SECRET_REPO",
    "SLUICE_PACKAGE",
    "SLUICE_COMMENT_TOKEN",
    "SLUICE_SERVICE_HOST",
    "SLUICE_PORT",
    "SLUICE_PORT_8080_TCP_ADDR",
    "SLUICE_API_SERVICE_PORT_HTTP",
    "INTERVALL",
  ];
  expect(misspeltVariables(Object.fromEntries(names.map((name) => [name, "1"])))).toEqual([]);
});
