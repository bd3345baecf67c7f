import { expect, test } from "vitest";
import { suggestDuration, suggestQuantity } from "../../../reconciler/validate/schema-problems.ts";

test.each([
  ["1 day", 'write "24h"'],
  ["1.5d", 'write "36h"'],
  ["2 days", 'write "48h"'],
  ["1D", 'write "24h"'],
  [30, 'write "30s"'],
  ["30 sec", 'write "30s"'],
  ["5 Minutes", 'write "5m"'],
  ["100 millis", 'write "100ms"'],
  ["soon", undefined],
  ["1 fortnight", undefined],
  ["", undefined],
  [{}, undefined],
])("for the duration %j: %s", (value, suggestion) => {
  expect(suggestDuration(value)).toBe(suggestion);
});

test.each([
  ["128mi", 'write "128Mi"'],
  ["1 Gi", 'write "1Gi"'],
  ["10 gb", 'write "10Gi"'],
  ["5K", 'write "5k"'],
  [2, 'write "2"'],
  ["much", undefined],
])("for the quantity %j: %s", (value, suggestion) => {
  expect(suggestQuantity(value)).toBe(suggestion);
});
