import { expect, test } from "vitest";
import { hasColours } from "../../../reconciler/cli/invocation/terminal.ts";

test.each([
  ["a terminal", true, {}, true],
  ["a pipe", false, {}, false],
  ["a stream of which nothing is known", undefined, {}, false],
  ["NO_COLOR", true, { NO_COLOR: "1" }, false],
  ["an empty NO_COLOR, which counts as not set", true, { NO_COLOR: "" }, true],
  ["FORCE_COLOR in a pipe", false, { FORCE_COLOR: "1" }, true],
  ["FORCE_COLOR=0 on a terminal", true, { FORCE_COLOR: "0" }, false],
  ["FORCE_COLOR=false on a terminal", true, { FORCE_COLOR: "false" }, false],
  ["CLICOLOR_FORCE in a pipe", false, { CLICOLOR_FORCE: "1" }, true],
  ["CLICOLOR_FORCE=0 in a pipe", false, { CLICOLOR_FORCE: "0" }, false],
  ["CLICOLOR=0 on a terminal", true, { CLICOLOR: "0" }, false],
  ["CLICOLOR=1 in a pipe", false, { CLICOLOR: "1" }, false],
  ["a dumb terminal", true, { TERM: "dumb" }, false],
  ["FORCE_COLOR on a dumb terminal", true, { TERM: "dumb", FORCE_COLOR: "1" }, true],
  ["NO_COLOR and FORCE_COLOR", true, { NO_COLOR: "1", FORCE_COLOR: "1" }, false],
  ["NO_COLOR and CLICOLOR_FORCE", false, { NO_COLOR: "1", CLICOLOR_FORCE: "1" }, false],
])("%s", (_, isTerminal, env: Record<string, string>, expected) => {
  expect(hasColours(isTerminal, env)).toBe(expected);
});
