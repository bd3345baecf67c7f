import { writeFileSync } from "node:fs";

/**
 * Writes events.ndjson: the same events each time. Every line has a request body, its pipeline and its expected result:
 * `row`, `filtered`, `dead letter` (accepted, not written) or `refused` (answered 400).
 */
type Expected = "row" | "filtered" | "dead letter" | "refused";

const services = ["api", "billing", "search", "mail"];
const countries = ["DE", "FR", "SE", "US", "JP"];
const start = Date.UTC(2026, 0, 5, 8, 0, 0);
const lines: string[] = [];

function line(pipeline_id: string, expect: Expected, body: unknown): void {
  lines.push(JSON.stringify({ pipeline_id, expect, body: typeof body === "string" ? body : JSON.stringify(body) }));
}

function logEvent(n: number): Record<string, unknown> {
  const status_code = n % 5 === 0 ? 503 : n % 7 === 0 ? 404 : 200;
  return {
    event_id: `log-${n}`,
    at: new Date(start + n * 250).toISOString(),
    service: services[n % services.length],
    level: status_code >= 400 ? "ERROR" : "INFO",
    status_code,
    path: `/v1/items/${n % 97}`,
    message: status_code === 503 ? "upstream timed out\n\nretry later" : "done",
  };
}

function order(n: number): Record<string, unknown> {
  return {
    order_id: `order-${n}`,
    placed_at: new Date(start + n * 1000).toISOString(),
    customer: { country: countries[n % countries.length], id: n % 113 },
    items: 1 + (n % 9),
    amount: Math.round((5 + (n % 83) * 1.37) * 100) / 100,
    express: n % 4 === 0,
  };
}

for (let n = 1; n <= 1500; n += 1) {
  const event = logEvent(n);
  line("app-errors", event["level"] === "ERROR" && Number(event["status_code"]) >= 500 ? "row" : "filtered", event);
  if (n <= 1000) line("checkout-orders", "row", order(n));
}

line("app-errors", "dead letter", { ...logEvent(9001), status_code: "503" });
line("app-errors", "dead letter", { ...logEvent(9002), service: null });
line("app-errors", "dead letter", { ...logEvent(9005), at: "the day before yesterday" });
line("app-errors", "dead letter", { ...logEvent(9010), status_code: 70_000 });
line("checkout-orders", "dead letter", { ...order(9001), items: 300 });
line("checkout-orders", "dead letter", { ...order(9002), amount: "12.50" });
line("checkout-orders", "dead letter", { ...order(9003), customer: { id: 7 } });
line("checkout-orders", "dead letter", { ...order(9004), customer: { country: "Germany" } });

line("app-errors", "refused", '{"event_id": "log-9101", "level": ');
line("app-errors", "refused", "level=ERROR status_code=500");
line("app-errors", "refused", '[{"event_id": "log-9102"}]');
line("checkout-orders", "refused", '{"order_id": "order-9101"} {"order_id": "order-9102"}');
line("checkout-orders", "refused", "");
line("checkout-orders", "refused", "null");

writeFileSync(new URL("events.ndjson", import.meta.url), `${lines.join("\n")}\n`);
