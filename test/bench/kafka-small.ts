import { dropped, type Field, type Output, type Shape } from "./kafka-shape.ts";

const second = 1_717_158_645;

const fields: readonly Field[] = [
  { name: "id", type: "int", column_type: "Int64", value: (index) => 7_000_000_000 + index },
  {
    name: "at",
    type: "string",
    column_type: "DateTime64(3)",
    value: (index) => new Date(second * 1000 + index * 137).toISOString(),
  },
  {
    name: "kind",
    type: "string",
    column_type: "LowCardinality(String)",
    value: (index) => (index % dropped.every === dropped.byFirst ? "heartbeat" : ["click", "view"][index % 2]),
  },
  { name: "user", type: "string", column_type: "String", value: (index) => `user-${(index * 7919) % 100_000}` },
  {
    name: "amount",
    type: "float",
    column_type: "Float64",
    value: (index) => (index % dropped.every === dropped.bySecond ? -0.5 : (index % 10_000) * 0.25),
  },
  {
    name: "page",
    type: "string",
    column_type: "String",
    value: (index) => `/shop/articles/${index % 500_000}?from=newsletter`,
  },
];

const outputs: readonly Output[] = [
  { name: "id", expression: "id", type: "int", column_type: "Int64" },
  { name: "kind", expression: "upper(kind)", type: "string", column_type: "String" },
  { name: "at", expression: "at", type: "string", column_type: "DateTime64(3)" },
  { name: "is_click", expression: `kind == "click"`, type: "bool", column_type: "Bool" },
  { name: "cents", expression: "amount * 100", type: "float64", column_type: "Float64" },
  { name: "class", expression: `amount >= 1000 ? "large" : "usual"`, type: "string", column_type: "String" },
  { name: "who", expression: `user + "/" + kind`, type: "string", column_type: "String" },
  { name: "is_large", expression: `amount > 250 and kind == "view"`, type: "bool", column_type: "Bool" },
  { name: "page", expression: `replace(page, "/shop", "")`, type: "string", column_type: "String" },
  { name: "share", expression: "amount / 2500", type: "float64", column_type: "Float64" },
];

/** What a person did, in 6 fields. */
export const small: Shape = {
  name: "150 B",
  events: 1_000_000,
  fields,
  filter: `kind != "heartbeat" and amount >= 0`,
  outputs,
};
