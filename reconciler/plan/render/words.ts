/** Such as `a, b and c`. */
export function listed(things: readonly string[]): string {
  return things.length < 2 ? things.join("") : `${things.slice(0, -1).join(", ")} and ${things.at(-1)}`;
}

/** Such as `2 dead letters`; empty where there is none. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return count === 0 ? "" : `${count} ${count === 1 ? one : several}`;
}

/** Such as `a, b, c, d, e and 2 more`. */
export function someOf(things: readonly string[], most = 5): string {
  const more = things.length > most ? ` and ${things.length - most} more` : "";
  return `${things.slice(0, most).join(", ")}${more}`;
}

/** Such as `name and 1 more`. */
export function firstOf([first = "", ...others]: readonly string[]): string {
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}
