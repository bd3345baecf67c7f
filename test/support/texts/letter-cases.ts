import type { LetterCase } from "./letters.ts";

/** Cases that one step makes dead letters of. */
export interface LetterSection {
  title: string;
  /** Of every letter of the section. */
  component: "ingestor" | "otlp-receiver" | "dedup" | "join" | "sink";
  reason: "parse_error" | "transform_error" | "schema_mismatch";
  says: string;
  cases: readonly LetterCase[];
}

/** A text too deep for one value: a list of lists. */
const deepList = `${"[".repeat(101)}${"]".repeat(101)}`;
/** One that is too deep for the stack. */
const deeperList = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
const id = ["id: string"];
const kafka = { source: "kafka", fields: id } as const;

const events: LetterSection = {
  title: "Events that are no JSON object",
  component: "ingestor",
  reason: "parse_error",
  says: "From Kafka. A webhook answers such a request with 400, and stores nothing.",
  cases: [
    { ...kafka, event: "" },
    { ...kafka, event: undefined },
    { ...kafka, event: "null" },
    { ...kafka, event: "[1,2]" },
    { ...kafka, event: '"a"' },
    { ...kafka, event: '{"id":"a",}' },
    { ...kafka, event: Buffer.concat([Buffer.from([0, 0, 0, 0, 42]), Buffer.from('{"id":"a"}')]) },
    { ...kafka, event: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]) },
  ],
};

const declared: LetterSection = {
  title: "Declared fields",
  component: "ingestor",
  reason: "parse_error",
  says: "A declared field is present, not null and of its kind; one with `required: false` may be absent or null.",
  cases: [
    { fields: id, event: "{}" },
    { fields: id, event: '{"id":null}' },
    { fields: ["a.b: int"], event: '{"a":{}}' },
    { fields: id, event: '{"id":1}' },
    { fields: ["n: int?"], event: '{"n":"1"}' },
    { fields: ["m: map"], event: '{"m":[]}' },
    { fields: ["f: float"], event: '{"f":1e400}' },
  ],
};

const keys: LetterSection = {
  title: "Keys of dedup",
  component: "ingestor",
  reason: "parse_error",
  says: "Here the field `id` has `required: false` or is not declared; a required one is refused before.",
  cases: [
    { fields: ["n: int"], dedup: "id", event: '{"n":1}' },
    { fields: ["id: string?"], dedup: "id", event: '{"id":null}' },
    { fields: id, dedup: "id", event: '{"id":""}' },
    { fields: ["n: int"], dedup: "id", event: '{"n":1,"id":[1]}' },
    { fields: ["n: int"], dedup: "id", event: '{"n":1,"id":{"a":1}}' },
    { fields: ["n: int"], dedup: "id", event: '{"n":1,"id":1e400}' },
    { fields: ["n: int"], dedup: ["n", "id"], event: '{"n":1}' },
  ],
};

const sources: LetterSection = {
  title: "Events of a source that was removed",
  component: "ingestor",
  reason: "parse_error",
  says: "A dead letter that is reprocessed after its topic was taken out of the file.",
  cases: [
    { ...kafka, topic: "refunds", event: '{"id":"a"}' },
    { ...kafka, topic: "", event: '{"id":"a"}' },
  ],
};

const join: LetterSection = {
  title: "Sides of a join",
  component: "join",
  reason: "parse_error",
  says: "Fields that are not required, or not declared.",
  cases: [
    { join: { key: "id" }, fields: ["n: int"], event: '{"n":1}' },
    { join: { key: "id" }, fields: ["id: string?"], event: '{"id":null}' },
    { join: { key: "id" }, fields: ["n: int"], event: '{"n":1,"id":[1]}' },
    { join: { key: "id" }, fields: ["n: int"], event: '{"n":1,"id":1e400}' },
    { join: { key: "id", selects: "n" }, fields: id, event: '{"id":"a"}' },
    { join: { key: "id", row: true }, fields: id, event: "{}" },
  ],
};

const sides: LetterSection = {
  title: "Events of no side of a join",
  component: "join",
  reason: "schema_mismatch",
  says: "A dead letter that is reprocessed after its topic was taken out of the file.",
  cases: [{ join: { key: "id" }, fields: id, topic: "refunds", event: '{"id":"a"}' }],
};

const unknown = { fields: ["m: map"] };
const filter = (expression: string, event: string, fields: readonly string[] = unknown.fields): LetterCase => ({
  fields,
  filter: expression,
  event,
});

const filters: LetterSection = {
  title: "Filter",
  component: "dedup",
  reason: "transform_error",
  says: "The same texts as those of stateless transforms below, which begin with `stateless` there. These are of filters alone. What is known to fail before any event comes is found by `sluice validate` and is no dead letter.",
  cases: [
    filter('join(["a", m.x]) == "a"', '{"m":{"x":1}}'),
    filter("m.x", '{"m":{"x":1}}'),
    filter("m.x > 1", '{"m":{"x":"a"}}'),
  ],
};

const output = (expression: string, event: string, type = "string", fields?: readonly string[]): LetterCase => ({
  fields: fields ?? ["m: map"],
  output: { expression, type },
  event,
});
/** A value `x` within a map: of a kind that only the event decides. */
const x = (expression: string, value: string, type = "string"): LetterCase =>
  output(expression, `{"m":{"x":${value}}}`, type);

const values: LetterSection = {
  title: "Stateless: values of another kind",
  component: "dedup",
  reason: "transform_error",
  says: "The field `m` is a map, so what it holds is known only when the event is there.",
  cases: [
    x("m.x.y", "null"),
    x("m.x.y", "1"),
    x("m.x[0]", "null"),
    x("m[m.x]", "1"),
    x("m.x[0]", "[]"),
    x("m.x[7]", '"abc"'),
    x("[1, 2][m.x]", '"a"'),
    x("[1, 2][m.x]", "1e300"),
    x("m.x[1:2]", "1"),
    x("1 in m.x", "1", "bool"),
    x("m.x + 1", '"a"'),
    x("m.x - 1", '"a"'),
    x("m.x * 2", '"a"'),
    x("m.x / 2", '"a"'),
    x("m.x % 2", "3", "int"),
    x("m.x % 2", '"a"', "int"),
    x("7 % int(m.x)", "0", "int"),
    x("2 ** m.x", '"a"', "float"),
    x("-m.x", '"a"'),
    x("m.x < 1", '"a"', "bool"),
    x('let day = date("2024-05-31"); let other = m.x ? day.Month() : 1; other < day.Weekday()', "true", "bool"),
    x('m.x matches "a"', "1", "bool"),
    x('"a" matches m.x', '"("', "bool"),
    x("not m.x", "1", "bool"),
    x("m.x and m.y", "1", "bool"),
    x('m.x ? "a" : "b"', "1"),
    x("{(m.x): 1}", "1", "map"),
    x('sortBy([{"a": 1}], .a, m.x)', '"up"', "array"),
  ],
};

const functions: LetterSection = {
  title: "Stateless: functions and methods",
  component: "dedup",
  reason: "transform_error",
  says: "",
  cases: [
    x("take([1], int(m.x))", "-1", "array"),
    x("get([now(), m.x][0], m.x)", "1", "map"),
    x('indexOf(m.x, "a")', "1", "int"),
    x("abs(m.x)", '"a"', "float"),
    x('repeat("a", int(m.x))', "-1"),
    x('repeat("a", m.x)', '"a"'),
    x("len(m.x)", "1", "int"),
    x("flatten(m.x)", "1", "array"),
    x("toPairs(m.x)", "1", "array"),
    x("int(m.x)", "[]", "int"),
    x("int(m.x)", '"a"', "int"),
    x("int(m.x)", '"99999999999999999999"', "int"),
    x("int(m.x)", "1e300", "int"),
    x("float(m.x)", '"a"', "float"),
    x("toInt(m.x)", '"99999999999999999999"', "int"),
    x("toInt(m.x)", "1e300", "int"),
    x("max(m.x)", '["a"]', "float"),
    x("bitshl(1, int(m.x))", "-1", "int"),
    x("fromJSON(m.x)", '"{"', "map"),
    x("fromBase64(m.x)", '"?"'),
    x('toJSON({"a": m.x / 0})', "0"),
    x('toJSON([timezone("UTC"), m.x])', "0"),
    x("toJSON(fromPairs([[m.x, 1]]))", "2"),
    x("fromPairs(m.x)", "[1]", "map"),
    x("fromPairs(m.x)", "[[[], 1]]", "map"),
    x("groupBy(m.x, #)", "[[]]", "map"),
    x("reduce(m.x, #acc + #)", "[]", "int"),
    x("map(m.x, #)", "1", "array"),
    x("filter(m.x, #)", "[1]", "array"),
    x("map(m.x, #)", '{"a":1}', "array"),
    x("sum(m.x, #)", '{"a":1}', "float"),
    x("urlDecode(m.x)", '"%"'),
    x("date(m.x)", "1"),
    x("date(m.x)", '"soon"'),
    x('date("2024", m.x)', '"2006-01-02"'),
    x("timezone(m.x)", '"Mars"'),
    x("duration(m.x)", '"soon"', "int"),
    x("now().In(m.x)", '"UTC"'),
    x("now().AddDate(int(m.x), 0, 0)", "999999"),
    x("m.x.Year()", '"a"', "int"),
    x("now().Add(m.x)", '"a"'),
    x("(m.x ?? now()).Add()", "null"),
    x("(m.x ?? now()).AddDate(1)", "null"),
    x("reduce(m.x, #acc + #)", '{"a":1}', "int"),
    x("sortBy(m.x, #)", '{"a":1}', "array"),
    x("find(m.x, true)", '{"a":1}', "int"),
    x('date("2024", m.x)', JSON.stringify("a".repeat(2000))),
    x("duration(m.x)", JSON.stringify(`1${"0".repeat(2000)}s`), "int"),
    x('"a" matches m.x', JSON.stringify("a".repeat(20_000)), "bool"),
    x('"a" matches m.x', JSON.stringify("(a{1000}){1000}"), "bool"),
    x('repeat("a", int(m.x))', "100000000"),
    x("toJSON(m.x)", deeperList),
  ],
};

const outputs: LetterSection = {
  title: "Stateless: output_type",
  component: "dedup",
  reason: "transform_error",
  says: "",
  cases: [
    x("m.x", "[]", "int"),
    x("m.x", '"a"', "int"),
    x("m.x", "-1", "uint"),
    x("m.x", '"99999999999999999999999999999999999999999999999999999999999999999999999999999999"', "int"),
    x("m.x / 0", "0", "int"),
    x("m.x / 0", "1", "float64"),
    x("[m.x / 0]", "1", "array"),
    x('[timezone("UTC"), m.x]', "1", "array"),
    x("fromPairs([[m.x, 1]])", "2", "map"),
    x('split(repeat(m.x, 600000), ",")', '","', "array"),
    x("m.x", deepList, "array"),
  ],
};

const column = (field: string, type: string, value: string, more: Partial<LetterCase> = {}): LetterCase => ({
  fields: [field],
  column: type,
  event: `{"${field.split(":")[0]}":${value}}`,
  ...more,
});

const scalars: LetterSection = {
  title: "Columns of one value",
  component: "sink",
  reason: "schema_mismatch",
  says: "The text names the type of the column, and what of it was expected.",
  cases: [
    column("n: int", "UInt8", "300"),
    column("n: int", "Int64", "9223372036854775808"),
    column("n: int", "Int64", "12345678901234567890.5"),
    column("n: int", "Int32", "1.5"),
    column("n: uint", "UInt8", "-1"),
    column("f: float", "Float32", "1e39"),
    column("f: float", "Decimal(18, 2)", "0.001"),
    column("n: int", "Int64", "4503599627370497.5"),
    column("s: string", "FixedString(2)", '"abc"'),
    column("s: string", "String", '"\\ud800"'),
    column("f: float", "String", "123456789012345678.5"),
    column("a: array", "String", "[123456789012345678.5]"),
    column("a: array", "String", deepList),
    column("s: string", "UUID", '"7"'),
    column("s: string", "IPv4", '"::1"'),
    column("s: string", "IPv6", '"fe80::1%eth0"'),
    column("s: string", "Enum8('a' = 1, 'b' = 2)", '"c"'),
    column("n: int", "Enum8", "1.5"),
    column("s: string", "Date", '"05/06/2024"'),
    column("s: string", "Date32", '"2300-01-01"'),
    column("s: string", "DateTime", '"soon"'),
    column("s: string", "DateTime", '"20240531"'),
    column("n: int", "DateTime", "1717243200000"),
    column("n: int", "DateTime", "-1"),
    column("s: string", "Time", '"soon"'),
    column("s: string", "Variant(String, UInt64)", '"007"'),
    column("n: int", "Variant(UUID, UInt8)", "300"),
    column("a: array", "Dynamic", '[{"a":1}]'),
    column("n: int", "DateTime64(3)", "1717243200000000"),
    column("n: int", "DateTime64(3)", "1717243200000000000"),
    { ...output("m.x", '{"m":{"x":"a"}}'), column: "UUID" },
  ],
};

const several: LetterSection = {
  title: "Several columns, nulls, and data points without a value",
  component: "sink",
  reason: "schema_mismatch",
  says: "The texts of the first three columns are given.",
  cases: [
    {
      fields: ["a: int", "b: int", "c: int", "d: int"],
      mapping: ["a", "b", "c", "d"].map((name) => [name, "UInt8"] as const),
      event: '{"a":-1,"b":-1,"c":-1,"d":-1}',
    },
    { fields: ["s: string?"], column: "Date", event: "{}" },
    { fields: ["s: string?"], column: "String", null: "reject", event: "{}" },
    {
      source: "otlp.metrics",
      mapping: [["value_double", "Nullable(Float64)"]],
      table: [{ name: "value_double", type: "Float64" }],
      event: '{"value_double":null,"flags":1}',
    },
  ],
};

const structured: LetterSection = {
  title: "Columns of several values",
  component: "sink",
  reason: "schema_mismatch",
  says: "The text names the element, the key or the path.",
  cases: [
    column("a: array", "Array(UInt8)", "[1,300]"),
    column("a: array", "Array(String)", '["a",1]'),
    column("a: array", "Array(Array(Int8))", "[1]"),
    column("a: array", "Array(Tuple(Int8, Int8))", "[null]"),
    column("a: array", "Array(Tuple(a Int8))", "[null]"),
    column("a: array", "Array(Tuple(a Int8))", "[1]"),
    column("a: array", "Tuple(Int8, Int8)", "[1]"),
    column("a: array", "Tuple(Int8, Bool)", "[1,2]"),
    column("m: map", "Tuple(a Int8)", '{"a":"b"}'),
    column("m: map", "Map(String, UInt8)", '{"a":300}'),
    column("m: map", "Map(String, String)", '{"a":null}'),
    column("m: map", "Map(String, String)", '{"\\ud800":"a"}'),
    column("m: map", "Map(String, Map(String, String))", '{"a":[]}'),
    column("m: map", "Map(String, Bool)", '{"a":2}'),
    column("m: map", "Map(UInt8, UInt8)", '{"1":1,"01":2}'),
  ],
};

const json: LetterSection = {
  title: "JSON columns",
  component: "sink",
  reason: "schema_mismatch",
  says: "Of such values ClickHouse refuses the whole insert, or stores others.",
  cases: [
    column("s: string", "JSON", '"[1]"'),
    column("m: map", "JSON", '{"a.b":1,"a":{"b":2}}'),
    column("m: map", "JSON", '{"\\ud800":1}'),
    column("m: map", "JSON", '{"a":"\\ud800"}'),
    column("m: map", "JSON", '{"a":99999999999999999999}'),
    column("m: map", "JSON", '{"a":1e400}'),
    column("m: map", "JSON(a UInt8)", '{"a":300}'),
    column("m: map", "JSON", `{"a":${deepList}}`),
    column("m: map", "JSON", '{"a":[[1],null]}'),
    column("m: map", "JSON", '{"a":[9007199254740993,0.5]}'),
  ],
};

export const letterSections: readonly LetterSection[] = [
  events,
  declared,
  keys,
  sources,
  join,
  sides,
  filters,
  values,
  functions,
  outputs,
  scalars,
  several,
  structured,
  json,
];
