import { expect, test } from "vitest";
import { quietAttempts } from "../../../engine/core/pause.ts";
import { targetNotAllowed } from "../../../engine/peers/targets.ts";
import { SourceFailures } from "../../../engine/sources/kafka/brokers/failures.ts";
import { Unreadable, UnreadableRecords } from "../../../engine/sources/kafka/protocol/unreadable.ts";
import type { Telemetry } from "../../../engine/telemetry/telemetry.ts";

/** Failures of a source, and the texts of its pauses; "over" where one ended. */
function failures(): { failures: SourceFailures; told: string[] } {
  const told: string[] = [];
  const telemetry = {
    paused: ({ pause }: { pause: { text: string } }) => told.push(pause.text),
    pauseEnded: () => told.push("over"),
  };
  return { failures: new SourceFailures("orders", telemetry as unknown as Telemetry), told };
}

const failure = (message: string, of: { type?: string; code?: string; name?: string } = {}): Error =>
  Object.assign(new Error(message), of);

test("a failure is shown once it lasts, and the pause ends when no failure is left", () => {
  const { failures: all, told } = failures();
  for (let attempt = 1; attempt < quietAttempts; attempt += 1) all.note("fetch", failure("no answer"), attempt);
  expect(told).toEqual([]);
  all.note("fetch", failure("no answer"), quietAttempts);
  all.note("fetch", failure("no answer"), quietAttempts + 1);
  all.note("offsets", failure("no leader"), quietAttempts);
  all.clear("offsets");
  expect(told).toEqual(["fetch: no answer", "offsets: no leader", "fetch: no answer"]);
  all.clear("fetch");
  expect(told.at(-1)).toBe("over");
});

test.each([
  ["of rights", { type: "TOPIC_AUTHORIZATION_FAILED" }],
  ["of the login", { name: "KafkaJSSASLAuthenticationError" }],
  ["of an address that is not allowed", { code: targetNotAllowed }],
])("a failure %s is shown at once, also where kafkajs wraps it", (_title, of) => {
  const { failures: all, told } = failures();
  const wrapped = new Error("gave up after 3 retries", { cause: failure("refused", of) });
  all.note("fetch", wrapped, 1);
  expect(told).toEqual([expect.stringMatching(/^fetch: refused/)]);
});

test("records that cannot be read are named with their topic, partition and offset", () => {
  const { failures: all, told } = failures();
  all.note(
    "partition 2 of topic orders",
    new UnreadableRecords("orders", 2, 41, new Unreadable("found 8 bytes")),
    Infinity,
  );
  expect(told).toEqual(["topic orders, partition 2, offset 41: found 8 bytes"]);
});
