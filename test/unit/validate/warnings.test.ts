import { expect, test } from "vitest";
import { validate } from "../../../reconciler/desired/load.ts";
import { changed, fileOf, goodPipeline } from "../../support/pipeline-file.ts";

const end = (text: string) => `${goodPipeline}${text}`;
const password = (text: string) => changed("host: embedded", `host: embedded\n    password: ${text}`);

test.each([
  ["a password in plain text", password("hunter2"), "PLAIN_TEXT_SECRET", 18, undefined],
  [
    "a reference that nobody resolves",
    password("$CLICKHOUSE_PASSWORD"),
    "PLAIN_TEXT_SECRET",
    18,
    "write ${env:CLICKHOUSE_PASSWORD}",
  ],
  [
    "an empty password",
    changed("host: embedded", `host: ch\n    port: "8123"\n    database: d\n    username: u\n    password: ""`),
    "NO_PASSWORD",
    21,
    undefined,
  ],
  [
    "a name in braces, in any text",
    changed("table: orders", "table: '${TABLE}'"),
    "REFERENCE",
    18,
    "did you mean ${var:TABLE}?",
  ],
  [
    "a name in braces within a text",
    changed(
      "host: embedded",
      `host: "ch-\${REGION}"\n    port: "8123"\n    database: d\n    username: u\n    password: "\${env:P}"`,
    ),
    "REFERENCE",
    17,
    "did you mean ${var:REGION}?",
  ],
  ["a token in plain text", end("x-sluice: { access_token: hunter2 }\n"), "PLAIN_TEXT_SECRET", 22, undefined],
  [
    "YAML 1.1",
    `# A comment\n%YAML 1.1\n---\n${goodPipeline}`,
    "YAML_1_1",
    2,
    "remove the directive, and put texts such as yes and no in quotes",
  ],
  [
    "a number with zeros in front",
    end("resources: { sink: { replicas: 010 } }\n"),
    "YAML_1_1",
    22,
    "remove the zeros in front, or put it in quotes if it is a text",
  ],
  ["replicas of 0", end("resources: { sink: { replicas: 0 } }\n"), "REPLICAS", 22, undefined],
  ["a tag that is too long", end(`metadata: { tags: [${"a".repeat(65)}] }\n`), "TAGS", 22, undefined],
  [
    "too many tags",
    end(`metadata: { tags: [${Array.from({ length: 51 }, (_, n) => `t${n}`).join(", ")}] }\n`),
    "TAGS",
    22,
    undefined,
  ],
  [
    "a dependency that no file has",
    end("x-sluice: { depends_on: [orders-us] }\n"),
    "DEPENDS_ON_MISSING",
    22,
    undefined,
  ],
  ["cpu", end("resources: { sink: { limits: { cpu: 500m } } }\n"), "CPU_NOT_ENFORCED", 22, undefined],
])("%s: says so and lets the file pass", (_, content, code, line, suggestion) => {
  const problems = validate([fileOf(content)]);
  const wanted = { code, line, ...(suggestion !== undefined && { suggestion }) };
  expect(problems).toContainEqual(expect.objectContaining(wanted));
  expect(problems.map(({ severity }) => severity)).not.toContain("error");
});

test.each([
  ["a plain password", password("hunter2")],
  ["a password that is a number", password("77001122")],
  ["a password that is a list", password("[hunter2]")],
  ["a password under a wrong key", changed("host: embedded", "host: ch\n    pasword: hunter2")],
  [
    "a secret where a mapping is expected",
    changed("connection_params:\n    host: embedded", "connection_params: hunter2"),
  ],
  ["a secret behind a syntax error", `password: hunter2\n${goodPipeline}  x: y\n`],
  ["an unknown key inside a token", end("x-sluice: { access_token: { value: hunter2 } }\n")],
])("%s: is never repeated", (_, content) => {
  const text = JSON.stringify(validate([fileOf(content)]));
  expect(text).toContain('"code"');
  expect(text).not.toMatch(/hunter2|77001122/);
});

test("more than 100 problems: errors first, and how many there are", () => {
  const keys = Array.from({ length: 300 }, (_, n) => `unknown${n}: 1\n`).join("");
  const problems = validate([fileOf(end(`metadata: { tags: [${"a".repeat(65)}] }\n${keys}`))]);
  expect(problems).toHaveLength(100);
  expect(problems[0]).toMatchObject({ code: "TOO_MANY_PROBLEMS", severity: "info" });
  expect(problems[0]?.found).toBe("at least 301, of which the first are shown");
  expect(problems.slice(1).every(({ code }) => code === "UNKNOWN_KEY")).toBe(true);
});
