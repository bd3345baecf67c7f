import { sourceKinds, type SourceKind } from "../../../engine/language.ts";
import type { View } from "../../language/view.ts";

/** A kind of source, with its name in the registry of the engine. */
export interface NamedKind extends SourceKind {
  readonly name: string;
}

export const kinds: readonly NamedKind[] = Object.entries<SourceKind>(sourceKinds).map(([name, kind]) => {
  return { name, ...kind };
});

const byType = new Map(kinds.flatMap((kind) => kind.types.map((type): [string, NamedKind] => [type, kind])));

/** The kind of a source; undefined where it has no type that the format knows. */
export function kindOfSource(source: View): NamedKind | undefined {
  return byType.get(source.get("type").text ?? "");
}

/** The sources of a document whose kind is such a one. */
export function sourcesOf(document: View, isSuch: (kind: NamedKind) => boolean): View[] {
  return document.sources().filter((source) => {
    const kind = kindOfSource(source);
    return kind !== undefined && isSuch(kind);
  });
}
