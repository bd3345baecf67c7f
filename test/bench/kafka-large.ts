import { dropped, type Field, type Output, type Shape } from "./kafka-shape.ts";

const second = 1_717_158_645;
const agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36";
const levels = ["ERROR", "WARN", "INFO", "INFO", "DEBUG"];
const services = ["checkout", "catalogue", "search", "payments", "mail", "accounts", "shipping"];

const first: readonly Field[] = [
  { name: "id", type: "string", column_type: "UUID", value: uuid },
  {
    name: "timestamp",
    type: "string",
    column_type: "DateTime64(3)",
    value: (index) => new Date(second * 1000 + index * 137).toISOString(),
  },
  { name: "level", type: "string", column_type: "LowCardinality(String)", value: (index) => levels[index % 5] },
  { name: "service", type: "string", column_type: "LowCardinality(String)", value: (index) => services[index % 7] },
  {
    name: "region",
    type: "string",
    column_type: "LowCardinality(String)",
    value: (index) => (index % dropped.every === dropped.bySecond ? "lab" : `eu-central-${index % 3}`),
  },
  {
    name: "status_code",
    type: "int",
    column_type: "UInt16",
    value: (index) => (index % dropped.every === dropped.byFirst ? 503 : 200 + (index % 5)),
  },
  { name: "duration_ms", type: "float", column_type: "Float64", value: (index) => ((index * 7919) % 900_000) / 1000 },
  { name: "bytes_sent", type: "uint", column_type: "UInt32", value: (index) => (index * 7907) % 4_000_000 },
  { name: "user_id", type: "int", column_type: "Int64", value: (index) => 9_000_000_000 + ((index * 31) % 1_000_003) },
  { name: "balance", type: "int", column_type: "Int32", value: (index) => ((index * 101) % 20_001) - 10_000 },
  { name: "sampled", type: "bool", column_type: "Bool", value: (index) => index % 2 === 0 },
  { name: "cached", type: "bool", column_type: "Bool", value: (index) => index % 3 === 0 },
  {
    name: "method",
    type: "string",
    column_type: "LowCardinality(String)",
    value: (index) => ["GET", "POST"][index % 2],
  },
  { name: "path", type: "string", column_type: "String", value: (index) => `/api/v1/orders/${index}/items` },
  {
    name: "query",
    type: "string",
    column_type: "String",
    value: (index) => `page=${index % 10}&sort=desc&utm_source=mail`,
  },
  { name: "user_agent", type: "string", column_type: "String", value: () => agent },
];

/** Attributes of a service's own, of all kinds. */
const others = Array.from({ length: 24 }, (_, number): Field => {
  const name = `attribute_${number}`;
  switch (number % 6) {
    case 0:
      return { name, type: "int", column_type: "Int64", value: (index) => index * (number + 1) };
    case 3:
      return { name, type: "float", column_type: "Float64", value: (index) => (index % 1000) * 0.25 };
    default:
      return {
        name,
        type: "string",
        column_type: "String",
        value: (index) => `value ${number} of ${index % 100}, as it was said there`,
      };
  }
});

const outputs: readonly Output[] = [
  { name: "id", expression: "id", type: "string", column_type: "UUID" },
  { name: "level", expression: "upper(service)", type: "string", column_type: "String" },
  { name: "status", expression: "status_code", type: "int", column_type: "UInt16" },
  { name: "is_error", expression: "status_code >= 500", type: "bool", column_type: "Bool" },
  { name: "seconds", expression: "duration_ms / 1000", type: "float64", column_type: "Float64" },
  { name: "class", expression: `status_code >= 500 ? "server" : "other"`, type: "string", column_type: "String" },
  { name: "place", expression: `region + "/" + service`, type: "string", column_type: "String" },
  { name: "is_slow", expression: "duration_ms > 250 and sampled", type: "bool", column_type: "Bool" },
  { name: "path", expression: `replace(path, "/api", "")`, type: "string", column_type: "String" },
  { name: "rate", expression: "bytes_sent / (duration_ms + 1)", type: "float64", column_type: "Float64" },
];

/** An access log of 40 fields. */
export const large: Shape = {
  name: "1.5 KB",
  events: 500_000,
  fields: [...first, ...others],
  filter: `status_code < 500 and region != "lab"`,
  outputs,
};

function uuid(index: number): string {
  const mixed = Math.imul(index, 0x9e37_79b1) >>> 0;
  return `${hex(index, 8)}-5cb3-4e7a-907b-${hex(mixed, 8)}dba0`;
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, "0");
}
