import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { messagesText } from "../../../engine/sources/otlp/proto/messages-text.ts";

test("messages.json is what the .proto files give: else run `npm run schemas`", async () => {
  const committed = readFileSync(new URL("../../../engine/sources/otlp/proto/messages.json", import.meta.url), "utf8");
  expect(await messagesText()).toBe(committed);
});
