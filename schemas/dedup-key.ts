/** An entry of the object form, such as `"trace_id":trace_id`: a name, and a field. */
const entry = /\s*(?:"[^"]*"|'[^']*'|[\w.-]+)\s*:\s*([A-Za-z_][\w.-]*)\s*/.source;
const objectForm = new RegExp(`^\\s*\\{${entry}(?:,${entry})*\\}\\s*$`);

/**
 * The fields of a dedup key: one name, a list of names, or the text of an object whose values are names, such as
 * `{"trace_id":trace_id,"span_id":span_id}` (config-v3 section 5). Any other text is the name of one field.
 */
export function dedupFields(key: string | readonly string[]): readonly string[] {
  if (typeof key !== "string") return key;
  if (!objectForm.test(key)) return [key];
  return [...key.matchAll(new RegExp(entry, "g"))].map(([, field = ""]) => field);
}
