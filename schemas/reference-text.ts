import type { SchemaField } from "./pipeline.ts";

/** What stands above the tables of the reference: how to read them, and the grammars that fields share. */
export const pageHead = `<!-- Generated from schemas/pipeline-v3.schema.json by \`npm run schemas\`. Change the schema, not this file. -->

# The v3 format

One YAML or JSON document is one pipeline. This page tells every field; what a problem code means is in
[Problem codes](problem-codes.md), what an expression may say in
[Expressions](expressions.md). Unknown keys are errors at every level.

**Effect** is the class of change that a new value needs:

| effect | what happens to a running pipeline |
| - | - |
| \`none\` | nothing |
| \`hot\` | it is applied while the pipeline runs |
| \`restart\` | stop (what is held is written first), update, resume; nothing is lost |
| \`forget\` | restart, and what was remembered for dedup or join is lost |
| \`refuse\` | not possible: the change is refused, and the pipeline runs on as it is |

A change has the highest effect of its fields. Two spellings of one meaning are no change.

**Durations** are texts: one or more numbers with a unit, \`ns us ms s m h\`, such as \`1h30m\` or \`500ms\`; whole days
are \`7d\`, and \`0\` stands alone. **Sizes** are texts: a number with \`k M G T P E\` (powers of 1000), \`Ki Mi Gi Ti Pi Ei\`
(powers of 1024), an exponent, or nothing; the size of a stream also takes \`KB MB GB TB\`, powers of 1024. **Cpu** is such a
number or thousandths, \`500m\`. **Secrets** are references, \`\${env:NAME}\` or \`\${file:/path}\`.

## Sections`;

/** The fields that OTLP events have without being declared. */
export function otlpSection(signals: Readonly<Record<string, readonly SchemaField[]>>): string {
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
