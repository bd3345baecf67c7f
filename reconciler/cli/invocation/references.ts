import { type Permission, permissionsOf } from "../../secrets/permissions.ts";
import type { Settings } from "./settings.ts";

/** What the setting `references` says; undefined where it is not given, and the default counts. */
export function permissionsGiven(settings: Settings): Permission[] | undefined {
  const given = settings.all("references").toReversed();
  if (given.length === 0) return undefined;
  return permissionsOf(Object.assign({}, ...given.map(({ value }) => value)) as Record<string, string>);
}
