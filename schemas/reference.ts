import { format } from "prettier";
import { otlpFields } from "./otlp-fields.ts";
import { entryOf, resolved, rootNode, type SchemaNode } from "./annotations.ts";
import type { SchemaField } from "./pipeline.ts";

/** One table: the fields of a mapping, at a place of the document such as `sources[] (kafka)`. */
interface Section {
  place: string;
  anchor: string;
  node: SchemaNode;
}

/** The text of `docs/reference/pipeline.md`: every field of the format, a table for each mapping. */
export async function reference(): Promise<string> {
  const sections = sectionsOf();
  const tables = sections.map((section) => tableOf(section, sections));
  const contents = sections.map(({ place, anchor }) => `- [${code(place)}](#${anchor})`);
  const text = [pageHead, contents.join("\n"), ...tables, otlpSection(otlpFields)].join("\n\n");
  return format(text, { parser: "markdown", printWidth: 120 });
}

const rootPlace = "the document";

/** Every mapping of the format in the order of the document, each once. */
function sectionsOf(): Section[] {
  const sections: Section[] = [];
  const visit = (node: SchemaNode, place: string): void => {
    const { properties, items, oneOf = [] } = resolved(node);
    if (items !== undefined) visit(items, `${place}[]`);
    const entry = entryOf(resolved(node));
    if (entry !== undefined) visit(entry, `${place}.SOURCE_ID`);
    for (const variant of oneOf) visit(variant, `${place} (${variantName(variant)})`);
    if (properties === undefined || sectionOf(node, sections) !== undefined) return;
    sections.push({ place, anchor: anchorOf(place), node: resolved(node) });
    for (const [key, field] of Object.entries(properties)) visit(field, place === rootPlace ? key : `${place}.${key}`);
  };
  visit(rootNode, rootPlace);
  return sections;
}

function variantName(variant: SchemaNode): string {
  const { type } = resolved(variant).properties ?? {};
  return type?.const ?? type?.enum?.join(", ") ?? "";
}

function anchorOf(place: string): string {
  return place
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, "-")
    .replaceAll(/^-|-$/g, "");
}

/** The section of a mapping: of the same definition, or of one with the very same fields. */
function sectionOf(node: SchemaNode, sections: readonly Section[]): Section | undefined {
  const { properties } = resolved(node);
  const text = JSON.stringify(properties);
  return properties && sections.find((section) => JSON.stringify(section.node.properties) === text);
}

function tableOf({ place, anchor, node }: Section, sections: readonly Section[]): string {
  const { description = "", properties = {}, required = [] } = node;
  const rows = Object.entries(properties).map(([key, field]) => {
    const whole = resolved(field);
    const cells = [
      code(key),
      typeOf(whole, sections),
      required.includes(key) ? "required" : defaultOf(whole),
      effectOf(whole),
      eventsOf(whole),
      [whole.description ?? "", ...rulesOf(whole)].join(" "),
      (whole.examples ?? []).map((example) => code(shown(example))).join(", "),
    ];
    return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  });
  const head =
    "| field | type | default | effect | events | meaning and rules | example |\n| - | - | - | - | - | - | - |";
  return `<a id="${anchor}"></a>\n\n## ${code(place)}\n\n${description}\n\n${[head, ...rows].join("\n")}`;
}

const words: Readonly<Record<string, string>> = {
  string: "text",
  integer: "whole number",
  boolean: "true or false",
  array: "list",
  object: "mapping",
};

function typeOf(field: SchemaNode, sections: readonly Section[]): string {
  const { items, oneOf, properties } = field;
  const [first = "", ...others] = [field.type].flat();
  if (items !== undefined) {
    const list = `list of ${typeOf(resolved(items), sections)}`;
    return others.includes("array") ? `${words[first]} or ${list}` : list;
  }
  if (oneOf !== undefined) return oneOf.map((variant) => typeOf(resolved(variant), sections)).join(" or ");
  const section = properties && sectionOf(field, sections);
  if (section !== undefined) return `[${labelOf(section.place)}](#${section.anchor})`;
  return words[first ?? ""] ?? "";
}

/** The variant of a source or transform, else its type. */
function labelOf(place: string): string {
  return /\(([^(]*)\)$/.exec(place)?.[1] ?? "mapping";
}

function defaultOf(field: SchemaNode): string {
  if (field["x-default"] !== undefined) return field["x-default"];
  return field.default === undefined ? "" : code(shown(field.default));
}

function effectOf(field: SchemaNode): string {
  const withDedup = field["x-effect-with-dedup"];
  return `${field["x-effect"] ?? ""}${withDedup === undefined ? "" : `, with dedup ${withDedup}`}`;
}

/** Nothing where it is the same, and where it is that of a mapping above. */
function eventsOf({ "x-events": events = "same" }: SchemaNode): string {
  const found = typeof events === "string" ? [["", events]] : Object.entries(events);
  const told = found.filter(([, of]) => of !== "same");
  return told.map(([value = "", of = ""]) => (value === "" ? of : `${code(value)}: ${of}`)).join(", ");
}

/** What a value must be, one sentence each. */
function rulesOf(field: SchemaNode): string[] {
  const { minimum, maximum } = field;
  const oneOf = field.const === undefined ? field.enum : [field.const];
  const bounds = [
    minimum === undefined ? [] : `at least ${minimum}`,
    maximum === undefined ? [] : `at most ${maximum}`,
  ];
  const rules = [
    ...(oneOf === undefined ? [] : [oneOf.length === 1 ? `Always ${code(oneOf[0] ?? "")}` : `One of ${listed(oneOf)}`]),
    ...(bounds.flat().length === 0 ? [] : [bounds.flat().join(" and ")]),
    ...(isPlain(field["x-expected"]) && maximum === undefined ? [field["x-expected"] ?? ""] : []),
    ...(field["x-rule"] === undefined ? [] : [field["x-rule"]]),
    ...(field["x-secret"] === true ? ["A secret: write a reference"] : []),
  ];
  return rules.map((rule) => `${rule.charAt(0).toUpperCase()}${rule.slice(1)}.`);
}

/** Obvious expectations are left out. */
function isPlain(expected: string | undefined): boolean {
  return expected !== undefined && expected !== "a text that is not blank";
}

function listed(values: readonly string[]): string {
  return values.map((value) => (value === "" ? "an empty text" : code(value))).join(", ");
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function code(text: string): string {
  return text.includes("`") ? text : `\`${text}\``;
}

/** The head of the reference: how to read the tables, and the grammars that fields share. */
const pageHead = `<!-- Generated from schemas/pipeline-v3.schema.json by \`npm run schemas\`. Change the schema, not this file. -->

# The v3 format

One YAML or JSON document is one pipeline. This page tells every field; what a problem code means is in
[Problem codes](problem-codes.md), what feeds a column in [Column types](column-types.md), what an expression may say in
[Expressions](expressions.md). Unknown keys are errors at every level.

**Effect** says which calls a new value needs:

| effect | what happens to a running pipeline |
| - | - |
| \`none\` | nothing |
| \`hot\` | it is applied while the pipeline runs |
| \`restart\` | stop (what is held is written first), update, resume |
| \`refuse\` | not possible: the change is refused, and the pipeline runs on unchanged |

**Events** says what becomes of events from then on; a field has that of the mapping around it, unless it says another:

| events | what becomes of them |
| - | - |
| | the same as before |
| \`rows\` | other events become rows, or other rows come of them |
| \`forget\` | some are lost or stay unread, or what dedup or a join remembers is lost |

A change has the highest effect of its fields, and what becomes of events is the highest of its fields too; both make its
[class](../gitops.md#effect-classes). Two spellings of one meaning are no change.

**Durations** are texts: one or more numbers with a unit, \`ns us ms s m h\`, such as \`1h30m\` or \`500ms\`; whole days
are \`7d\`, and \`0\` stands alone. **Sizes** are texts: a number with \`k M G T P E\` (powers of 1000), \`Ki Mi Gi Ti Pi Ei\`
(powers of 1024), an exponent, or nothing; the size of a stream also takes \`KB MB GB TB\`, powers of 1024. **Cpu** is such a
number or thousandths, \`500m\`. **Secrets** are references, \`\${env:NAME}\` or \`\${file:/path}\`.

## Sections`;

/** The fields that OTLP events have without being declared. */
function otlpSection(signals: Readonly<Record<string, readonly SchemaField[]>>): string {
  const tables = Object.entries(signals).map(([signal, fields]) => {
    const rows = fields.map(({ name, type }) => `| \`${name}\` | ${type} |`);
    return `### \`${signal}\`\n\n${["| field | type |", "| - | - |", ...rows].join("\n")}`;
  });
  return `<a id="otlp-fields"></a>

## Fields of OTLP events

They are fixed by the signal. Wherever a field is named, an attribute can be named as \`<map field>.<attribute key>\`, whose rest is
one literal key: \`resource_attributes.service.name\`. Attributes are texts.

${tables.join("\n\n")}`;
}
