/**
 * Spellings that the v3 format takes and the schema does not name: blanks around version, pipeline_id and source types,
 * and upper case in source types and initial offsets (specification, v3 configuration 1, 1.1 and 2).
 * Gives back a copy along the changed parts; whatever is not of the expected shape stays as it is, for the schema to refuse.
 */
export function tidy(document: unknown): unknown {
  if (!isObject(document)) return document;
  const copy: Record<string, unknown> = { ...document };
  for (const key of ["version", "pipeline_id"]) {
    if (typeof copy[key] === "string") copy[key] = copy[key].trim();
  }
  if (Array.isArray(copy["sources"])) copy["sources"] = copy["sources"].map(tidySource);
  return copy;
}

function tidySource(source: unknown): unknown {
  if (!isObject(source)) return source;
  const copy: Record<string, unknown> = { ...source };
  if (typeof copy["type"] === "string") copy["type"] = copy["type"].trim().toLowerCase();
  const offset = copy["consumer_group_initial_offset"];
  if (typeof offset !== "string") return copy;
  if (offset.trim() === "") delete copy["consumer_group_initial_offset"];
  else copy["consumer_group_initial_offset"] = offset.trim().toLowerCase();
  return copy;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
