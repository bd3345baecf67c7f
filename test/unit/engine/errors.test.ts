import { expect, test } from "vitest";
import { EngineError, policies, type ErrorCode } from "../../../engine/index.ts";

test.each(Object.entries(policies))("%s says what to do: %s", (code, policy) => {
  expect(new EngineError(code as ErrorCode, "text")).toMatchObject({ code, policy, name: "EngineError" });
  expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
});
