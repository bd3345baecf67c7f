import { describe, expect, test } from "vitest";
import { isAtRest, requested, shouldRun, transitions, type Request, type Status } from "../../../engine/index.ts";

const statuses = Object.keys(transitions) as Status[];

/** Every request in every status: the status that it leads to first, or the code that refuses it. */
const table: Record<Status, Record<Request, string>> = {
  Created: { stop: "INVALID_STATUS_TRANSITION", terminate: "Terminating", resume: "INVALID_STATUS_TRANSITION" },
  Running: { stop: "Stopping", terminate: "Terminating", resume: "INVALID_STATUS_TRANSITION" },
  Resuming: { stop: "PIPELINE_IN_TRANSITION", terminate: "Terminating", resume: "PIPELINE_ALREADY_IN_STATE" },
  Stopping: { stop: "PIPELINE_ALREADY_IN_STATE", terminate: "Terminating", resume: "PIPELINE_IN_TRANSITION" },
  Stopped: { stop: "INVALID_STATUS_TRANSITION", terminate: "Terminating", resume: "Resuming" },
  Terminating: {
    stop: "PIPELINE_IN_TRANSITION",
    terminate: "PIPELINE_ALREADY_IN_STATE",
    resume: "PIPELINE_IN_TRANSITION",
  },
  Terminated: {
    stop: "INVALID_STATUS_TRANSITION",
    terminate: "INVALID_STATUS_TRANSITION",
    resume: "Resuming",
  },
  Failed: { stop: "INVALID_STATUS_TRANSITION", terminate: "Terminating", resume: "Resuming" },
};

describe("every request in every status", () => {
  const rows = statuses.flatMap((status) =>
    (["stop", "terminate", "resume"] as const).map((request) => [request, status, table[status][request]] as const),
  );

  test.each(rows)("%s of a %s pipeline: %s", (request, status, outcome) => {
    if (statuses.includes(outcome as Status)) {
      expect(requested("orders", status, request)).toBe(outcome);
    } else {
      expect(() => requested("orders", status, request)).toThrow(
        expect.objectContaining({
          code: outcome,
          details: expect.objectContaining({ current_status: status, valid_transitions: transitions[status] }),
        }),
      );
    }
  });
});

test("a pipeline may be edited and deleted exactly at rest", () => {
  expect(statuses.filter(isAtRest).toSorted()).toEqual(["Failed", "Stopped", "Terminated"]);
});

test("a process that starts again carries these on to Running", () => {
  expect(statuses.filter(shouldRun).toSorted()).toEqual(["Created", "Resuming", "Running"]);
});

test("every status can be left, and no transition leads outside of the table", () => {
  for (const next of Object.values(transitions)) {
    expect(next.length).toBeGreaterThan(0);
    for (const status of next) expect(statuses).toContain(status);
  }
});
