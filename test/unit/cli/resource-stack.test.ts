import { expect, test } from "vitest";
import { ResourceStack } from "../../../reconciler/cli/daemon/resource-stack.ts";

test("resources are closed in the opposite order, also when one fails, and once", async () => {
  const closed: string[] = [];
  const part = (name: string, error?: Error) => ({
    close: async () => {
      closed.push(name);
      if (error !== undefined) throw error;
    },
  });
  const resources = new ResourceStack();
  resources.add(part("engine"));
  resources.add(part("listener", new Error("stuck")));
  resources.add(part("reconciler"));
  await expect(resources.close()).rejects.toThrow("stuck");
  await resources.close();
  expect(closed).toEqual(["reconciler", "listener", "engine"]);
});
