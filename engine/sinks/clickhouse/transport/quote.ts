/** A name in back-quotes, safe within any statement. */
export function quoteName(name: string): string {
  return `\`${name.replaceAll("\\", "\\\\").replaceAll("`", "``")}\``;
}

/** A text literal, safe within any statement. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

export function quoteTable(database: string, table: string): string {
  return `${quoteName(database)}.${quoteName(table)}`;
}
