/** Comments one below the other; undefined if there is none. */
export function lines(...texts: readonly (string | null | undefined)[]): string | undefined {
  const given = texts.filter((text) => text !== undefined && text !== null && text !== "");
  return given.length === 0 ? undefined : given.join("\n");
}
