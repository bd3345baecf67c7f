import type { Field } from "./field.ts";
import { MigrationError, type Warn } from "./warning.ts";
import { leaf, list, mapping, text, withoutComments, type Part } from "./part.ts";
import type { SchemaEntry } from "./schema-list.ts";

export interface Side {
  left: Field;
  right: Field;
}

/** The two sides of an enabled join; undefined without one. Throws MigrationError unless there is one of each. */
export function sidesOf(root: Field): Side | undefined {
  const join = root.get("join");
  if (!join.get("enabled").isOn) return undefined;
  const sources = join.get("sources").items();
  const [lefts, rights] = ["left", "right"].map((side) =>
    sources.filter((one) => one.get("orientation").text === side),
  );
  const [left, right] = [lefts?.[0], rights?.[0]];
  if (left !== undefined && right !== undefined && lefts?.length === 1 && rights?.length === 1) return { left, right };
  const expected = "one source with orientation left and one with orientation right";
  const found = `${lefts?.length} left and ${rights?.length} right among ${sources.length} sources`;
  throw new MigrationError("join", [{ path: join.get("sources").path, expected, found }]);
}

/**
 * The join. A field without a column whose name equals another output is left out: the two could not be distinguished,
 * and no column uses it.
 */
export function joinOf(root: Field, { left, right }: Side, outputs: readonly JoinOutput[]): Part {
  const join = root.get("join");
  const fields = outputs.map(({ entry: { source_id, name, field }, output_name, from }) =>
    mapping(
      {
        source_id: withoutComments(leaf(source_id, field)),
        name: text(name),
        output_name: output_name === "" ? undefined : leaf(output_name, from),
      },
      field,
    ),
  );
  const members = {
    enabled: leaf(true, join.get("enabled")),
    type: text(join.get("type")),
    left_source: sideOf(left, join),
    right_source: sideOf(right, join),
    output_fields: list(fields, root.get("schema", "fields")),
  };
  return mapping(members, join);
}

function sideOf(side: Field, join: Field): Part {
  const [source_id, key] = [text(side.get("source_id")), text(side.get("join_key"))];
  const part = mapping({ source_id, key, time_window: text(side.get("time_window")) }, side);
  return { ...part, keeps: [join.get("sources").path, ...part.keeps, side.get("orientation").path] };
}

/** A field of the joined event. */
export interface JoinOutput {
  entry: SchemaEntry;
  /** Its name in the joined event; empty if it keeps its name. */
  output_name: string;
  /** The place of that name. */
  from: Field;
}

/** The fields of the joined event. `columnOf` returns the column of a field, if it has one. */
export function joinOutputs(
  entries: readonly SchemaEntry[],
  columnOf: (entry: SchemaEntry) => Field,
  warn: Warn,
): JoinOutput[] {
  const outputs = entries.map((entry) => ({ entry, output_name: columnOf(entry).text, from: columnOf(entry) }));
  const taken = new Set(outputs.map(({ output_name }) => output_name));
  return outputs.filter(({ entry: { name, source_id }, output_name }) => {
    if (output_name !== "") return true;
    const isFree = !taken.has(name.text);
    taken.add(name.text);
    if (isFree) return true;
    const expected = "a column for it, or a name that no other field of the join has";
    warn("V2_DROPPED", name, { expected, found: `"${name.text}" of "${source_id}" without a column: it is left out` });
    return false;
  });
}
