import { expect, test } from "vitest";
import { Parts } from "../../../reconciler/cli/parts.ts";

test("parts are closed in the opposite order, also when one fails, and once", async () => {
  const closed: string[] = [];
  const part = (name: string, error?: Error) => ({
    close: async () => {
      closed.push(name);
      if (error !== undefined) throw error;
    },
  });
  const parts = new Parts();
  parts.add(part("engine"));
  parts.add(part("listener", new Error("stuck")));
  parts.add(part("reconciler"));
  await expect(parts.close()).rejects.toThrow("stuck");
  await parts.close();
  expect(closed).toEqual(["reconciler", "listener", "engine"]);
});
